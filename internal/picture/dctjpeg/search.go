package dctjpeg

import (
	"context"
	"fmt"
	"math"
)

// Report says how a picture was made to fit.
type Report struct {
	Scale       Scale
	Probes      int // quantisers tried on a sample
	Passes      int // on all of the picture
	Foretold    int // bytes, by the last probe for the first pass
	Progressive bool
}

const (
	// sampleBlocks is about how many blocks a probe looks at.
	sampleBlocks = 8_000
	maxProbes    = 5
	maxPasses    = 8
	// A picture is good enough that takes this part of the bytes, or is as fine
	// as wanted: quantisers are whole numbers, so that sizes come in steps.
	goodPart = 0.94
	// fairPart is good enough after fewPasses.
	fairPart  = 0.93
	fewPasses = 3
	aimPart   = 0.98
	// enough is how near, in steps of the scale, a probe must come.
	enough = 4
	// stuffed is by how much bytes that must be stuffed make a file longer.
	stuffed = 1.002
	// usualSlope is how the logarithm of the size falls with that of the scale.
	usualSlope = -0.72
)

// Fit makes a file of at most maxBytes, as finely quantised as that allows, but
// not finer than finest. The guess is where the search begins. It ends with
// ctx's cause, or with ErrBudget.
func (b *Blocks) Fit(ctx context.Context, maxBytes int, finest, guess Scale, progressive bool) ([]byte, Report, error) {
	s := NewSearch(b, maxBytes, progressive)
	if _, err := s.Probe(ctx, finest, guess); err != nil {
		return nil, s.report, err
	}
	return s.Fit(ctx)
}

// Search looks for the finest quantiser with which blocks fit.
type Search struct {
	e        *encoder
	maxBytes int
	finest   Scale
	at       Scale
	size     float64 // at it, as last seen
	fixed    float64 // what of the size does not change with the scale
	slope    float64
	report   Report
}

// NewSearch begins a search for blocks that must fit in maxBytes.
func NewSearch(b *Blocks, maxBytes int, progressive bool) *Search {
	return &Search{e: newEncoder(b, progressive), maxBytes: maxBytes, finest: b.finest, slope: usualSlope, report: Report{Progressive: progressive}}
}

// Report says what has been done so far.
func (s *Search) Report() Report { return s.report }

// Wanted is about the scale at which the blocks would fit, if coefficients for
// it had been kept. It is finer than what Probe has found, or the same.
func (s *Search) Wanted() Scale {
	if s.at > s.finest || s.size > goodPart*float64(s.maxBytes) {
		return s.at
	}
	return min(s.at, s.aim(s.at, s.size))
}

// step is how many stretches there are for one that a probe looks at.
func (b *Blocks) step() int {
	n := 0
	for i := range b.planes {
		n += len(b.planes[i].dc)
	}
	return max(1, n/sampleBlocks)
}

// measure counts the symbols at a scale; size is foretold from a part of the
// picture.
func (s *Search) measure(ctx context.Context, at Scale, of []stretch, units int, list bool) (float64, error) {
	if err := s.e.run(ctx, at.tables(), of, list); err != nil {
		return 0, err
	}
	head, scans := s.e.size()
	fixed := s.e.fixed()
	s.fixed = float64(head + fixed)
	all := s.e.blocks.mcuW * s.e.blocks.mcuH
	return s.fixed + float64(scans-fixed)*stuffed*float64(all)/float64(units), nil
}

// fixed is what does not grow with a picture: tables and headers.
func (e *encoder) fixed() int {
	n := 0
	for _, s := range e.scans {
		bits := s.extra
		for i := range s.counts {
			if s.uses(i) {
				c := optimal(&s.counts[i])
				for code, length := range c.bitsOf() {
					bits += int(s.counts[i][code]) * int(length)
				}
			}
		}
		n += s.size() - (bits+7)/8
	}
	return n
}

// Probe finds, on a sample, about the scale at which the blocks fit, beginning
// with a guess. It ends with ctx's cause.
func (s *Search) Probe(ctx context.Context, finest, guess Scale) (Scale, error) {
	s.finest = max(finest, s.e.blocks.finest)
	of, units := s.e.blocks.stretches(s.e.blocks.step())
	if units == 0 {
		of, units = s.e.blocks.stretches(1)
	}
	s.at = max(s.finest, min(Coarsest, guess))
	last, lastSize := s.at, 0.0
	for s.report.Probes < maxProbes {
		size, err := s.measure(ctx, s.at, of, units, false)
		if err != nil {
			return 0, err
		}
		s.e.learn()
		s.report.Probes++
		s.learnSlope(last, s.at, lastSize, size-s.fixed)
		last, lastSize, s.size = s.at, size-s.fixed, size
		next := s.toward(s.at, size)
		near := math.Abs(float64(next - s.at))
		if s.at = next; near <= enough && s.report.Probes > 1 {
			break // the first one knew no costs
		}
	}
	s.size = s.fixed + lastSize*math.Exp2(s.slope*float64(s.at-last)/stepsPerOctave)
	return s.at, nil
}

// toward is the scale where the size would be right, within bounds.
func (s *Search) toward(at Scale, size float64) Scale {
	return max(s.finest, min(Coarsest, s.aim(at, size)))
}

// aim is toward without bounds.
func (s *Search) aim(at Scale, size float64) Scale {
	want, has := aimPart*float64(s.maxBytes)-s.fixed, size-s.fixed
	if want <= 0 || has <= 0 {
		return Coarsest
	}
	octaves := math.Log2(want/has) / s.slope
	return at + Scale(math.Round(octaves*stepsPerOctave))
}

// learnSlope takes the slope between two sizes, if they tell it.
func (s *Search) learnSlope(a, b Scale, sizeA, sizeB float64) {
	if d := float64(b-a) / stepsPerOctave; sizeA > 0 && math.Abs(d) > 0.1 {
		if slope := math.Log2(sizeB/sizeA) / d; slope < -0.2 && slope > -1.6 {
			s.slope = slope
		}
	}
}

// tried is a scale that all of the picture was quantised with.
type tried struct {
	at   Scale
	size float64
}

// Fit quantises all of the picture at the scale that Probe has found, and again
// where its sample was wrong. It ends with ctx's cause, or with ErrBudget.
func (s *Search) Fit(ctx context.Context) ([]byte, Report, error) {
	of, units := s.e.blocks.stretches(1)
	s.report.Foretold = int(s.size)
	var data []byte
	var fits, not *tried // the finest that fits, the coarsest that does not
	for s.report.Passes < maxPasses {
		size, err := s.measure(ctx, s.at, of, units, true)
		if err != nil {
			return nil, s.report, err
		}
		s.report.Passes++
		now := &tried{s.at, size}
		if int(size) <= s.maxBytes {
			if out := s.e.bytes(int(size) + int(size)/64); len(out) <= s.maxBytes {
				data, fits, s.report.Scale = out, now, s.at
			}
		}
		if fits != now {
			not = now
		}
		if data != nil && s.enough(fits, not) {
			return data, s.report, nil
		}
		if not != nil && not.at >= Coarsest {
			break
		}
		s.at = s.between(fits, not)
	}
	if data != nil {
		return data, s.report, nil
	}
	return nil, s.report, fmt.Errorf("%w in %d bytes as %d x %d pixels", ErrBudget, s.maxBytes, s.e.blocks.Width, s.e.blocks.Height)
}

// enough reports whether what fits is fine enough.
func (s *Search) enough(fits, not *tried) bool {
	part := fits.size / float64(s.maxBytes)
	return part >= goodPart || fits.at == s.finest || not != nil && not.at+1 >= fits.at ||
		s.report.Passes >= fewPasses && part >= fairPart
}

// between is the scale to try next.
func (s *Search) between(fits, not *tried) Scale {
	switch {
	case s.report.Passes == maxPasses-1 && fits == nil:
		return Coarsest
	case fits == nil:
		return min(Coarsest, max(s.toward(not.at, not.size), not.at+Scale(1<<s.report.Passes)))
	case not == nil:
		return max(s.finest, min(s.toward(fits.at, fits.size), fits.at-Scale(1<<s.report.Passes)))
	}
	part := math.Log(aimPart*float64(s.maxBytes)/fits.size) / math.Log(not.size/fits.size)
	at := fits.at - Scale(math.Round(part*float64(fits.at-not.at)))
	return max(not.at+1, min(fits.at-1, at))
}
