package imaging

import (
	"context"
	"sync"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/picture"
)

// fits holds the reduced versions of an image, so that it decodes once per limit.
type fits struct {
	mu   sync.Mutex
	done map[picture.Limits]picture.Picture
}

// ImageOf returns the Shot for an image from another source, such as a map.
func (r *Cameras) ImageOf(p drivers.Photo) Image {
	return Image{Photo: p, fits: &fits{done: map[picture.Limits]picture.Picture{}}}
}

// Fit reduces an image to limits. It waits while other images use up the limit of decoded
// pixels.
func (r *Cameras) Fit(ctx context.Context, s Image, lim picture.Limits) (picture.Picture, error) {
	if r.fit == nil {
		return picture.Picture{Data: s.Data, MIME: s.MIME, Look: picture.Look{Mean: 128, Variance: 128}}, nil
	}
	s.fits.mu.Lock()
	defer s.fits.mu.Unlock()
	if p, ok := s.fits.done[lim]; ok {
		return p, nil
	}
	n := weight(s.Data)
	if err := r.pixels.Acquire(ctx, n); err != nil {
		return picture.Picture{}, context.Cause(ctx)
	}
	defer r.pixels.Release(n)
	p, err := r.fit(ctx, s.Data, lim)
	if err == nil {
		s.fits.done[lim] = p
	}
	return p, err
}

// weight returns the number of pixels that an image claims to have. The decoder rejects an
// unreadable image early.
func weight(data []byte) int64 {
	i, err := picture.Inspect(data)
	if err != nil {
		return 0
	}
	return min(MaxPixels, int64(i.Width)*int64(i.Height))
}
