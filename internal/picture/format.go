package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"

	"github.com/messkit/messkit/internal/picture/dctjpeg"
)

// format is one encoding of pictures that this package reads.
type format struct {
	name   string // as people write it
	mime   string
	magic  []string // any of them begins the data; '?' stands for any byte
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
	// weight returns about the number of bytes of memory per pixel while the decoder works.
	weight func(data []byte, c image.Config) float64
	// exif returns the TIFF structure that holds the orientation, or nil.
	exif func(data []byte) []byte
	// strip returns the picture without metadata, or nil if the format is not for sending.
	strip func(data []byte) []byte
}

var formats = []format{
	{"JPEG", "image/jpeg", []string{"\xff\xd8\xff"}, jpeg.DecodeConfig, jpeg.Decode, jpegWeight, jpegEXIF, stripJPEG},
	{"PNG", "image/png", []string{pngMagic}, png.DecodeConfig, png.Decode, pngWeight, pngEXIF, stripPNG},
	{"GIF", "image/gif", []string{"GIF87a", "GIF89a"}, gif.DecodeConfig, gif.Decode, fixed(1 + 4), nil, nil},
	{"WebP", "image/webp", []string{"RIFF????WEBPVP8"}, webp.DecodeConfig, webp.Decode, fixed(8), webpEXIF, nil},
	{"BMP", "image/bmp", []string{"BM????\x00\x00\x00\x00"}, bmp.DecodeConfig, bmp.Decode, fixed(4), nil, nil},
	// The strip of a TIFF may be the whole picture, in memory together with the decoded one.
	{"TIFF", "image/tiff", []string{"II*\x00", "MM\x00*"}, tiff.DecodeConfig, tiff.Decode, double, itself, nil},
}

// Info contains the values in a picture's header.
type Info struct {
	MIME   string // image/jpeg, image/png, image/gif, image/webp, image/bmp or image/tiff
	Width  int    // pixels, as stored: before turning
	Height int    // pixels
}

// Inspect reads the header of a picture, without decoding the picture. It returns an error for an
// unknown format, a broken header, or more than MaxPixels pixels.
func Inspect(data []byte) (Info, error) {
	f, c, err := inspect(data)
	if err != nil {
		return Info{}, err
	}
	return Info{MIME: f.mime, Width: c.Width, Height: c.Height}, nil
}

// maxMemory is the most memory for decoding one picture, in bytes: 6 bytes for each of MaxPixels.
// That is enough for a 64 megapixel PNG with 8 bits per channel, or for a 48 megapixel JPEG of
// four inks.
const maxMemory = 6 * MaxPixels

func inspect(data []byte) (format, image.Config, error) {
	f, err := sniff(data)
	if err != nil {
		return format{}, image.Config{}, err
	}
	var c image.Config
	err = guard(func() (err error) { c, err = f.config(bytes.NewReader(data)); return err })
	if err != nil && f.mime == "image/jpeg" { // image/jpeg does not support each sampling
		var src *dctjpeg.Source
		if src, err = dctjpeg.Parse(data); err == nil {
			c = image.Config{ColorModel: color.YCbCrModel, Width: src.Width, Height: src.Height}
		}
	}
	if err != nil {
		return format{}, image.Config{}, f.broken(data, err)
	}
	if err := f.bearable(data, c); err != nil {
		return format{}, image.Config{}, err
	}
	return f, c, nil
}

// bearable returns an error if a picture with the header c needs too much memory or has an
// invalid size.
func (f format) bearable(data []byte, c image.Config) error {
	pixels := int64(c.Width) * int64(c.Height) // each factor is at most 32 bits in every format
	if c.Width <= 0 || c.Height <= 0 {
		return fmt.Errorf("picture: the %s says it is %d x %d pixels; take it again", f.name, c.Width, c.Height)
	}
	if pixels > MaxPixels {
		return fmt.Errorf("picture: %d x %d pixels are too many; send at most %d megapixels", c.Width, c.Height, MaxPixels>>20)
	}
	if need := float64(pixels) * f.weight(data, c); need > maxMemory {
		return fmt.Errorf("picture: decoding this kind of %s with %d x %d pixels takes %.0f MB, and the limit is %d; send a smaller one",
			f.name, c.Width, c.Height, need/1e6, maxMemory/1_000_000)
	}
	return nil
}

// sniff finds the format by the first bytes. File names and media types of others are often
// wrong.
func sniff(data []byte) (format, error) {
	for _, f := range formats {
		for _, m := range f.magic {
			if begins(data, m) {
				return f, nil
			}
		}
	}
	if len(data) == 0 {
		return format{}, fmt.Errorf("picture: it is empty; take it again")
	}
	return format{}, fmt.Errorf("picture: not a picture in a known format, it begins with %q; send JPEG, PNG, GIF, WebP, BMP or TIFF",
		data[:min(len(data), 16)])
}

func begins(data []byte, magic string) bool {
	if len(data) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if magic[i] != '?' && magic[i] != data[i] {
			return false
		}
	}
	return true
}

func fixed(bytes float64) func([]byte, image.Config) float64 {
	return func([]byte, image.Config) float64 { return bytes }
}

func double(_ []byte, c image.Config) float64 { return 2 * modelBytes(c.ColorModel) }

func itself(data []byte) []byte { return data }

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
