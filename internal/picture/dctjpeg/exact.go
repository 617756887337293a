package dctjpeg

import "context"

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
