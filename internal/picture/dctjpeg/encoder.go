package dctjpeg

import (
	"context"
	"encoding/binary"
)

// encoder writes scans from blocks.
type encoder struct {
	blocks      *Blocks
	progressive bool
	scans       []*outScan
	choosers    [2]chooser
	costs       [2]*costs // nil: round each coefficient to the nearest
	lambda      int32
	steps       quantTables
}

// defaultLambda is the acceptable error per bit, in hundredths of the square of a quantizer step.
// It gave the best SSIMULACRA2 over photographs, each encoded to the same bytes.
const defaultLambda = 5

func newEncoder(b *Blocks, progressive bool) *encoder {
	e := &encoder{blocks: b, progressive: progressive, lambda: defaultLambda << (2*ratioBits - rateBits) / 100}
	e.costs = [2]*costs{usualCosts(), usualCosts()}
	all := []int{}
	for i := range b.planes {
		all = append(all, i)
	}
	if !progressive {
		e.scans = []*outScan{{planes: all, se: 63}}
		return e
	}
	e.scans = []*outScan{{planes: all}}
	for i, p := range b.planes {
		table := 2*p.class + 1
		if i == 0 { // rough first, for progressive display
			e.scans = append(e.scans, &outScan{planes: []int{0}, ss: 1, se: 5, table: table}, &outScan{planes: []int{0}, ss: 6, se: 63, table: table})
			continue
		}
		e.scans = append(e.scans, &outScan{planes: []int{i}, ss: 1, se: 63, table: table})
	}
	return e
}

// stretch is a range of units in one row.
type stretch struct{ y, from, to int }

// stretches returns the units of a picture, or every step-th stretch of them. The sample leaves
// out no row, column or diagonal.
func (b *Blocks) stretches(step int) (list []stretch, units int) {
	const long = 12
	for y := range b.mcuH {
		if step == 1 {
			list = append(list, stretch{y, 0, b.mcuW})
			continue
		}
		for n, x := 0, 0; x < b.mcuW; n, x = n+1, x+long {
			if (n+3*y+y/step)%step == 0 {
				list = append(list, stretch{y, x, min(b.mcuW, x+long)})
			}
		}
	}
	for _, s := range list {
		units += s.to - s.from
	}
	return list, units
}

// run encodes the given stretches. If list is set, it stores their symbols, otherwise it counts
// them.
func (e *encoder) run(ctx context.Context, steps quantTables, of []stretch, list bool) error {
	e.steps = steps
	for i := range min(len(e.choosers), len(e.blocks.planes)) {
		e.choosers[i].set(&steps[i], e.costs[i], e.lambda)
	}
	for _, s := range e.scans {
		s.reset(list)
	}
	for _, st := range of {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e.units(st)
	}
	if e.progressive {
		e.parts(of)
	}
	return nil
}

// units encodes whole blocks, or the DC coefficients of progressive ones.
func (e *encoder) units(st stretch) {
	scan := e.scans[0]
	var pred [maxComponents]int32
	for i := range e.blocks.planes {
		pred[i] = e.before(&e.blocks.planes[i], st)
	}
	for x := st.from; x < st.to; x++ {
		for i := range e.blocks.planes {
			p := &e.blocks.planes[i]
			for v := range p.v {
				for h := range p.h {
					bx, by := x*p.h+h, st.y*p.v+v
					at := by*p.wide + bx
					dc := e.dc(p, at)
					scan.dc(2*p.class, dc-pred[i])
					pred[i] = dc
					if !e.progressive {
						scan.block(2*p.class+1, e.choosers[p.class].block(p.tokens(at)))
					}
				}
			}
		}
	}
}

// before returns the DC coefficient that predicts the first one of a stretch.
func (e *encoder) before(p *plane, st stretch) int32 {
	row, x := st.y*p.v+p.v-1, st.from*p.h-1
	if st.from == 0 {
		if st.y == 0 {
			return 0
		}
		row, x = row-p.v, p.wide-1
	}
	return e.dc(p, row*p.wide+x)
}

func (e *encoder) dc(p *plane, at int) int32 {
	v, step := int32(p.dc[at]), 8*e.steps[p.class][0]
	if v < 0 {
		return -((step/2 - v) / step)
	}
	return (v + step/2) / step
}

// parts encodes the AC coefficients of a progressive picture.
func (e *encoder) parts(of []stretch) {
	for i := range e.blocks.planes {
		p := &e.blocks.planes[i]
		scans := e.scans[1:3]
		if i > 0 {
			scans = e.scans[2+i : 3+i]
		}
		for n := 0; n < len(of); {
			end := n // stretches of one row of units
			for end < len(of) && of[end].y == of[n].y {
				end++
			}
			for v := range p.v {
				for _, st := range of[n:end] {
					e.partRow(p, scans, st.y*p.v+v, st.from*p.h, min(p.needW, st.to*p.h))
				}
			}
			n = end
		}
		for _, s := range scans {
			s.endRun()
		}
	}
}

func (e *encoder) partRow(p *plane, scans []*outScan, y, from, to int) {
	if y >= p.needH {
		return
	}
	for x := from; x < to; x++ {
		list := e.choosers[p.class].block(p.tokens(y*p.wide + x))
		for _, s := range scans {
			list = s.part(list)
		}
	}
}

// learn computes the costs of symbols from the counts of the last run.
func (e *encoder) learn() {
	for class := range e.costs {
		var sum histogram
		for _, s := range e.scans {
			for code, n := range s.counts[2*class+1] {
				sum[code] += n
			}
		}
		if sum != (histogram{}) {
			e.costs[class] = newCosts(&sum)
		}
	}
}

// size returns the bytes of the file, without stuffed bytes. It rounds each run of bits up to a
// byte.
func (e *encoder) size() (head, scans int) {
	for _, s := range e.scans {
		scans += s.size()
	}
	return len(e.head()) + 2, scans // EOI
}

// head returns the file up to its first scan.
func (e *encoder) head() []byte {
	b := e.blocks
	out := []byte{0xff, mSOI, 0xff, mAPP0, 0, 16, 'J', 'F', 'I', 'F', 0, 1, 1, 0, 0, 1, 0, 1, 0, 0}
	wide := byte(0)
	for class := range min(2, len(b.planes)) {
		out, wide = e.appendQuant(out, class, wide)
	}
	frame := byte(mSOF0) + wide // baseline supports no quantizer of 16 bits
	if e.progressive {
		frame = mSOF2
	}
	out = append(out, 0xff, frame, 0, byte(8+3*len(b.planes)), 8)
	out = binary.BigEndian.AppendUint16(out, uint16(b.Height))
	out = binary.BigEndian.AppendUint16(out, uint16(b.Width))
	out = append(out, byte(len(b.planes)))
	for i, p := range b.planes {
		out = append(out, byte(i+1), byte(p.h<<4|p.v), byte(p.class))
	}
	return out
}

// appendQuant appends the quantization table of a class. wide becomes 1 if it needs 16 bits.
func (e *encoder) appendQuant(out []byte, class int, wide byte) ([]byte, byte) {
	here := byte(0)
	for _, q := range e.steps[class] {
		if q > 255 {
			here, wide = 1, 1
		}
	}
	out = append(out, 0xff, mDQT, 0, 67+64*here, here<<4|byte(class))
	for _, q := range e.steps[class] {
		if here == 1 {
			out = append(out, byte(q>>8))
		}
		out = append(out, byte(q))
	}
	return out, wide
}

// bytes returns the file.
func (e *encoder) bytes(room int) []byte {
	out := append(make([]byte, 0, room), e.head()...)
	for _, s := range e.scans {
		out = s.write(out, e.blocks)
	}
	return append(out, 0xff, mEOI)
}

// write appends the scan with its tables.
func (s *outScan) write(out []byte, b *Blocks) []byte {
	var words [4][256]uint32
	for i := range s.counts {
		if !s.uses(i) {
			continue
		}
		c := optimal(&s.counts[i])
		words[i] = c.words()
		n := c.size() - 2
		out = append(out, 0xff, mDHT, byte(n>>8), byte(n), byte(i&1<<4|i>>1))
		out = append(append(out, c.counts[:]...), c.symbols...)
	}
	out = append(out, 0xff, mSOS, 0, byte(6+2*len(s.planes)), byte(len(s.planes)))
	for _, i := range s.planes {
		class := byte(b.planes[i].class)
		dc, ac := class, class
		if s.ss > 0 {
			dc = 0
		}
		if s.se == 0 {
			ac = 0
		}
		out = append(out, byte(i+1), dc<<4|ac)
	}
	w := bitWriter{out: append(out, byte(s.ss), byte(s.se), 0)}
	for _, piece := range s.syms {
		for _, sym := range piece {
			c, size := words[sym.table()][sym.code()], sym.size()
			w.put(c&0xffff<<size|sym.value(), uint(c>>16)+size)
		}
	}
	return w.end()
}

// bitWriter writes entropy-coded data.
type bitWriter struct {
	out []byte
	acc uint64 // bits to write, from the highest on
	n   uint
}

// put writes up to 32 bits.
func (w *bitWriter) put(v uint32, n uint) {
	w.acc |= uint64(v) << (64 - w.n - n)
	if w.n += n; w.n < 32 {
		return
	}
	four := uint32(w.acc >> 32)
	w.acc <<= 32
	w.n -= 32
	if inv := ^four; (inv-0x01010101)&^inv&0x80808080 == 0 { // no byte is 0xff
		w.out = binary.BigEndian.AppendUint32(w.out, four)
		return
	}
	for shift := 24; shift >= 0; shift -= 8 {
		w.byte(byte(four >> shift))
	}
}

func (w *bitWriter) byte(b byte) {
	w.out = append(w.out, b)
	if b == 0xff {
		w.out = append(w.out, 0)
	}
}

// end fills the last byte with ones.
func (w *bitWriter) end() []byte {
	if rest := w.n % 8; rest > 0 {
		w.acc |= (1<<(8-rest) - 1) << (64 - w.n - (8 - rest))
		w.n += 8 - rest
	}
	for ; w.n > 0; w.n -= 8 {
		w.byte(byte(w.acc >> 56))
		w.acc <<= 8
	}
	return w.out
}
