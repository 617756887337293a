package dctjpeg

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
	costs   *costs     // nil: round to the nearest
	lambda  int64      // for one unit of costs, in errors with 2*ratioBits behind the point

	states [65]state
	out    [64]token
}

// state is a coefficient that is kept, and what the block costs up to it.
type state struct {
	place    int
	value    int32 // as it is kept
	negative bool
	cost     int64 // less what it costs to make 0 of all up to it
	before   int   // the state before
}

func (c *chooser) set(steps *[64]int32, k *costs, lambda int64) {
	for i, s := range steps {
		c.inverse[i] = uint32((1<<(ratioBits+16) + 4*s) / (8 * s))
	}
	c.costs, c.lambda = k, lambda
}

// ratio is a coefficient, times 8, in steps.
func (c *chooser) ratio(place int, v int32) int32 {
	return int32(uint64(v) * uint64(c.inverse[place&63]) >> 16)
}

// block chooses for one block. What it returns is overwritten by the next.
func (c *chooser) block(list []token) []token {
	if c.costs == nil {
		return c.nearest(list)
	}
	n, passed := 1, int64(0) // states; what it costs to make 0 of all so far
	first := 0               // states before it are not looked at: a certain one is kept
	c.states[0] = state{}
	for _, t := range list {
		v, negative := t.value(), false
		if v < 0 {
			v, negative = -v, true
		}
		r := c.ratio(t.place(), v)
		steps := (r + 1<<(ratioBits-1)) >> ratioBits
		if steps == 0 {
			continue
		}
		s := c.best(first, n, t.place(), r, steps)
		s.cost, s.negative = s.cost+passed, negative
		passed += int64(r) * int64(r)
		s.cost -= passed
		c.states[n] = s
		if steps >= certain {
			first = n
		}
		n++
	}
	return c.trace(c.last(first, n))
}

// best finds the cheapest way to keep a coefficient, over all states that may be
// before it.
func (c *chooser) best(first, n, place int, r, steps int32) state {
	least := steps
	if steps > 1 && steps&(steps-1) == 0 && r < steps<<ratioBits {
		least-- // one size less
	}
	s := state{place: place, cost: 1 << 62}
	for v := steps; v >= least; v-- {
		off := int64(r - v<<ratioBits)
		size := sizeOf(v)
		for i := max(first, n-window); i < n; i++ {
			from := &c.states[i]
			zeros := place - from.place - 1
			bits := c.costs.code[zeros&15<<4|size&15] + int32(zeros>>4)*c.costs.code[codeZRL]
			if cost := from.cost + off*off + c.lambda*int64(bits); cost < s.cost {
				s.cost, s.value, s.before = cost, v, i
			}
		}
	}
	return s
}

// window is how many coefficients in a row may become 0.
const window = 8

// last finds the state after which it is cheapest to end.
func (c *chooser) last(first, n int) int {
	end, least := 0, int64(1<<62)
	for i := first; i < n; i++ {
		cost := c.states[i].cost
		if c.states[i].place != 63 {
			cost += c.lambda * int64(c.costs.eob)
		}
		if cost < least {
			end, least = i, cost
		}
	}
	return end
}

func (c *chooser) trace(i int) []token {
	at := len(c.out)
	for ; i > 0; i = c.states[i].before {
		s := &c.states[i]
		v := s.value
		if s.negative {
			v = -v
		}
		at--
		c.out[at] = newToken(s.place, v)
	}
	return c.out[at:]
}

func (c *chooser) nearest(list []token) []token {
	n := 0
	for _, t := range list {
		v := t.value()
		steps := (c.ratio(t.place(), max(v, -v)) + 1<<(ratioBits-1)) >> ratioBits
		if steps == 0 {
			continue
		}
		if v < 0 {
			steps = -steps
		}
		c.out[n] = newToken(t.place(), steps)
		n++
	}
	return c.out[:n]
}
