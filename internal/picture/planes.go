package picture

import (
	"context"
	"image"
	"image/color"

	"github.com/messkit/messkit/internal/picture/dctjpeg"
)

// planes decodes a JPEG to pixels if its blocks cannot stay: its color coding is unusual, or no
// number of eighths suits. It decodes at the least sufficient size.
func (j *job) planes(ctx context.Context, src *dctjpeg.Source) (Picture, error) {
	if !src.CanScale() {
		j.x.because("messkit does not scale blocks with these colors or this sampling")
	}
	long := max(src.Width, src.Height)
	edge := bestEdge(guess(src, j.lim.MaxBytes), long, long, j.lim.MaxBytes)
	if j.lim.MaxPx > 0 {
		edge = min(edge, j.lim.MaxPx)
	}
	n := min(8, (edge*8*5/4+long-1)/long) // some more, since the guess is rough
	planes, stats, err := src.Planes(ctx, n)
	if err != nil {
		return Picture{}, j.failed(ctx, err)
	}
	j.x.Decodes++
	w, h := src.Scaled(n)
	return j.pixels(ctx, joined(planes, src, w, h), statisticsOf(stats))
}

// joined returns an image of w x h pixels from planes of any size.
func joined(planes []dctjpeg.Plane, src *dctjpeg.Source, w, h int) image.Image {
	if src.Model == dctjpeg.Gray {
		return &image.Gray{Pix: planes[0].Pix, Stride: planes[0].Width, Rect: image.Rect(0, 0, w, h)}
	}
	if img, ok := halved(planes, src.Model, w, h); ok {
		return img
	}
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		rows := make([][]uint8, len(planes))
		for i, p := range planes {
			rows[i] = p.Pix[y*p.Height/h*p.Width:][:p.Width]
		}
		for x := range w {
			var v [4]uint8
			for i, row := range rows {
				v[i] = row[x*len(row)/w]
			}
			out.SetRGBA(x, y, mixed(v, src))
		}
	}
	return out
}

// halved returns the usual picture with halved color without a copy.
func halved(planes []dctjpeg.Plane, m dctjpeg.Model, w, h int) (image.Image, bool) {
	if m != dctjpeg.YCbCr || planes[0].Width != w || planes[1].Width != (w+1)/2 || planes[1].Height != (h+1)/2 || planes[2].Width != planes[1].Width || planes[2].Height != planes[1].Height {
		return nil, false
	}
	return &image.YCbCr{
		Y: planes[0].Pix, Cb: planes[1].Pix, Cr: planes[2].Pix, YStride: w, CStride: planes[1].Width,
		SubsampleRatio: image.YCbCrSubsampleRatio420, Rect: image.Rect(0, 0, w, h),
	}, true
}

// mixed returns the color of a pixel's samples.
func mixed(v [4]uint8, src *dctjpeg.Source) color.RGBA {
	switch src.Model {
	case dctjpeg.RGB:
		return color.RGBA{v[0], v[1], v[2], 255}
	case dctjpeg.YCbCr:
		r, g, b := color.YCbCrToRGB(v[0], v[1], v[2])
		return color.RGBA{r, g, b, 255}
	case dctjpeg.YCCK: // Adobe's: RGB values are inks, and 255 means no black
		c, m, y := color.YCbCrToRGB(v[0], v[1], v[2])
		r, g, b := color.CMYKToRGB(c, m, y, 255-v[3])
		return color.RGBA{r, g, b, 255}
	}
	if src.Inverted {
		for i := range v {
			v[i] = 255 - v[i]
		}
	}
	r, g, b := color.CMYKToRGB(v[0], v[1], v[2], v[3])
	return color.RGBA{r, g, b, 255}
}

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
