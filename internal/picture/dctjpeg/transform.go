package dctjpeg

import "context"

// Way specifies the conversion of a source to blocks.
type Way struct {
	N      int   // scale in eighths, 1 to 8
	Turn   Turn  // turn after scaling
	Full   bool  // color keeps all pixels of the source
	Finest Scale // the finest quantizer that the caller will use
}

// CanScale reports whether Blocks supports a source: its components are gray, or brightness and
// color with the same or half as many pixels.
func (s *Source) CanScale() bool {
	if s.Model == Gray {
		return true
	}
	if s.Model != YCbCr || s.comps[0].h != s.hMax || s.comps[0].v != s.vMax {
		return false
	}
	for _, c := range s.comps[1:] {
		if c.h*2 != s.hMax && c.h != s.hMax || c.v*2 != s.vMax && c.v != s.vMax {
			return false
		}
	}
	return true
}

// Usual reports whether all decoders support the sampling of a source: both components of color
// have the same factors, and image/jpeg supports the ratio of brightness to color.
func (s *Source) Usual() bool {
	if s.Model == Gray {
		return true
	}
	y, c := s.comps[0], s.comps[1]
	if c.h != s.comps[2].h || c.v != s.comps[2].v || y.h%c.h != 0 || y.v%c.v != 0 {
		return false
	}
	switch [2]int{y.h / c.h, y.v / c.v} {
	case [2]int{1, 1}, [2]int{1, 2}, [2]int{2, 1}, [2]int{2, 2}, [2]int{4, 1}, [2]int{4, 2}:
		return true
	}
	return false
}

// FullColor reports whether color has as many pixels as brightness.
func (s *Source) FullColor() bool {
	for _, c := range s.comps {
		if c.h != s.hMax || c.v != s.vMax {
			return false
		}
	}
	return s.Model != Gray
}

// Scaled returns the size of the picture scaled by n/8, not turned.
func (s *Source) Scaled(n int) (w, h int) { return ceilDiv(s.Width*n, 8), ceilDiv(s.Height*n, 8) }

// Blocks decodes a source, for which CanScale is true, and scales it. It returns ctx's cause if
// ctx ends.
func (s *Source) Blocks(ctx context.Context, way Way) (*Blocks, Statistics, error) {
	w, h := s.Scaled(way.N)
	shape := halved
	if way.Full && s.FullColor() {
		shape = full
	}
	b := newBlocks(w, h, s.Model, shape)
	b.finest = way.Finest
	floors := way.Finest.floors()
	var pipes []*pipe
	for i := range b.planes {
		pipes = append(pipes, s.pipe(i, b, way, &floors[b.planes[i].class]))
	}
	sampler := s.newBlockSampler()
	err := s.each(ctx, decoding{n: way.N, drop: s.dropped(way)}, func(my int, r *rows) error {
		for i, p := range pipes {
			p.row(my, r.blocks[i], r.last[i])
		}
		sampler.row(my, r)
		return nil
	})
	if err != nil {
		return nil, Statistics{}, err
	}
	for _, p := range pipes {
		p.finish()
	}
	return b.turned(way.Turn), sampler.statistics(), nil
}

// pipe makes blocks of one component from those of the source.
type pipe struct {
	in     *component
	out    *plane
	n      int // samples of a block, across and down
	direct bool
	floor  *[64]int32
	halver halver
	band   []int16 // n rows of samples
}

func (s *Source) pipe(i int, b *Blocks, way Way, floor *[64]int32) *pipe {
	c, out := &s.comps[i], &b.planes[i]
	across, down := c.h*b.hMax > out.h*s.hMax, c.v*b.vMax > out.v*s.vMax
	p := &pipe{in: c, out: out, n: way.N, floor: floor}
	if across && down && way.N%2 == 0 {
		p.n, across, down = way.N/2, false, false
	}
	fromRight, fromBottom := way.Turn.flips()
	st := newStrip(out, floor, fromRight, fromBottom)
	p.direct = p.n == 8 && !across && !down && st.left == 0 && st.top == 0
	p.halver = halver{across: across, down: down, to: st}
	if !p.direct {
		p.band = make([]int16, p.n*p.n*c.wide)
	}
	return p
}

// row takes a row of units.
func (p *pipe) row(my int, blocks []int16, last []uint8) {
	for v := range p.in.v {
		from, ends := blocks[64*v*p.in.wide:64*(v+1)*p.in.wide], last[v*p.in.wide:(v+1)*p.in.wide]
		if p.direct {
			p.copyRow(my*p.in.v+v, from, ends)
			continue
		}
		stride := p.n * p.in.wide
		scale := scaledTo[p.n]
		for x, end := range ends {
			b, to := (*block)(from[64*x:]), p.band[p.n*x:]
			if end > 0 {
				scale(b, to, stride)
				continue
			}
			mean := (b[0] + 4) >> 3
			for y := range p.n {
				spread(to[y*stride:y*stride+p.n], mean)
			}
		}
		for y := range p.n {
			p.halver.add(p.band[y*stride : (y+1)*stride])
		}
	}
}

func (p *pipe) copyRow(y int, from []int16, ends []uint8) {
	if y >= p.out.needH {
		return
	}
	for x := range p.out.needW {
		p.out.addDirect((*block)(from[64*x:]), int(ends[x]), p.floor)
	}
	p.out.fillRow()
}

func (p *pipe) finish() {
	if p.direct {
		p.out.finish()
		return
	}
	p.halver.finish()
}

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
