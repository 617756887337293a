// Package picture makes a picture fit in a number of bytes, and tells what can
// be seen of it without knowing what it shows. Pictures come from cameras and
// from the network, so nothing in them is believed: sizes are checked before
// anything is decoded, time is bounded by a context, and memory by the limits
// below.
//
// It knows no file, clock, device or message. Colour profiles are dropped with
// all other metadata: pictures are taken to be sRGB.
package picture

import (
	"context"
	"fmt"
)

const (
	// Ceiling is how many bytes a picture may have if nothing else was asked for:
	// the 500 KB of MESSE-AF.
	Ceiling = 512_000
	// MaxBytes is the most that may be asked for.
	MaxBytes = 5 << 20
	// MinBytes is the least that may be asked for. Below, the tables that every
	// JPEG carries (about 620 bytes) would leave nothing for the picture.
	MinBytes = 1_024
	// MinPx is the least long edge that may be asked for: one block of a JPEG
	// with halved colour.
	MinPx = 16
	// MaxPixels is the most pixels that are decoded: 64 binary megapixels, so
	// that a telephone's "64 MP" (9248 x 6936) still passes.
	MaxPixels = 64 << 20
)

// Limits say what a picture has to fit in. The zero value means Ceiling bytes
// and any number of pixels.
type Limits struct {
	MaxBytes int // of the encoded picture; 0: Ceiling; above MaxBytes: MaxBytes
	MaxPx    int // of the long edge, after turning; 0: any
}

// Picture is a picture that fits, without metadata and with its top at the top.
type Picture struct {
	Data   []byte   // encoded; may share memory with what was given to Fit
	MIME   string   // image/jpeg or image/png
	Width  int      // pixels
	Height int      // pixels
	Look   Look     // of the picture as it was given
	Did    []string // what was done to it, in order, in words; none: nothing

	Explain Explain // every choice, for those who want to know
}

// Fit returns data as a picture that fits lim. A JPEG or PNG that fits already
// stays as it is, apart from its metadata, or is turned without loss. The blocks
// of other JPEGs are scaled and quantised (package dctjpeg). Of all others the
// pixels are encoded: as PNG if the picture is drawn and fits so, else as JPEG.
//
// It ends with ctx's cause when ctx does: at once while it decodes, else before
// the next encoding or scaling. Every other error says what is
// wrong with the picture or the limits, and what to do.
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

// checked returns l with its defaults, or what is wrong with it.
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

// allow tells whether a picture of w x h pixels and n bytes is within l.
func (l Limits) allow(w, h, n int) bool {
	return n <= l.MaxBytes && (l.MaxPx == 0 || max(w, h) <= l.MaxPx)
}
