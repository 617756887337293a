package picture

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"image"
)

// Look is what can be told of a picture without knowing what it shows. It is
// taken from 64 x 64 places that are spread evenly.
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
	l := Look{Mean: sum / n, Hash: h.Sum64()}
	l.Variance = max(0, squares/n-l.Mean*l.Mean)
	l.Flat = l.Variance < flatVariance
	l.Black = l.Mean < blackMean && l.Variance < blackVariance
	return l
}

// sound tells of a decoder that gave no picture.
func sound(img image.Image) error {
	if img == nil || img.Bounds().Empty() {
		return errors.New("it has no pixels")
	}
	return nil
}
