package picture

import (
	"bytes"
	"encoding/binary"

	"github.com/messkit/messkit/internal/picture/dctjpeg"
)

// orientation is the EXIF orientation of a picture (EXIF 2.32 section 4.6.4, tag 0x0112): 1 is
// upright, 0 is unknown.
type orientation uint16

// upright reports whether the picture needs no turn.
func (o orientation) upright() bool { return o < 2 || o > 8 }

// turn returns the turn that makes the picture upright.
func (o orientation) turn() dctjpeg.Turn {
	if o.upright() {
		return dctjpeg.Turn{}
	}
	return [...]dctjpeg.Turn{
		2: {FlipX: true}, 3: {FlipX: true, FlipY: true}, 4: {FlipY: true}, 5: {Transpose: true},
		6: {FlipY: true, Transpose: true}, 7: {FlipX: true, FlipY: true, Transpose: true}, 8: {FlipX: true, Transpose: true},
	}[o]
}

const (
	orientationTag = 0x0112
	shortType      = 3
	maxTags        = 512
)

// orientationOf reads the orientation in a TIFF structure (TIFF 6.0 section 2). It returns 0 if
// there is none, or if the structure is invalid.
func orientationOf(tiff []byte) orientation {
	if len(tiff) < 8 {
		return 0
	}
	var order binary.ByteOrder = binary.LittleEndian
	if tiff[0] == 'M' {
		order = binary.BigEndian
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 0
	}
	n := uint64(order.Uint16(tiff[at:]))
	for i := range min(n, maxTags) {
		e := at + 2 + 12*i
		if e+12 > uint64(len(tiff)) {
			return 0
		}
		if order.Uint16(tiff[e:]) == orientationTag && order.Uint16(tiff[e+2:]) == shortType {
			return orientation(order.Uint16(tiff[e+8:]))
		}
	}
	return 0
}

var exifMark = []byte("Exif\x00\x00")

func jpegEXIF(data []byte) []byte {
	for s := range segments(data) {
		if s.marker == markSOS {
			break // EXIF precedes the first scan
		}
		if s.marker == markEXIF && bytes.HasPrefix(s.body, exifMark) {
			return s.body[len(exifMark):]
		}
	}
	return nil
}

func pngEXIF(data []byte) []byte {
	for c := range pngChunks(data) {
		if c.kind == "eXIf" {
			return c.body
		}
	}
	return nil
}

// webpEXIF returns the EXIF chunk of the RIFF container.
func webpEXIF(data []byte) []byte {
	const header, chunk = 12, 8
	for at := header; at+chunk <= len(data); {
		n := int(binary.LittleEndian.Uint32(data[at+4:]))
		body := data[at+chunk:]
		if n < 0 || n > len(body) {
			return nil
		}
		if string(data[at:at+4]) == "EXIF" {
			return bytes.TrimPrefix(body[:n], exifMark)
		}
		at += chunk + n + n%2
	}
	return nil
}
