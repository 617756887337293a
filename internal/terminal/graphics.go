package terminal

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"strings"
)

// Graphics is the protocol by which a terminal shows images.
type Graphics string

// The protocols for images.
const (
	NoGraphics Graphics = "off"
	Kitty      Graphics = "kitty" // https://sw.kovidgoyal.net/kitty/graphics-protocol/
	ITerm      Graphics = "iterm" // https://iterm2.com/documentation-images.html
	Sixel      Graphics = "sixel" // DEC STD 070, as VT340 and xterm have it
)

// Display has the graphics abilities of a terminal.
type Display struct {
	Graphics      Graphics
	Columns, Rows int // of the terminal
	CellW, CellH  int // pixels of one character; 0: not known
}

// The size of a cell in pixels, for a terminal that does not report it.
const (
	usualW = 8
	usualH = 16
)

// Room returns the largest size of an image in pixels that leaves the lines around it visible. No
// terminal needs more than a long edge of maxEdge.
func (d Display) Room() (width, height int) {
	w, h := d.cell()
	return min(max(d.Columns-1, 1)*w, maxEdge), min(max(d.Rows-4, 1)*h, maxEdge)
}

const maxEdge = 1024

func (d Display) cell() (w, h int) {
	if d.CellW < 1 || d.CellH < 1 {
		return usualW, usualH
	}
	return d.CellW, d.CellH
}

// Picture returns the bytes that show m at the cursor, and then move the cursor to the beginning
// of the line below. It returns nil for a terminal without graphics. m must fit into Room.
func (d Display) Picture(m image.Image) ([]byte, error) {
	switch d.Graphics {
	case Kitty:
		data, err := encode(m)
		return kitty(data), err
	case ITerm:
		data, err := encode(m)
		return iterm(data, m.Bounds()), err
	case Sixel:
		return append(sixel(m), "\r\n"...), nil
	}
	return nil, nil
}

func encode(m image.Image) ([]byte, error) {
	var b bytes.Buffer
	e := png.Encoder{CompressionLevel: png.BestSpeed}
	err := e.Encode(&b, m)
	return b.Bytes(), err
}

// kittyChunk is the largest length of the base64 in one sequence.
const kittyChunk = 4096

// kitty sends and shows (a=T) a PNG (f=100) and asks for no answer (q=2), which would look like
// typed text.
func kitty(data []byte) []byte {
	var b bytes.Buffer
	text := base64.StdEncoding.EncodeToString(data)
	for first := true; first || text != ""; first = false {
		part := text[:min(len(text), kittyChunk)]
		text = text[len(part):]
		more := 0
		if text != "" {
			more = 1
		}
		if first {
			fmt.Fprintf(&b, "\x1b_Ga=T,f=100,q=2,m=%d;%s\x1b\\", more, part)
		} else {
			fmt.Fprintf(&b, "\x1b_Gm=%d;%s\x1b\\", more, part)
		}
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

func iterm(data []byte, size image.Rectangle) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "\x1b]1337;File=inline=1;size=%d;width=%dpx;height=%dpx;preserveAspectRatio=1:", len(data), size.Dx(), size.Dy())
	b.WriteString(base64.StdEncoding.EncodeToString(data))
	b.WriteString("\a\r\n")
	return b.Bytes()
}

// named returns the graphics of a terminal program that names itself in the environment. In a
// multiplexer they are unknown.
func named(env func(string) string) Graphics {
	if env("TMUX") != "" || env("STY") != "" || strings.HasPrefix(env("TERM"), "screen") || strings.HasPrefix(env("TERM"), "tmux") {
		return ""
	}
	switch {
	case env("KITTY_WINDOW_ID") != "", env("TERM") == "xterm-kitty", env("TERM") == "xterm-ghostty", env("TERM_PROGRAM") == "ghostty":
		return Kitty
	case env("TERM_PROGRAM") == "iTerm.app", env("LC_TERMINAL") == "iTerm2", env("TERM_PROGRAM") == "WezTerm", env("TERM_PROGRAM") == "mintty":
		return ITerm
	case env("TERM") == "linux", env("TERM") == "dumb", env("TERM") == "":
		return NoGraphics // and it answers no query
	}
	return ""
}
