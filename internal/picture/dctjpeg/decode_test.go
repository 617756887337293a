package dctjpeg_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/picture/dctjpeg"
)

// samePixels compares the result of Planes with that of image/jpeg. Their cosine transforms round
// differently.
func samePixels(t *testing.T, data []byte) {
	t.Helper()
	s := parse(t, data)
	planes, _, err := s.Planes(t.Context(), 8)
	if err != nil {
		t.Fatal(err)
	}
	img, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil { // image/jpeg reads no progressive picture with restart markers
		img = djpeg(t, data)
	}
	switch img := img.(type) {
	case *image.Gray:
		samePlane(t, planes[0], img.Pix, img.Stride)
	case *image.YCbCr:
		samePlane(t, planes[0], img.Y, img.YStride)
		samePlane(t, planes[1], img.Cb, img.CStride)
		samePlane(t, planes[2], img.Cr, img.CStride)
	default:
		t.Fatalf("%T", img)
	}
}

func samePlane(t *testing.T, p dctjpeg.Plane, pix []uint8, stride int) {
	t.Helper()
	for y := range p.Height {
		for x := range p.Width {
			if a, b := int(p.Pix[y*p.Width+x]), int(pix[y*stride+x]); a-b > 2 || b-a > 2 {
				t.Fatalf("sample %d, %d of %d x %d is %d, want %d", x, y, p.Width, p.Height, a, b)
			}
		}
	}
}

var sizes = []image.Point{{1, 1}, {3, 200}, {200, 3}, {16, 16}, {17, 33}, {161, 97}, {320, 200}}

func TestDecodeMatchesOtherDecoders(t *testing.T) {
	for _, size := range sizes {
		for _, quality := range []int{20, 75, 100} {
			img := scene(size.X, size.Y, 12)
			samePixels(t, encoded(t, img, quality))
			samePixels(t, encoded(t, grayOf(img), quality))
		}
	}
}

func TestDecodeReadsLibjpeg(t *testing.T) {
	for _, size := range sizes {
		for _, args := range [][]string{
			{"-sample", "1x1"},
			{"-sample", "2x1"},
			{"-sample", "1x2"},
			{"-sample", "2x2"},
			{"-sample", "4x1"},
			{"-sample", "1x4"},
			{"-sample", "2x4", "-progressive", "-restart", "2"},
			{"-progressive"},
			{"-progressive", "-sample", "1x1"},
			{"-progressive", "-sample", "2x1", "-restart", "1"},
			{"-restart", "1"},
			{"-restart", "3B"},
			{"-optimize"},
			{"-grayscale", "-progressive"},
			{"-quality", "100", "-progressive"},
			{"-quality", "3"},
			{"-quality", "1", "-progressive"},
		} {
			t.Run(fmt.Sprint(size, args), func(t *testing.T) { samePixels(t, cjpeg(t, scene(size.X, size.Y, 9), args...)) })
		}
	}
}

// The decoder reads a picture of several scans some rows at a time, and continues each scan at
// its last position.
func TestDecodeContinuesEveryScan(t *testing.T) {
	if testing.Short() {
		t.Skip("calculates for some seconds")
	}
	script := filepath.Join(t.TempDir(), "scans")
	if err := os.WriteFile(script, []byte("0;\n1;\n2;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	img := scene(1003, 705, 9)
	for _, args := range [][]string{
		{"-progressive", "-sample", "1x1"},
		{"-progressive", "-restart", "7B", "-quality", "30"},
		{"-progressive", "-sample", "2x1", "-restart", "1", "-quality", "96"},
		{"-scans", script, "-restart", "31B"},
	} {
		t.Run(fmt.Sprint(args[0], args[2:]), func(t *testing.T) {
			data := cjpeg(t, img, args...)
			samePixels(t, data)
			for _, end := range []int{len(data) / 3, len(data) * 9 / 10} {
				if _, err := parse(t, data[:end]).Statistics(t.Context()); !errors.Is(err, dctjpeg.ErrCut) {
					t.Errorf("cut off after %d of %d bytes: %v", end, len(data), err)
				}
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	good := encoded(t, scene(200, 100, 9), 80)
	sof := func(at int, v byte) []byte {
		data := append([]byte(nil), good...)
		for i := range data {
			if data[i] == 0xff && data[i+1] == 0xc0 {
				data[i+at] = v
				return data
			}
		}
		panic("no frame")
	}
	for name, c := range map[string]struct {
		data []byte
		want error
		text string
	}{
		"nothing":            {nil, dctjpeg.ErrBroken, "no JPEG"},
		"a header":           {good[:300], dctjpeg.ErrCut, "ends too early"},
		"half":               {good[:len(good)/2], dctjpeg.ErrCut, "ends too early"},
		"12 bits":            {sof(4, 12), dctjpeg.ErrUnsupported, "the decoder does not support this kind: 12 bits a sample, not 8"},
		"arithmetic coding":  {sof(1, 0xc9), dctjpeg.ErrUnsupported, "the decoder does not support this kind: arithmetic coding (SOF9)"},
		"lossless":           {sof(1, 0xc3), dctjpeg.ErrUnsupported, "the decoder does not support this kind: lossless coding (SOF3)"},
		"hierarchical":       {sof(1, 0xc5), dctjpeg.ErrUnsupported, "the decoder does not support this kind: hierarchical coding (SOF5)"},
		"two components":     {sof(9, 2), dctjpeg.ErrUnsupported, "the decoder does not support this kind: 2 components"},
		"no lines":           {sof(6, 0), dctjpeg.ErrBroken, "200 x 0 pixels"},
		"an end and no more": {[]byte{0xff, 0xd8, 0xff, 0xd9}, dctjpeg.ErrBroken, "no picture before its end"},
	} {
		s, err := dctjpeg.Parse(c.data)
		if err == nil {
			_, err = s.Statistics(t.Context())
		}
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %s", name, err, c.text)
		}
	}
}

func TestDecodeEndsWithContext(t *testing.T) {
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	s := parse(t, encoded(t, scene(200, 100, 9), 80))
	if _, _, err := s.Planes(ctx, 8); !errors.Is(err, reason) {
		t.Errorf("Planes: %v", err)
	}
	if _, _, err := s.Blocks(ctx, dctjpeg.Way{N: 4}); !errors.Is(err, reason) {
		t.Errorf("Blocks: %v", err)
	}
	b, _, err := s.Blocks(t.Context(), dctjpeg.Way{N: 4, Finest: dctjpeg.Finest})
	if err != nil {
		t.Fatal(err)
	}
	if data, _, err := b.Fit(ctx, 9000, dctjpeg.Finest, 0, false); !errors.Is(err, reason) || data != nil {
		t.Errorf("Fit: %v", err)
	}
}
