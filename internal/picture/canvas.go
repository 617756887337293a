package picture

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"

	"github.com/disintegration/imaging"
)

// plain returns a picture as one of the kinds that the JPEG encoder and imaging read fast: YCbCr,
// Gray, or RGBA without transparency. It puts a transparent picture on a white background.
func plain(img image.Image) (out image.Image, err error) {
	switch m := img.(type) {
	case *image.YCbCr:
		if m.SubsampleRatio <= image.YCbCrSubsampleRatio440 { // 4:4:4, 4:2:2, 4:2:0, 4:4:0
			return m, nil
		}
	case *image.Gray:
		return m, nil
	case *image.RGBA:
		if m.Opaque() {
			return m, nil
		}
	case *image.NRGBA:
		if m.Opaque() {
			return opaque(m), nil
		}
	}
	err = guard(func() error { out = onPaper(img); return nil })
	if err != nil {
		return nil, fmt.Errorf("picture: %w; send another format", err)
	}
	return out, nil
}

func onPaper(img image.Image) image.Image {
	b := img.Bounds()
	paper := image.NewRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
	draw.Draw(paper, paper.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(paper, paper.Bounds(), img, b.Min, draw.Over)
	return paper
}

// opaque returns m, which has no transparent pixel, as RGBA. The bytes are the same, and the JPEG
// encoder reads RGBA ten times as fast.
func opaque(m *image.NRGBA) *image.RGBA {
	return &image.RGBA{Pix: m.Pix, Stride: m.Stride, Rect: m.Rect}
}

// turned turns a plain picture upright.
func turned(ctx context.Context, img image.Image, o orientation) (image.Image, error) {
	if o.upright() {
		return img, nil
	}
	turn := [...]func(image.Image) *image.NRGBA{
		2: imaging.FlipH, 3: imaging.Rotate180, 4: imaging.FlipV, 5: imaging.Transpose,
		6: imaging.Rotate270, 7: imaging.Transverse, 8: imaging.Rotate90,
	}[o]
	return transformed(ctx, img, func() *image.NRGBA { return turn(img) })
}

// transformed runs a function of imaging on a plain picture. Other kinds must not reach imaging:
// its goroutines can panic (on images with palettes), and this package cannot recover a panic of
// another goroutine.
func transformed(ctx context.Context, img image.Image, f func() *image.NRGBA) (out image.Image, err error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("picture: %w", context.Cause(ctx))
	}
	_, gray := img.(*image.Gray)
	err = guard(func() error {
		m := f()
		if out = opaque(m); gray {
			out = grayOf(m)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("picture: %w; send another format", err)
	}
	return out, nil
}

// grayOf converts a gray picture to image.Gray, which has no bytes for color.
func grayOf(m *image.NRGBA) *image.Gray {
	g := image.NewGray(m.Rect)
	for i := range g.Pix {
		g.Pix[i] = m.Pix[4*i]
	}
	return g
}
