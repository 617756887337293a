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
