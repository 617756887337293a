package dctjpeg

import "context"

// maxStored is about the number of bytes of coefficients in memory at a time, for a picture whose
// scans each cover all of it. This many bytes stay in the processor's cache.
const maxStored = 2 << 20

// rows contains the dequantized coefficients of one row of units: v rows of blocks for each
// component.
type rows struct {
	blocks [maxComponents][]int16
	quant  [maxComponents][64]int32 // the steps of the quantizer, in the order of a scan
	last   [maxComponents][]uint8   // per block: index of the last coefficient that can be nonzero, in the order of a scan
}

func (s *Source) newRows() *rows {
	r := &rows{}
	for i, c := range s.comps {
		r.blocks[i], r.last[i] = make([]int16, 64*c.wide*c.v), make([]uint8, c.wide*c.v)
	}
	return r
}

// decoding specifies the part of a picture that the caller needs.
type decoding struct {
	n    int // at least the coefficients within n x n of each block
	drop int // number of low bits of coefficients to skip
}

// dropped returns the number of low bits of coefficients that a progressive picture does not
// need. The lowest bit is worth about a step of the source's quantizer, times the scale. The new
// quantizer, about 2.5 times the finest, has an error of 0.29 of its steps. A fifth of that adds
// a twenty-fifth to the square of its error.
func (s *Source) dropped(way Way) int {
	const bit, err, part, usual = 0.6, 0.29, 1. / 5, 2.5
	most := part * err * usual * float64(way.Finest.factor()) / (1 << 32)
	n := 0
	for c := bit * s.Coarseness() * float64(way.N) / 8; c <= most; c *= 2 {
		n++
	}
	return n
}

// each decodes the picture and calls f for each row of units, from the top.
func (s *Source) each(ctx context.Context, want decoding, f func(my int, r *rows) error) error {
	d := s.decoder()
	g, err := d.toScan(s.scans)
	if err != nil {
		return err
	}
	sc, err := d.scanHeader(g)
	if err != nil {
		return err
	}
	if s.Progressive || len(sc.comps) < len(s.comps) {
		return s.eachBand(ctx, want, f)
	}
	r := s.newRows()
	for _, c := range sc.comps {
		r.quant[c.index] = c.quant
	}
	for my := range s.mcuH {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := d.row(sc, r); err != nil {
			return err
		}
		if err := f(my, r); err != nil {
			return err
		}
	}
	return nil
}

// row decodes a row of units of the only scan.
func (d *decoder) row(sc *scan, r *rows) error {
	for _, c := range sc.comps {
		clear(r.blocks[c.index])
	}
	for mx := range d.src.mcuW {
		if err := d.unit(sc); err != nil {
			return err
		}
		for _, c := range sc.comps {
			blocks, last := r.blocks[c.index], r.last[c.index]
			for v := range c.v {
				for at := v*c.wide + mx*c.h; at < v*c.wide+(mx+1)*c.h; at++ {
					b := (*block)(blocks[64*at:])
					last[at] = uint8(d.bits.block(b, c.dc, c.ac, &c.quant, &c.pred))
				}
			}
		}
	}
	return d.sound()
}

// toScan reads tables from at on, up to the next scan. At the end of the picture, the segment has
// the marker EOI.
func (d *decoder) toScan(at int) (segment, error) {
	for {
		g, ok := next(d.src.data, at)
		switch {
		case !ok || !g.complete && g.marker != 0:
			return segment{}, ErrCut
		case g.marker == mSOS || g.marker == mEOI:
			return g, nil
		case isFrame(g.marker):
			return segment{}, broken("a second frame")
		}
		if err := d.tables.read(g); err != nil {
			return segment{}, err
		}
		at = g.end
	}
}

func isFrame(m byte) bool { return m >= mSOF0 && m <= mSOF15 && m != mDHT && m != mJPG && m != mDAC }

// scanEnd finds the first marker behind at that is no restart.
func scanEnd(data []byte, at int) int {
	g, ok := next(data, at)
	for ok && g.marker == 0 {
		g, ok = next(data, g.end)
	}
	if !ok {
		return len(data)
	}
	return g.from
}
