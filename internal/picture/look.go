package picture

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"image"

	"github.com/messkit/messkit/internal/picture/dctjpeg"
)

// Look is what can be told of a picture without knowing what it shows. It is
// taken from 64 x 64 places that are spread evenly: pixels, or blocks of a JPEG.
type Look struct {
	Mean     float64 // brightness, 0 to 255
	Variance float64 // of the brightness
	Black    bool    // nothing can be seen: a covered lens, or no light
	Flat     bool    // all of one brightness: a placeholder, or a fault
	// Hash is the same for the same frame. Two frames of a working camera differ
	// in their noise, even if nothing has moved: if it repeats, the camera hangs,
	// or shows a picture of its own.
	Hash uint64
}

const (
	// Below these, a person sees nothing: dark sensors are not quite dark, and
	// their noise has a standard deviation of up to about 6.
	blackMean     = 12
	blackVariance = 36
	// A JPEG of one colour has a variance below 1.
	flatVariance = 2
)

// grid is how many places are looked at, along each side.
const grid = 64

func look(img image.Image) Look {
	b := img.Bounds()
	h := fnv.New64a()
	var sum, squares float64
	for i := range grid * grid {
		x, y := b.Min.X+(2*(i%grid)+1)*b.Dx()/(2*grid), b.Min.Y+(2*(i/grid)+1)*b.Dy()/(2*grid)
		red, green, blue, _ := img.At(x, y).RGBA()
		v := (0.299*float64(red) + 0.587*float64(green) + 0.114*float64(blue)) / 257 // ITU BT.601
		sum += v
		squares += v * v
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(red)<<32|uint64(green)<<16|uint64(blue))) // never fails
	}
	const n = grid * grid
	mean := sum / n
	return seen(mean, max(0, squares/n-mean*mean), h.Sum64())
}

// lookOf is what was seen of a JPEG's blocks.
func lookOf(l dctjpeg.Look) Look { return seen(l.Mean, l.Variance, l.Hash) }

func seen(mean, variance float64, hash uint64) Look {
	return Look{
		Mean: mean, Variance: variance, Hash: hash,
		Flat:  variance < flatVariance,
		Black: mean < blackMean && variance < blackVariance,
	}
}

// sound tells of a decoder that gave no picture.
func sound(img image.Image) error {
	if img == nil || img.Bounds().Empty() {
		return errors.New("it has no pixels")
	}
	return nil
}
