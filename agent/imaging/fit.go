package imaging

import (
	"context"
	"sync"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/picture"
)

// reducedVersions holds the reduced versions of an image, so that it decodes once per limit.
type reducedVersions struct {
	mu   sync.Mutex
	done map[picture.Limits]picture.Picture
}

// ImageOf returns the Shot for an image from another source, such as a map.
func (r *Cameras) ImageOf(p drivers.Photo) Image {
	return Image{Photo: p, reduced: &reducedVersions{done: map[picture.Limits]picture.Picture{}}}
}

// Fit reduces an image to limits. It waits while other images use up the limit of decoded
// pixels.
func (r *Cameras) Fit(ctx context.Context, s Image, lim picture.Limits) (picture.Picture, error) {
	if r.fit == nil {
		return picture.Picture{Data: s.Data, MIME: s.MIME, Statistics: picture.Statistics{Mean: 128, Variance: 128}}, nil
	}
	s.reduced.mu.Lock()
	defer s.reduced.mu.Unlock()
	if p, ok := s.reduced.done[lim]; ok {
		return p, nil
	}
	n := pixelCount(s.Data)
	if err := r.pixels.Acquire(ctx, n); err != nil {
		return picture.Picture{}, context.Cause(ctx)
	}
	defer r.pixels.Release(n)
	p, err := r.fit(ctx, s.Data, lim)
	if err == nil {
		s.reduced.done[lim] = p
	}
	return p, err
}

// pixelCount returns the number of pixels that an image claims to have. The decoder rejects an
// unreadable image early.
func pixelCount(data []byte) int64 {
	i, err := picture.Inspect(data)
	if err != nil {
		return 0
	}
	return min(MaxPixels, int64(i.Width)*int64(i.Height))
}
