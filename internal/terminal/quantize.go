package terminal

import (
	"cmp"
	"image"
	"image/color"
	"slices"
)

// The quantizer counts colors with five bits a channel, which is finer than 256 colors can be.
const (
	levelBits = 5
	levels    = 1 << levelBits
)

// bin is a color in levels, with the number of its pixels.
type bin struct {
	level [3]uint8
	n     int
}

// quantize chooses up to most colors for m by median cut (Heckbert, 1982), and returns the index
// of the color of each pixel, row by row.
func quantize(m *image.NRGBA, most int) ([]color.NRGBA, []uint8) {
	var counts [levels * levels * levels]int
	size := m.Bounds().Size()
	at := func(x, y int) int {
		p := m.Pix[y*m.Stride+4*x:]
		return int(p[0]>>(8-levelBits))<<(2*levelBits) | int(p[1]>>(8-levelBits))<<levelBits | int(p[2]>>(8-levelBits))
	}
	for y := range size.Y {
		for x := range size.X {
			counts[at(x, y)]++
		}
	}
	var bins []bin
	for i, n := range counts {
		if n > 0 {
			bins = append(bins, bin{[3]uint8{uint8(i >> (2 * levelBits)), uint8(i >> levelBits & (levels - 1)), uint8(i & (levels - 1))}, n})
		}
	}
	palette, of := medianCut(bins, most)
	pixels := make([]uint8, 0, size.X*size.Y)
	for y := range size.Y {
		for x := range size.X {
			pixels = append(pixels, of[at(x, y)])
		}
	}
	return palette, pixels
}

// medianCut cuts the box with the longest edge at its median, until there are enough boxes, and
// gives each its mean. of is the color of each bin.
func medianCut(bins []bin, most int) (palette []color.NRGBA, of []uint8) {
	boxes := [][]bin{bins}
	for len(boxes) < most {
		best, axis, edge := -1, 0, 0
		for i, b := range boxes {
			if a, e := longest(b); e > edge {
				best, axis, edge = i, a, e
			}
		}
		if best < 0 {
			break
		}
		low, high := halve(boxes[best], axis)
		boxes[best] = low
		boxes = append(boxes, high)
	}
	of = make([]uint8, levels*levels*levels)
	for i, b := range boxes {
		palette = append(palette, mean(b))
		for _, c := range b {
			of[int(c.level[0])<<(2*levelBits)|int(c.level[1])<<levelBits|int(c.level[2])] = uint8(i)
		}
	}
	return palette, of
}

// longest returns the longest axis of a box, and its length.
func longest(b []bin) (axis, edge int) {
	for a := range 3 {
		low, high := uint8(levels), uint8(0)
		for _, c := range b {
			low, high = min(low, c.level[a]), max(high, c.level[a])
		}
		if e := int(high) - int(low); e > edge {
			axis, edge = a, e
		}
	}
	return axis, edge
}

// halve cuts a box of two or more levels where half of its pixels are on each
// side, and neither side is empty.
func halve(b []bin, axis int) (low, high []bin) {
	slices.SortFunc(b, func(x, y bin) int { return cmp.Compare(x.level[axis], y.level[axis]) })
	total := 0
	for _, c := range b {
		total += c.n
	}
	sum, cut := 0, 1
	for i, c := range b[:len(b)-1] {
		if sum += c.n; sum*2 >= total {
			cut = i + 1
			break
		}
		cut = i + 1
	}
	return b[:cut], b[cut:]
}

func mean(b []bin) color.NRGBA {
	var sum [3]int
	total := 0
	for _, c := range b {
		for a := range 3 {
			sum[a] += int(c.level[a]) * c.n
		}
		total += c.n
	}
	part := func(a int) uint8 { return uint8((sum[a]*255 + total*(levels-1)/2) / (total * (levels - 1))) }
	return color.NRGBA{part(0), part(1), part(2), 255}
}
