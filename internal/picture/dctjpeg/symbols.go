package dctjpeg

import (
	"math/bits"
	"slices"
)

// A symbol is an element of a scan: the number of a code, and the bits that follow it.
type symbol uint32

func newSymbol(table int, code byte, size int, value uint32) symbol {
	return symbol(uint32(code) | uint32(size)<<8 | uint32(table)<<12 | value<<16)
}

func (s symbol) code() byte { return byte(s) }

func (s symbol) size() uint { return uint(s >> 8 & 15) }

func (s symbol) table() int { return int(s >> 12 & 3) }

func (s symbol) value() uint32 { return uint32(s >> 16) }

// outScan is a scan to write. The tables are DC and AC of brightness, then of color.
type outScan struct {
	planes []int
	ss, se int
	list   bool       // store symbols instead of counts alone
	syms   [][]symbol // in pieces of fixed capacity
	spare  [][]symbol
	counts [4]histogram
	extra  int // number of bits behind codes
	eobRun uint32
	table  int // table of the AC coefficients, in a scan without DC
}

func (s *outScan) reset(list bool) {
	*s = outScan{planes: s.planes, ss: s.ss, se: s.se, table: s.table, list: list, spare: append(s.spare, s.syms...)}
}

func (s *outScan) put(table int, code byte, size int, value uint32) {
	s.counts[table&3][code]++
	s.extra += size
	if s.list {
		s.add(newSymbol(table, code, size, value))
	}
}

func (s *outScan) add(sym symbol) {
	n := len(s.syms) - 1
	if n < 0 || len(s.syms[n]) == pieceSize {
		s.more()
		n++
	}
	s.syms[n] = append(s.syms[n], sym)
}

// more adds a piece.
func (s *outScan) more() {
	if n := len(s.spare) - 1; n >= 0 {
		s.syms, s.spare = append(s.syms, s.spare[n][:0]), s.spare[:n]
		return
	}
	s.syms = append(s.syms, make([]symbol, 0, pieceSize))
}

// signed adds a code with a value behind it.
func (s *outScan) signed(table int, code byte, size int, v int32) {
	if v < 0 {
		v += 1<<size - 1
	}
	s.put(table, code, size, uint32(v)&(1<<size-1))
}

func sizeOf(v int32) int {
	if v < 0 {
		v = -v
	}
	return bits.Len32(uint32(v))
}

// dc adds the difference of a DC coefficient.
func (s *outScan) dc(table int, diff int32) {
	n := sizeOf(diff)
	s.signed(table, byte(n), n, diff)
}

const (
	codeZRL = 0xf0 // sixteen zeros
	codeEOB = 0x00
)

// ac adds one coefficient behind a number of zeros.
func (s *outScan) ac(table, zeros int, v int32) {
	for ; zeros > 15; zeros -= 16 {
		s.put(table, codeZRL, 0, 0)
	}
	sign := v >> 31
	size := bits.Len32(uint32(v ^ sign - sign))
	code := byte(zeros<<4 | size)
	s.counts[table&3][code]++
	s.extra += size
	if s.list {
		s.add(newSymbol(table, code, size, uint32(v+sign)&(1<<(size&15)-1)))
	}
}

// block adds the coefficients of a whole block.
func (s *outScan) block(table int, list []token) {
	before := 0
	for _, t := range list {
		s.ac(table, t.place()-before-1, t.value())
		before = t.place()
	}
	if before != 63 {
		s.put(table, codeEOB, 0, 0)
	}
}

// part adds the coefficients of a block that belong to the scan, which are the first of list, and
// returns the others.
func (s *outScan) part(list []token) []token {
	before := s.ss - 1
	for len(list) > 0 && list[0].place() <= s.se {
		s.endRun()
		s.ac(s.table, list[0].place()-before-1, list[0].value())
		before, list = list[0].place(), list[1:]
	}
	if before != s.se {
		if s.eobRun++; s.eobRun == 0x7fff {
			s.endRun()
		}
	}
	return list
}

// endRun adds the length of a run of ended blocks (T.81 section G.1.2.2).
func (s *outScan) endRun() {
	if s.eobRun == 0 {
		return
	}
	n := bits.Len32(s.eobRun) - 1
	s.put(s.table, byte(n<<4), n, s.eobRun&(1<<n-1))
	s.eobRun = 0
}

// size returns the bytes of the scan, with its tables and header, without stuffed bytes. It sets
// tables to the optimal ones.
func (s *outScan) size() int {
	n, total := s.extra, 2+6+2*len(s.planes)
	for i := range s.counts {
		if !s.uses(i) {
			continue
		}
		c := optimal(&s.counts[i])
		for code, length := range c.bitsOf() {
			n += int(s.counts[i][code]) * int(length)
		}
		total += c.size()
	}
	return total + (n+7)/8
}

func (s *outScan) uses(table int) bool { return s.counts[table] != histogram{} }

// histogram counts the symbols of one Huffman table.
type histogram [256]uint32

// codes is a Huffman table in its file form: the number of codes of each length, and their
// symbols in order.
type codes struct {
	counts  [16]byte
	symbols []byte
}

// size returns the bytes of the table in a file, with its marker.
func (c *codes) size() int { return 2 + 2 + 1 + 16 + len(c.symbols) }

// optimal finds the table that takes the fewest bits by package-merge (Larmore and Hirschberg,
// 1990). Its codes have at most 16 bits, and none is all ones. The algorithm pairs coins of a
// value, from the longest codes up.
func optimal(h *histogram) codes {
	type leaf struct {
		count  uint64
		symbol int
	}
	leaves := make([]leaf, 1, 257)
	leaves[0] = leaf{0, 256} // reserves the code of all ones, which T.81 forbids
	for s, n := range h {
		if n > 0 {
			leaves = append(leaves, leaf{uint64(n), s})
		}
	}
	slices.SortFunc(leaves, func(a, b leaf) int {
		if a.count != b.count {
			if a.count < b.count {
				return -1
			}
			return 1
		}
		return b.symbol - a.symbol // 256 first: it gets the longest code
	})
	c := codes{}
	if len(leaves) == 1 {
		return c
	}
	weights := make([]uint64, len(leaves))
	for i, l := range leaves {
		weights[i] = l.count
	}
	lengths := limitedLengths(weights)
	for i := len(leaves) - 1; i > 0; i-- { // from the shortest code on
		if leaves[i].symbol == 256 {
			continue
		}
		c.counts[lengths[i]-1]++
		c.symbols = append(c.symbols, byte(leaves[i].symbol))
	}
	return c
}

// limitedLengths returns the lengths of the codes, at most 16, for weights that
// do not fall. The first one is the longest.
func limitedLengths(weights []uint64) []int {
	const longest = 16
	type coin struct {
		weight uint64
		leaves int // number of the lightest leaves in it: all codes in it grow by one
	}
	// lists[l][i] is the number of leaves among the first i coins of level l.
	n := len(weights)
	var lists [longest][]coin
	for l := range longest {
		var pairs []coin
		if l > 0 {
			below := lists[l-1]
			for i := 0; i+1 < len(below); i += 2 {
				pairs = append(pairs, coin{below[i].weight + below[i+1].weight, -1})
			}
		}
		merged := make([]coin, 0, n+len(pairs))
		for i, j := 0, 0; i < n || j < len(pairs); {
			if j == len(pairs) || i < n && weights[i] <= pairs[j].weight {
				merged = append(merged, coin{weights[i], i})
				i++
			} else {
				merged = append(merged, pairs[j])
				j++
			}
		}
		lists[l] = merged
	}
	lengths := make([]int, n)
	take := 2*n - 2
	for l := longest - 1; l >= 0; l-- {
		packages := 0
		for _, c := range lists[l][:take] {
			if c.leaves >= 0 {
				lengths[c.leaves]++
			} else {
				packages++
			}
		}
		take = 2 * packages
	}
	return lengths
}

// bitsOf returns the length of each symbol's code. 0 means no code.
func (c *codes) bitsOf() (lengths [256]uint8) {
	k := 0
	for l, n := range c.counts {
		for range n {
			lengths[c.symbols[k]] = uint8(l + 1)
			k++
		}
	}
	return lengths
}

// words returns each symbol's code, with its length from bit 16 on.
func (c *codes) words() (words [256]uint32) {
	code, k := uint32(0), 0
	for l, n := range c.counts {
		for range n {
			words[c.symbols[k]] = uint32(l+1)<<16 | code
			code++
			k++
		}
		code <<= 1
	}
	return words
}
