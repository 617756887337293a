package dctjpeg_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"testing"

	"github.com/messkit/messkit/internal/picture/dctjpeg"
)

// scaledBy scales a picture by n/8 with the means of its pixels.
func scaledBy(img image.Image, n int) *image.Gray {
	b := img.Bounds()
	w, h := (b.Dx()*n+7)/8, (b.Dy()*n+7)/8
	out := image.NewGray(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			sum, weight := 0.0, 0.0
			for sy := y * 8 / n; sy*n < (y+1)*8 && sy < b.Dy(); sy++ {
				for sx := x * 8 / n; sx*n < (x+1)*8 && sx < b.Dx(); sx++ {
					a := float64(min((sx+1)*n, (x+1)*8)-max(sx*n, x*8)) * float64(min((sy+1)*n, (y+1)*8)-max(sy*n, y*8))
					sum, weight = sum+a*luma(img, b.Min.X+sx, b.Min.Y+sy), weight+a
				}
			}
			out.Pix[y*out.Stride+x] = uint8(sum/weight + 0.5)
		}
	}
	return out
}

// turned returns a picture turned pixel by pixel.
func turned(img *image.Gray, t dctjpeg.Turn) *image.Gray {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	out := image.NewGray(image.Rect(0, 0, w, h))
	if t.Transpose {
		out = image.NewGray(image.Rect(0, 0, h, w))
	}
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			fx, fy := x, y
			if t.Transpose {
				fx, fy = y, x
			}
			if t.FlipX {
				fx = w - 1 - fx
			}
			if t.FlipY {
				fy = h - 1 - fy
			}
			out.SetGray(x, y, img.GrayAt(fx, fy))
		}
	}
	return out
}

var turns = []dctjpeg.Turn{
	{},
	{FlipX: true},
	{FlipY: true},
	{FlipX: true, FlipY: true},
	{Transpose: true},
	{FlipX: true, Transpose: true},
	{FlipY: true, Transpose: true},
	{FlipX: true, FlipY: true, Transpose: true},
}

// Each scale with each turn shows the same as the means of the pixels.
func TestFitScalesAndTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("calculates for some seconds")
	}
	for _, size := range []image.Point{{320, 208}, {161, 97}, {17, 33}} {
		img := scene(size.X, size.Y, 0)
		for _, data := range [][]byte{encoded(t, img, 95), encoded(t, grayOf(img), 95)} {
			for n := 1; n <= 8; n++ {
				want := scaledBy(judged(t, data), n)
				for _, turn := range turns {
					s := parse(t, data)
					b, _, err := s.Blocks(t.Context(), dctjpeg.Way{N: n, Turn: turn, Finest: dctjpeg.Finest})
					if err != nil {
						t.Fatal(err)
					}
					out, _, err := b.Fit(t.Context(), 500_000, dctjpeg.Finest, 0, n%2 == 0)
					if err != nil {
						t.Fatal(err)
					}
					least := 30.0
					if n == 8 {
						least = 42
					}
					if q := psnr(t, judged(t, out), turned(want, turn)); q < least {
						t.Errorf("%v by %d/8, %+v: %.1f dB", size, n, turn, q)
					}
				}
			}
		}
	}
}

func TestFitMeetsEveryLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("calculates for some seconds")
	}
	data := encoded(t, scene(640, 480, 12), 95)
	for _, progressive := range []bool{false, true} {
		before := 0.0
		for _, budget := range []int{4_000, 5_000, 8_000, 20_000, 40_000, 80_000} {
			b, _, err := parse(t, data).Blocks(t.Context(), dctjpeg.Way{N: 8, Finest: dctjpeg.Finest})
			if err != nil {
				t.Fatal(err)
			}
			out, report, err := b.Fit(t.Context(), budget, dctjpeg.Finest, 0, progressive)
			if err != nil {
				t.Fatal(err)
			}
			if len(out) > budget || len(out) < budget*92/100 {
				t.Errorf("%d bytes for %d: %+v", len(out), budget, report)
			}
			q := psnr(t, judged(t, out), judged(t, data))
			if q < before {
				t.Errorf("%d bytes look worse than fewer: %.2f dB", budget, q)
			}
			before = q
		}
	}
}

func TestFitReportsImpossibleLimit(t *testing.T) {
	b, _, err := parse(t, encoded(t, scene(640, 480, 12), 95)).Blocks(t.Context(), dctjpeg.Way{N: 8})
	if err != nil {
		t.Fatal(err)
	}
	if out, _, err := b.Fit(t.Context(), 1200, dctjpeg.Finest, 0, true); !errors.Is(err, dctjpeg.ErrBudget) || out != nil {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

// A turn without loss and its inverse give the original coefficients.
func TestTurnsAreLossless(t *testing.T) {
	for _, img := range []image.Image{scene(320, 208, 8), grayOf(scene(320, 208, 8))} {
		data := encoded(t, img, 85)
		for _, turn := range turns {
			s := parse(t, data)
			if !s.CanTurn(turn) {
				t.Fatalf("%+v cannot", turn)
			}
			out, _, err := s.Turned(t.Context(), turn)
			if err != nil {
				t.Fatal(err)
			}
			back := turn
			if turn.Transpose {
				back.FlipX, back.FlipY = turn.FlipY, turn.FlipX
			}
			again, _, err := parse(t, out).Turned(t.Context(), back)
			if err != nil {
				t.Fatal(err)
			}
			a, b := judged(t, again), judged(t, data)
			if q := psnr(t, a, b); q < 90 {
				t.Errorf("%+v and back: %.1f dB", turn, q)
			}
			if len(out) > len(data) {
				t.Errorf("%+v: %d bytes of %d", turn, len(out), len(data))
			}
		}
	}
	if parse(t, encoded(t, scene(321, 208, 8), 85)).CanTurn(dctjpeg.Turn{FlipX: true}) {
		t.Error("321 pixels can be mirrored")
	}
}

func TestEveryKindOfLibjpegIsScaled(t *testing.T) {
	if testing.Short() {
		t.Skip("calculates for some seconds")
	}
	img := scene(200, 120, 0)
	for _, args := range [][]string{
		{"-sample", "1x1"},
		{"-sample", "2x1"},
		{"-sample", "1x2"},
		{"-sample", "2x2", "-restart", "1"},
		{"-progressive"},
		{"-progressive", "-sample", "1x1"},
	} {
		data := cjpeg(t, img, append(args, "-quality", "95")...)
		for n := 1; n <= 8; n++ {
			t.Run(fmt.Sprint(args, n), func(t *testing.T) {
				for _, full := range []bool{false, true} {
					b, _, err := parse(t, data).Blocks(t.Context(), dctjpeg.Way{N: n, Full: full, Finest: dctjpeg.Finest})
					if err != nil {
						t.Fatal(err)
					}
					out, _, err := b.Fit(t.Context(), 500_000, dctjpeg.Finest, 0, true)
					if err != nil {
						t.Fatal(err)
					}
					if q := psnr(t, judged(t, out), scaledBy(judged(t, data), n)); q < 30 {
						t.Errorf("%.1f dB", q)
					}
				}
			})
		}
	}
}

// The same frame gives the same statistics with each scale and turn.
func TestLookIsIndependentOfScale(t *testing.T) {
	data := encoded(t, scene(640, 480, 5), 90)
	first, err := parse(t, data).Statistics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 8; n++ {
		_, stats, err := parse(t, data).Blocks(t.Context(), dctjpeg.Way{N: n})
		if err != nil || stats != first {
			t.Errorf("by %d/8: %+v, %v; want %+v", n, stats, err, first)
		}
	}
	if other, err := parse(t, encoded(t, scene(640, 480, 5.1), 90)).Statistics(t.Context()); err != nil || other.Hash == first.Hash {
		t.Errorf("another frame has the same hash, %v", err)
	}
}

// FuzzBlocks: nothing panics, an error comes without data, and other decoders read the result.
func FuzzBlocks(f *testing.F) {
	for _, size := range []image.Point{{1, 1}, {40, 30}} {
		f.Add(encoded(f, scene(size.X, size.Y, 9), 80), uint8(3), uint8(5))
		f.Add(encoded(f, grayOf(scene(size.X, size.Y, 9)), 80), uint8(8), uint8(0))
	}
	for _, name := range []string{"progressive.jpg", "422.jpg", "cmyk.jpg"} {
		data, err := os.ReadFile(filepath.Join("..", "testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint8(7), uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, n, turn uint8) {
		s, err := dctjpeg.Parse(data)
		if err != nil || s.Width*s.Height > 1<<16 {
			return
		}
		planes, _, err := s.Planes(t.Context(), 1+int(n%8))
		if err != nil && planes != nil {
			t.Fatal("an error, and planes")
		}
		way := dctjpeg.Way{N: 1 + int(n%8), Turn: turns[turn%8], Finest: dctjpeg.Finest, Full: n > 100}
		if s.CanTurn(way.Turn) {
			if out, _, err := s.Turned(t.Context(), way.Turn); err == nil {
				judged(t, out)
			}
		}
		if !s.CanScale() {
			return
		}
		b, _, err := s.Blocks(t.Context(), way)
		if err != nil {
			return
		}
		out, _, err := b.Fit(t.Context(), 3000, dctjpeg.Finest, 0, n%2 == 0)
		if err != nil {
			return
		}
		if len(out) > 3000 {
			t.Fatalf("%d bytes", len(out))
		}
		if size := judged(t, out).Bounds().Size(); size != image.Pt(b.Width, b.Height) {
			t.Fatalf("%v, want %d x %d", size, b.Width, b.Height)
		}
	})
}

// FuzzDecode: Planes and image/jpeg decode each valid picture to the same pixels.
func FuzzDecode(f *testing.F) {
	f.Add(uint8(30), uint8(20), uint8(80), uint16(9), false)
	f.Add(uint8(1), uint8(1), uint8(3), uint16(900), true)
	f.Fuzz(func(t *testing.T, w, h, quality uint8, noise uint16, gray bool) {
		var img image.Image = scene(1+int(w), 1+int(h), float64(noise%1000)/4)
		if gray {
			img = grayOf(scene(1+int(w), 1+int(h), float64(noise%1000)/4))
		}
		samePixels(t, encoded(t, img, 1+int(quality%100)))
	})
}

func TestEncodeIsReproducible(t *testing.T) {
	data := encoded(t, scene(640, 480, 12), 95)
	var first []byte
	for range 3 {
		b, _, err := parse(t, data).Blocks(t.Context(), dctjpeg.Way{N: 5, Finest: -300})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := b.Fit(t.Context(), 30_000, -300, 0, true)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = out
		}
		if !bytes.Equal(out, first) {
			t.Fatal("other bytes")
		}
	}
}
