package picture

import (
	"context"
	"math"

	"github.com/messkit/messkit/internal/picture/dctjpeg"
)

const (
	// maxDecodes is the largest number of times that the search for a scale decodes a JPEG.
	maxDecodes = 4
	// margin is the factor by which the final quantizer may be finer than the guess. Beyond it,
	// the source must be decoded again, since the decoder did not store the coefficients that
	// only a finer quantizer needs.
	margin = 2.8
	// again is the factor by which a quantizer may differ from the wanted one before another
	// scale justifies a second decoding.
	again = 2.3
	// againFiner is the same factor for a quantizer that is finer than wanted when more pixels
	// would fit. More pixels gain little.
	againFiner = 2.8
	// drawnBlocks is the least share of single-color blocks in a JPEG that counts as drawn.
	// Screens and texts have a larger share, photographs a smaller one.
	drawnBlocks = 0.4
	// drawnColor is the energy of fine color per sample at which halved color visibly harms a
	// drawn picture.
	drawnColor = 2
)

// guess estimates, from the header and the file size alone, the quantizer at which the whole
// picture would fit. The exponents are a regression over photographs. The factor is above the
// regression, since a picture with too many pixels loses more than one with too few.
func guess(src *dctjpeg.Source, maxBytes int) float64 {
	return 0.42 * math.Pow(src.Coarseness(), 0.65) * math.Pow(float64(src.Body())/float64(maxBytes), 1.23)
}

// plan is a scale to try.
type plan struct {
	eighths int
	q       float64 // expected quantizer
	full    bool
}

// blocks scales the blocks of a JPEG by N/8, and quantizes them as finely as the limit permits.
func (j *job) blocks(ctx context.Context, src *dctjpeg.Source) (Picture, error) {
	long := max(src.Width, src.Height)
	most := 8
	if j.lim.MaxPx > 0 && long > j.lim.MaxPx {
		if most = j.lim.MaxPx * 8 / long; most < 1 || float64(most*long)/8 < 0.94*float64(j.lim.MaxPx) {
			j.x.because("no number of eighths is near %d pixels", j.lim.MaxPx)
			return j.planes(ctx, src)
		}
	}
	pl := j.planned(guess(src, j.lim.MaxBytes), 8, long, most)
	for {
		least := finest
		if pl.eighths == 8 {
			least = max(finest, src.Coarseness()) // a finer quantizer cannot restore lost coefficients
		}
		b, stats, err := src.Blocks(ctx, dctjpeg.Way{
			N: pl.eighths, Turn: j.orient.turn(), Full: pl.full,
			Finest: scaleOf(max(least, pl.q/margin)),
		})
		if err != nil {
			return Picture{}, j.failed(ctx, err)
		}
		j.x.Decodes++
		if !pl.full && src.FullColor() && stats.Drawn > drawnBlocks && stats.Color > drawnColor && j.x.Decodes < maxDecodes {
			j.x.because("it is a drawing, so that its color stays whole")
			pl.full = true
			continue
		}
		s := dctjpeg.NewSearch(b, j.lim.MaxBytes, true)
		if _, err := s.Probe(ctx, scaleOf(least), scaleOf(pl.q)); err != nil {
			return Picture{}, j.failed(ctx, err)
		}
		q := quantizerOf(s.Wanted())
		next := j.planned(q, pl.eighths, long, most)
		next.full = pl.full
		if j.x.Decodes < maxDecodes && j.better(pl, next, q, least) {
			j.x.Probes += s.Report().Probes
			pl = next
			continue
		}
		if most := bestEdge(q, pl.eighths*long/8, long, j.lim.MaxBytes); pl.eighths == 1 && most*16 < long {
			j.x.because("an eighth of its size is still too large")
			j.x.Probes += s.Report().Probes
			return j.planes(ctx, src)
		}
		data, report, err := s.Fit(ctx)
		if err != nil {
			return Picture{}, j.failed(ctx, err)
		}
		j.x.searched(report)
		j.x.Way, j.x.Eighths, j.x.FullColor = WayBlocks, pl.eighths, pl.full
		j.shrank(b.Width, b.Height)
		j.encodedAs()
		return j.done(data, "image/jpeg", b.Width, b.Height, statisticsOf(stats)), nil
	}
}

// planned returns the scale that suits a picture for which the quantizer q fits at now eighths of
// its size.
func (j *job) planned(q float64, now, long, most int) plan {
	edge := bestEdge(q, now*long/8, (most*long+7)/8, j.lim.MaxBytes)
	n := eighths(edge, long, most)
	return plan{eighths: n, q: max(finest, at(q, now*long/8, n*long/8))}
}

// better reports whether the next plan justifies a second decoding of the source: its quantizer
// is nearer to the wanted one, or finer than the stored coefficients permit.
func (j *job) better(now, next plan, q, least float64) bool {
	if kept := max(least, now.q/margin); q < kept*0.9 && kept > least {
		j.x.because("at %d/8 the estimate was a quantizer of %.2f, and %.2f fits", now.eighths, now.q, q)
		return true
	}
	if now.eighths == next.eighths {
		return false
	}
	off, then := max(q/wanted, wanted/q), max(next.q/wanted, wanted/next.q)
	if (q > wanted*again || q < wanted/againFiner) && then < off {
		j.x.because("at %d/8 the quantizer would be %.2f", now.eighths, q)
		return true
	}
	return false
}
