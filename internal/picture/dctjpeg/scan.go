package dctjpeg

import (
	"context"
	"math/bits"
)

// maxScans is the largest number of scans that the decoder reads. Encoders write about ten. A
// small file can contain many thousands, and take minutes.
const maxScans = 100

// scan is the header of a scan (T.81 section B.2.3).
type scan struct {
	comps  []*scanned
	ss, se int  // first and last coefficient
	ah, al uint // number of missing low bits before and after this scan
}

// scanned is a component in a scan.
type scanned struct {
	*component
	index  int
	dc, ac *huffman
	quant  [64]int32 // in the order of a scan
	pred   int32
}

// decoder reads the scans of a source in one pass.
type decoder struct {
	src    *Source
	tables tables
	bits   bitReader
	eobRun int32
	units  int // units until the next restart marker
}

func (s *Source) decoder() *decoder {
	return &decoder{src: s, tables: s.tables, bits: bitReader{data: s.data}}
}

// scanHeader reads the header of a scan, and prepares the decoding of its data.
func (d *decoder) scanHeader(g segment) (*scan, error) {
	b := g.body
	if len(b) < 1 || len(b) < 4+2*int(b[0]) {
		return nil, broken("a short scan header")
	}
	n := int(b[0])
	if n < 1 || n > len(d.src.comps) {
		return nil, broken("a scan of %d components", n)
	}
	end := b[1+2*n:]
	sc := &scan{ss: int(end[0]), se: int(end[1]), ah: uint(end[2] >> 4), al: uint(end[2] & 15)}
	if !d.src.Progressive {
		sc.ss, sc.se, sc.ah, sc.al = 0, 63, 0, 0
	} else if sc.ss > sc.se || sc.se > 63 || sc.al > 13 || sc.ah > 13 || (sc.ss == 0) != (sc.se == 0) || sc.ss > 0 && n > 1 {
		return nil, broken("a scan of coefficients %d to %d, bits %d to %d", sc.ss, sc.se, sc.ah, sc.al)
	}
	for i := range n {
		c, err := d.scannedComponent(b[1+2*i], b[2+2*i], sc)
		if err != nil {
			return nil, err
		}
		for _, other := range sc.comps {
			if other.index == c.index {
				return nil, broken("a scan with a component twice")
			}
		}
		sc.comps = append(sc.comps, c)
	}
	d.begin(sc, g.end)
	return sc, nil
}

func (d *decoder) scannedComponent(id, table byte, sc *scan) (*scanned, error) {
	for i := range d.src.comps {
		c := &d.src.comps[i]
		if c.id != id {
			continue
		}
		if table>>4 > 3 || table&15 > 3 {
			return nil, broken("a scan with a Huffman table that cannot be")
		}
		s := &scanned{component: c, index: i, dc: d.tables.dc[table>>4], ac: d.tables.ac[table&15]}
		needDC, needAC := sc.ss == 0 && sc.ah == 0, sc.se > 0
		if needDC && s.dc == nil || needAC && s.ac == nil {
			return nil, broken("a scan without its Huffman table")
		}
		for k, q := range d.tables.quant[c.quant] {
			s.quant[k] = int32(q)
		}
		if s.quant[0] == 0 {
			return nil, broken("a scan without its quantisation table")
		}
		return s, nil
	}
	return nil, broken("a scan of a component that is not there")
}

func (d *decoder) begin(sc *scan, at int) {
	d.bits.start(at)
	d.eobRun, d.units = 0, d.tables.restart
	for _, c := range sc.comps {
		c.pred = 0
	}
}

// unit prepares the decoding of each unit of a scan. It skips restart markers.
func (d *decoder) unit(sc *scan) error {
	if d.tables.restart == 0 {
		return nil
	}
	if d.units > 0 {
		d.units--
		return nil
	}
	if err := d.sound(); err != nil {
		return err
	}
	data, at := d.src.data, d.bits.pos
	for at+1 < len(data) && (data[at] != 0xff || data[at+1] == 0xff || data[at+1] == 0) {
		at++ // skip fill bytes and remains that a camera left
	}
	if at+1 >= len(data) {
		return ErrCut
	}
	if m := data[at+1]; m < mRST0 || m > mRST7 {
		return broken("marker %#x where a scan goes on", m)
	}
	d.begin(sc, at+2)
	d.units--
	return nil
}

// sound returns an error if the data so far are invalid.
func (d *decoder) sound() error {
	switch short := d.bits.short(); {
	case short && d.bits.pos >= len(d.src.data)-1:
		return ErrCut
	case d.bits.bad:
		return broken("a code that cannot be")
	case short:
		return broken("a scan that ends too early")
	}
	return nil
}

// walk decodes the units of a scan in the rows of units up to end, in the order of T.81 section
// A.2. If the scan has only one component, each of its rows of blocks counts as a row of units.
func (d *decoder) walk(ctx context.Context, sc *scan, from, end int, decode func(c *scanned, x, y int)) error {
	if len(sc.comps) == 1 {
		return d.walkOne(ctx, sc, from, end, decode)
	}
	for my := from; my < min(end, d.src.mcuH); my++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for mx := range d.src.mcuW {
			if err := d.unit(sc); err != nil {
				return err
			}
			for _, c := range sc.comps {
				for v := range c.v {
					for h := range c.h {
						decode(c, mx*c.h+h, my*c.v+v)
					}
				}
			}
		}
		if err := d.sound(); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) walkOne(ctx context.Context, sc *scan, from, end int, decode func(c *scanned, x, y int)) error {
	c := sc.comps[0]
	for y := from * c.v; y < min(end*c.v, c.needH); y++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for x := range c.needW {
			if err := d.unit(sc); err != nil {
				return err
			}
			decode(c, x, y)
		}
		if err := d.sound(); err != nil {
			return err
		}
	}
	return nil
}

// fineRow decodes a row of blocks with keep coefficients each.
func (d *decoder) fineRow(sc *scan, coefs []int16, keep int, set []uint64) error {
	h := sc.comps[0].ac
	wanted := ^uint64(0) << sc.ss & (^uint64(0) >> (63 - sc.se))
	for x := 0; x < len(set); x++ {
		if err := d.unit(sc); err != nil {
			return err
		}
		switch {
		case sc.ah > 0 && (d.eobRun == 0 || set[x]&wanted != 0):
			d.refine(sc, h, coefs[keep*x:keep*(x+1)], &set[x])
		case d.eobRun > 0:
			d.eobRun--
		default:
			d.first(sc, h, coefs[keep*x:keep*(x+1)], &set[x])
		}
	}
	return d.sound()
}

// first decodes coefficients of a block for the first time (T.81 section
// G.1.2.2).
func (d *decoder) first(sc *scan, h *huffman, to []int16, set *uint64) {
	r := &d.bits
	acc, n := r.acc, r.n
	seen := uint64(0)
	al, se := sc.al&15, sc.se
	for k := sc.ss; k <= se; k++ {
		if n < 32 {
			r.acc, r.n = acc, n
			r.fill()
			acc, n = r.acc, r.n
		}
		e := h.lookup[acc>>(64-lookupBits)]
		symbol, v := byte(e>>8), int32(e)>>16
		length := uint(e & lookLength)
		if e&lookWhole == 0 {
			if e == 0 {
				var ok bool
				symbol, length, ok = h.long(acc)
				r.bad = r.bad || !ok
			}
			if size := uint(symbol & 15); size > 0 {
				v = extend(int32(acc<<(length&63)>>(64-size)), size)
				length += size
			}
		}
		acc <<= length & 63
		n -= length
		run := int(symbol >> 4)
		if symbol&15 == 0 {
			if run < 15 {
				r.acc, r.n = acc, n
				d.eobRun = d.run(run) - 1
				*set |= seen
				return
			}
			k += 15
			continue
		}
		if k += run; k > se {
			r.bad = true
			break
		}
		seen |= 1 << (k & 63)
		if k < len(to) {
			to[k] = clip(v << al)
		}
	}
	*set |= seen
	r.acc, r.n = acc, n
}

// run returns the number of blocks that the code of an end-of-band run ends.
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

// refineSet reads a bit for each nonzero coefficient from k on, until it has passed the given
// number of zero coefficients. It returns the index of the next zero coefficient, or of the end
// of the scan's coefficients. A negative number passes all.
func (d *decoder) refineSet(sc *scan, to []int16, set uint64, k, zeros int) int {
	from := ^uint64(0) << (k & 63) & (^uint64(0) >> ((63 - sc.se) & 63))
	end := sc.se + 1
	if zeros >= 0 {
		unset := from &^ set
		for ; zeros > 0; zeros-- {
			unset &= unset - 1
		}
		if unset != 0 {
			end = bits.TrailingZeros64(unset)
			from &= 1<<(end&63) - 1
		}
	}
	passed := set & from
	if passed == 0 {
		return end
	}
	n := uint(bits.OnesCount64(passed))
	more := d.bits.many(n) << ((64 - n) & 63)
	for ; passed != 0; passed &= passed - 1 {
		at := bits.TrailingZeros64(passed)
		if at >= len(to) {
			break
		}
		v := to[at]
		sign := v >> 15
		to[at] = v + (int16(more>>63)<<(sc.al&15) ^ sign - sign)
		more <<= 1
	}
	return end
}
