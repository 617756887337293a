package picture

import (
	"context"
	"image"
	"image/draw"
	"math"
)

// A sample is tiles by tiles pieces from all over a picture, each tile pixels
// wide and high: whole blocks even where colour is halved.
const (
	tile  = 64
	tiles = 8
)

// tables is about how many bytes of a JPEG do not grow with its pixels.
const tables = 620

// sample foretells how large a picture will be as a JPEG, for a small part of
// the work.
type sample struct {
	img   image.Image
	parts float64     // how many times as many pixels the picture has
	sizes map[int]int // foretold so far, by quality
}

func sampleOf(img image.Image) *sample {
	s := &sample{img: img, parts: 1, sizes: map[int]int{}}
	b := img.Bounds()
	const side = tile * tiles
	if min(b.Dx(), b.Dy()) < tile || b.Dx()*b.Dy() <= 2*side*side {
		return s // not worth it
	}
	var pieces draw.Image = image.NewRGBA(image.Rect(0, 0, side, side))
	if _, gray := img.(*image.Gray); gray {
		pieces = image.NewGray(pieces.Bounds())
	}
	for i := range tiles * tiles {
		x, y := i%tiles, i/tiles
		to := image.Rect(x, y, x+1, y+1)
		to.Min, to.Max = to.Min.Mul(tile), to.Max.Mul(tile)
		draw.Draw(pieces, to, img, b.Min.Add(image.Pt(place(x, b.Dx()), place(y, b.Dy()))), draw.Src)
	}
	s.img = pieces
	s.parts = float64(b.Dx()) * float64(b.Dy()) / (side * side)
	return s
}

// place is where the i-th tile of an edge begins, on a block.
func place(i, edge int) int { return i * (edge - tile) / (tiles - 1) &^ 15 }

// size foretells how many bytes the picture takes at a quality.
func (s *sample) size(ctx context.Context, quality int) (int, error) {
	if n, ok := s.sizes[quality]; ok {
		return n, nil
	}
	data, err := encode(ctx, s.img, quality)
	if err != nil {
		return 0, err
	}
	n := tables + int(s.parts*float64(len(data)-tables))
	s.sizes[quality] = n
	return n, nil
}

// quality is the best from low to high at which the picture is foretold to take
// at most maxBytes; low-1 if there is none.
func (s *sample) quality(ctx context.Context, maxBytes, low, high int) (int, error) {
	for low <= high {
		q := (low + high + 1) / 2
		n, err := s.size(ctx, q)
		if err != nil {
			return 0, err
		}
		if n <= maxBytes {
			low = q + 1
		} else {
			high = q - 1
		}
	}
	return high, nil
}

// edge is how long the long edge may be, of a picture with this sample and the
// given one, to fit in maxBytes; the given one where it is foretold to fit.
// It aims at a good quality, and goes down to the least before usefulEdge.
func (s *sample) edge(ctx context.Context, now, maxBytes int) (int, error) {
	least, err := s.size(ctx, leastQuality)
	if err != nil || least <= maxBytes {
		return now, err
	}
	good, err := s.size(ctx, goodQuality)
	if err != nil {
		return 0, err
	}
	return max(MinPx, scaled(now, maxBytes, good), min(scaled(now, maxBytes, least), usefulEdge)), nil
}

// scaled is an edge of a picture of size bytes, scaled to maxBytes. A smaller
// picture has more detail in each pixel, so that bytes fall a little slower than
// pixels: with the power 1.8 of the edge, and not 2.
func scaled(edge, maxBytes, size int) int {
	return min(edge-1, int(float64(edge)*math.Pow(float64(maxBytes)/float64(size), 1/1.8)))
}
