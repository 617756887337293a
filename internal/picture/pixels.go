package picture

import (
	"context"
	"errors"
	"image"

	"github.com/messkit/messkit/internal/picture/dctjpeg"
)

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
