package dctjpeg

import "encoding/binary"

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
