package dctjpeg

import "context"

// Blocks is a picture as coefficients before quantization. It leaves out the coefficients that no
// wanted quantizer would keep.
type Blocks struct {
	Width, Height int // pixels
	model         Model
	planes        []plane
	hMax, vMax    int
	mcuW, mcuH    int
	finest        Scale // it has all coefficients for this quantizer and coarser ones
}

// plane is one component of Blocks. Its coefficients have the factor 8.
type plane struct {
	h, v         int // sampling factors
	width, high  int // samples across, and down
	wide, tall   int // blocks, with those that fill the last units
	needW, needH int // blocks with samples of the picture
	class        int // 0: brightness; 1: color
	dc           []int16
	ac           [][]token // pieces of fixed capacity; a block is within one piece
	from         []uint32  // per block: index of its piece times pieceSize, plus its index in the piece
	count        []uint8   // per block: number of tokens
}

// pieceSize is the number of tokens of one piece.
const pieceSize = 1 << 15

// room returns the piece for the next block.
func (p *plane) room() []token {
	if n := len(p.ac); n > 0 && len(p.ac[n-1])+64 <= pieceSize {
		return p.ac[n-1]
	}
	p.ac = append(p.ac, make([]token, 0, pieceSize))
	return p.ac[len(p.ac)-1]
}

// took records that a block is in a piece.
func (p *plane) took(piece []token, from int) {
	n := len(p.ac) - 1
	p.ac[n] = piece
	p.from = append(p.from, uint32(n*pieceSize+from))
	p.count = append(p.count, uint8(len(piece)-from))
}

// token is one coefficient: its index in the order of a scan, from bit 16 on, and its value. The
// tokens of a block are in this order.
type token uint32

func newToken(k int, v int32) token { return token(uint32(k)<<16 | uint32(uint16(v))) }

func (t token) place() int { return int(t >> 16) }

func (t token) value() int32 { return int32(int16(t)) }

// sampling contains the sampling factors of a picture's components.
type sampling [maxComponents][2]int

var (
	halved = sampling{{2, 2}, {1, 1}, {1, 1}} // 4:2:0
	full   = sampling{{1, 1}, {1, 1}, {1, 1}} // 4:4:4
)

// newBlocks allocates the blocks of a picture.
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

// empty allocates memory for blocks.
func (p *plane) empty() {
	n := p.wide * p.tall
	p.dc, p.from, p.count, p.ac = make([]int16, 0, n), make([]uint32, 0, n), make([]uint8, 0, n), nil
}

// blank adds a copy of the block before it, or of the one above it.
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

// add adds a block of coefficients, with factor 8, in rows of eight. It leaves out those below
// floor, which is in the order of a scan. A branch on each would be unpredictable, so the loop
// writes each token and advances only behind those that count.
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

// addDirect does the work of add for a block from the decoder that is zero behind last.
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

// tokens returns the tokens of the i-th block.
func (p *plane) tokens(i int) []token {
	if p.count[i] == 0 {
		return nil
	}
	from := p.from[i]
	return p.ac[from/pieceSize][from%pieceSize:][:p.count[i]]
}

// Turn mirrors a picture first, and then transposes it. Turning changes only the places and signs
// of coefficients, so it loses nothing.
type Turn struct {
	FlipX, FlipY bool // left becomes right; top becomes bottom
	Transpose    bool // rows become columns
}

// flips reports the edges of the picture that must end with whole blocks: the right one, and the
// bottom.
func (t Turn) flips() (right, bottom bool) { return t.FlipX, t.FlipY }

// turned turns b, whose incomplete blocks are where flips needs them.
func (b *Blocks) turned(t Turn) *Blocks {
	if t == (Turn{}) {
		return b
	}
	out := *b
	out.planes = nil
	if t.Transpose {
		out.Width, out.Height, out.hMax, out.vMax, out.mcuW, out.mcuH = b.Height, b.Width, b.vMax, b.hMax, b.mcuH, b.mcuW
	}
	places := t.places()
	for i := range b.planes {
		out.planes = append(out.planes, b.planes[i].turned(t, &places))
		b.planes[i] = plane{} // frees the memory
	}
	return &out
}

// turnedPlace is the new index of a coefficient, and the change of its sign.
type turnedPlace struct {
	to      int
	negated bool
}

// places returns the new place of each coefficient, in the order of a scan.
func (t Turn) places() (places [64]turnedPlace) {
	var order [64]int
	for k, at := range zigzag {
		order[at] = k
	}
	for k, at := range zigzag {
		u, v := int(at)%8, int(at)/8
		places[k] = turnedPlace{k, (t.FlipX && u%2 == 1) != (t.FlipY && v%2 == 1)}
		if t.Transpose {
			places[k].to = order[8*u+v]
		}
	}
	return places
}

func (p *plane) turned(t Turn, places *[64]turnedPlace) plane {
	out := *p
	if t.Transpose {
		out.h, out.v, out.width, out.high, out.wide, out.tall, out.needW, out.needH = p.v, p.h, p.high, p.width, p.tall, p.wide, p.needH, p.needW
	}
	out.empty()
	for y := range out.tall {
		for x := range out.needW {
			if y >= out.needH {
				break
			}
			fx, fy := x, y
			if t.Transpose {
				fx, fy = y, x
			}
			if t.FlipX {
				fx = p.needW - 1 - fx
			}
			if t.FlipY {
				fy = p.needH - 1 - fy
			}
			at := fy*p.wide + fx
			out.dc = append(out.dc, p.dc[at])
			piece := out.room()
			out.took(appendTurned(piece, p.tokens(at), places), len(piece))
		}
		for len(out.dc) < (y+1)*out.wide {
			out.blank()
		}
	}
	return out
}

// appendTurned appends the tokens of a turned block, in order.
func appendTurned(to, from []token, places *[64]turnedPlace) []token {
	start := len(to)
	for _, t := range from {
		p := &places[t.place()&63]
		v := t.value()
		if p.negated {
			v = -v
		}
		to = append(to, newToken(p.to, v))
		for i := len(to) - 1; i > start && to[i] < to[i-1]; i-- { // few are out of order, by short distances
			to[i], to[i-1] = to[i-1], to[i]
		}
	}
	return to
}

// CanTurn reports whether Turned supports a source and a turn: the mirrored edge ends with whole
// units, and the encoder can write the source's tables.
func (s *Source) CanTurn(t Turn) bool {
	if t.FlipX && s.Width%(8*s.hMax) != 0 || t.FlipY && s.Height%(8*s.vMax) != 0 {
		return false
	}
	return s.Model == Gray || s.Model == YCbCr && s.comps[1].quant == s.comps[2].quant
}

// Turned returns a source, for which CanTurn is true, turned without loss. It returns ctx's cause
// if ctx ends.
func (s *Source) Turned(ctx context.Context, t Turn) ([]byte, Statistics, error) {
	var shape sampling
	for i, c := range s.comps {
		shape[i] = [2]int{c.h, c.v}
	}
	b := newBlocks(s.Width, s.Height, s.Model, shape)
	all := [64]int32{}
	for k := range all {
		all[k] = 1
	}
	sampler := s.newBlockSampler()
	var quant [maxComponents][64]int32
	err := s.each(ctx, decoding{n: 8}, func(my int, r *rows) error {
		for i := range b.planes {
			p := pipe{in: &s.comps[i], out: &b.planes[i], n: 8, direct: true, floor: &all}
			p.row(my, r.blocks[i], r.last[i])
		}
		sampler.row(my, r)
		quant = r.quant
		return nil
	})
	if err != nil {
		return nil, Statistics{}, err
	}
	for i := range b.planes {
		b.planes[i].finish()
	}
	if quant[1] != quant[2] {
		return nil, Statistics{}, unsupported("colors with two quantizers")
	}
	e := newEncoder(b.turned(t), s.Progressive)
	e.costs = [2]*costs{}
	places := t.places()
	var steps quantTables
	for class := range min(2, len(s.comps)) {
		for k, q := range quant[class] {
			steps[class][places[k].to] = q
		}
	}
	of, _ := e.blocks.stretches(1)
	if err := e.run(ctx, steps, of, true); err != nil {
		return nil, Statistics{}, err
	}
	return e.bytes(len(s.data)), sampler.statistics(), nil
}
