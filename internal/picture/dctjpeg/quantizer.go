package dctjpeg

import (
	"math"
	"math/bits"
)

// Scale is the coarseness of a quantizer: its table is the table below times 2 to the power of
// Scale/128. Integer scales give the same result on each machine.
type Scale int

// Bounds of a Scale: about the qualities 98 and 2 of the IJG.
const (
	stepsPerOctave       = 128
	Finest         Scale = -5 * stepsPerOctave
	Coarsest       Scale = 5 * stepsPerOctave
)

// annexK is the table for brightness of T.81 annex K.1, in rows of eight. It is the unit for the
// quantizers of other encoders.
var annexK = [64]uint8{
	16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55,
	14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62,
	18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
	49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
}

// robidoux is the table of Nicolas Robidoux, in rows of eight. It is in the documentation of
// ImageMagick's -define jpeg:q-table, and is mozjpeg's default. It spends more on fine detail
// than that of annex K, and less on gradients. Photographs of the same bytes gain 1 to 2 points
// of SSIMULACRA2 if the table applies to color, too.
var robidoux = [64]uint16{
	16, 16, 16, 18, 25, 37, 56, 85, 16, 17, 20, 27, 34, 40, 53, 75,
	16, 20, 24, 31, 43, 62, 91, 135, 18, 27, 31, 40, 53, 74, 106, 156,
	25, 34, 43, 53, 69, 94, 131, 189, 37, 40, 62, 74, 94, 124, 169, 238,
	56, 53, 91, 106, 131, 169, 226, 311, 85, 75, 135, 156, 189, 238, 311, 418,
}

// quantTables is a quantizer for brightness and color, in the order of a scan.
type quantTables [2][64]int32

// golden is the fractional part of the golden ratio times 2 to the power of 32. Its multiples are
// evenly distributed. Each step rounds up from a different fraction on, so that the steps change
// at different scales, and sizes change gradually.
const golden = 2654435769

// tables returns the quantizer of a scale.
func (s Scale) tables() (q quantTables) {
	factor := s.factor()
	for class := range q {
		for k := range q[class] {
			v := (uint64(robidoux[zigzag[k]])*factor + uint64(uint32(k+1)*golden)) >> 32
			q[class][k] = int32(max(1, min(255, v)))
		}
	}
	return q
}

// factor returns 2 to the power of s/128, with 32 bits behind the point.
func (s Scale) factor() uint64 {
	octaves := (int(s) + 64*stepsPerOctave) / stepsPerOctave
	steps := (int(s) + 64*stepsPerOctave) % stepsPerOctave
	f := uint64(1) << 32
	for i := range 7 { // the binary digits of the part of an octave
		if steps>>(6-i)&1 == 1 {
			hi, lo := bits.Mul64(f, roots[i])
			f = hi<<32 | lo>>32
		}
	}
	if octaves >= 64 {
		return f << (octaves - 64)
	}
	return f >> (64 - octaves)
}

// roots contains the square root of 2, the root of that, and so on, with 32 bits behind the
// point.
var roots = [7]uint64{6074001000, 5107605667, 4683695048, 4485121744, 4389014833, 4341736423, 4318288544}

// floors returns the least coefficients, with factor 8, that the quantizer of a scale does not
// round to 0, for brightness and color.
func (s Scale) floors() (f [2][64]int32) {
	q := s.tables()
	for class := range f {
		for k := range f[class] {
			f[class][k] = 4 * q[class][k]
		}
	}
	return f
}

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
