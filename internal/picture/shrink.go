package picture

import (
	"context"
	"fmt"
	"image"
	"math"
)

// shrunk makes the long edge of a plain picture at most edge pixels. The color of a YCbCr picture
// becomes full, or half as wide and high, as the encoder needs it. shrunk uses integers to give
// the same picture on all machines: some round a product before an addition, and some do not.
func shrunk(ctx context.Context, img image.Image, edge int, full bool) (image.Image, error) {
	b := img.Bounds()
	long := max(b.Dx(), b.Dy())
	if long <= edge {
		return img, nil
	}
	part := func(n int) int { return max(1, int(math.Round(float64(n)*float64(edge)/float64(long)))) }
	r := image.Rect(0, 0, part(b.Dx()), part(b.Dy()))
	var out image.Image
	var to []plane
	switch m := img.(type) {
	case *image.Gray:
		small := image.NewGray(r)
		out, to = small, planesOf(small)
	case *image.YCbCr:
		ratio := image.YCbCrSubsampleRatio420
		if full {
			ratio = image.YCbCrSubsampleRatio444
		}
		small := image.NewYCbCr(r, ratio)
		out, to = small, planesOf(small)
	case *image.RGBA:
		small := image.NewRGBA(r)
		for i := 3; i < len(small.Pix); i += 4 {
			small.Pix[i] = 255
		}
		out, to = small, planesOf(small)
	default:
		return nil, fmt.Errorf("picture: a %T is not plain", m)
	}
	for i, from := range planesOf(img) {
		if err := resample(ctx, to[i], from); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// plane is one component of a picture: w times h samples, each step bytes after the one before.
type plane struct {
	pix          []uint8
	stride, step int
	w, h         int
}

// planesOf returns the components of a plain picture.
func planesOf(img image.Image) []plane {
	b := img.Bounds()
	switch m := img.(type) {
	case *image.Gray:
		return []plane{{m.Pix[m.PixOffset(b.Min.X, b.Min.Y):], m.Stride, 1, b.Dx(), b.Dy()}}
	case *image.RGBA:
		at := m.PixOffset(b.Min.X, b.Min.Y)
		var all []plane
		for c := range 3 {
			all = append(all, plane{m.Pix[at+c:], m.Stride, 4, b.Dx(), b.Dy()})
		}
		return all
	case *image.YCbCr:
		at, last := m.COffset(b.Min.X, b.Min.Y), m.COffset(b.Max.X-1, b.Max.Y-1)
		h := (last-at)/m.CStride + 1
		w := last - at - (h-1)*m.CStride + 1
		return []plane{
			{m.Y[m.YOffset(b.Min.X, b.Min.Y):], m.YStride, 1, b.Dx(), b.Dy()},
			{m.Cb[at:], m.CStride, 1, w, h},
			{m.Cr[at:], m.CStride, 1, w, h},
		}
	}
	return nil
}

const (
	weightBits = 14 // of a weight, behind the point
	rowBits    = 6  // of a sample after the first pass, behind the point
)

// resample computes all samples of to from the samples of from, with Catmull and Rom's filter. It
// works along the rows first, then across them, and keeps only as many rows as one sample needs.
func resample(ctx context.Context, to, from plane) error {
	along, across := weigh(to.w, from.w), weigh(to.h, from.h)
	kept := make([][]int32, across.most)
	for i := range kept {
		kept[i] = make([]int32, to.w)
	}
	sums := make([]int32, to.w)
	next := 0
	for y := range to.h {
		if ctx.Err() != nil {
			return fmt.Errorf("picture: %w", context.Cause(ctx))
		}
		first, weights := across.of(y)
		for ; next < first+len(weights); next++ {
			along.row(kept[next%len(kept)], from.pix[next*from.stride:], from.step)
		}
		clear(sums)
		for i, weight := range weights {
			row := kept[(first+i)%len(kept)][:len(sums)]
			for x, v := range row {
				sums[x] += weight * v
			}
		}
		line := to.pix[y*to.stride:]
		for x, sum := range sums {
			line[x*to.step] = uint8(min(max((sum+1<<(weightBits+rowBits-1))>>(weightBits+rowBits), 0), 255))
		}
	}
	return nil
}

// weighting contains, for each sample of a line, the samples of the longer source line and their
// weights.
type weighting struct {
	first   []int   // first source sample
	ends    []int   // end of the sample's weights
	weights []int32 // each sample's add up to 1<<weightBits
	most    int     // largest number of weights of one sample
}

func (w *weighting) of(i int) (first int, weights []int32) {
	start := 0
	if i > 0 {
		start = w.ends[i-1]
	}
	return w.first[i], w.weights[start:w.ends[i]]
}

// row computes a row of samples. The source samples have a distance of step bytes.
func (w *weighting) row(out []int32, in []uint8, step int) {
	start := 0
	for x, end := range w.ends {
		at := w.first[x] * step
		var sum int32
		for _, weight := range w.weights[start:end] {
			sum += weight * int32(in[at])
			at += step
		}
		out[x] = (sum + 1<<(weightBits-rowBits-1)) >> (weightBits - rowBits)
		start = end
	}
}

// weigh returns the weights for n samples of a line of from samples.
func weigh(n, from int) *weighting {
	w := &weighting{first: make([]int, n), ends: make([]int, n)}
	scale := max(1, float64(from)/float64(n))
	reach := 2 * scale
	var part []float64
	for i := range n {
		center := float64(float64(float64(i)+0.5)*float64(from))/float64(n) - 0.5
		first := max(0, int(math.Ceil(center-reach)))
		last := min(from-1, int(math.Floor(center+reach)))
		part = part[:0]
		var sum float64
		for k := first; k <= last; k++ {
			p := catmullRom(math.Abs(float64(k)-center) / scale)
			part = append(part, p)
			sum += p
		}
		w.first[i] = first
		w.add(part, sum)
		w.ends[i] = len(w.weights)
		w.most = max(w.most, len(part))
	}
	return w
}

// add adds the weights of one sample. The heaviest weight gets the remainder of rounding.
func (w *weighting) add(part []float64, sum float64) {
	start, left, heaviest := len(w.weights), int32(1<<weightBits), 0
	for i, p := range part {
		weight := int32(math.Round(p / sum * (1 << weightBits)))
		left -= weight
		if p > part[heaviest] {
			heaviest = i
		}
		w.weights = append(w.weights, weight)
	}
	w.weights[start+heaviest] += left
}

// catmullRom returns the filter of E. Catmull and R. Rom ("A class of local interpolating
// splines", 1974) at a distance of x samples. The conversions force the same rounding on all
// machines.
func catmullRom(x float64) float64 {
	switch {
	case x < 1:
		return float64(float64(float64(1.5*x)-2.5)*float64(x*x)) + 1
	case x < 2:
		return float64(float64(float64(float64(2.5-float64(0.5*x))*x)-4)*x) + 2
	}
	return 0
}
