package picture_test

import (
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/messkit/messkit/internal/picture"
)

// even returns a picture of one brightness, with noise.
func even(brightness, noise float64) *image.Gray {
	img := image.NewGray(image.Rect(0, 0, 320, 240))
	r := rand.New(rand.NewPCG(3, 4))
	for i := range img.Pix {
		img.Pix[i] = uint8(max(0, min(255, brightness+noise*r.NormFloat64())))
	}
	return img
}

func TestLook(t *testing.T) {
	lamp := even(3, 2)
	for i := range 40 * 40 {
		lamp.SetGray(100+i%40, 100+i/40, color.Gray{240})
	}
	for _, c := range []struct {
		name        string
		img         image.Image
		black, flat bool
	}{
		{"black", even(0, 0), true, true},
		{"a covered lens", even(4, 3), true, false},
		{"gray", even(140, 0), false, true},
		{"white", even(255, 0), false, true},
		{"a wall", even(140, 3), false, false},
		{"a lamp at night", lamp, false, false},
		{"a scene", scene(320, 240, 0), false, false},
	} {
		p, _ := fit(t, jpegOf(t, c.img, 92), picture.Limits{})
		if l := p.Statistics; l.Black != c.black || l.Flat != c.flat {
			t.Errorf("%s: %+v, want black %t, flat %t", c.name, l, c.black, c.flat)
		}
	}
	if p, _ := fit(t, pngOf(t, even(140, 0)), picture.Limits{}); math.Abs(p.Statistics.Mean-140) > 0.01 || p.Statistics.Variance > 0.01 {
		t.Errorf("140 without noise looks like %+v", p.Statistics)
	}
}

func TestLookRecognizesFrame(t *testing.T) {
	hash := func(data []byte, lim picture.Limits) uint64 {
		p, _ := fit(t, data, lim)
		return p.Statistics.Hash
	}
	frame := scene(320, 240, 2)
	first := hash(jpegOf(t, frame, 90), picture.Limits{})
	again := hash(withEXIF(jpegOf(t, frame, 90), 1, bigEndian), picture.Limits{MaxPx: 100})
	if first != again {
		t.Errorf("one frame, with another time of capture and other limits, has %x and %x", first, again)
	}
	draw := as(image.NewRGBA(frame.Bounds()), frame)
	for y := range 30 {
		for x := range 30 {
			draw.SetRGBA(200+x, 100+y, color.RGBA{20, 20, 20, 255})
		}
	}
	if other := hash(jpegOf(t, draw, 90), picture.Limits{}); other == first {
		t.Error("a frame with something in it has the hash of the one without")
	}
}
