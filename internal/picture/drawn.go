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
	// drawnRows is the number of sampled rows.
	drawnRows = 96
	// drawnPart is the least share of pixels equal to their left neighbor in a picture that
	// counts as drawn, such as a screen or a text.
	drawnPart = 0.5
)

// drawn reports whether a plain picture is a drawing and not a photograph.
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

// sameInRow counts the pixels of a row that equal their left neighbor. n is the number of
// comparisons.
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
	case *image.YCbCr: // its lossy coding removed equal pixels
		return 0, b.Dx() - 1
	}
	return same, b.Dx() - 1
}

// errFull ends an encoder whose picture has become too large.
var errFull = errors.New("too large")

// bounded is a buffer with a limited size, which fails after the end of ctx.
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

// encodePNG encodes a PNG. It returns no data if the PNG takes more than maxBytes.
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

// few returns a picture of at most 256 colors with a palette, and others unchanged.
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
