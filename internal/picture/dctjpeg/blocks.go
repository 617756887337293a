package dctjpeg

// Blocks is a picture as coefficients that are not quantised yet. Those that no
// wanted quantiser would keep are left out.
type Blocks struct {
	Width, Height int // pixels
	model         Model
	planes        []plane
	hMax, vMax    int
	mcuW, mcuH    int
	finest        Scale // quantisers from here on know all coefficients they need
}

// plane is one component of Blocks. Its coefficients are times 8.
type plane struct {
	h, v         int // sampling factors
	width, high  int // samples across, and down
	wide, tall   int // blocks, with those that fill the last units
	needW, needH int // blocks with samples of the picture
	class        int // 0: brightness; 1: colour
	dc           []int16
	ac           [][]token // in pieces that never grow: a block is in one of them
	from         []uint32  // of each block: its piece, times pieceSize, and place in it
	count        []uint8   // of each block: its tokens
}

// pieceSize is how many tokens one piece holds.
const pieceSize = 1 << 15

// room returns the piece that the next block goes to.
func (p *plane) room() []token {
	if n := len(p.ac); n > 0 && len(p.ac[n-1])+64 <= pieceSize {
		return p.ac[n-1]
	}
	p.ac = append(p.ac, make([]token, 0, pieceSize))
	return p.ac[len(p.ac)-1]
}

// took notes that a block has gone to a piece.
func (p *plane) took(piece []token, from int) {
	n := len(p.ac) - 1
	p.ac[n] = piece
	p.from = append(p.from, uint32(n*pieceSize+from))
	p.count = append(p.count, uint8(len(piece)-from))
}

// token is one coefficient: its place in the order of a scan, from bit 16 on,
// and its value. Those of a block stand in order.
type token uint32

func newToken(k int, v int32) token { return token(uint32(k)<<16 | uint32(uint16(v))) }

func (t token) place() int { return int(t >> 16) }

func (t token) value() int32 { return int32(int16(t)) }

// sampling is the factors of a picture's components.
type sampling [maxComponents][2]int

var (
	halved = sampling{{2, 2}, {1, 1}, {1, 1}} // 4:2:0
	full   = sampling{{1, 1}, {1, 1}, {1, 1}} // 4:4:4
)

// newBlocks makes room for a picture.
func newBlocks(w, h int, m Model, s sampling) *Blocks {
	b := &Blocks{Width: w, Height: h, model: m, hMax: 1, vMax: 1}
	n := 3
	if m == Gray {
		n = 1
	}
	for i := range n {
		b.hMax, b.vMax = max(b.hMax, s[i][0]), max(b.vMax, s[i][1])
	}
	if m == Gray {
		s[0], b.hMax, b.vMax = [2]int{1, 1}, 1, 1
	}
	b.mcuW, b.mcuH = ceilDiv(w, 8*b.hMax), ceilDiv(h, 8*b.vMax)
	for i := range n {
		p := plane{h: s[i][0], v: s[i][1], class: min(i, 1)}
		p.width, p.high = ceilDiv(w*p.h, b.hMax), ceilDiv(h*p.v, b.vMax)
		p.needW, p.needH = ceilDiv(p.width, 8), ceilDiv(p.high, 8)
		p.wide, p.tall = b.mcuW*p.h, b.mcuH*p.v
		p.empty()
		b.planes = append(b.planes, p)
	}
	return b
}

// empty makes room for blocks.
func (p *plane) empty() {
	n := p.wide * p.tall
	p.dc, p.from, p.count, p.ac = make([]int16, 0, n), make([]uint32, 0, n), make([]uint8, 0, n), nil
}

// blank adds a block that is like the one before it, or the one above it.
func (p *plane) blank() {
	n, v := len(p.dc), int16(0)
	switch {
	case n%p.wide > 0:
		v = p.dc[n-1]
	case n > 0:
		v = p.dc[n-p.wide]
	}
	p.dc, p.from, p.count = append(p.dc, v), append(p.from, 0), append(p.count, 0)
}

// add adds a block of coefficients, times 8, in rows of eight. Those below
// floor, which is in the order of a scan, are left out. Nothing can foretell which
// these are: all are written, and the next one over those that do not count.
func (p *plane) add(b *block, floor *[64]int32) {
	p.dc = append(p.dc, b[0])
	ac := p.room()
	from := len(ac)
	to := (*[64]token)(ac[from : from+64])
	n := 0
	for k := 1; k < 64; k++ {
		v, least := int32(b[zigzag[k]&63]), floor[k]
		to[n&63] = newToken(k, v)
		if uint32(v+least-1) > uint32(2*least-2) { // its amount is not less
			n++
		}
	}
	p.took(ac[:from+n], from)
}

// addDirect is add for a block as it was decoded, of which nothing is set behind
// last.
func (p *plane) addDirect(b *block, last int, floor *[64]int32) {
	p.dc = append(p.dc, b[0]<<3)
	ac := p.room()
	from := len(ac)
	to := (*[64]token)(ac[from : from+64])
	n := 0
	for k := 1; k <= last&63; k++ {
		v, least := int32(b[zigzag[k]&63])<<3, floor[k]
		to[n&63] = newToken(k, v)
		if uint32(v+least-1) > uint32(2*least-2) {
			n++
		}
	}
	p.took(ac[:from+n], from)
}

// tokens returns those of the i-th block.
func (p *plane) tokens(i int) []token {
	if p.count[i] == 0 {
		return nil
	}
	from := p.from[i]
	return p.ac[from/pieceSize][from%pieceSize:][:p.count[i]]
}
