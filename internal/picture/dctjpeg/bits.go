package dctjpeg

import "encoding/binary"

// bitReader reads the entropy-coded data of a scan.
type bitReader struct {
	data []byte
	pos  int
	acc  uint64 // unused bits, from the highest on
	n    uint   // number of valid bits in acc
	made uint   // number of invented bits behind the end of the data
	bad  bool   // a code that is in no table, or a block of more than 64
}

// start begins a piece of data, which ends at the next marker.
func (r *bitReader) start(at int) { r.pos, r.acc, r.n, r.made = at, 0, 0, 0 }

// short reports whether the decoder used more bits than the data contain.
func (r *bitReader) short() bool { return r.made > r.n }

// fill makes at least 48 bits ready.
func (r *bitReader) fill() {
	if r.pos+8 <= len(r.data) {
		w := binary.BigEndian.Uint64(r.data[r.pos:])
		inv := ^w
		if (inv-0x0101010101010101)&^inv&0x8080808080808080 == 0 { // no byte is 0xff
			r.acc |= w >> r.n
			took := (63 - r.n) >> 3
			r.pos += int(took)
			r.n += took << 3
			return
		}
	}
	r.fillSlow()
}

func (r *bitReader) fillSlow() {
	if r.n == 0 {
		r.acc = 0
	} else {
		r.acc &= ^uint64(0) << (64 - r.n) // fill leaves more than it counts
	}
	for r.n <= 56 {
		b := uint64(0)
		switch {
		case r.pos >= len(r.data):
			r.made += 8
		case r.data[r.pos] != 0xff:
			b = uint64(r.data[r.pos])
			r.pos++
		case r.pos+1 < len(r.data) && r.data[r.pos+1] == 0:
			b = 0xff
			r.pos += 2
		default: // a marker
			r.made += 8
		}
		r.acc |= b << (56 - r.n)
		r.n += 8
	}
}

// bits reads up to 16 bits.
func (r *bitReader) bits(n uint) int32 {
	if r.n < 16 {
		r.fill()
	}
	v := int32(r.acc >> (64 - n)) // 0 for n == 0
	r.acc <<= n
	r.n -= n
	return v
}

// value reads a signed value of size bits.
func (r *bitReader) value(size uint) int32 {
	if size == 0 {
		return 0
	}
	return extend(r.bits(size), size)
}

// symbol reads a code.
func (r *bitReader) symbol(h *huffman) byte {
	if r.n < 16 {
		r.fill()
	}
	e := h.lookup[r.acc>>(64-lookupBits)]
	symbol, length := byte(e>>8), uint(e&lookLength)
	switch {
	case e == 0:
		var ok bool
		symbol, length, ok = h.long(r.acc)
		r.bad = r.bad || !ok
	case e&lookWhole != 0:
		length -= uint(symbol & 15)
	}
	r.acc <<= length
	r.n -= length
	return symbol
}

// pair reads a code, and the value whose size is in its lower half.
func (r *bitReader) pair(h *huffman) (symbol byte, v int32) {
	if r.n < 32 {
		r.fill()
	}
	e := h.lookup[r.acc>>(64-lookupBits)]
	if e&lookWhole != 0 {
		length := uint(e & lookLength)
		r.acc <<= length
		r.n -= length
		return byte(e >> 8), int32(e) >> 16
	}
	symbol = r.symbol(h)
	return symbol, r.value(uint(symbol & 15))
}

// difference reads the difference of a DC coefficient.
func (r *bitReader) difference(h *huffman) int32 {
	symbol, v := r.pair(h)
	if symbol > 11 { // of 8 bits a sample (T.81 table F.1)
		r.bad = true
		return 0
	}
	return v
}

// many reads up to 64 bits.
func (r *bitReader) many(n uint) uint64 {
	high := uint64(0)
	if n > 32 {
		high = r.many(n-32) << 32
		n = 32
	}
	if r.n < 32 {
		r.fill()
	}
	v := r.acc >> (64 - n) // 0 for n == 0
	r.acc <<= n
	r.n -= n
	return high | v
}

// block reads a whole block of a sequential scan into b, which must be zero,
// dequantized. It returns the place, in the order of a scan, of the last
// coefficient that is not zero.
func (r *bitReader) block(b *block, dc, ac *huffman, quant *[64]int32, pred *int32) (last int) {
	*pred += r.difference(dc)
	b[0] = clip(*pred * quant[0])
	acc, n := r.acc, r.n
	for k := 1; k < 64; k++ {
		if n < 32 {
			r.acc, r.n = acc, n
			r.fill()
			acc, n = r.acc, r.n
		}
		e := ac.lookup[acc>>(64-lookupBits)]
		if e&lookWhole != 0 {
			length := uint(e & lookLength)
			acc <<= length
			n -= length
			if e&0x0f00 == 0 {
				if e&0xf000 != 0xf000 {
					break
				}
				k += 15
				continue
			}
			k += int(e >> 12 & 15)
			last = k & 63
			b[zigzag[last]&63] = clip(int32(e) >> 16 * quant[last])
			if k > 63 {
				r.bad = true
			}
			continue
		}
		symbol, length := byte(e>>8), uint(e&lookLength)
		if e == 0 {
			var ok bool
			symbol, length, ok = ac.long(acc)
			r.bad = r.bad || !ok
		}
		acc <<= length & 63
		n -= length
		size := uint(symbol & 15)
		if size == 0 {
			if symbol != 0xf0 {
				break
			}
			k += 15
			continue
		}
		v := extend(int32(acc>>(64-size)), size)
		acc <<= size & 63
		n -= size
		k += int(symbol >> 4)
		last = k & 63
		b[zigzag[last]&63] = clip(v * quant[last])
		if k > 63 {
			r.bad = true
		}
	}
	r.acc, r.n = acc, n
	return last
}

func clip(v int32) int16 { return int16(max(-maxCoefficient, min(maxCoefficient, v))) }

// lookupBits is the number of bits of one table lookup. Nearly all codes of a photo, with the value
// behind them, are not longer.
const lookupBits = 10

// An entry of huffman.lookup describes a code at the beginning of some bits. Bits 0 to 4 hold its
// length, bits 8 to 15 the symbol, and bits 16 to 31 the value that follows the code, if whole is
// set. 0 means that the code is longer.
const (
	lookLength = 0x1f
	lookWhole  = 0x80
)

// huffman decodes one table (T.81 annexes C and F.2.2.3).
type huffman struct {
	lookup  [1 << lookupBits]uint32
	limit   [17]int32 // codes of a length are below it
	offset  [17]int32 // from a code of a length to its place in symbols
	symbols [256]byte
}

func newHuffman(counts [16]byte, symbols []byte) (*huffman, error) {
	h := &huffman{}
	copy(h.symbols[:], symbols)
	code, k := 0, 0
	for length := 1; length <= 16; length++ {
		n := int(counts[length-1])
		h.offset[length] = int32(k - code)
		if code+n > 1<<length {
			return nil, broken("a Huffman table with too many codes")
		}
		for range n {
			if length <= lookupBits {
				h.fill(code, length, symbols[k])
			}
			code++
			k++
		}
		h.limit[length] = int32(code)
		code <<= 1
	}
	return h, nil
}

// fill writes all entries that begin with a code.
func (h *huffman) fill(code, length int, symbol byte) {
	size, rest := int(symbol&15), lookupBits-length
	for tail := range 1 << rest {
		e := uint32(length) | uint32(symbol)<<8
		if size <= rest {
			e = uint32(length+size) | lookWhole | uint32(symbol)<<8
			if size > 0 {
				v := extend(int32(tail>>(rest-size))&(1<<size-1), uint(size))
				e |= uint32(uint16(v)) << 16
			}
		}
		h.lookup[code<<rest|tail] = e
	}
}

// long finds a code that is not in lookup. ok is false if there is none.
func (h *huffman) long(acc uint64) (symbol byte, length uint, ok bool) {
	for n := uint(lookupBits + 1); n <= 16; n++ {
		if c := int32(acc >> (64 - n)); c < h.limit[n] {
			return h.symbols[(c+h.offset[n])&255], n, true
		}
	}
	return 0, 16, false
}

// extend returns the signed value of size bits (T.81 section F.2.2.1).
func extend(v int32, size uint) int32 {
	if v < 1<<(size-1) {
		v -= 1<<size - 1
	}
	return v
}
