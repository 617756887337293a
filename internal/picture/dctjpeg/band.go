package dctjpeg

import (
	"context"
	"math/bits"
)

// A band is a part of the rows of units of a picture with several scans. The decoder reads each
// scan as far as the band needs, and continues there for the next band.
type band struct {
	src     *Source
	from    int // rows of units, up to to
	to      int
	keep    int // number of stored coefficients per block, in the order of a scan
	drop    int // number of low bits of coefficients to skip
	scans   []*ongoing
	coefs   [maxComponents][]int16
	set     [maxComponents][]uint64 // per block: a bit for each nonzero coefficient
	quant   [maxComponents][64]int32
	seen    [maxComponents]bool
	missing [maxComponents][64]uint8 // number of skipped bits
}

// ongoing is a scan with its decoder, which is at the end of the band's rows.
type ongoing struct {
	d  decoder
	sc *scan
}

// leastKept is the least number of coefficients to store, even for a very small result. The
// statistics need the same coefficients at each scale.
const leastKept = 13

// kept returns the number of coefficients, in the order of a scan, that contain all those within
// n x n.
func kept(n int) int {
	k := 63
	for k >= leastKept && (int(zigzag[k])%8 >= n || int(zigzag[k])/8 >= n) {
		k--
	}
	return k + 1
}

// eachBand does the work of each for a picture whose scans do not contain whole blocks of all
// components.
func (s *Source) eachBand(ctx context.Context, want decoding, f func(my int, r *rows) error) error {
	keep, inRow := kept(want.n), 0
	for _, c := range s.comps {
		inRow += 2 * keep * c.wide * c.v
	}
	step := max(1, maxStored/inRow)
	r := s.newRows()
	b := &band{src: s, keep: keep, drop: want.drop}
	for ; b.from < s.mcuH; b.from = b.to {
		b.to = min(s.mcuH, b.from+step)
		b.room()
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

// room allocates the memory of the band, or clears it.
func (b *band) room() {
	for i, c := range b.src.comps {
		n := c.wide * c.v * (b.to - b.from)
		if b.coefs[i] == nil {
			b.coefs[i] = make([]int16, b.keep*n)
			if b.src.Progressive {
				b.set[i] = make([]uint64, n)
			}
			continue
		}
		b.coefs[i] = b.coefs[i][:b.keep*n]
		clear(b.coefs[i])
		clear(b.set[i])
	}
}

// decode decodes the band's rows of all scans.
func (b *band) decode(ctx context.Context) error {
	if b.from == 0 {
		return b.begin(ctx)
	}
	for _, o := range b.scans {
		if err := b.goOn(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// begin finds all scans, and decodes the first rows of each.
func (b *band) begin(ctx context.Context) error {
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
		o := &ongoing{d: *d, sc: sc}
		if err := b.goOn(ctx, o); err != nil {
			return err
		}
		b.scans = append(b.scans, o)
		at = scanEnd(b.src.data, o.d.bits.pos)
	}
}

// skips reports whether a scan contains only unneeded bits, and records them as missing.
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

// whole returns an error if a component has no scan.
func (b *band) whole() error {
	for i := range b.src.comps {
		if !b.seen[i] {
			return broken("component %d is in no scan", i)
		}
	}
	return nil
}

// goOn decodes the band's rows of a scan.
func (b *band) goOn(ctx context.Context, o *ongoing) error {
	if o.sc.ss == 0 {
		return o.d.walk(ctx, o.sc, b.from, b.to, b.scanner(&o.d, o.sc))
	}
	return b.fine(ctx, o)
}

// scanner returns the function that decodes the blocks of a scan of whole blocks, or of DC
// coefficients.
func (b *band) scanner(d *decoder, sc *scan) func(c *scanned, x, y int) {
	place := func(c *scanned, x, y int) []int16 {
		at := b.keep * ((y-b.from*c.v)*c.wide + x)
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
	case sc.ah == 0:
		return func(c *scanned, x, y int) {
			c.pred += d.bits.difference(c.dc)
			place(c, x, y)[0] = clip(c.pred << sc.al)
		}
	}
	return func(c *scanned, x, y int) {
		place(c, x, y)[0] |= int16(d.bits.bits(1) << sc.al)
	}
}

// fine decodes the AC coefficients of a progressive scan, which has one component.
func (b *band) fine(ctx context.Context, o *ongoing) error {
	c := o.sc.comps[0]
	for y := b.from * c.v; y < min(b.to*c.v, c.needH); y++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		at := (y - b.from*c.v) * c.wide
		coefs, set := b.coefs[c.index][b.keep*at:b.keep*(at+c.needW)], b.set[c.index][at:at+c.needW]
		if err := o.d.fineRow(o.sc, coefs, b.keep, set); err != nil {
			return err
		}
	}
	return nil
}

// emit writes the rows of blocks of one row of units to r.
func (b *band) emit(my int, r *rows) {
	r.quant = b.quant
	for i, c := range b.src.comps {
		first := c.wide * c.v * (my - b.from)
		for n := range c.wide * c.v {
			at := b.keep * (first + n)
			r.last[i][n] = uint8(b.block(i, b.coefs[i][at:at+b.keep], b.setOf(i, first+n), (*block)(r.blocks[i][64*n:])))
		}
	}
}

// setOf returns the bits of those AC coefficients of a block that may be nonzero.
func (b *band) setOf(i, n int) uint64 {
	if !b.src.Progressive {
		return ^uint64(0)
	}
	return b.set[i][n]
}

// block dequantizes a block, and returns the index of its last nonzero coefficient.
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

// value dequantizes a coefficient. If bits are missing, it uses the middle of the possible range.
func (b *band) value(i, k int, v int32) int16 {
	q := b.quant[i][k&63]
	half := q * (1<<b.missing[i][k&63] - 1) / 2
	if v < 0 {
		half = -half
	}
	return clip(v*q + half)
}
