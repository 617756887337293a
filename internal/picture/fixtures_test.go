package picture_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"github.com/messkit/messkit/internal/picture"
)

// secret is a text in the metadata. The result of Fit must not contain it.
const secret = "GPSSECRET"

// scene is a picture with edges, gradients and noise, whose top left is red.
func scene(w, h int, noise float64) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 2))
	for y := range h {
		for x := range w {
			v := 128 + 90*math.Sin(float64(x)/17)*math.Cos(float64(y)/23) + noise*r.NormFloat64()
			img.SetRGBA(x, y, color.RGBA{uint8(max(0, min(255, v))) / 2, uint8(x * 255 / w), uint8(y * 255 / h), 255})
		}
	}
	draw.Draw(img, image.Rect(0, 0, w/4, h/4), image.NewUniform(color.RGBA{230, 20, 20, 255}), image.Point{}, draw.Src)
	return img
}

// as draws the scene into another kind of image.
func as[T draw.Image](to T, from image.Image) T {
	draw.Draw(to, to.Bounds(), from, image.Point{}, draw.Src)
	return to
}

func made(t testing.TB, write func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegOf(t testing.TB, img image.Image, quality int) []byte {
	t.Helper()
	return made(t, func(w io.Writer) error { return jpeg.Encode(w, img, &jpeg.Options{Quality: quality}) })
}

func pngOf(t testing.TB, img image.Image) []byte {
	t.Helper()
	return made(t, func(w io.Writer) error { return png.Encode(w, img) })
}

func gifOf(t testing.TB, img image.Image) []byte {
	t.Helper()
	return made(t, func(w io.Writer) error { return gif.Encode(w, img, nil) })
}

func bmpOf(t testing.TB, img image.Image) []byte {
	t.Helper()
	return made(t, func(w io.Writer) error { return bmp.Encode(w, img) })
}

func tiffOf(t testing.TB, img image.Image, opt *tiff.Options) []byte {
	t.Helper()
	return made(t, func(w io.Writer) error { return tiff.Encode(w, img, opt) })
}

// animation is a GIF whose first frame is a part of its canvas.
func animation(t testing.TB, w, h int) []byte {
	t.Helper()
	first := as(image.NewPaletted(image.Rect(0, 0, w/2, h/2), color.Palette{color.Black, color.RGBA{230, 20, 20, 255}}), image.NewUniform(color.RGBA{255, 0, 0, 255}))
	second := image.NewPaletted(image.Rect(0, 0, w, h), first.Palette)
	g := &gif.GIF{Image: []*image.Paletted{first, second}, Delay: []int{5, 5}, Config: image.Config{Width: w, Height: h, ColorModel: first.Palette}}
	return made(t, func(w io.Writer) error { return gif.EncodeAll(w, g) })
}

// fixture reads a picture that Go cannot write. All show one scene of 48 x 32 pixels with red in
// the top left. Pillow 9.4 wrote them. libjpeg-turbo 2.1 made 1x4.jpg and restarts.jpg from
// progressive.jpg, the latter without loss.
func fixture(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// exif returns a TIFF structure with an orientation, and the secret.
func exif(orientation uint16, order binary.AppendByteOrder) []byte {
	b := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		b = []byte("MM\x00*")
	}
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 1) // one entry
	b = order.AppendUint16(order.AppendUint16(b, 0x0112), 3)
	b = order.AppendUint16(order.AppendUint32(b, 1), orientation)
	b = order.AppendUint16(b, 0)
	return append(order.AppendUint32(b, 0), secret...)
}

// withSegment puts a segment into a JPEG, before the first one that begins with
// the given marker.
func withSegment(data []byte, marker byte, body []byte, before byte) []byte {
	seg := append([]byte{0xff, marker}, binary.BigEndian.AppendUint16(nil, uint16(len(body)+2))...)
	at := bytes.Index(data, []byte{0xff, before})
	return bytes.Join([][]byte{data[:at], seg, body, data[at:]}, nil)
}

// withEXIF puts EXIF behind the first marker of a JPEG.
func withEXIF(data []byte, orientation uint16, order binary.AppendByteOrder) []byte {
	return withSegment(data, 0xe1, append([]byte("Exif\x00\x00"), exif(orientation, order)...), 0xdb)
}

// withChunk puts a chunk into a PNG, behind IHDR.
func withChunk(data []byte, kind string, body []byte) []byte {
	c := append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), kind...)
	c = append(c, body...)
	c = binary.BigEndian.AppendUint32(c, crc32.ChecksumIEEE(c[4:]))
	return bytes.Join([][]byte{data[:33], c, data[33:]}, nil)
}

// fit runs Fit, and checks the guarantees for each result: format, size, limits, and no metadata.
func fit(t testing.TB, data []byte, lim picture.Limits) (picture.Picture, image.Image) {
	t.Helper()
	given := bytes.Clone(data)
	p, err := picture.Fit(t.Context(), data, lim)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(given, data) {
		t.Error("Fit changed what it was given")
	}
	img, kind, err := image.Decode(bytes.NewReader(p.Data))
	if err != nil {
		t.Fatalf("the result cannot be decoded: %v", err)
	}
	if b := img.Bounds(); b.Dx() != p.Width || b.Dy() != p.Height || "image/"+kind != p.MIME {
		t.Errorf("image is %s %v, want %s %d x %d", kind, b, p.MIME, p.Width, p.Height)
	}
	most := lim.MaxBytes
	if most == 0 {
		most = picture.Ceiling
	}
	if len(p.Data) > most || lim.MaxPx > 0 && max(p.Width, p.Height) > lim.MaxPx {
		t.Errorf("%d bytes, %d x %d: over %+v", len(p.Data), p.Width, p.Height, lim)
	}
	if bytes.Contains(p.Data, []byte(secret)) || bytes.Contains(p.Data, []byte("Exif")) || bytes.Contains(p.Data, []byte("eXIf")) {
		t.Error("the image contains metadata")
	}
	return p, img
}

// red reports whether a picture is red at (x, y), each from 0 to 1.
func red(img image.Image, x, y float64) bool {
	b := img.Bounds()
	r, g, bl, _ := img.At(b.Min.X+int(x*float64(b.Dx()-1)), b.Min.Y+int(y*float64(b.Dy()-1))).RGBA()
	return r>>8 > 150 && g>>8 < 100 && bl>>8 < 100
}
