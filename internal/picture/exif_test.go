package picture_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/messkit/messkit/internal/picture"
)

var bigEndian, littleEndian = binary.AppendByteOrder(binary.BigEndian), binary.AppendByteOrder(binary.LittleEndian)

// corners contains the place of the stored picture's red corner after the turn, by orientation
// (EXIF 2.32 section 4.6.4).
var corners = [10][2]float64{2: {1, 0}, 3: {1, 1}, 4: {0, 1}, 6: {1, 0}, 7: {1, 1}, 8: {0, 1}}

func TestFitAppliesOrientation(t *testing.T) {
	stored := scene(64, 48, 0)
	plain := tiffOf(t, stored, nil)
	for o := range uint16(10) {
		for name, data := range map[string][]byte{
			"big-endian JPEG":    withEXIF(jpegOf(t, stored, 95), o, bigEndian),
			"little-endian JPEG": withEXIF(jpegOf(t, stored, 95), o, littleEndian),
			"PNG":                withChunk(pngOf(t, stored), "eXIf", exif(o, bigEndian)),
			"TIFF":               orientedTIFF(t, plain, o),
		} {
			for _, lim := range []picture.Limits{{}, {MaxPx: 32}} {
				t.Run(fmt.Sprintf("%s %d %+v", name, o, lim), func(t *testing.T) {
					p, out := fit(t, data, lim)
					if at := corners[o]; !red(out, at[0], at[1]) || red(out, 1-at[0], 1-at[1]) {
						t.Errorf("red is not at %v", at)
					}
					if lies := o >= 5 && o <= 8; lies != (p.Height > p.Width) {
						t.Errorf("image is %d x %d", p.Width, p.Height)
					}
				})
			}
		}
	}
	if _, out := fit(t, fixture(t, "turned.webp"), picture.Limits{}); !red(out, 0.95, 0.05) {
		t.Error("the WebP is not turned")
	}
}

// orientedTIFF replaces the tag for the number of samples by an orientation. The decoder of
// x/image does not need that tag.
func orientedTIFF(t *testing.T, data []byte, orientation uint16) []byte {
	t.Helper()
	data = bytes.Clone(data)
	ifd := binary.LittleEndian.Uint32(data[4:])
	for i := range uint32(binary.LittleEndian.Uint16(data[ifd:])) {
		e := data[ifd+2+12*i:]
		if binary.LittleEndian.Uint16(e) == 0x0115 {
			binary.LittleEndian.PutUint16(e, 0x0112)
			binary.LittleEndian.PutUint16(e[8:], orientation)
			return data
		}
	}
	t.Fatal("no number of samples in the TIFF")
	return nil
}

func TestFitDropsMetadata(t *testing.T) {
	data, jpg := []byte(secret), jpegOf(t, scene(80, 60, 3), 80)
	jfif := append([]byte("JFIF\x00\x01\x02\x00\x00\x01\x00\x01\x01\x03"), data...)
	for name, given := range map[string][]byte{
		"EXIF":                  withEXIF(jpg, 1, bigEndian),
		"comment":               withSegment(jpg, 0xfe, data, 0xdb),
		"thumbnail":             withSegment(jpg, 0xe0, jfif, 0xdb),
		"Adobe":                 withSegment(jpg, 0xee, append([]byte("Adobe\x00\x64\x00\x00\x00\x00\x01"), data...), 0xdb),
		"color profile":         withSegment(jpg, 0xe2, data, 0xdb),
		"before the scan":       withSegment(jpg, 0xed, data, 0xda),
		"between two scans":     betweenScans(t, fixture(t, "progressive.jpg")),
		"between segments":      betweenSegments(jpg, data),
		"behind the end":        slices.Concat(jpg, data),
		"text of a PNG":         withChunk(pngOf(t, scene(20, 20, 0)), "tEXt", data),
		"own chunk of a PNG":    withChunk(pngOf(t, scene(20, 20, 0)), "prVt", data),
		"behind the end of PNG": slices.Concat(pngOf(t, scene(20, 20, 0)), data),
	} {
		t.Run(name, func(t *testing.T) {
			if p, _ := fit(t, given, picture.Limits{}); len(p.Changes) != 1 {
				t.Errorf("did %q", p.Changes)
			}
		})
	}
}

// betweenSegments puts bytes before the header of a JPEG's frame, which decoders
// skip.
func betweenSegments(jpg, data []byte) []byte {
	at := bytes.Index(jpg, []byte{0xff, 0xc0})
	return slices.Concat(jpg[:at], data, jpg[at:])
}

// betweenScans puts a comment before the second scan of a progressive JPEG.
func betweenScans(t *testing.T, data []byte) []byte {
	t.Helper()
	first := bytes.Index(data, []byte{0xff, 0xda})
	second := bytes.Index(data[first+2:], []byte{0xff, 0xda})
	if second < 0 {
		t.Fatal("only one scan")
	}
	at := first + 2 + second
	return slices.Concat(data[:at], []byte{0xff, 0xfe, 0, byte(2 + len(secret))}, []byte(secret), data[at:])
}
