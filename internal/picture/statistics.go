package picture

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"image"

	"github.com/messkit/messkit/internal/picture/dctjpeg"
)

// Statistics contains statistics of a picture that do not depend on its subject. They come from a
// grid of 64 x 64 pixels, or blocks of a JPEG.
type Statistics struct {
	Mean     float64 // brightness, 0 to 255
	Variance float64 // of the brightness
	Black    bool    // nothing is visible: a covered lens, or no light
	Flat     bool    // one brightness: a placeholder, or a fault
	Page     bool    // words or signs on a plain ground: a page of a camera's server
	Smooth   bool    // almost no noise: drawn, or strongly compressed; a second frame shows the difference
	// Hash is the same for the same frame. Two frames of a working camera differ in their noise,
	// even without motion. A repeated hash means that the camera hangs, or shows a placeholder.
	Hash uint64
}

const (
	// Below these values, a person sees nothing. Dark sensors have a small offset, and noise with
	// a standard deviation of up to about 6.
	blackMean     = 12
	blackVariance = 36
	// A JPEG of one color has a variance below 1.
	flatVariance = 2
	// Shares of blocks. 30 pages of servers and 200 scenes, night and fog among them, gave the
	// values. 21 of the pages have more than plainLevels of their blocks at three levels of
	// brightness, and hard edges in more than textEdges of the others. The other pages are
	// smooth. No scene has both. Above plainAlone, a picture with light is a page in any case.
	plainLevels = 0.75
	plainAlone  = 0.88
	textEdges   = 0.2
	smoothPart  = 0.75
	// Shares of sampled pixels of exactly one color, in pictures that have no blocks.
	onePage   = 0.7
	oneSmooth = 0.3
)

// grid is the number of sampled pixels along each side.
const grid = 64

// measure returns the statistics of the pixels of a picture.
func measure(img image.Image) Statistics {
	b := img.Bounds()
	h := fnv.New64a()
	var sum, squares float64
	colors := map[uint64]int{}
	for i := range grid * grid {
		x, y := b.Min.X+(2*(i%grid)+1)*b.Dx()/(2*grid), b.Min.Y+(2*(i/grid)+1)*b.Dy()/(2*grid)
		red, green, blue, _ := img.At(x, y).RGBA()
		v := (0.299*float64(red) + 0.587*float64(green) + 0.114*float64(blue)) / 257 // ITU BT.601
		sum += v
		squares += v * v
		color := uint64(red)<<32 | uint64(green)<<16 | uint64(blue)
		colors[color]++
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, color)) // never fails
	}
	const n = grid * grid
	mean := sum / n
	l := newStatistics(mean, max(0, squares/n-mean*mean), h.Sum64())
	most := 0
	for _, count := range colors {
		most = max(most, count)
	}
	l.Page, l.Smooth = float64(most) >= onePage*n, float64(most) >= oneSmooth*n
	return l
}

// statisticsOf returns the statistics of a picture from those of the blocks of a JPEG.
func statisticsOf(l dctjpeg.Statistics) Statistics {
	s := newStatistics(l.Mean, l.Variance, l.Hash)
	s.Page = l.Levels >= plainLevels && l.Edges >= textEdges || l.Levels >= plainAlone && l.Mean >= 2*blackMean
	s.Smooth = l.Smooth >= smoothPart
	return s
}

func newStatistics(mean, variance float64, hash uint64) Statistics {
	return Statistics{
		Mean: mean, Variance: variance, Hash: hash,
		Flat:  variance < flatVariance,
		Black: mean < blackMean && variance < blackVariance,
	}
}

// checkPixels returns an error for a decoder's result without pixels.
func checkPixels(img image.Image) error {
	if img == nil || img.Bounds().Empty() {
		return errors.New("it has no pixels")
	}
	return nil
}
