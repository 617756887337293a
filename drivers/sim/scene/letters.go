package scene

import (
	"compress/gzip"
	_ "embed" // the letters
	"encoding/binary"
	"io"
	"math"
	"strings"
	"sync"
)

// packed contains the compressed outlines of all letters of Go Regular. The whole font and
// its library would be twelve times as large. A test creates the file, and compares it with
// the font; letters.md contains its license.
//
//go:embed letters.gz
var packed string

// em is the number of units in the font size.
const em = 2048

// letter is an outline, and the distance to the next letter in units. Its y grows downward
// from the baseline.
type letter struct {
	advance int
	outline []byte // an op and its points, each relative to the previous one, and so on
}

// Ops of an outline.
const (
	moveTo = iota
	lineTo
	quadTo // a curve with its first point as the control point
)

// points maps an op to its number of points.
var points = [...]int{moveTo: 1, lineTo: 1, quadTo: 2}

// letters returns the outlines. The first call decompresses them. Letter 0 replaces unknown
// letters.
var letters = sync.OnceValue(func() map[rune]letter {
	z, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		panic("scene: " + err.Error()) // cannot fail, because the letters are embedded
	}
	data, err := io.ReadAll(z)
	if err != nil {
		panic("scene: " + err.Error())
	}
	number := func() int {
		n, used := binary.Uvarint(data)
		data = data[used:]
		return int(n)
	}
	list, r := map[rune]letter{}, rune(0)
	for len(data) > 0 {
		r += rune(number()) // relative to the previous letter
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

// width returns the distance to the next letter in whole pixels.
func (l letter) width(size float64) float64 { return math.Round(float64(l.advance) * size / em) }

// lengthOf returns the length of a text in pixels.
func lengthOf(s string, size float64) float64 {
	sum := 0.0
	for _, r := range s {
		sum += letterOf(r).width(size)
	}
	return sum
}

// text draws s with its baseline at y; with anchor 0 it begins at x, with 0.5 its center is
// at x.
func (c *canvas) text(x, y, size, anchor float64, col nrgba, s string) {
	x, y = math.Trunc(x-anchor*lengthOf(s, size)), math.Trunc(y)
	for _, r := range s {
		l := letterOf(r)
		c.letter(x, y, size, col, l)
		x += l.width(size)
	}
}

// letter fills an outline.
func (c *canvas) letter(x, y, size float64, col nrgba, l letter) {
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

// path returns the outline at a position and scale: its ops, and all their points.
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
