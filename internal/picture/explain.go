package picture

import (
	"fmt"
	"strings"

	"github.com/messkit/messkit/internal/picture/dctjpeg"
)

// Way is how Fit came to a picture.
type Way string

// The ways, from the one that changes least.
const (
	WayKept    Way = "kept"    // as it was, without its metadata
	WayTurned  Way = "turned"  // upright, without any loss
	WayBlocks  Way = "blocks"  // a JPEG's blocks were scaled and quantised
	WayPNG     Way = "png"     // drawn, so that no pixel needed to be lost
	WayEncoded Way = "encoded" // its pixels were encoded
)

// Explain tells what Fit chose, and what came of it.
type Explain struct {
	Way                  Way
	Because              []string // the reasons, in order
	FromMIME             string
	FromBytes            int
	FromWidth            int // pixels, as stored
	FromHeight           int
	Budget               int     // bytes
	Eighths              int     // blocks were scaled by so many eighths; 0: none were
	Quantiser            float64 // steps, as multiples of those of quality 50; 0: none was chosen
	FullColour           bool    // colour has as many pixels as brightness
	Progressive          bool
	Decodes              int // how often the source was decoded
	Probes               int // quantisers tried on a sample
	Passes               int // on all of the picture
	Foretold             int // bytes, by the sample
	Bytes, Width, Height int // what came out
}

// Quality is about the number that the tools of the IJG know a quantiser by.
func (e Explain) Quality() int {
	if e.Quantiser <= 0 {
		return 0
	}
	if e.Quantiser <= 1 {
		return int(100 - 50*e.Quantiser + 0.5)
	}
	return max(1, int(50/e.Quantiser+0.5))
}

// String is one line for each choice.
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
	if e.Quantiser > 0 {
		line("quantiser", "%.3f, about quality %d", e.Quantiser, e.Quality())
		line("passes", "decoded %d, sampled %d, quantised %d", e.Decodes, e.Probes, e.Passes)
		line("foretold", "%d bytes", e.Foretold)
		line("coding", "%s, %s", pick(e.Progressive, "progressive", "baseline"), pick(e.FullColour, "colour in full", "colour halved"))
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

// because notes a reason.
func (e *Explain) because(format string, args ...any) {
	e.Because = append(e.Because, fmt.Sprintf(format, args...))
}

// searched notes what a search for a quantiser has found.
func (e *Explain) searched(r dctjpeg.Report) {
	e.Quantiser, e.Probes, e.Passes = quantiserOf(r.Scale), e.Probes+r.Probes, e.Passes+r.Passes
	e.Foretold, e.Progressive = r.Foretold, r.Progressive
}
