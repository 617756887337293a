package picture

import (
	"bytes"
	"context"
	"image"
)

const (
	// SketchPx is a sufficient long edge for a sketch. More pixels add nothing.
	SketchPx = 64

	cells = 16 // along each side

	// sameCell is the largest difference, of 255, between equal cells. Encoders and scales differ
	// by less, and a lit room differs from itself an hour later by more.
	sameCell = 12
	// otherCells is the number of the 256 cells that may differ: a camera writes the time into
	// its picture.
	otherCells = cells
)

// Sketch is a picture reduced to 16 x 16 cells. It recognizes a picture after scaling or a new
// encoding.
type Sketch struct {
	color [cells * cells][3]uint8
}

// SketchOf returns the sketch of a picture in any format that Fit supports. Its errors are those
// of Fit.
func SketchOf(ctx context.Context, data []byte) (Sketch, error) {
	p, err := Fit(ctx, data, Limits{MaxPx: SketchPx})
	if err != nil {
		return Sketch{}, err
	}
	f, _, err := inspect(p.Data)
	if err != nil {
		return Sketch{}, err
	}
	var s Sketch
	err = guard(func() error {
		img, err := f.decode(bytes.NewReader(p.Data))
		if err == nil {
			err = checkPixels(img)
		}
		if err == nil {
			s = sketch(img)
		}
		return err
	})
	if err != nil {
		return Sketch{}, f.broken(p.Data, err)
	}
	return s, nil
}

// sketch computes the mean color of each cell.
func sketch(img image.Image) (s Sketch) {
	b := img.Bounds()
	for i := range s.color {
		x0, x1 := part(b.Min.X, b.Dx(), i%cells)
		y0, y1 := part(b.Min.Y, b.Dy(), i/cells)
		var sum [3]int
		for y := y0; y < y1; y++ {
			for x := x0; x < x1; x++ {
				red, green, blue, _ := img.At(x, y).RGBA()
				sum[0] += int(red >> 8)
				sum[1] += int(green >> 8)
				sum[2] += int(blue >> 8)
			}
		}
		for c := range sum {
			s.color[i][c] = uint8(sum[c] / ((x1 - x0) * (y1 - y0)))
		}
	}
	return s
}

// part returns the nth of the cells of a side, at least one pixel wide.
func part(from, side, n int) (begin, end int) {
	begin = from + n*side/cells
	return begin, max(begin+1, from+(n+1)*side/cells)
}

// Shows reports whether s and known show the same picture, except for a few cells. Most cells
// that differ from the ground of known must be in s: a dark room is not a sign on black.
func (s Sketch) Shows(known Sketch) bool {
	ground := known.ground()
	others, signs, missed := 0, 0, 0
	for i, c := range known.color {
		other := !same(s.color[i], c)
		if other {
			others++
		}
		if !same(c, ground) {
			signs++
			if other {
				missed++
			}
		}
	}
	return others <= otherCells && 4*missed <= signs
}

// ground returns the color of most cells.
func (s Sketch) ground() (most [3]uint8) {
	best := 0
	for _, c := range s.color {
		n := 0
		for _, other := range s.color {
			if same(c, other) {
				n++
			}
		}
		if n > best {
			most, best = c, n
		}
	}
	return most
}

func same(a, b [3]uint8) bool {
	for c := range a {
		if max(a[c], b[c])-min(a[c], b[c]) > sameCell {
			return false
		}
	}
	return true
}
