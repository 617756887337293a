// Package picture fits a picture into a number of bytes, and computes statistics that do not
// depend on its subject. Pictures come from cameras and from the network, and the package does
// not trust them. It checks sizes before it decodes anything. A context bounds the time, and the
// limits below bound the memory.
//
// The package uses no file, clock, device or message. It drops color profiles with all other
// metadata, and treats pictures as sRGB.
package picture

import (
	"context"
	"fmt"
)

const (
	// Ceiling is the default of Limits.MaxBytes: the 500 KB of MESSE-AF.
	Ceiling = 512_000
	// MaxBytes is the largest value of Limits.MaxBytes.
	MaxBytes = 5 << 20
	// MinBytes is the least value of Limits.MaxBytes. The tables of each JPEG alone take about
	// 620 bytes.
	MinBytes = 1_024
	// MinPx is the least value of Limits.MaxPx: one block of a JPEG with halved color.
	MinPx = 16
	// MaxPixels is the largest number of pixels that Fit decodes: 64 binary megapixels, so that a
	// telephone's "64 MP" (9248 x 6936) still passes.
	MaxPixels = 64 << 20
)

// Limits are the limits of a result of Fit. The zero value means Ceiling bytes and any number of
// pixels.
type Limits struct {
	MaxBytes int // of the encoded picture; 0: Ceiling; above MaxBytes: MaxBytes
	MaxPx    int // of the long edge, after turning; 0: any
}

// Picture is a picture that fits, upright and without metadata.
type Picture struct {
	Data       []byte     // encoded; may share memory with the argument of Fit
	MIME       string     // image/jpeg or image/png
	Width      int        // pixels
	Height     int        // pixels
	Statistics Statistics // of the picture before Fit
	Changes    []string   // the changes in order, as text; none: no change

	Explain Explain // all choices
}

// Fit returns data as a picture that fits lim. It keeps a JPEG or PNG that fits already, without
// its metadata, or turns it without loss. It scales and quantizes the blocks of other JPEGs
// (package dctjpeg). It encodes the pixels of all other pictures: as PNG if the picture is drawn
// and fits so, else as JPEG.
//
// If ctx ends, Fit returns ctx's cause: at once while it decodes, else before the next encoding
// or scaling. Every other error describes the problem of the picture or the limits, and the
// remedy.
func Fit(ctx context.Context, data []byte, lim Limits) (Picture, error) {
	lim, err := lim.checked()
	if err != nil {
		return Picture{}, err
	}
	j, err := newJob(data, lim)
	if err != nil {
		return Picture{}, err
	}
	return j.run(ctx)
}

// checked returns l with its defaults, or an error for invalid limits.
func (l Limits) checked() (Limits, error) {
	if l.MaxBytes == 0 {
		l.MaxBytes = Ceiling
	}
	l.MaxBytes = min(l.MaxBytes, MaxBytes)
	if l.MaxBytes < MinBytes {
		return Limits{}, fmt.Errorf("picture: no picture fits in %d bytes; allow %d or more", l.MaxBytes, MinBytes)
	}
	if l.MaxPx < 0 || l.MaxPx > 0 && l.MaxPx < MinPx {
		return Limits{}, fmt.Errorf("picture: a long edge of %d pixels shows nothing; allow %d or more", l.MaxPx, MinPx)
	}
	return l, nil
}

// allow reports whether a picture of w x h pixels and n bytes is within l.
func (l Limits) allow(w, h, n int) bool {
	return n <= l.MaxBytes && (l.MaxPx == 0 || max(w, h) <= l.MaxPx)
}
