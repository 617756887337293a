package picture

import (
	"errors"
	"image"
)

// Look is what can be told of a picture without knowing what it shows.
type Look struct {
	Mean     float64 // brightness, 0 to 255
	Variance float64 // of the brightness
	Black    bool    // nothing can be seen: a covered lens, or no light
	Flat     bool    // all of one brightness: a placeholder, or a fault
	Hash     uint64  // the same for the same picture, and nearly so for nearly the same
}

// Below these, a person sees nothing in a picture. Noise of a dark sensor has a
// variance of about 4.
const (
	blackMean    = 12
	flatVariance = 6
)

// grid is how many places are looked at, along each side.
const grid = 64

func look(img image.Image) Look {
	b := img.Bounds()
	var sum, squares float64
	var cells [8][8]float64
	for j := range grid {
		for i := range grid {
			x, y := b.Min.X+(2*i+1)*b.Dx()/(2*grid), b.Min.Y+(2*j+1)*b.Dy()/(2*grid)
			r, g, bl, _ := img.At(x, y).RGBA()
			v := (0.299*float64(r) + 0.587*float64(g) + 0.114*float64(bl)) / 257 // ITU BT.601
			sum += v
			squares += v * v
			cells[j/8][i/8] += v
		}
	}
	const n = grid * grid
	l := Look{Mean: sum / n}
	l.Variance = max(0, squares/n-l.Mean*l.Mean)
	l.Flat = l.Variance < flatVariance
	l.Black = l.Mean < blackMean && l.Flat
	for i := range 64 {
		if cells[i/8][i%8]/64 > l.Mean {
			l.Hash |= 1 << i
		}
	}
	return l
}

// sound tells of a decoder that gave no picture.
func sound(img image.Image) error {
	if img == nil || img.Bounds().Empty() {
		return errors.New("it has no pixels")
	}
	return nil
}
