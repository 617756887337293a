package dctjpeg

// Look is what is seen of a picture while it is decoded: of 64 x 64 blocks, or
// of all where there are fewer. The mean of a block and the energy of its other
// coefficients tell mean and variance of its samples (Parseval).
type Look struct {
	Mean     float64 // of the brightness, 0 to 255
	Variance float64 // of the brightness
	Hash     uint64  // of their means
	Drawn    float64 // the part of the blocks that are of one colour
	Colour   float64 // energy of the fine half of colour, of a sample
}

// eyes is how many blocks are looked at, along each side.
const eyes = 64

type eye struct {
	src                   *Source
	blocks, flat, colours int
	sum, squares, chromas float64
	hash                  uint64
	acrossStep, downStep  int
}

// Each block's luma is that of the first component.
func (s *Source) newEye() *eye {
	c := &s.comps[0]
	return &eye{src: s, hash: 14695981039346656037, acrossStep: max(1, c.needW/eyes), downStep: max(1, c.needH/eyes)}
}

func (e *eye) row(my int, r *rows) {
	for i := range e.src.comps {
		c := &e.src.comps[i]
		for v := range c.v {
			y := my*c.v + v
			if y >= c.needH || y%max(1, e.downStep*c.v/e.src.vMax) != 0 {
				continue
			}
			for x := 0; x < c.needW; x += max(1, e.acrossStep*c.h/e.src.hMax) {
				at := v*c.wide + x
				e.block(i, (*block)(r.blocks[i][64*at:]), int(r.last[i][at]))
			}
		}
	}
}

// block looks at one block of a component. Sums are of whole numbers, so that
// every machine sees the same.
func (e *eye) block(comp int, b *block, last int) {
	energy, fine := int64(0), int64(0)
	for k := 0; k <= last; k++ {
		v := int64(b[zigzag[k&63]&63])
		if k == 0 { // the others may not have been read to their last bits
			e.hash = (e.hash ^ uint64(v+4096)) * 1099511628211 // FNV-1a, by words
		}
		if k > 0 {
			energy += v * v
		}
		if at := zigzag[k&63]; at%8 > 3 || at > 31 {
			fine += v * v
		}
	}
	if comp > 0 {
		e.colours++
		e.chromas += float64(fine) / 64
		return
	}
	e.blocks++
	if energy == 0 {
		e.flat++
	}
	mean := float64(b[0])/8 + 128
	e.sum += mean
	e.squares += mean*mean + float64(energy)/64
}

func (e *eye) look() Look {
	n := float64(e.blocks)
	l := Look{Mean: e.sum / n, Hash: e.hash, Drawn: float64(e.flat) / n}
	l.Variance = max(0, e.squares/n-l.Mean*l.Mean)
	if e.colours > 0 {
		l.Colour = e.chromas / float64(e.colours)
	}
	return l
}
