package picture_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/picture"
)

// claiming returns a JPEG whose header claims w x h pixels.
func claiming(data []byte, w, h uint16) []byte {
	data = bytes.Clone(data)
	sof := max(bytes.Index(data, []byte{0xff, 0xc0}), bytes.Index(data, []byte{0xff, 0xc2}))
	binary.BigEndian.PutUint16(data[sof+5:], h)
	binary.BigEndian.PutUint16(data[sof+7:], w)
	return data
}

// hugePNG returns the beginning of a PNG whose header claims w x h pixels.
func hugePNG(t *testing.T, w, h uint32, depth byte) []byte {
	t.Helper()
	body := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)
	data := withChunk(make([]byte, 33), "IHDR", append(body, depth, 6, 0, 0, 0))
	return slices.Concat([]byte("\x89PNG\r\n\x1a\n"), data[33:])
}

func TestFitRejectsInvalidImages(t *testing.T) {
	good := jpegOf(t, scene(200, 100, 5), 90)
	png := pngOf(t, scene(200, 100, 5))
	progressive := fixture(t, "progressive.jpg")
	scan := progressive[bytes.LastIndex(progressive, []byte{0xff, 0xda}) : len(progressive)-2]
	scans := slices.Concat(progressive[:len(progressive)-2], bytes.Repeat(scan, 2000), progressive[len(progressive)-2:])
	for _, c := range []struct {
		name string
		data []byte
		lim  picture.Limits
		want string
	}{
		{"nothing", nil, picture.Limits{}, "picture: it is empty; take it again"},
		{"text", []byte("<html>gone</html>"), picture.Limits{}, `picture: not a picture in a known format, it begins with "<html>gone</html"; send JPEG, PNG, GIF, WebP, BMP or TIFF`},
		{"half a JPEG", good[:len(good)/2], picture.Limits{}, "picture: the JPEG ends too early, after "},
		{"a JPEG without its end", good[:len(good)-2], picture.Limits{}, "picture: the JPEG ends too early, after "},
		{"a JPEG's header", good[:200], picture.Limits{}, "picture: the JPEG ends too early, after 200 bytes; take it again"},
		{"half a PNG", png[:len(png)/2], picture.Limits{}, "picture: the PNG ends too early, after "},
		{"a PNG's header", png[:16], picture.Limits{}, "picture: the PNG ends too early, after 16 bytes; take it again"},
		{"half a WebP", fixture(t, "lossy.webp")[:100], picture.Limits{}, "picture: the WebP "},
		{"half a GIF", gifOf(t, scene(90, 90, 3))[:1500], picture.Limits{}, "picture: cannot decode the GIF "},
		{"half a BMP", bmpOf(t, scene(90, 90, 3))[:1500], picture.Limits{}, "picture: the BMP ends too early, after 1500 bytes"},
		{"half a TIFF", tiffOf(t, scene(90, 90, 3), nil)[:1500], picture.Limits{}, "picture: the TIFF "},
		{"scrambled", slices.Concat(good[:400], bytes.Repeat([]byte{0xff, 0x00, 0x13}, 900), []byte{0xff, 0xd9}), picture.Limits{}, "picture: cannot decode the JPEG"},
		{"thousands of scans", scans, picture.Limits{}, "scans, and the limit is 100; send it as a plain JPEG"},
		{"a huge JPEG", claiming(good, 60000, 60000), picture.Limits{}, "picture: 60000 x 60000 pixels are too many; send at most 64 megapixels"},
		{"a huge PNG", hugePNG(t, 1<<31-1, 1, 8), picture.Limits{}, "are too many; send at most 64 megapixels"},
		{"a deep PNG", hugePNG(t, 8000, 8000, 16), picture.Limits{}, "picture: decoding this kind of PNG with 8000 x 8000 pixels takes 512 MB, and the limit is 402; send a smaller one"},
		{"much ink", claiming(fixture(t, "cmyk.jpg"), 9000, 6900), picture.Limits{}, "picture: decoding this kind of JPEG with 9000 x 6900 pixels takes 497 MB, and the limit is 402; send a smaller one"},
		{"no pixels", claiming(good, 0, 10), picture.Limits{}, "picture: the JPEG says it is 0 x 10 pixels; take it again"},
		{"few bytes", good, picture.Limits{MaxBytes: 500}, "picture: no picture fits in 500 bytes; allow 1024 or more"},
		{"less than no bytes", good, picture.Limits{MaxBytes: -1}, "picture: no picture fits in -1 bytes; allow 1024 or more"},
		{"few pixels", good, picture.Limits{MaxPx: 3}, "picture: a long edge of 3 pixels shows nothing; allow 16 or more"},
	} {
		p, err := picture.Fit(t.Context(), c.data, c.lim)
		if err == nil || !strings.Contains(err.Error(), c.want) || p.Data != nil {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

func TestFitEndsWithItsContext(t *testing.T) {
	reason := errors.New("the resident has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	for name, data := range map[string][]byte{
		"JPEG": jpegOf(t, scene(200, 100, 5), 90),
		"PNG":  pngOf(t, scene(200, 100, 5)),
		"TIFF": tiffOf(t, scene(200, 100, 5), nil),
	} {
		if p, err := picture.Fit(ctx, data, picture.Limits{MaxBytes: 2000}); !errors.Is(err, reason) || p.Data != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// countdown is a context that ends after n calls of Err.
type countdown struct {
	context.Context
	n int
}

func (c *countdown) Err() error {
	if c.n--; c.n < 0 {
		return context.Canceled
	}
	return nil
}

// Fit checks its context before each long step.
func TestFitEndsBetweenSteps(t *testing.T) {
	data := withEXIF(jpegOf(t, scene(250, 200, 20), 95), 6, bigEndian)
	for n := 0; ; n++ {
		_, err := picture.Fit(&countdown{t.Context(), n}, data, picture.Limits{MaxBytes: 5 << 10})
		if err == nil {
			if n < 10 {
				t.Errorf("Fit looked at its context %d times only", n)
			}
			return
		}
		if !strings.HasPrefix(err.Error(), "picture: ") {
			t.Errorf("after %d: %v", n, err)
		}
	}
}

func TestInspect(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 30, 20))
	for _, c := range []struct {
		data []byte
		want picture.Info
	}{
		{withEXIF(jpegOf(t, img, 80), 6, bigEndian), picture.Info{MIME: "image/jpeg", Width: 30, Height: 20}},
		{pngOf(t, img), picture.Info{MIME: "image/png", Width: 30, Height: 20}},
		{gifOf(t, img), picture.Info{MIME: "image/gif", Width: 30, Height: 20}},
		{bmpOf(t, img), picture.Info{MIME: "image/bmp", Width: 30, Height: 20}},
		{tiffOf(t, img, nil), picture.Info{MIME: "image/tiff", Width: 30, Height: 20}},
		{fixture(t, "lossy.webp"), picture.Info{MIME: "image/webp", Width: 48, Height: 32}},
		{claiming(fixture(t, "progressive.jpg"), 9248, 6936), picture.Info{MIME: "image/jpeg", Width: 9248, Height: 6936}},
	} {
		if got, err := picture.Inspect(c.data); got != c.want || err != nil {
			t.Errorf("Inspect = %+v, %v, want %+v", got, err, c.want)
		}
	}
	if got, err := picture.Inspect([]byte("GIF89a")); err == nil || got != (picture.Info{}) {
		t.Errorf("Inspect of a magic number = %+v, %v", got, err)
	}
}
