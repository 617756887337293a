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
