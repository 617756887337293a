package picture

import (
	"math"

	"github.com/messkit/messkit/internal/picture/dctjpeg"
)

// The unit of coarseness is a factor: the steps of a quantizer as multiples of those of the usual
// table (package dctjpeg). The factor f is about the quality 100 - 50 f of the IJG if it is below
// 1.
const (
	// wanted is the best quantizer for a scaled picture. Of photographs that take the same bytes,
	// those with more pixels and those with a finer quantizer both look worse (SSIMULACRA2).
	wanted = 0.36
	// finest is the quantizer below which more bytes improve only noise.
	finest = 0.1
	// coarse is the coarsest quantizer for which Fit keeps the useful edge.
	coarse = 0.85
	// coarsest is the coarsest quantizer for limits below Ceiling, at any edge. Beyond it, only
	// blocks are visible.
	coarsest = 2.2
	// steepness is the exponent by which the quantizer that fits grows with the edge.
	steepness = 2.3
)

const (
	// usefulEdge is the long edge, in pixels, that Fit keeps while the quantizer is not coarse.
	// It is enough to read labels in a fridge.
	usefulEdge = 2_000
	// leastEdge is the least long edge, in pixels, of a picture that may take Ceiling bytes.
	leastEdge = 1_400
)

// at returns the quantizer that fits at another edge.
func at(q float64, edge, other int) float64 {
	return q * math.Pow(float64(other)/float64(edge), steepness)
}

// bestEdge returns the long edge, up to most, that suits a picture for which the quantizer q fits
// at edge.
func bestEdge(q float64, edge, most, maxBytes int) int {
	edgeFor := func(want float64) int {
		return int(math.Round(float64(edge) * math.Pow(want/q, 1/steepness)))
	}
	e := edgeFor(wanted)
	if useful := min(usefulEdge, most); e < useful {
		e = useful
		if at(q, edge, useful) > coarse {
			e = max(edgeFor(coarse), min(leastEdge, most))
		}
	}
	if maxBytes < Ceiling && at(q, edge, e) > coarsest {
		e = edgeFor(coarsest)
	}
	return max(1, min(e, most))
}

// eighths returns the scale N/8 that is nearest to an edge, for a picture whose long edge is
// long. It compares ratios.
func eighths(edge, long, most int) int {
	best := 1
	for n := 2; n <= most; n++ {
		if math.Abs(math.Log(float64(n*long)/8/float64(edge))) < math.Abs(math.Log(float64(best*long)/8/float64(edge))) {
			best = n
		}
	}
	return best
}

// scaleOf converts a quantizer to the scale of dctjpeg.
func scaleOf(q float64) dctjpeg.Scale { return dctjpeg.Scale(math.Round(128 * math.Log2(q))) }

func quantizerOf(s dctjpeg.Scale) float64 { return math.Exp2(float64(s) / 128) }
