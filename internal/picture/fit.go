package picture

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
)

// Qualities of the JPEG encoder, on the scale of the IJG. Above the best, bytes
// are spent on noise. Below the least, edges and text begin to break, and fewer
// pixels look better.
const (
	bestQuality  = 85
	goodQuality  = 75
	leastQuality = 60
)

const (
	// usefulEdge is the long edge, in pixels, that is kept while the least
	// quality allows it: labels in a fridge can be read.
	usefulEdge = 2_000
	// longestEdge is what a JPEG can hold, in pixels.
	longestEdge = 1<<16 - 1
	// maxEncodes is how often a picture of one size is encoded at most.
	maxEncodes = 3
)

// asItIs returns the picture without its metadata, if it fits so. Inks are
// mixed first: few who show pictures can.
func (s *source) asItIs(lim Limits) (Picture, bool) {
	_, inks := s.image.(*image.CMYK)
	if !s.orient.upright() || inks || s.strip == nil {
		return Picture{}, false
	}
	b := s.image.Bounds()
	data := s.strip(s.data)
	if !lim.allow(b.Dx(), b.Dy(), len(data)) {
		return Picture{}, false
	}
	did := s.did
	if len(data) != len(s.data) {
		did = append(did, "left out its metadata")
	}
	return Picture{Data: data, MIME: s.mime, Width: b.Dx(), Height: b.Dy(), Look: s.look, Did: did}, true
}

// encoded makes a JPEG of the best quality that fits.
func (s *source) encoded(ctx context.Context, lim Limits) (Picture, error) {
	img, err := plain(s.image)
	if err != nil {
		return Picture{}, err
	}
	b := img.Bounds()
	edge := min(max(b.Dx(), b.Dy()), longestEdge)
	if lim.MaxPx > 0 {
		edge = min(edge, lim.MaxPx)
	}
	for {
		p, next, err := s.tried(ctx, img, edge, lim.MaxBytes)
		if err != nil || p.Data != nil {
			return p, err
		}
		if edge <= MinPx {
			return Picture{}, fmt.Errorf("picture: it does not fit in %d bytes; allow more", lim.MaxBytes)
		}
		edge = next
	}
}

// tried makes a JPEG whose long edge is edge pixels; if it does not fit, there
// are no data, and next is the edge to try.
func (s *source) tried(ctx context.Context, img image.Image, edge, maxBytes int) (p Picture, next int, err error) {
	small, err := shrunk(ctx, img, edge)
	if err != nil {
		return Picture{}, 0, err
	}
	few := sampleOf(small)
	if next, err = few.edge(ctx, edge, maxBytes); err != nil || next < edge {
		return Picture{}, next, err
	}
	if small, err = turned(ctx, small, s.orient); err != nil {
		return Picture{}, 0, err
	}
	data, quality, err := best(ctx, small, few, maxBytes)
	if err != nil || data == nil {
		return Picture{}, max(MinPx, edge*19/20), err
	}
	b := small.Bounds()
	p = Picture{Data: data, MIME: "image/jpeg", Width: b.Dx(), Height: b.Dy(), Look: s.look}
	p.Did = s.story(img.Bounds(), b, quality)
	return p, edge, nil
}

// story tells what was done.
func (s *source) story(was, is image.Rectangle, quality int) []string {
	did := s.did
	if from, to := max(was.Dx(), was.Dy()), max(is.Dx(), is.Dy()); to < from {
		did = append(did, fmt.Sprintf("shrank it from %d to %d pixels", from, to))
	}
	if !s.orient.upright() {
		did = append(did, "turned it upright")
	}
	return append(did, fmt.Sprintf("encoded it as JPEG of quality %d", quality))
}

// best encodes with the best quality that fits, as its sample foretells, and
// again where it was wrong; no data if none fits.
func best(ctx context.Context, img image.Image, s *sample, maxBytes int) (data []byte, quality int, err error) {
	low, high, off := leastQuality, bestQuality, 1.0 // off: by how much the sample is wrong
	for range maxEncodes {
		q, err := s.quality(ctx, int(float64(maxBytes)/off), low, high)
		if err != nil || q < low && data != nil {
			return data, quality, err
		}
		q = max(q, low)
		one, err := encode(ctx, img, q)
		if err != nil {
			return nil, 0, err
		}
		foretold, err := s.size(ctx, q)
		if err != nil {
			return nil, 0, err
		}
		off = float64(len(one)) / float64(foretold)
		if len(one) > maxBytes {
			high = q - 1
		} else {
			data, quality, low = one, q, q+1
		}
		if low > high || len(data) > maxBytes*19/20 { // more is not worth another encode
			break
		}
	}
	return data, quality, nil
}

func encode(ctx context.Context, img image.Image, quality int) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("picture: %w", context.Cause(ctx))
	}
	var b bytes.Buffer
	if err := guard(func() error { return jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}) }); err != nil {
		return nil, fmt.Errorf("picture: %w; send another format", err)
	}
	return b.Bytes(), nil
}
