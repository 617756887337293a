package dctjpeg

import "context"

// Plane contains the samples of one component, 0 to 255.
type Plane struct {
	Pix           []uint8 // rows of Width samples
	Width, Height int
}

// Planes decodes all components of a source, scaled by n/8. A component with fewer samples keeps
// its ratio. It returns ctx's cause if ctx ends.
func (s *Source) Planes(ctx context.Context, n int) ([]Plane, Statistics, error) {
	var planes []Plane
	for i := range s.comps {
		c := &s.comps[i]
		w, h := ceilDiv(ceilDiv(s.Width*c.h, s.hMax)*n, 8), ceilDiv(ceilDiv(s.Height*c.v, s.vMax)*n, 8)
		planes = append(planes, Plane{Pix: make([]uint8, w*h), Width: w, Height: h})
	}
	sampler, wide := s.newBlockSampler(), s.mcuW*s.hMax*n
	samples := make([]int16, wide*n)
	err := s.each(ctx, decoding{n: n}, func(my int, r *rows) error {
		for i := range s.comps {
			c := &s.comps[i]
			for v := range c.v {
				for x := range c.needW {
					scaledTo[n]((*block)(r.blocks[i][64*(v*c.wide+x):]), samples[x*n:], wide)
				}
				for y := range n {
					planes[i].set((my*c.v+v)*n+y, samples[y*wide:])
				}
			}
		}
		sampler.row(my, r)
		return nil
	})
	if err != nil {
		return nil, Statistics{}, err
	}
	return planes, sampler.statistics(), nil
}

// set writes a row from samples around 0.
func (p *Plane) set(y int, row []int16) {
	if y >= p.Height {
		return
	}
	to := p.Pix[y*p.Width : (y+1)*p.Width]
	for x := range to {
		to[x] = uint8(max(0, min(255, row[x]+128)))
	}
}

// Statistics decodes a source to validate it and to return its statistics.
func (s *Source) Statistics(ctx context.Context) (Statistics, error) {
	sampler := s.newBlockSampler()
	err := s.each(ctx, decoding{n: 1}, func(my int, r *rows) error {
		sampler.row(my, r)
		return nil
	})
	if err != nil {
		return Statistics{}, err
	}
	return sampler.statistics(), nil
}

// Lines gives the rows of samples of a picture, from the top: one component, or brightness and
// two components of color. Line may return the same memory again.
type Lines struct {
	Width, Height int
	Gray          bool
	Full          bool // color has as many samples as brightness, not a quarter
	// Line returns the samples of one row of a component, around 128.
	Line func(component, y int) []uint8
}

// FromLines makes blocks from samples. It returns ctx's cause if ctx ends.
func FromLines(ctx context.Context, l Lines, finest Scale) (*Blocks, error) {
	model, shape := YCbCr, halved
	if l.Gray {
		model = Gray
	}
	if l.Full {
		shape = full
	}
	b := newBlocks(l.Width, l.Height, model, shape)
	b.finest = finest
	floors := finest.floors()
	for i := range b.planes {
		p := &b.planes[i]
		st := newStrip(p, &floors[p.class], false, false)
		row := make([]int16, p.width)
		for y := range p.high {
			if y%64 == 0 && ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			for x, v := range l.Line(i, y)[:p.width] {
				row[x] = int16(v) - 128
			}
			st.add(row)
		}
		st.finish()
	}
	return b, nil
}

// strip collects rows of samples until there are eight, and makes blocks of them. For a later
// flip, the incomplete blocks of a picture are at the left or the top.
type strip struct {
	plane     *plane
	floor     *[64]int32
	left, top int     // filler samples before the picture's
	buf       []int16 // eight rows
	rows      int     // in buf
	taken     int     // rows added so far
}

func newStrip(p *plane, floor *[64]int32, fromRight, fromBottom bool) *strip {
	s := &strip{plane: p, floor: floor, buf: make([]int16, 8*8*p.needW)}
	if fromRight {
		s.left = 8*p.needW - p.width
	}
	if fromBottom {
		s.top = 8*p.needH - p.high
	}
	return s
}

// add adds a row of samples around 0. It ignores excess samples, and repeats the last sample of a
// short row.
func (s *strip) add(row []int16) {
	if s.taken == s.plane.high {
		return
	}
	stride := len(s.buf) / 8
	to := s.buf[s.rows*stride : (s.rows+1)*stride]
	n := copy(to[s.left:min(stride, s.left+s.plane.width)], row)
	spread(to[:s.left], row[0])
	spread(to[s.left+n:], row[n-1])
	s.taken++
	again := 1
	if s.taken == 1 {
		again += s.top
	}
	if s.taken == s.plane.high {
		again += 8*s.plane.needH - s.plane.high - s.top
	}
	for range again {
		copy(s.buf[s.rows*stride:(s.rows+1)*stride], to)
		if s.rows++; s.rows == 8 {
			s.flush(stride)
			last := s.buf[7*stride:]
			copy(s.buf, last)
			to = s.buf[:stride]
		}
	}
}

func spread(to []int16, v int16) {
	for i := range to {
		to[i] = v
	}
}

// flush writes a row of blocks.
func (s *strip) flush(stride int) {
	var b block
	for x := range s.plane.needW {
		forward(s.buf[8*x:], stride, &b)
		s.plane.add(&b, s.floor)
	}
	s.plane.fillRow()
	s.rows = 0
}

// fillRow completes a row of blocks.
func (p *plane) fillRow() {
	for range p.wide - p.needW {
		p.blank()
	}
}

// finish completes the rows of blocks. It repeats the last row in place of missing rows.
func (s *strip) finish() {
	if s.taken > 0 {
		stride := len(s.buf) / 8
		last := s.buf[(s.rows+7)%8*stride : ((s.rows+7)%8+1)*stride]
		for s.taken < s.plane.high {
			s.add(append([]int16(nil), last[s.left:]...))
		}
	}
	s.plane.finish()
}

func (p *plane) finish() {
	for len(p.dc) < p.wide*p.tall {
		p.blank()
	}
}

// halver halves the width of rows, or the number of rows, or both, for a strip.
type halver struct {
	across, down bool
	to           *strip
	kept         []int16 // a row that has no partner yet
	waiting      bool
	out          []int16
}

func (h *halver) add(row []int16) {
	if h.across {
		row = h.narrow(row)
	}
	if !h.down {
		h.to.add(row)
		return
	}
	if !h.waiting {
		h.kept, h.waiting = append(h.kept[:0], row...), true
		return
	}
	h.waiting = false
	for x, v := range row[:len(h.kept)] {
		h.kept[x] = (h.kept[x] + v + int16(x&1)) >> 1
	}
	h.to.add(h.kept)
}

func (h *halver) narrow(row []int16) []int16 {
	n := (len(row) + 1) / 2
	if cap(h.out) < n {
		h.out = make([]int16, n)
	}
	out := h.out[:n]
	for x := range len(row) / 2 {
		out[x] = (row[2*x] + row[2*x+1] + int16(x&1)) >> 1 // rounds up and down in turn
	}
	if len(row)%2 == 1 {
		out[n-1] = row[len(row)-1]
	}
	return out
}

// finish passes a remaining row to the strip.
func (h *halver) finish() {
	if h.waiting {
		h.to.add(h.kept)
	}
	h.to.finish()
}
