package picture

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"math"

	"github.com/disintegration/imaging"
)

// asItIs returns the picture without its metadata, if it fits so.
func (s *source) asItIs(lim Limits) (Picture, bool) {
	b := s.image.Bounds()
	var data []byte
	switch {
	case !s.orient.upright():
		return Picture{}, false
	case s.mime == "image/jpeg":
		data = stripJPEG(s.data)
	case s.mime == "image/png":
		data = stripPNG(s.data)
	default:
		return Picture{}, false
	}
	if !lim.allow(b.Dx(), b.Dy(), len(data)) {
		return Picture{}, false
	}
	did := s.did
	if len(data) != len(s.data) {
		did = append(did, "left out its metadata")
	}
	return Picture{Data: data, MIME: s.mime, Width: b.Dx(), Height: b.Dy(), Look: s.look, Did: did}, true
}

// Qualities of the JPEG encoder. Below the least, edges and text begin to
// break, and fewer pixels look better.
const (
	bestQuality  = 88
	goodQuality  = 78
	leastQuality = 60
)

// perPixel is how many bytes a pixel of a usual photograph takes at a good
// quality. It only says where to begin.
const perPixel = 0.16

// encoded makes a JPEG of the best quality that fits.
func (s *source) encoded(ctx context.Context, lim Limits) (Picture, error) {
	img, err := s.flat()
	if err != nil {
		return Picture{}, err
	}
	b := img.Bounds()
	long := max(b.Dx(), b.Dy())
	edge := long
	if lim.MaxPx > 0 {
		edge = min(edge, lim.MaxPx)
	}
	// A picture with far more pixels than the bytes can hold is shrunk first.
	pixels := float64(b.Dx()) * float64(b.Dy())
	if want := float64(long) * math.Sqrt(float64(lim.MaxBytes)/perPixel/pixels); want < float64(edge) {
		edge = max(int(want), min(edge, MinPx))
	}
	for {
		small, err := shrunk(ctx, img, edge)
		if err != nil {
			return Picture{}, err
		}
		data, quality, size, err := bestOf(ctx, small, lim.MaxBytes)
		if err != nil {
			return Picture{}, err
		}
		if data != nil {
			return s.picture(small, data, quality, long), nil
		}
		if edge <= MinPx {
			return Picture{}, fmt.Errorf("picture: it does not fit in %d bytes; allow more", lim.MaxBytes)
		}
		edge = max(MinPx, int(float64(edge)*min(0.9, 0.97*math.Sqrt(float64(lim.MaxBytes)/float64(size)))))
	}
}

func (s *source) picture(img image.Image, data []byte, quality, long int) Picture {
	b := img.Bounds()
	did := s.did
	if !s.orient.upright() {
		did = append(did, "turned it upright")
	}
	if edge := max(b.Dx(), b.Dy()); edge < long {
		did = append(did, fmt.Sprintf("shrunk it from %d to %d pixels", long, edge))
	}
	did = append(did, fmt.Sprintf("encoded it as JPEG of quality %d", quality))
	return Picture{Data: data, MIME: "image/jpeg", Width: b.Dx(), Height: b.Dy(), Look: s.look, Did: did}
}

// bestOf encodes with the best quality that fits, in four tries at most. If even
// the least does not fit, data is nil and size tells by how much.
func bestOf(ctx context.Context, img image.Image, maxBytes int) (data []byte, quality, size int, err error) {
	low, high := leastQuality, bestQuality
	for _, q := range []int{goodQuality, 0, 0, 0} {
		if q == 0 {
			q = (low + high + 1) / 2
		}
		one, err := encode(ctx, img, q)
		if err != nil {
			return nil, 0, 0, err
		}
		if len(one) <= maxBytes {
			data, quality, low = one, q, q
		} else {
			size, high = len(one), q-1
		}
		if low >= high {
			break
		}
	}
	if data == nil { // the search has come near the least, and not to it
		one, err := encode(ctx, img, leastQuality)
		if err != nil {
			return nil, 0, 0, err
		}
		if size = len(one); size <= maxBytes {
			data, quality = one, leastQuality
		}
	}
	return data, quality, size, nil
}

func encode(ctx context.Context, img image.Image, quality int) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("picture: %w", context.Cause(ctx))
	}
	var b bytes.Buffer
	err := guard(func() error { return jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}) })
	return b.Bytes(), err
}

// flat is the picture upright and without transparency: what lies behind is
// white, as on paper.
func (s *source) flat() (img image.Image, err error) {
	err = guard(func() error {
		img = s.orient.apply(s.image)
		if o, ok := img.(interface{ Opaque() bool }); ok && !o.Opaque() {
			b := img.Bounds()
			paper := image.NewRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
			draw.Draw(paper, paper.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
			draw.Draw(paper, paper.Bounds(), img, b.Min, draw.Over)
			img = paper
		}
		return nil
	})
	return img, err
}

// shrunk makes the long edge of a picture at most edge pixels long. It is the
// only place that scales with imaging, whose decoders are never used.
func shrunk(ctx context.Context, img image.Image, edge int) (image.Image, error) {
	b := img.Bounds()
	if max(b.Dx(), b.Dy()) <= edge {
		return img, nil
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("picture: %w", context.Cause(ctx))
	}
	scale := float64(edge) / float64(max(b.Dx(), b.Dy()))
	w, h := max(1, int(math.Round(float64(b.Dx())*scale))), max(1, int(math.Round(float64(b.Dy())*scale)))
	var out image.Image
	err := guard(func() error { out = imaging.Resize(img, w, h, imaging.Lanczos); return nil })
	return out, err
}
