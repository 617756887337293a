package picture

import (
	"math"

	"github.com/messkit/messkit/internal/picture/dctjpeg"
)

// How coarse a quantiser is, is told as the factor by which its steps are those
// of the usual table (package dctjpeg). The factor f is about the quality
// 100 - 50 f of the IJG as long as it is below 1.
const (
	// wanted is the quantiser that a picture is scaled for: of photographs that
	// take the same bytes, those with more pixels and those with a finer quantiser
	// both look worse (SSIMULACRA2).
	wanted = 0.36
	// finest is where more bytes are spent on noise alone.
	finest = 0.1
	// coarse is the quantiser up to which the useful edge is kept.
	coarse = 0.85
	// coarsest is the quantiser that is not passed where few bytes are asked for,
	// whatever edge that takes: beyond, blocks are all that is seen.
	coarsest = 2.2
	// steepness is how the quantiser that fits grows with the edge.
	steepness = 2.3
)

const (
	// usefulEdge is the long edge, in pixels, that is kept as long as the
	// quantiser is not coarse: labels in a fridge can be read.
	usefulEdge = 2_000
	// leastEdge is the long edge, in pixels, below which nothing is shrunk that
	// may take Ceiling bytes.
	leastEdge = 1_400
)

// at is the quantiser that fits at another edge.
func at(q float64, edge, other int) float64 {
	return q * math.Pow(float64(other)/float64(edge), steepness)
}

// bestEdge is the long edge, up to most, that suits a picture for which the
// quantiser q fits at edge.
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

// eighths is the scale N/8 that is nearest to an edge, of a picture whose long
// edge is long. Steps are ratios, so nearest is meant so too.
func eighths(edge, long, most int) int {
	best := 1
	for n := 2; n <= most; n++ {
		if math.Abs(math.Log(float64(n*long)/8/float64(edge))) < math.Abs(math.Log(float64(best*long)/8/float64(edge))) {
			best = n
		}
	}
	return best
}

// scaleOf is a quantiser as dctjpeg counts it.
func scaleOf(q float64) dctjpeg.Scale { return dctjpeg.Scale(math.Round(128 * math.Log2(q))) }

func quantiserOf(s dctjpeg.Scale) float64 { return math.Exp2(float64(s) / 128) }
