package dctjpeg

import "math"

// Rounding a coefficient to 0, or to a smaller size, saves bits and costs fidelity. The saved
// bits permit a finer quantizer. So the encoder chooses for each block the coefficients with the
// least error + lambda x bits. The error of a coefficient is the square of its difference from
// the original, in steps of the quantizer.

const (
	rateBits   = 3 // bits behind the point of a cost
	ratioBits  = 8 // bits behind the point of a coefficient in steps
	certain    = 2 // coefficients of this many steps or more do not become 0: the error would be 2 or more
	costUnused = 18 << rateBits
)

// costs contains the number of bits of each symbol of a class.
type costs struct {
	code [256]int32 // bits of a code and of the value behind it
	eob  int32
}

// usualCosts returns typical costs of photographs, for use before the first count.
func usualCosts() *costs {
	c := &costs{eob: 3 << rateBits}
	for code := range c.code {
		run, size := int32(code>>4), int32(code&15)
		c.code[code] = (min(16<<1, 4+2*run+3*(size-1))<<rateBits)/2 + size<<rateBits
	}
	c.code[codeZRL] = 11 << rateBits
	return c
}

// newCosts computes the costs from the frequencies of symbols.
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

// chooser chooses the quantized coefficients of blocks of one class.
type chooser struct {
	inverse [64]uint32 // of the quantizer's steps, times 8: with 24 bits behind the point
	nearby  bool       // round to the nearest
	// price is the cost of a coefficient of a size behind a number of zeros, and end is that of
	// the end of a block. Their unit is that of errors, with 2*ratioBits behind the point.
	price [16][64]int32
	end   int32

	found  [64]candidate
	states [65]state
	out    [64]token
}

// candidate is a coefficient that the chooser may keep.
type candidate struct {
	place int
	ratio int32 // absolute value in steps, with ratioBits behind the point
	sign  int32 // -1 for a negative value, otherwise 0
}

// state is a decision to keep a candidate, with the cost of the block up to it, less the cost of
// zeros up to it. Costs start again behind a certain candidate.
type state struct {
	place  int
	cost   int32
	value  int32 // value of the kept coefficient
	before int   // index of the state before
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

// candidates finds the coefficients that do not round to 0. A branch on each would be
// unpredictable, so the loop writes each candidate and advances only behind those that count.
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

// block chooses the coefficients of one block. The next call overwrites the result.
func (c *chooser) block(list []token) []token {
	found := c.candidates(list)
	if c.nearby {
		for i, f := range found {
			c.out[i] = newToken(f.place, f.steps()^f.sign-f.sign)
		}
		return c.out[:len(found)]
	}
	first := 0 // ignore the states before a certain one
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

// window is the longest run of coefficients that may become 0.
const window = 8

// maybe finds the cheapest way to keep a candidate of one step, over all states that may precede
// it.
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

// surely does the work of maybe for a candidate of more steps. It may reduce the candidate to the
// next smaller size.
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

// last finds the state with the cheapest end of the block.
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
