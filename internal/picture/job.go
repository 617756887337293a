package picture

import (
	"context"
	"errors"
	"fmt"

	"github.com/messkit/messkit/internal/picture/dctjpeg"
)

// job is the work on one picture.
type job struct {
	format
	data    []byte // encoded; of a JPEG: repaired
	lim     Limits
	orient  orientation
	changes []string
	x       Explain
}

// newJob checks the header of data.
func newJob(data []byte, lim Limits) (*job, error) {
	f, c, err := inspect(data)
	if err != nil {
		return nil, err
	}
	j := &job{format: f, data: data, lim: lim}
	j.x = Explain{FromMIME: f.mime, FromBytes: len(data), FromWidth: c.Width, FromHeight: c.Height, Budget: lim.MaxBytes}
	if f.exif != nil {
		j.orient = orientationOf(f.exif(data))
	}
	return j, nil
}

// run chooses the way that suits the picture.
func (j *job) run(ctx context.Context) (Picture, error) {
	if j.mime == "image/jpeg" {
		return j.runJPEG(ctx)
	}
	img, err := j.decoded(ctx)
	if err != nil {
		return Picture{}, err
	}
	stats := measure(img)
	if data := j.stripped(j.x.FromWidth, j.x.FromHeight); data != nil {
		return j.kept(data, stats), nil
	}
	return j.pixels(ctx, img, stats)
}

// runJPEG keeps the blocks of a JPEG if possible.
func (j *job) runJPEG(ctx context.Context) (Picture, error) {
	var err error
	if j.data, j.changes, err = repairJPEG(j.data); err != nil {
		return Picture{}, err
	}
	if !jpegEnds(j.data) {
		return Picture{}, j.broken(j.data, dctjpeg.ErrCut)
	}
	src, err := dctjpeg.Parse(j.data)
	if err != nil {
		return Picture{}, j.broken(j.data, err)
	}
	p, done, err := j.unchanged(ctx, src)
	if err != nil || done {
		return p, err
	}
	if src.CanScale() {
		return j.blocks(ctx, src)
	}
	return j.planes(ctx, src)
}

// unchanged tries the ways without loss.
func (j *job) unchanged(ctx context.Context, src *dctjpeg.Source) (p Picture, done bool, err error) {
	inks := src.Model == dctjpeg.CMYK || src.Model == dctjpeg.YCCK // few programs can display CMYK
	if inks {
		j.x.because("its colors are inks")
		return Picture{}, false, nil
	}
	if !src.Usual() {
		j.x.because("some programs cannot read its color sampling")
		return Picture{}, false, nil
	}
	if j.orient.upright() {
		data := j.stripped(src.Width, src.Height)
		if data == nil {
			return Picture{}, false, nil
		}
		if src.Progressive && restarts(data) {
			return j.withoutRestarts(ctx, src)
		}
		stats, err := src.Statistics(ctx)
		if err != nil {
			return Picture{}, false, j.failed(ctx, err)
		}
		return j.kept(data, statisticsOf(stats)), true, nil
	}
	w, h := src.Height, src.Width // the limit does not depend on the order of the sides
	if len(j.data) > j.lim.MaxBytes || !j.lim.allow(w, h, 0) || !src.CanTurn(j.orient.turn()) {
		return Picture{}, false, nil
	}
	data, stats, err := src.Turned(ctx, j.orient.turn())
	if errors.Is(err, dctjpeg.ErrUnsupported) {
		return Picture{}, false, nil
	}
	if err != nil {
		return Picture{}, false, j.failed(ctx, err)
	}
	if len(data) > j.lim.MaxBytes {
		return Picture{}, false, nil
	}
	j.x.Way, j.x.Progressive = WayTurned, src.Progressive
	j.x.because("it fits already, and ends with whole blocks")
	j.changes = append(j.changes, "turned it upright without loss")
	if !j.orient.turn().Transpose {
		w, h = h, w
	}
	return j.done(data, "image/jpeg", w, h, statisticsOf(stats)), true, nil
}

// withoutRestarts writes a progressive JPEG again, without loss and without restart markers. Some
// decoders, such as that of Go, do not read such markers in progressive pictures.
func (j *job) withoutRestarts(ctx context.Context, src *dctjpeg.Source) (p Picture, done bool, err error) {
	none := dctjpeg.Turn{}
	if !src.CanTurn(none) {
		return Picture{}, false, nil
	}
	data, stats, err := src.Turned(ctx, none)
	switch {
	case errors.Is(err, dctjpeg.ErrUnsupported):
		return Picture{}, false, nil
	case err != nil:
		return Picture{}, false, j.failed(ctx, err)
	case len(data) > j.lim.MaxBytes:
		return Picture{}, false, nil
	}
	j.x.Way, j.x.Progressive = WayKept, true
	j.x.because("it fits already, but some programs cannot read restart markers of a progressive JPEG")
	j.changes = append(j.changes, "left out its restart markers, without loss")
	return j.done(data, "image/jpeg", src.Width, src.Height, statisticsOf(stats)), true, nil
}

// stripped returns the picture without its metadata, or nil if it is not upright or does not fit.
func (j *job) stripped(w, h int) []byte {
	if !j.orient.upright() || j.strip == nil {
		return nil
	}
	data := j.strip(j.data)
	if !j.lim.allow(w, h, len(data)) {
		return nil
	}
	return data
}

func (j *job) kept(data []byte, stats Statistics) Picture {
	j.x.Way = WayKept
	j.x.because("it fits already")
	if len(data) != len(j.data) {
		j.changes = append(j.changes, "left out its metadata")
	}
	return j.done(data, j.mime, j.x.FromWidth, j.x.FromHeight, stats)
}

func (j *job) done(data []byte, mime string, w, h int, stats Statistics) Picture {
	j.x.Bytes, j.x.Width, j.x.Height = len(data), w, h
	return Picture{Data: data, MIME: mime, Width: w, Height: h, Statistics: stats, Changes: j.changes, Explain: j.x}
}

// failed returns an error of this package for an error of dctjpeg.
func (j *job) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("picture: %w", context.Cause(ctx))
	}
	if errors.Is(err, dctjpeg.ErrBudget) {
		return fmt.Errorf("picture: it does not fit in %d bytes; allow more", j.lim.MaxBytes)
	}
	return j.broken(j.data, err)
}

// shrank records fewer pixels, and a turn.
func (j *job) shrank(w, h int) {
	if from, to := max(j.x.FromWidth, j.x.FromHeight), max(w, h); to < from {
		j.changes = append(j.changes, fmt.Sprintf("shrank it from %d to %d pixels", from, to))
	}
	if !j.orient.upright() {
		j.changes = append(j.changes, "turned it upright")
	}
}

// encodedAs records the quantizer.
func (j *job) encodedAs() {
	j.changes = append(j.changes, fmt.Sprintf("encoded it as JPEG of quality %d", j.x.Quality()))
}
