package picture

import (
	"fmt"
	"strings"

	"github.com/messkit/messkit/internal/picture/dctjpeg"
)

// Way is the method by which Fit made a picture.
type Way string

// The ways, in order of increasing change.
const (
	WayKept    Way = "kept"    // unchanged except for its metadata
	WayTurned  Way = "turned"  // turned upright without loss
	WayBlocks  Way = "blocks"  // scaled and quantized blocks of a JPEG
	WayPNG     Way = "png"     // a drawn picture as PNG, without loss of pixels
	WayEncoded Way = "encoded" // pixels encoded as JPEG
)

// Explain describes the choices of Fit, and their result.
type Explain struct {
	Way                  Way
	Because              []string // the reasons, in order
	FromMIME             string
	FromBytes            int
	FromWidth            int // pixels, as stored
	FromHeight           int
	Budget               int     // bytes
	Eighths              int     // scale of the blocks in eighths; 0: no such scale
	Quantizer            float64 // steps, as multiples of those of quality 50; 0: no quantizer
	FullColor            bool    // color has as many pixels as brightness
	Progressive          bool
	Decodes              int // number of times that Fit decoded the source
	Probes               int // number of quantizers tried on a sample
	Passes               int // on all of the picture
	Predicted            int // bytes that the sample predicted
	Bytes, Width, Height int // of the result
}

// Quality returns about the quality of the IJG's tools for the quantizer.
func (e Explain) Quality() int {
	if e.Quantizer <= 0 {
		return 0
	}
	if e.Quantizer <= 1 {
		return int(100 - 50*e.Quantizer + 0.5)
	}
	return max(1, int(50/e.Quantizer+0.5))
}

// String returns one line for each choice.
func (e Explain) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("from", "%s, %d x %d pixels, %d bytes", e.FromMIME, e.FromWidth, e.FromHeight, e.FromBytes)
	line("budget", "%d bytes", e.Budget)
	line("way", "%s", e.Way)
	for _, r := range e.Because {
		line("because", "%s", r)
	}
	if e.Eighths > 0 {
		line("scale", "%d/8", e.Eighths)
	}
	if e.Quantizer > 0 {
		line("quantizer", "%.3f, about quality %d", e.Quantizer, e.Quality())
		line("passes", "decoded %d, sampled %d, quantized %d", e.Decodes, e.Probes, e.Passes)
		line("foretold", "%d bytes", e.Predicted)
		line("coding", "%s, %s", pick(e.Progressive, "progressive", "baseline"), pick(e.FullColor, "color in full", "color halved"))
	}
	line("to", "%d x %d pixels, %d bytes", e.Width, e.Height, e.Bytes)
	return b.String()
}

func pick(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

// because adds a reason.
func (e *Explain) because(format string, args ...any) {
	e.Because = append(e.Because, fmt.Sprintf(format, args...))
}

// searched adds the results of a search for a quantizer.
func (e *Explain) searched(r dctjpeg.Report) {
	e.Quantizer, e.Probes, e.Passes = quantizerOf(r.Scale), e.Probes+r.Probes, e.Passes+r.Passes
	e.Predicted, e.Progressive = r.Predicted, r.Progressive
}
