package dctjpeg

import "context"

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
