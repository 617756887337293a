package picture

import (
	"context"
	"errors"
	"image"
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

// longestEdge is the longest edge of a JPEG, in pixels.
const longestEdge = 1<<16 - 1

// maxSizes is the number of tries before Fit makes every next size much smaller.
const maxSizes = 4

// pixels encodes a drawn picture as PNG if that fits, and otherwise as JPEG.
func (j *job) pixels(ctx context.Context, img image.Image, stats Statistics) (Picture, error) {
	whole := img
	img, err := plain(img)
	if err != nil {
		return Picture{}, err
	}
	_, gray := img.(*image.Gray)
	if drawn(img) {
		j.x.because("it is a drawing: many pixels are like their neighbors")
		j.x.FullColor = !gray
		if p, ok, err := j.png(ctx, whole, img, stats); ok || err != nil {
			return p, err
		}
	}
	b := img.Bounds()
	edge := min(max(b.Dx(), b.Dy()), longestEdge)
	if j.lim.MaxPx > 0 {
		edge = min(edge, j.lim.MaxPx)
	}
	most, q := edge, wanted
	for size := 1; ; size++ {
		p, next, err := j.sized(ctx, img, sizing{edge: edge, most: most, q: q, last: size >= maxSizes}, stats)
		if errors.Is(err, dctjpeg.ErrBudget) && edge > 1 {
			edge, q = max(1, edge*2/3), coarsest
			continue
		}
		if err != nil {
			return Picture{}, j.failed(ctx, err)
		}
		if p.Data != nil {
			return p, nil
		}
		edge, q = next.edge, next.q
	}
}

// sizing is a size to try.
type sizing struct {
	edge, most int
	q          float64 // expected quantizer
	last       bool    // try no other size
}

// sized encodes a JPEG whose long edge has s.edge pixels. If another size, or a finer quantizer,
// would be better, it returns that as next, and no data.
func (j *job) sized(ctx context.Context, img image.Image, s sizing, stats Statistics) (p Picture, next sizing, err error) {
	if img, err = shrunk(ctx, img, s.edge, j.x.FullColor); err != nil {
		return Picture{}, next, err
	}
	if img, err = turned(ctx, img, j.orient); err != nil {
		return Picture{}, next, err
	}
	b, err := dctjpeg.FromLines(ctx, linesOf(img, j.x.FullColor), scaleOf(max(finest, s.q/margin)))
	if err != nil {
		return Picture{}, next, err
	}
	search := dctjpeg.NewSearch(b, j.lim.MaxBytes, true)
	if _, err := search.Probe(ctx, scaleOf(finest), scaleOf(s.q)); err != nil {
		return Picture{}, next, err
	}
	q := quantizerOf(search.Wanted())
	next = s
	next.edge = bestEdge(q, s.edge, s.most, j.lim.MaxBytes)
	next.q = at(q, s.edge, next.edge)
	kept := max(finest, s.q/margin)
	finer := q < kept*0.9 && kept > finest
	if smaller := next.edge*20 < s.edge*19; !s.last && (smaller || finer) {
		j.x.Probes += search.Report().Probes
		if smaller {
			j.x.because("with %d pixels the quantizer would be %.2f", s.edge, q)
		} else {
			next.edge, next.q = s.edge, max(finest, q)
		}
		return Picture{}, next, nil
	}
	data, report, err := search.Fit(ctx)
	if err != nil {
		return Picture{}, next, err
	}
	j.x.searched(report)
	j.x.Way = WayEncoded
	j.shrank(b.Width, b.Height)
	j.encodedAs()
	return j.done(data, "image/jpeg", b.Width, b.Height, stats), next, nil
}

// png encodes a PNG. ok is false if it does not fit.
func (j *job) png(ctx context.Context, whole, img image.Image, stats Statistics) (p Picture, ok bool, err error) {
	b := img.Bounds()
	if j.lim.MaxPx > 0 && max(b.Dx(), b.Dy()) > j.lim.MaxPx {
		return Picture{}, false, nil
	}
	if j.mime == "image/jpeg" {
		return Picture{}, false, nil // a PNG would keep the noise of the lossy coding
	}
	if p, ok := whole.(*image.Paletted); ok && p.Opaque() && j.orient.upright() {
		img = p
	} else if img, err = turned(ctx, img, j.orient); err != nil {
		return Picture{}, false, err
	}
	data, err := encodePNG(ctx, img, j.lim.MaxBytes)
	if err != nil {
		return Picture{}, false, err
	}
	if data == nil {
		j.x.because("as PNG it would take more than %d bytes", j.lim.MaxBytes)
		return Picture{}, false, nil
	}
	b = img.Bounds()
	j.x.Way = WayPNG
	j.shrank(b.Dx(), b.Dy())
	j.changes = append(j.changes, "encoded it as PNG")
	return j.done(data, "image/png", b.Dx(), b.Dy(), stats), true, nil
}
