package sim

import (
	"compress/gzip"
	_ "embed" // the letters
	"encoding/binary"
	"io"
	"math"
	"strings"
	"sync"
)

// packed are the outlines of all letters of Go Regular, packed. The whole font,
// with all that can read one, would be twelve times as much. A test makes it,
// and holds it against the font; letters.md has its licence.
//
//go:embed letters.gz
var packed string

// em is what the size of a letter is divided into.
const em = 2048

// letter is an outline, and how far the next letter is from this one, in parts
// of an em. Its y goes downwards from the baseline.
type letter struct {
	advance int
	outline []byte // an op and its points, each as far as it is from the one before, and so on
}

// The ops of an outline.
const (
	moveTo = iota
	lineTo
	quadTo // a curve, by way of its first point
)

// points are how many follow an op.
var points = [...]int{moveTo: 1, lineTo: 1, quadTo: 2}

// letters are unpacked when first something is written. Letter 0 stands for
// those that there are not.
var letters = sync.OnceValue(func() map[rune]letter {
	z, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		panic("sim: " + err.Error()) // the letters are part of the program
	}
	data, err := io.ReadAll(z)
	if err != nil {
		panic("sim: " + err.Error())
	}
	number := func() int {
		n, used := binary.Uvarint(data)
		data = data[used:]
		return int(n)
	}
	list, r := map[rune]letter{}, rune(0)
	for len(data) > 0 {
		r += rune(number()) // from the one before
		l := letter{advance: number()}
		size := number()
		l.outline, data = data[:size], data[size:]
		list[r] = l
	}
	return list
})

func letterOf(r rune) letter {
	all := letters()
	if l, ok := all[r]; ok {
		return l
	}
	return all[0]
}

// width is how far the next letter is, in whole pixels.
func (l letter) width(size float64) float64 { return math.Round(float64(l.advance) * size / em) }

// lengthOf is how long a text is, in pixels.
func lengthOf(s string, size float64) float64 {
	sum := 0.0
	for _, r := range s {
		sum += letterOf(r).width(size)
	}
	return sum
}

// text writes s with its baseline at y; anchor 0 begins at x, 0.5 is centred
// there.
func (c *canvas) text(x, y, size, anchor float64, col colour, s string) {
	x, y = math.Trunc(x-anchor*lengthOf(s, size)), math.Trunc(y)
	for _, r := range s {
		l := letterOf(r)
		c.letter(x, y, size, col, l)
		x += l.width(size)
	}
}

// letter fills an outline.
func (c *canvas) letter(x, y, size float64, col colour, l letter) {
	ops, xy := l.path(x, y, size/em)
	if len(ops) == 0 {
		return // a space
	}
	c.fill(col, xy, func(ox, oy float64) {
		rest := xy
		next := func() (float32, float32) {
			x, y := rest[0]-ox, rest[1]-oy
			rest = rest[2:]
			return float32(x), float32(y)
		}
		for _, op := range ops {
			px, py := next()
			switch op {
			case moveTo:
				c.r.ClosePath()
				c.r.MoveTo(px, py)
			case lineTo:
				c.r.LineTo(px, py)
			case quadTo:
				qx, qy := next()
				c.r.QuadTo(px, py, qx, qy)
			}
		}
		c.r.ClosePath()
	})
}

// path is the outline at a place and of a scale: its ops, and all their points.
func (l letter) path(x, y, scale float64) (ops []byte, xy []float64) {
	data, px, py := l.outline, 0, 0
	number := func() int {
		n, used := binary.Varint(data)
		data = data[used:]
		return int(n)
	}
	for len(data) > 0 {
		op := data[0]
		ops, data = append(ops, op), data[1:]
		for range points[op] {
			px += number()
			py += number()
			xy = append(xy, x+float64(px)*scale, y+float64(py)*scale)
		}
	}
	return ops, xy
}
