package dctjpeg

import "math/bits"

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
