package picture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
)

const (
	// drawnRows is how many rows are looked at.
	drawnRows = 96
	// drawnPart is the part of pixels that are like the one before, from which on
	// a picture is taken to be drawn: a screen or a text, and no photograph.
	drawnPart = 0.5
)

// drawn reports whether a plain picture is drawn.
func drawn(img image.Image) bool {
	b := img.Bounds()
	same, all := 0, 0
	step := max(1, b.Dy()/drawnRows)
	for y := b.Min.Y; y < b.Max.Y; y += step {
		s, n := sameInRow(img, y)
		same, all = same+s, all+n
	}
	return all > 0 && float64(same) >= drawnPart*float64(all)
}

// sameInRow counts the pixels of a row that are like the one before, of n.
func sameInRow(img image.Image, y int) (same, n int) {
	b := img.Bounds()
	switch m := img.(type) {
	case *image.Gray:
		row := m.Pix[m.PixOffset(b.Min.X, y):][:b.Dx()]
		for x := 1; x < len(row); x++ {
			if row[x] == row[x-1] {
				same++
			}
		}
	case *image.RGBA:
		row := m.Pix[m.PixOffset(b.Min.X, y):][:4*b.Dx()]
		for x := 4; x < len(row); x += 4 {
			if [3]uint8(row[x:]) == [3]uint8(row[x-4:]) {
				same++
			}
		}
	case *image.YCbCr: // it was coded with loss before
		return 0, b.Dx() - 1
	}
	return same, b.Dx() - 1
}

// errFull ends an encoder whose picture has become too large.
var errFull = errors.New("too large")

// bounded is a buffer that takes so many bytes, as long as ctx lasts.
type bounded struct {
	bytes.Buffer
	ctx context.Context
	max int
}

func (b *bounded) Write(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if b.Len()+len(p) > b.max {
		return 0, errFull
	}
	return b.Buffer.Write(p)
}

// encodePNG makes a PNG; no data if it takes more than maxBytes.
func encodePNG(ctx context.Context, img image.Image, maxBytes int) ([]byte, error) {
	b := &bounded{ctx: ctx, max: maxBytes}
	err := guard(func() error { return (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(b, few(img)) })
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("picture: %w", context.Cause(ctx))
	case errors.Is(err, errFull):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("picture: %w; send another format", err)
	}
	return b.Bytes(), nil
}

// few is a picture of at most 256 colours with a palette; others are as they
// are.
func few(img image.Image) image.Image {
	m, ok := img.(*image.RGBA)
	if !ok {
		return img
	}
	out := image.NewPaletted(m.Rect, nil)
	index := map[[4]uint8]uint8{}
	for y := range m.Rect.Dy() {
		row := m.Pix[y*m.Stride:][:4*m.Rect.Dx()]
		for x := range m.Rect.Dx() {
			c := [4]uint8(row[4*x:])
			i, known := index[c]
			if !known {
				if len(index) == 256 {
					return img
				}
				i = uint8(len(index))
				index[c] = i
				out.Palette = append(out.Palette, m.RGBAAt(m.Rect.Min.X+x, m.Rect.Min.Y+y))
			}
			out.Pix[y*out.Stride+x] = i
		}
	}
	return out
}
