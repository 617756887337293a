package picture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"io"

	"github.com/disintegration/imaging"

	"github.com/messkit/messkit/internal/picture/dctjpeg"
)

// decoded returns the picture's pixels.
func (j *job) decoded(ctx context.Context) (image.Image, error) {
	var img image.Image
	err := guard(func() (err error) {
		img, err = j.decode(&ctxReader{ctx, bytes.NewReader(j.data)})
		return err
	})
	if ctx.Err() != nil {
		return nil, fmt.Errorf("picture: %w", context.Cause(ctx))
	}
	if err == nil {
		err = checkPixels(img)
	}
	if err != nil {
		return nil, j.broken(j.data, err)
	}
	return onCanvas(img, image.Rect(0, 0, j.x.FromWidth, j.x.FromHeight)), nil
}

// onCanvas returns img. If img is a part of a larger canvas (the first frame of some GIFs), it
// returns the canvas with img on it.
func onCanvas(img image.Image, canvas image.Rectangle) image.Image {
	if img.Bounds() == canvas {
		return img
	}
	whole := image.NewNRGBA(canvas)
	draw.Draw(whole, img.Bounds(), img, img.Bounds().Min, draw.Src)
	return whole
}

// broken returns an error of this package for a decoder's error.
func (f format) broken(data []byte, err error) error {
	noEnd := f.mime == "image/jpeg" && !jpegEnds(data) || f.mime == "image/png" && !pngEnds(data)
	if errors.Is(err, dctjpeg.ErrCut) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || noEnd {
		return fmt.Errorf("picture: the %s ends too early, after %d bytes; take it again", f.name, len(data))
	}
	return fmt.Errorf("picture: cannot decode the %s (%w); take it again or send another format", f.name, err)
}

// guard runs f and converts its panic to an error. The decoders are external code, and the
// package does not trust the data.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the decoder gave up: %v", p)
		}
	}()
	return f()
}

// ctxReader ends a decoder when ctx ends.
type ctxReader struct {
	ctx context.Context
	r   *bytes.Reader
}

// readChunk is the number of bytes that a decoder reads between two checks of the context.
const readChunk = 16 << 10

func (c *ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p[:min(len(p), readChunk)])
}

// ReadAt lets the TIFF decoder read without a copy of the whole file.
func (c *ctxReader) ReadAt(p []byte, off int64) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.ReadAt(p, off)
}

// modelBytes returns how many bytes the image packages use for one pixel of a
// color model.
func modelBytes(m color.Model) float64 {
	switch m {
	case color.GrayModel:
		return 1
	case color.Gray16Model:
		return 2
	case color.RGBA64Model, color.NRGBA64Model:
		return 8
	case color.YCbCrModel:
		return 3
	}
	if _, ok := m.(color.Palette); ok { // not comparable, so not in the switch
		return 1
	}
	return 4
}

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
