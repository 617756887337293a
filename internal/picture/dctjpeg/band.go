package dctjpeg

import (
	"context"
	"math/bits"
)

// A band is a part of the rows of units, of a picture with several scans. What
// was decoded of the rows above it is known only as far as the scans that
// refine coefficients need it: whether they are set.
type band struct {
	src      *Source
	from, to int // rows of units
	keep     int // so many coefficients of each block are kept, in the order of a scan
	drop     int // so many last bits of coefficients are not read
	coefs    [maxComponents][]int16
	set      [maxComponents][]uint64 // of each block down to the band's end: a bit for each coefficient
	quant    [maxComponents][64]int32
	seen     [maxComponents]bool
	missing  [maxComponents][64]uint8 // bits that were not read
}

// leastKept is how many coefficients are kept even of a picture that will be
// very small: the eye wants to see the same at every scale.
const leastKept = 13

// kept is how many coefficients, in the order of a scan, hold all those within
// n x n.
func kept(n int) int {
	k := 63
	for k >= leastKept && (int(zigzag[k])%8 >= n || int(zigzag[k])/8 >= n) {
		k--
	}
	return k + 1
}

// eachBand is each for a picture whose scans do not hold whole blocks of all
// components.
func (s *Source) eachBand(ctx context.Context, want decoding, f func(my int, r *rows) error) error {
	keep, inRow := kept(want.n), 0
	for _, c := range s.comps {
		inRow += 2 * keep * c.wide * c.v
	}
	step := max(1, maxStored/inRow)
	step = ceilDiv(s.mcuH, ceilDiv(s.mcuH, step)) // all about the same
	r := s.newRows()
	b := &band{src: s, keep: keep, drop: want.drop}
	for b.from = 0; b.from < s.mcuH; b.from = b.to {
		b.to = min(s.mcuH, b.from+step)
		if err := b.decode(ctx); err != nil {
			return err
		}
		for my := b.from; my < b.to; my++ {
			b.emit(my, r)
			if err := f(my, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// room makes room, or clears what is there.
func (b *band) room() {
	for i, c := range b.src.comps {
		n := b.keep * c.wide * c.v * (b.to - b.from)
		if cap(b.coefs[i]) < n {
			b.coefs[i] = make([]int16, n)
		}
		b.coefs[i] = b.coefs[i][:n]
		clear(b.coefs[i])
		if b.src.Progressive && b.set[i] == nil {
			b.set[i] = make([]uint64, c.wide*c.high)
		}
		clear(b.set[i])
	}
	b.seen, b.missing = [maxComponents]bool{}, [maxComponents][64]uint8{}
}

func (b *band) decode(ctx context.Context) error {
	b.room()
	d := b.src.decoder()
	at := b.src.scans
	for count := 0; ; count++ {
		g, err := d.toScan(at)
		if err != nil {
			return err
		}
		if g.marker == mEOI {
			return b.whole()
		}
		if count == maxScans {
			return unsupported("more than %d scans", maxScans)
		}
		sc, err := d.scanHeader(g)
		if err != nil {
			return err
		}
		for _, c := range sc.comps {
			if !b.seen[c.index] { // its table may be another one later
				b.seen[c.index], b.quant[c.index] = true, c.quant
			}
		}
		if b.skips(sc) {
			at = scanEnd(b.src.data, g.end)
			continue
		}
		if err := d.walk(ctx, sc, b.to, b.scanner(d, sc)); err != nil {
			return err
		}
		at = scanEnd(b.src.data, d.bits.pos)
	}
}

// skips reports whether a scan only holds bits that are not wanted, and notes
// that they are missing.
func (b *band) skips(sc *scan) bool {
	if sc.ah == 0 || sc.ss == 0 || int(sc.al) >= b.drop {
		return false
	}
	missing := &b.missing[sc.comps[0].index]
	for k := sc.ss; k <= sc.se; k++ {
		missing[k] = max(missing[k], uint8(sc.al)+1)
	}
	return true
}

// whole tells of a component that no scan had.
func (b *band) whole() error {
	for i := range b.src.comps {
		if !b.seen[i] {
			return broken("component %d is in no scan", i)
		}
	}
	return nil
}

// scanner decodes the blocks of a scan into the band.
func (b *band) scanner(d *decoder, sc *scan) func(c *scanned, x, y int) {
	var dummy [64]int16
	place := func(c *scanned, x, y int) []int16 {
		if y -= b.from * c.v; y < 0 {
			return dummy[:b.keep]
		}
		at := b.keep * (y*c.wide + x)
		return b.coefs[c.index][at : at+b.keep]
	}
	switch {
	case !b.src.Progressive:
		ones := [64]int32{}
		for k := range ones {
			ones[k] = 1
		}
		return func(c *scanned, x, y int) {
			var whole block
			d.bits.block(&whole, c.dc, c.ac, &ones, &c.pred)
			for k, to := 0, place(c, x, y); k < len(to); k++ {
				to[k] = whole[zigzag[k]]
			}
		}
	case sc.ss == 0 && sc.ah == 0:
		return func(c *scanned, x, y int) {
			c.pred += d.bits.difference(c.dc)
			place(c, x, y)[0] = clip(c.pred << sc.al)
		}
	case sc.ss == 0:
		return func(c *scanned, x, y int) {
			place(c, x, y)[0] |= int16(d.bits.bits(1) << sc.al)
		}
	case sc.ah == 0:
		return func(c *scanned, x, y int) {
			d.first(sc, c.ac, place(c, x, y), &b.set[c.index][y*c.wide+x])
		}
	}
	return func(c *scanned, x, y int) {
		d.refine(sc, c.ac, place(c, x, y), &b.set[c.index][y*c.wide+x])
	}
}

// first decodes coefficients of a block for the first time (T.81 section
// G.1.2.2).
func (d *decoder) first(sc *scan, h *huffman, to []int16, set *uint64) {
	if d.eobRun > 0 {
		d.eobRun--
		return
	}
	for k := sc.ss; k <= sc.se; k++ {
		symbol, v := d.bits.pair(h)
		run := int(symbol >> 4)
		if symbol&15 == 0 {
			if run < 15 {
				d.eobRun = d.run(run) - 1
				return
			}
			k += 15
			continue
		}
		if k += run; k > sc.se {
			d.bits.bad = true
			return
		}
		*set |= 1 << k
		if k < len(to) {
			to[k] = clip(v << sc.al)
		}
	}
}

// run is how many blocks a code of a run ends.
func (d *decoder) run(size int) int32 {
	return 1<<size + d.bits.bits(uint(size))
}

// refine decodes one more bit of the coefficients of a block (T.81 section
// G.1.2.3).
func (d *decoder) refine(sc *scan, h *huffman, to []int16, set *uint64) {
	k := sc.ss
	for d.eobRun == 0 && k <= sc.se {
		symbol := d.bits.symbol(h)
		zeros, size := int(symbol>>4), symbol&15
		fresh := int16(0)
		switch {
		case size == 1:
			fresh = int16(2*d.bits.bits(1)-1) << sc.al
		case size > 1:
			d.bits.bad = true
			return
		case zeros < 15:
			d.eobRun = d.run(zeros)
			d.refineSet(sc, to, *set, k, -1)
			d.eobRun--
			return
		}
		if k = d.refineSet(sc, to, *set, k, zeros); k > sc.se {
			d.bits.bad = d.bits.bad || fresh != 0
			return
		}
		if fresh != 0 {
			*set |= 1 << k
			if k < len(to) {
				to[k] = fresh
			}
		}
		k++
	}
	if d.eobRun > 0 && k <= sc.se {
		d.refineSet(sc, to, *set, k, -1)
		d.eobRun--
	}
}

// refineSet reads a bit for each coefficient that is set, from k on, until it
// has passed so many that are not; it returns the place of the next of these,
// or where the scan's coefficients end. Less than 0 passes all.
func (d *decoder) refineSet(sc *scan, to []int16, set uint64, k, zeros int) int {
	from := ^uint64(0) << k & (^uint64(0) >> (63 - sc.se))
	end := sc.se + 1
	if zeros >= 0 {
		unset := from &^ set
		for ; zeros > 0; zeros-- {
			unset &= unset - 1
		}
		if unset != 0 {
			end = bits.TrailingZeros64(unset)
			from &= 1<<end - 1
		}
	}
	passed := set & from
	n := bits.OnesCount64(passed)
	if n == 0 {
		return end
	}
	for more := d.bits.many(uint(n)) << (64 - n); more != 0; more <<= 1 {
		at := bits.TrailingZeros64(passed)
		passed &= passed - 1
		if at >= len(to) {
			break
		}
		if more>>63 == 0 {
			continue
		}
		if to[at] >= 0 {
			to[at] += 1 << sc.al
		} else {
			to[at] -= 1 << sc.al
		}
	}
	return end
}

// emit makes the rows of blocks of one row of units.
func (b *band) emit(my int, r *rows) {
	r.quant = b.quant
	for i, c := range b.src.comps {
		first := c.wide * c.v * (my - b.from)
		for n := range c.wide * c.v {
			at := b.keep * (first + n)
			r.last[i][n] = uint8(b.block(i, b.coefs[i][at:at+b.keep], b.setOf(i, my*c.v*c.wide+n), (*block)(r.blocks[i][64*n:])))
		}
	}
}

// setOf is which coefficients of a block, but for the first, may be set.
func (b *band) setOf(i, n int) uint64 {
	if !b.src.Progressive {
		return ^uint64(0)
	}
	return b.set[i][n]
}

// block dequantises a block, and returns the place of its last coefficient.
func (b *band) block(i int, coefs []int16, set uint64, out *block) (last int) {
	*out = block{}
	out[0] = b.value(i, 0, int32(coefs[0]))
	for set &= 1<<len(coefs) - 2; set != 0; set &= set - 1 {
		k := bits.TrailingZeros64(set)
		if v := coefs[k]; v != 0 {
			out[zigzag[k&63]&63] = b.value(i, k, int32(v))
			last = k
		}
	}
	return last
}

// value dequantises a coefficient. Of one with bits missing the middle is taken.
func (b *band) value(i, k int, v int32) int16 {
	q := b.quant[i][k&63]
	half := q * (1<<b.missing[i][k&63] - 1) / 2
	if v < 0 {
		half = -half
	}
	return clip(v*q + half)
}
