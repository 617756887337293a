package dctjpeg

import "math"

// Rounding a coefficient to 0, or to a smaller size, spares bits and costs
// fidelity. What is spared elsewhere buys a finer quantiser. So for every block
// the coefficients are chosen for which error + lambda x bits is least: error is
// the square of what a coefficient is off, in steps of the quantiser.

const (
	rateBits   = 3 // bits behind the point of a cost
	ratioBits  = 8 // bits behind the point of a coefficient in steps
	certain    = 2 // from so many steps on, no coefficient becomes 0: that errs by 2 and more
	costUnused = 18 << rateBits
)

// costs are the bits that the symbols of a class take.
type costs struct {
	code [256]int32 // of a code and the bits that follow it
	eob  int32
}

// usualCosts are about those of photographs, before any symbol was counted.
func usualCosts() *costs {
	c := &costs{eob: 3 << rateBits}
	for code := range c.code {
		run, size := int32(code>>4), int32(code&15)
		c.code[code] = (min(16<<1, 4+2*run+3*(size-1))<<rateBits)/2 + size<<rateBits
	}
	c.code[codeZRL] = 11 << rateBits
	return c
}

// newCosts takes the costs from how often symbols were used.
func newCosts(h *histogram) *costs {
	c, table := &costs{}, optimal(h)
	var ends, endBits int64
	for code, n := range table.bitsOf() {
		size := int32(code & 15)
		c.code[code] = (int32(n) + size) << rateBits
		if n == 0 {
			c.code[code] = costUnused + size<<rateBits
		}
		if run := code >> 4; size == 0 && run < 15 { // 2^run blocks and more end
			uses := int64(h[code])
			ends += uses * (3 << run) / 2
			endBits += uses * int64(int(n)+run) << rateBits
		}
	}
	if ends > 0 {
		c.eob = int32(endBits / ends)
	}
	return c
}

// chooser chooses the quantised coefficients of blocks of one class.
type chooser struct {
	inverse [64]uint32 // of the quantiser's steps, times 8: with 24 bits behind the point
	nearby  bool       // round to the nearest
	// What a coefficient of a size costs behind so many zeros, and the end of a
	// block: in errors, with 2*ratioBits behind the point.
	price [16][64]int32
	end   int32

	found  [64]candidate
	states [65]state
	out    [64]token
}

// candidate is a coefficient that may be kept.
type candidate struct {
	place int
	ratio int32 // its amount in steps, with ratioBits behind the point
	sign  int32 // -1: it is negative, else 0
}

// state is a candidate that is kept, and what the block costs up to it, less what
// it costs to make 0 of all up to it. Behind one that is certainly kept, costs are
// counted anew.
type state struct {
	place  int
	cost   int32
	value  int32 // as it is kept
	before int   // the state before
}

func (c *chooser) set(steps *[64]int32, k *costs, lambda int32) {
	for i, s := range steps {
		c.inverse[i] = uint32((1<<(ratioBits+16) + 4*s) / (8 * s))
	}
	if c.nearby = k == nil; c.nearby {
		return
	}
	for size := range c.price {
		for zeros := range c.price[size] {
			c.price[size][zeros] = lambda * (k.code[zeros&15<<4|size] + int32(zeros>>4)*k.code[codeZRL])
		}
	}
	c.end = lambda * k.eob
}

// candidates finds those that are not rounded to 0. Nothing can foretell which
// they are: all are written, and the next one over those that do not count.
func (c *chooser) candidates(list []token) []candidate {
	n := 0
	for _, t := range list {
		v := t.value()
		sign := v >> 31
		place := t.place() & 63
		ratio := int32(uint64(uint32(v^sign-sign)) * uint64(c.inverse[place]) >> 16)
		c.found[n&63] = candidate{place, ratio, sign}
		if ratio >= 1<<(ratioBits-1) {
			n++
		}
	}
	return c.found[:n]
}

func (c *candidate) steps() int32 { return (c.ratio + 1<<(ratioBits-1)) >> ratioBits }

// block chooses for one block. What it returns is overwritten by the next.
func (c *chooser) block(list []token) []token {
	found := c.candidates(list)
	if c.nearby {
		for i, f := range found {
			c.out[i] = newToken(f.place, f.steps()^f.sign-f.sign)
		}
		return c.out[:len(found)]
	}
	first := 0 // states before it are not looked at: a certain one is kept
	c.states[0] = state{}
	for i := range found {
		f, s := &found[i], &c.states[i+1]
		s.place = f.place
		if steps := f.steps(); steps < certain {
			c.maybe(s, f, max(first, i+1-window), i+1)
		} else {
			c.surely(s, f, steps, max(first, i+1-window), i+1)
			first = i + 1
		}
	}
	return c.trace(c.last(first, len(found)+1), found)
}

// window is how many coefficients in a row may become 0.
const window = 8

// maybe finds the cheapest way to keep one of one step, over all states that may
// be before it.
func (c *chooser) maybe(s *state, f *candidate, from, n int) {
	least, before := int32(math.MaxInt32), 0
	for i := from; i < n; i++ {
		b := &c.states[i&63]
		if cost := b.cost + c.price[1][(s.place-b.place-1)&63]; cost < least {
			least, before = cost, i
		}
	}
	off := f.ratio - 1<<ratioBits
	s.cost, s.value, s.before = least+off*off-f.ratio*f.ratio, 1, before
}

// surely is maybe for one of more steps: it may be kept as one that is one size
// smaller.
func (c *chooser) surely(s *state, f *candidate, steps int32, from, n int) {
	least := steps
	if steps&(steps-1) == 0 && f.ratio < steps<<ratioBits {
		least--
	}
	s.cost, s.value, s.before = 0, steps, from
	if n-from == 1 && least == steps {
		return
	}
	lowest := int32(math.MaxInt32)
	for v := steps; v >= least; v-- {
		off, price := f.ratio-v<<ratioBits, &c.price[sizeOf(v)&15]
		off *= off
		for i := from; i < n; i++ {
			b := &c.states[i&63]
			if cost := b.cost + off + price[(s.place-b.place-1)&63]; cost < lowest {
				lowest, s.value, s.before = cost, v, i
			}
		}
	}
}

// last finds the state after which it is cheapest to end.
func (c *chooser) last(first, n int) int {
	end, least := 0, int32(math.MaxInt32)
	for i := first; i < n; i++ {
		cost := c.states[i].cost
		if c.states[i].place != 63 {
			cost += c.end
		}
		if cost < least {
			end, least = i, cost
		}
	}
	return end
}

func (c *chooser) trace(i int, found []candidate) []token {
	at := len(c.out)
	for i > 0 {
		s, sign := &c.states[i], found[i-1].sign
		at--
		c.out[at] = newToken(s.place, s.value^sign-sign)
		i = s.before
	}
	return c.out[at:]
}
