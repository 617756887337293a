package picture_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"github.com/messkit/messkit/internal/picture"
)

// scene is a picture with edges, gradients and noise, whose top left is red.
func scene(w, h int, noise float64) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 2))
	for y := range h {
		for x := range w {
			v := 128 + 90*math.Sin(float64(x)/17)*math.Cos(float64(y)/23) + noise*r.NormFloat64()
			c := uint8(max(0, min(255, v)))
			img.SetRGBA(x, y, color.RGBA{c, uint8(x * 255 / w), uint8(y * 255 / h), 255})
			if x < w/4 && y < h/4 {
				img.SetRGBA(x, y, color.RGBA{230, 20, 20, 255})
			}
		}
	}
	return img
}

func jpegOf(t testing.TB, img image.Image, quality int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// withEXIF puts an orientation, and a place that nobody should learn, into a
// JPEG.
func withEXIF(data []byte, orientation uint16, order binary.ByteOrder) []byte {
	var tiff bytes.Buffer
	mark := "II*\x00"
	if order == binary.BigEndian {
		mark = "MM\x00*"
	}
	tiff.WriteString(mark)
	for _, v := range []any{uint32(8), uint16(1), uint16(0x0112), uint16(3), uint32(1), orientation, uint16(0), uint32(0)} {
		_ = binary.Write(&tiff, order, v)
	}
	tiff.WriteString("GPSSECRET")
	body := append([]byte("Exif\x00\x00"), tiff.Bytes()...)
	seg := append([]byte{0xff, 0xe1, 0, 0}, body...)
	binary.BigEndian.PutUint16(seg[2:], uint16(len(body)+2))
	return bytes.Join([][]byte{data[:2], seg, data[2:]}, nil)
}

func fit(t *testing.T, data []byte, lim picture.Limits) picture.Picture {
	t.Helper()
	p, err := picture.Fit(t.Context(), data, lim)
	if err != nil {
		t.Fatal(err)
	}
	img, _, err := image.Decode(bytes.NewReader(p.Data))
	if err != nil {
		t.Fatalf("what came out cannot be decoded: %v", err)
	}
	if b := img.Bounds(); b.Dx() != p.Width || b.Dy() != p.Height {
		t.Errorf("it is %v, not %d x %d", b, p.Width, p.Height)
	}
	most := lim.MaxBytes
	if most == 0 {
		most = picture.Ceiling
	}
	if len(p.Data) > most || lim.MaxPx > 0 && max(p.Width, p.Height) > lim.MaxPx {
		t.Errorf("%d bytes, %d x %d: over %+v", len(p.Data), p.Width, p.Height, lim)
	}
	return p
}

func TestEveryFormat(t *testing.T) {
	img := scene(320, 200, 8)
	gray := image.NewGray(img.Bounds())
	gray16, rgba64 := image.NewGray16(img.Bounds()), image.NewNRGBA64(img.Bounds())
	for y := range 200 {
		for x := range 320 {
			gray.Set(x, y, img.At(x, y))
			gray16.Set(x, y, img.At(x, y))
			rgba64.Set(x, y, img.At(x, y))
		}
	}
	clear := scene(320, 200, 0)
	clear.SetRGBA(5, 5, color.RGBA{})
	encode := func(f func(b *bytes.Buffer) error) []byte {
		var b bytes.Buffer
		if err := f(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for name, data := range map[string][]byte{
		"jpeg":        jpegOf(t, img, 90),
		"gray jpeg":   jpegOf(t, gray, 90),
		"png":         encode(func(b *bytes.Buffer) error { return png.Encode(b, img) }),
		"gray16 png":  encode(func(b *bytes.Buffer) error { return png.Encode(b, gray16) }),
		"rgba64 png":  encode(func(b *bytes.Buffer) error { return png.Encode(b, rgba64) }),
		"clear png":   encode(func(b *bytes.Buffer) error { return png.Encode(b, clear) }),
		"gif":         encode(func(b *bytes.Buffer) error { return gif.Encode(b, img, nil) }),
		"bmp":         encode(func(b *bytes.Buffer) error { return bmp.Encode(b, img) }),
		"tiff":        encode(func(b *bytes.Buffer) error { return tiff.Encode(b, img, nil) }),
		"tiff packed": encode(func(b *bytes.Buffer) error { return tiff.Encode(b, img, &tiff.Options{Compression: tiff.Deflate}) }),
	} {
		for _, lim := range []picture.Limits{{}, {MaxBytes: 6000}, {MaxPx: 64}, {MaxBytes: 2000, MaxPx: 100}} {
			t.Run(fmt.Sprintf("%s %+v", name, lim), func(t *testing.T) {
				p := fit(t, data, lim)
				if p.Look.Flat || p.Look.Black {
					t.Errorf("look: %+v", p.Look)
				}
			})
		}
	}
}

func TestLargePhotographs(t *testing.T) {
	if testing.Short() {
		t.Skip("decodes large pictures")
	}
	for name, c := range map[string]struct {
		data []byte
		edge int // the long edge may not be less
	}{
		"calm":  {jpegOf(t, scene(3000, 2250, 3), 95), 1800},
		"noisy": {jpegOf(t, scene(3000, 2250, 40), 95), 900},
	} {
		p := fit(t, c.data, picture.Limits{})
		if len(p.Data) < picture.Ceiling/3 || max(p.Width, p.Height) < c.edge {
			t.Errorf("%s: %d bytes of %d used, %d x %d", name, len(p.Data), picture.Ceiling, p.Width, p.Height)
		}
		t.Log(name, len(c.data), len(p.Data), p.Width, p.Height, p.Did)
	}
}

// The top is at the top, whatever the camera says, and nobody learns the place.
func TestOrientationIsAppliedAndMetadataDropped(t *testing.T) {
	for o := uint16(0); o <= 9; o++ {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			p := fit(t, withEXIF(jpegOf(t, scene(64, 48, 0), 95), o, order), picture.Limits{})
			if bytes.Contains(p.Data, []byte("GPSSECRET")) || bytes.Contains(p.Data, []byte("Exif")) {
				t.Errorf("%d: the metadata is still there", o)
			}
			img, err := jpeg.Decode(bytes.NewReader(p.Data))
			if err != nil {
				t.Fatal(err)
			}
			// Where the red corner of the stored picture belongs.
			want := map[uint16][2]int{2: {1, 0}, 3: {1, 1}, 4: {0, 1}, 5: {0, 0}, 6: {1, 0}, 7: {1, 1}, 8: {0, 1}}[o]
			b := img.Bounds()
			r, g, _, _ := img.At(5+want[0]*(b.Dx()-10), 5+want[1]*(b.Dy()-10)).RGBA()
			if r>>8 < 180 || g>>8 > 90 {
				t.Errorf("%d: red is not at %v", o, want)
			}
			if turned := o >= 5 && o <= 8; turned != (b.Dy() > b.Dx()) {
				t.Errorf("%d: %v", o, b)
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, scene(20, 20, 0)); err != nil {
		t.Fatal(err)
	}
	note := append([]byte{0, 0, 0, 6}, []byte("tEXtSECRET")...)
	note = binary.BigEndian.AppendUint32(note, crc32.ChecksumIEEE(note[4:]))
	data := bytes.Join([][]byte{b.Bytes()[:33], note, b.Bytes()[33:]}, nil)
	if p := fit(t, data, picture.Limits{}); bytes.Contains(p.Data, []byte("SECRET")) || p.MIME != "image/png" {
		t.Errorf("%s: %q", p.MIME, p.Did)
	}
}

func TestWhatFitsStaysAsItIs(t *testing.T) {
	data := jpegOf(t, scene(300, 200, 5), 70)
	p := fit(t, data, picture.Limits{})
	if !bytes.Equal(p.Data, data) || len(p.Did) != 0 {
		t.Errorf("changed: %q", p.Did)
	}
	padded := append(bytes.Clone(data), make([]byte, 700)...)
	if p := fit(t, padded, picture.Limits{}); !bytes.Equal(p.Data, data) || len(p.Did) != 1 {
		t.Errorf("padding: %d bytes of %d, %q", len(p.Data), len(data), p.Did)
	}
	again := fit(t, fit(t, jpegOf(t, scene(2000, 1500, 30), 95), picture.Limits{MaxBytes: 100_000}).Data, picture.Limits{MaxBytes: 100_000})
	if len(again.Did) != 0 {
		t.Errorf("what was made to fit is changed again: %q", again.Did)
	}
}

func TestLook(t *testing.T) {
	dark, gray := image.NewGray(image.Rect(0, 0, 100, 80)), image.NewGray(image.Rect(0, 0, 100, 80))
	for i := range gray.Pix {
		gray.Pix[i] = 140
	}
	a, b := fit(t, jpegOf(t, dark, 90), picture.Limits{}).Look, fit(t, jpegOf(t, gray, 90), picture.Limits{}).Look
	if !a.Black || !a.Flat || b.Black || !b.Flat || math.Abs(b.Mean-140) > 2 {
		t.Errorf("%+v %+v", a, b)
	}
	c, d := fit(t, jpegOf(t, scene(200, 100, 0), 95), picture.Limits{}).Look, fit(t, jpegOf(t, scene(200, 100, 0), 60), picture.Limits{}).Look
	if c.Hash == 0 || c.Hash != d.Hash {
		t.Errorf("hashes %x and %x of one scene", c.Hash, d.Hash)
	}
}

func TestRefusals(t *testing.T) {
	good := jpegOf(t, scene(200, 100, 5), 90)
	huge := bytes.Clone(good)
	i := bytes.Index(huge, []byte{0xff, 0xc0})
	binary.BigEndian.PutUint16(huge[i+5:], 60000)
	binary.BigEndian.PutUint16(huge[i+7:], 60000)
	for name, c := range map[string]struct {
		data []byte
		lim  picture.Limits
		want string
	}{
		"nothing":        {nil, picture.Limits{}, "it is empty"},
		"text":           {[]byte("<html>gone</html>"), picture.Limits{}, "not a picture in a known format"},
		"cut off":        {good[:len(good)/2], picture.Limits{}, "cut off"},
		"a header alone": {good[:200], picture.Limits{}, "cut off"},
		"huge":           {huge, picture.Limits{}, "60000 x 60000 pixels are too many; send at most 64 megapixels"},
		"few bytes":      {good, picture.Limits{MaxBytes: 500}, "no picture fits in 500 bytes; allow 1024 or more"},
		"few pixels":     {good, picture.Limits{MaxPx: 3}, "shows nothing; allow 16 or more"},
		"a broken PNG":   {[]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"), picture.Limits{}, "cut off"},
		"scrambled":      {append(append(bytes.Clone(good[:400]), bytes.Repeat([]byte{0xff, 0x00, 0x13}, 900)...), 0xff, 0xd9), picture.Limits{}, "picture: the JPEG"},
	} {
		p, err := picture.Fit(t.Context(), c.data, c.lim)
		if err == nil || !strings.Contains(err.Error(), c.want) || p.Data != nil {
			t.Errorf("%s: got %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := picture.Fit(ctx, good, picture.Limits{MaxBytes: 2000}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
}

// FuzzFit: nothing panics, errors give nothing, and what comes out fits and
// can be decoded.
func FuzzFit(f *testing.F) {
	f.Add(jpegOf(f, scene(40, 30, 5), 80))
	f.Add(withEXIF(jpegOf(f, scene(20, 30, 5), 80), 6, binary.LittleEndian))
	var b bytes.Buffer
	if err := errors.Join(png.Encode(&b, scene(20, 10, 3)), gif.Encode(&b, scene(20, 10, 3), nil)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("RIFF\x00\x00\x00\x00WEBPVP8 EXIF"))
	f.Add([]byte("BM????\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := picture.Inspect(data)
		if err == nil && info.Width*info.Height > 1<<20 {
			return // right, but slow
		}
		p, err := picture.Fit(t.Context(), data, picture.Limits{MaxBytes: 3000})
		if err != nil {
			if p.Data != nil || !strings.HasPrefix(err.Error(), "picture: ") {
				t.Fatalf("%v, and %d bytes", err, len(p.Data))
			}
			return
		}
		if _, _, err := image.DecodeConfig(bytes.NewReader(p.Data)); err != nil || len(p.Data) > 3000 {
			t.Fatalf("%v: %d bytes", err, len(p.Data))
		}
	})
}

func BenchmarkFit(b *testing.B) {
	data := jpegOf(b, scene(4000, 3000, 10), 92)
	b.ReportAllocs()
	for b.Loop() {
		p, err := picture.Fit(b.Context(), data, picture.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(p.Data)), "bytes")
	}
}
