package dctjpeg

import "math"

// Statistics contains statistics from the decoding of a picture, over 64 x 64 blocks, or over all
// if there are fewer. The mean of a block and the energy of its other coefficients give the mean
// and variance of its samples (Parseval).
type Statistics struct {
	Mean     float64 // of the brightness, 0 to 255
	Variance float64 // of the brightness
	Hash     uint64  // of the mean values of the blocks
	Drawn    float64 // the part of the blocks that are of one color
	Levels   float64 // the part of the blocks that are of one color at the most common levels
	Edges    float64 // the part of the other blocks that have hard edges
	Smooth   float64 // the part of the blocks that have no fine detail, and so no noise
	Color    float64 // energy of the fine half of color, of a sample
}

// hardEdge is the standard deviation, of 255, of a block that a line of text or a
// drawn border crosses.
const hardEdge = 24

// common is the number of brightness levels of a drawn background.
const common = 3

// Common counts what is at the most common levels of brightness, each taken with its
// two neighbors.
func Common(levels *[256]int) (n int) {
	left := *levels
	for range common {
		best, at := 0, 0
		for i := range left {
			around := 0
			for j := max(0, i-1); j <= min(255, i+1); j++ {
				around += left[j]
			}
			if around > best {
				best, at = around, i
			}
		}
		n += best
		for j := max(0, at-1); j <= min(255, at+1); j++ {
			left[j] = 0
		}
	}
	return n
}

// maxBlocks is the largest number of sampled blocks along each side.
const maxBlocks = 64

// blockSampler collects the statistics of a grid of blocks while a source is decoded.
type blockSampler struct {
	src                   *Source
	blocks, flat, colors  int
	edges, smooth         int
	levels                [256]int // blocks of one color, by their brightness
	sum, squares, chromas float64
	hash                  uint64
	acrossStep, downStep  int
}

// newBlockSampler samples the blocks on a grid over the first component, which is the brightness.
func (s *Source) newBlockSampler() *blockSampler {
	c := &s.comps[0]
	return &blockSampler{src: s, hash: 14695981039346656037, acrossStep: max(1, c.needW/maxBlocks), downStep: max(1, c.needH/maxBlocks)}
}

// row adds the sampled blocks of row my of minimum coded units.
func (s *blockSampler) row(my int, r *rows) {
	for i := range s.src.comps {
		c := &s.src.comps[i]
		for v := range c.v {
			y := my*c.v + v
			if y >= c.needH || y%max(1, s.downStep*c.v/s.src.vMax) != 0 {
				continue
			}
			for x := 0; x < c.needW; x += max(1, s.acrossStep*c.h/s.src.hMax) {
				at := v*c.wide + x
				s.block(i, (*block)(r.blocks[i][64*at:]), int(r.last[i][at]))
			}
		}
	}
}

// block adds one block of a component to the statistics. The sums are integers, so that each
// machine computes the same.
func (s *blockSampler) block(comp int, b *block, last int) {
	energy, fine := int64(0), int64(0)
	for k := 0; k <= last; k++ {
		v := int64(b[zigzag[k&63]&63])
		if k == 0 { // the decoder may have skipped low bits of the others
			s.hash = (s.hash ^ uint64(v+4096)) * 1099511628211 // FNV-1a, by words
		}
		if k > 0 {
			energy += v * v
		}
		if at := zigzag[k&63]; at%8 > 3 || at > 31 {
			fine += v * v
		}
	}
	if comp > 0 {
		s.colors++
		s.chromas += float64(fine) / 64
		return
	}
	s.blocks++
	if !detailed(b, last) {
		s.smooth++
	}
	mean := float64(b[0])/8 + 128
	switch {
	case energy == 0:
		s.flat++
		s.levels[max(0, min(255, int(math.Round(mean))))]++
	case energy > 64*hardEdge*hardEdge:
		s.edges++
	}
	s.sum += mean
	s.squares += mean*mean + float64(energy)/64
}

// detailed reports whether a block has more than a slope: a coefficient beyond the first five of
// zigzag order.
func detailed(b *block, last int) bool {
	for k := 6; k <= last; k++ {
		if b[zigzag[k&63]&63] != 0 {
			return true
		}
	}
	return false
}

// statistics returns the statistics of the sampled blocks.
func (s *blockSampler) statistics() Statistics {
	n := float64(s.blocks)
	l := Statistics{Mean: s.sum / n, Hash: s.hash, Drawn: float64(s.flat) / n}
	l.Variance = max(0, s.squares/n-l.Mean*l.Mean)
	l.Smooth = float64(s.smooth) / n
	l.Levels = float64(Common(&s.levels)) / n
	if others := s.blocks - s.flat; others > 0 {
		l.Edges = float64(s.edges) / float64(others)
	}
	if s.colors > 0 {
		l.Color = s.chromas / float64(s.colors)
	}
	return l
}
