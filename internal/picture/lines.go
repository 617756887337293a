package picture

import (
	"image"
	"image/color"

	"github.com/messkit/messkit/internal/picture/dctjpeg"
)

// linesOf gives the encoder the rows of a plain picture.
func linesOf(img image.Image, full bool) dctjpeg.Lines {
	b := img.Bounds()
	l := dctjpeg.Lines{Width: b.Dx(), Height: b.Dy(), Full: full}
	out := make([]uint8, b.Dx())
	switch m := img.(type) {
	case *image.Gray:
		l.Gray, l.Full = true, false
		l.Line = func(_, y int) []uint8 { return m.Pix[m.PixOffset(b.Min.X, b.Min.Y+y):][:b.Dx()] }
	case *image.YCbCr:
		l.Line = func(c, y int) []uint8 { return ycbcrLine(m, c, y, full, out) }
	case *image.RGBA:
		l.Line = func(c, y int) []uint8 { return rgbaLine(m, c, y, full, out) }
	}
	return l
}

// ycbcrLine returns a row of one component of m. If the result needs halved color and m has full
// color, it returns the mean of the samples.
func ycbcrLine(m *image.YCbCr, comp, y int, full bool, out []uint8) []uint8 {
	b := m.Rect
	if comp == 0 {
		return m.Y[m.YOffset(b.Min.X, b.Min.Y+y):][:b.Dx()]
	}
	pix := m.Cb
	if comp == 2 {
		pix = m.Cr
	}
	if full {
		for x := range out {
			out[x] = pix[m.COffset(b.Min.X+x, b.Min.Y+y)]
		}
		return out
	}
	if m.SubsampleRatio == image.YCbCrSubsampleRatio420 && b.Min.X%2 == 0 && b.Min.Y%2 == 0 {
		return pix[m.COffset(b.Min.X, b.Min.Y+2*y):][:(b.Dx()+1)/2]
	}
	y0 := b.Min.Y + 2*y
	y1 := min(y0+1, b.Max.Y-1)
	for x := range (b.Dx() + 1) / 2 {
		x0 := b.Min.X + 2*x
		x1 := min(x0+1, b.Max.X-1)
		sum := int(pix[m.COffset(x0, y0)]) + int(pix[m.COffset(x1, y0)]) + int(pix[m.COffset(x0, y1)]) + int(pix[m.COffset(x1, y1)])
		out[x] = uint8((sum + 2) / 4)
	}
	return out[:(b.Dx()+1)/2]
}

// rgbaLine does the work of ycbcrLine for colors.
func rgbaLine(m *image.RGBA, comp, y int, full bool, out []uint8) []uint8 {
	b := m.Rect
	of := func(r, g, b uint8) uint8 {
		y, cb, cr := color.RGBToYCbCr(r, g, b)
		return [3]uint8{y, cb, cr}[comp]
	}
	if comp == 0 || full {
		row := m.Pix[m.PixOffset(b.Min.X, b.Min.Y+y):][:4*b.Dx()]
		for x := range out {
			out[x] = of(row[4*x], row[4*x+1], row[4*x+2])
		}
		return out
	}
	upper := m.Pix[m.PixOffset(b.Min.X, b.Min.Y+2*y):][:4*b.Dx()]
	lower := m.Pix[m.PixOffset(b.Min.X, min(b.Min.Y+2*y+1, b.Max.Y-1)):][:4*b.Dx()]
	for x := range (b.Dx() + 1) / 2 {
		left, right := 8*x, min(8*x+4, len(upper)-4)
		var mean [3]uint8
		for i := range mean {
			mean[i] = uint8((int(upper[left+i]) + int(upper[right+i]) + int(lower[left+i]) + int(lower[right+i]) + 2) / 4)
		}
		out[x] = of(mean[0], mean[1], mean[2])
	}
	return out[:(b.Dx()+1)/2]
}
