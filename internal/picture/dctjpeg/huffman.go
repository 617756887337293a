package dctjpeg

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
