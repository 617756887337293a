package picture_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/disintegration/imaging"

	"github.com/messkit/messkit/internal/picture"
)

// sign draws a placeholder: bars on black that look like text, and a clock in its corner.
func sign(clock int) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, 640, 480))
	draw.Draw(img, img.Rect, image.NewUniform(color.RGBA{8, 8, 12, 255}), image.Point{}, draw.Src)
	for i := range 9 {
		draw.Draw(img, image.Rect(120+45*i, 200, 150+45*i, 280), image.White, image.Point{}, draw.Src)
	}
	for i := range 6 {
		if clock>>i&1 == 1 {
			draw.Draw(img, image.Rect(500+20*i, 440, 512+20*i, 460), image.White, image.Point{}, draw.Src)
		}
	}
	return img
}

func asJPEG(t *testing.T, img image.Image, quality int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asPNG(t *testing.T, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSketchRecognizesScene(t *testing.T) {
	sketch := func(data []byte) picture.Sketch {
		t.Helper()
		s, err := picture.SketchOf(t.Context(), data)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	known := sketch(asPNG(t, sign(0b010101)))
	dark := image.NewRGBA(image.Rect(0, 0, 640, 480)) // a room at night: as dark as the sign's ground
	draw.Draw(dark, dark.Rect, image.NewUniform(color.RGBA{10, 10, 10, 255}), image.Point{}, draw.Src)
	lamp := image.NewRGBA(dark.Rect)
	draw.Draw(lamp, lamp.Rect, dark, image.Point{}, draw.Src)
	draw.Draw(lamp, image.Rect(300, 40, 380, 120), image.White, image.Point{}, draw.Src)
	for _, c := range []struct {
		name string
		data []byte
		want bool
	}{
		{"itself", asPNG(t, sign(0b010101)), true},
		{"as a bad JPEG", asJPEG(t, sign(0b010101), 25), true},
		{"at another time", asJPEG(t, sign(0b101010), 80), true},
		{"smaller", asJPEG(t, imaging.Resize(sign(1), 320, 240, imaging.Lanczos), 80), true},
		{"larger", asJPEG(t, imaging.Resize(sign(1), 1920, 1440, imaging.Lanczos), 80), true},
		{"a dark room", asJPEG(t, dark, 80), false},
		{"a lamp in a dark room", asJPEG(t, lamp, 80), false},
		{"a scene", asJPEG(t, scene(640, 480, 0), 80), false},
		{"upside down", asPNG(t, imaging.Rotate90(sign(0))), false},
		{"in another color", asPNG(t, imaging.AdjustFunc(sign(0), func(c color.NRGBA) color.NRGBA { c.B = 255; return c })), false},
	} {
		if got := sketch(c.data).Shows(known); got != c.want {
			t.Errorf("%s is taken for the sign: %t", c.name, got)
		}
	}
	tiny := sketch(asPNG(t, image.NewGray(image.Rect(0, 0, 3, 2)))) // less than a pixel a cell
	if !tiny.Shows(tiny) {
		t.Error("a tiny picture is not known again")
	}
	if _, err := picture.SketchOf(t.Context(), []byte("no picture")); err == nil {
		t.Error("a sketch of nothing")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := picture.SketchOf(ended, asPNG(t, sign(0))); err == nil {
		t.Error("SketchOf with an ended context succeeds, want an error")
	}
}

// Mirrored, rotated or darkened versions of a scene are different scenes.
func TestSketchDistinguishesScenes(t *testing.T) {
	one := scene(640, 480, 8)
	var all []picture.Sketch
	for _, img := range []image.Image{one, imaging.FlipH(one), imaging.FlipV(one), imaging.Rotate180(one), imaging.AdjustBrightness(one, -30)} {
		s, err := picture.SketchOf(t.Context(), asJPEG(t, img, 80))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	for i, a := range all {
		for j, b := range all {
			if a.Shows(b) != (i == j) {
				t.Errorf("scene %d is taken for scene %d: %t", i, j, i != j)
			}
		}
	}
}
