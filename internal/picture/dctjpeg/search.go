package dctjpeg

import (
	"context"
	"fmt"
	"math"
)

// Report describes the search that made a picture fit.
type Report struct {
	Scale       Scale
	Probes      int // number of quantizers tried on a sample
	Passes      int // on all of the picture
	Predicted   int // bytes that the last probe predicted for the first pass
	Progressive bool
}

const (
	// sampleBlocks is about the number of blocks of one probe.
	sampleBlocks = 8_000
	maxProbes    = 5
	maxPasses    = 8
	// A result is good enough if it takes this part of the bytes, or if its quantizer is as fine
	// as wanted. Quantizers are integers, so sizes change in steps.
	goodPart = 0.94
	// fairPart is good enough after fewPasses passes.
	fairPart  = 0.93
	fewPasses = 3
	aimPart   = 0.98
	// enough is the largest acceptable distance of a probe, in steps of the scale.
	enough = 4
	// stuffed is the factor by which stuffed bytes make a file longer.
	stuffed = 1.002
	// usualSlope is the change of the logarithm of the size with that of the scale.
	usualSlope = -0.72
)

// Fit writes a file of at most maxBytes, with the finest possible quantizer that is not finer
// than finest. The search begins with guess. It returns ctx's cause, or ErrBudget.
func (b *Blocks) Fit(ctx context.Context, maxBytes int, finest, guess Scale, progressive bool) ([]byte, Report, error) {
	s := NewSearch(b, maxBytes, progressive)
	if _, err := s.Probe(ctx, finest, guess); err != nil {
		return nil, s.report, err
	}
	return s.Fit(ctx)
}

// Search looks for the finest quantizer with which blocks fit.
type Search struct {
	e        *encoder
	maxBytes int
	finest   Scale
	at       Scale
	size     float64 // last size at that scale
	fixed    float64 // part of the size that does not change with the scale
	slope    float64
	report   Report
}

// NewSearch begins a search for blocks that must fit in maxBytes.
func NewSearch(b *Blocks, maxBytes int, progressive bool) *Search {
	return &Search{e: newEncoder(b, progressive), maxBytes: maxBytes, finest: b.finest, slope: usualSlope, report: Report{Progressive: progressive}}
}

// Report returns the report of the search so far.
func (s *Search) Report() Report { return s.report }

// Wanted returns about the scale at which the blocks would fit, if they had all coefficients for
// it. It is finer than the result of Probe, or the same.
func (s *Search) Wanted() Scale {
	if s.at > s.finest || s.size > goodPart*float64(s.maxBytes) {
		return s.at
	}
	return min(s.at, s.aim(s.at, s.size))
}

// step returns the number of stretches per sampled stretch of a probe.
func (b *Blocks) step() int {
	n := 0
	for i := range b.planes {
		n += len(b.planes[i].dc)
	}
	return max(1, n/sampleBlocks)
}

// measure counts the symbols at a scale. It predicts size from a part of the picture.
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

// fixed returns the bytes of tables and headers, which do not grow with a picture.
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

// Probe finds, on a sample, about the scale at which the blocks fit. It begins with a guess. It
// returns ctx's cause if ctx ends.
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
			break // the first probe had only estimated costs
		}
	}
	s.size = s.fixed + lastSize*math.Exp2(s.slope*float64(s.at-last)/stepsPerOctave)
	return s.at, nil
}

// toward returns the scale that gives the right size, within bounds.
func (s *Search) toward(at Scale, size float64) Scale {
	return max(s.finest, min(Coarsest, s.aim(at, size)))
}

// aim does the work of toward without bounds.
func (s *Search) aim(at Scale, size float64) Scale {
	want, has := aimPart*float64(s.maxBytes)-s.fixed, size-s.fixed
	if want <= 0 || has <= 0 {
		return Coarsest
	}
	octaves := math.Log2(want/has) / s.slope
	return at + Scale(math.Round(octaves*stepsPerOctave))
}

// learnSlope computes the slope between two sizes, if they differ enough.
func (s *Search) learnSlope(a, b Scale, sizeA, sizeB float64) {
	if d := float64(b-a) / stepsPerOctave; sizeA > 0 && math.Abs(d) > 0.1 {
		if slope := math.Log2(sizeB/sizeA) / d; slope < -0.2 && slope > -1.6 {
			s.slope = slope
		}
	}
}

// tried is a scale, with the result of its pass over the whole picture.
type tried struct {
	at   Scale
	size float64
}

// Fit quantizes the whole picture at the scale of Probe, and again if the sample was wrong. It
// returns ctx's cause, or ErrBudget.
func (s *Search) Fit(ctx context.Context) ([]byte, Report, error) {
	of, units := s.e.blocks.stretches(1)
	s.report.Predicted = int(s.size)
	var data []byte
	var fits, not *tried // the finest scale that fits, the coarsest that does not
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

// enough reports whether the scale that fits is fine enough.
func (s *Search) enough(fits, not *tried) bool {
	part := fits.size / float64(s.maxBytes)
	return part >= goodPart || fits.at == s.finest || not != nil && not.at+1 >= fits.at ||
		s.report.Passes >= fewPasses && part >= fairPart
}

// between returns the next scale to try.
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
