package terminal_test

import (
	"bytes"
	"encoding/base64"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/terminal"
)

var update = flag.Bool("update", false, "write the golden files anew")

// flags returns an image of four colors, 10 by 8 pixels.
func flags() *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, 10, 8))
	for y := range 8 {
		for x := range 10 {
			m.Set(x, y, []color.Color{
				color.NRGBA{255, 0, 0, 255}, color.NRGBA{0, 255, 0, 255}, color.NRGBA{0, 0, 255, 255}, color.White,
			}[x/5+2*(y/4)])
		}
	}
	return m
}

// slope returns an image of very many colors.
func slope() *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, 97, 61))
	for y := range 61 {
		for x := range 97 {
			m.Set(x, y, color.NRGBA{uint8(x * 255 / 96), uint8(y * 255 / 60), uint8((x + y) * 255 / 156), 255})
		}
	}
	return m
}

func TestGoldenImages(t *testing.T) {
	for _, g := range []terminal.Graphics{terminal.Kitty, terminal.ITerm, terminal.Sixel} {
		got, err := terminal.Display{Graphics: g}.Picture(flags())
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join("testdata", string(g)+".golden")
		if *update {
			if err := os.WriteFile(name, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: %q, want %q", g, got, want)
		}
	}
	if got, err := (terminal.Display{Graphics: terminal.NoGraphics}).Picture(flags()); got != nil || err != nil {
		t.Errorf("%q, %v where nothing can be shown", got, err)
	}
}

// Independent decoders get the image from the output of each protocol.
func TestImagesCanBeDecoded(t *testing.T) {
	for name, m := range map[string]image.Image{"flags": flags(), "slope": slope(), "one pixel": slope().SubImage(image.Rect(3, 4, 4, 5))} {
		for _, c := range []struct {
			way    terminal.Graphics
			decode func(*testing.T, []byte) image.Image
			off    int // largest difference of a channel, of 255
		}{{terminal.Kitty, fromKitty, 0}, {terminal.ITerm, fromITerm, 0}, {terminal.Sixel, fromSixel, 40}} {
			data, err := terminal.Display{Graphics: c.way}.Picture(m)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasSuffix(data, []byte("\r\n")) {
				t.Errorf("%s: the cursor is not on a line of its own", c.way)
			}
			if off := difference(m, c.decode(t, data)); off > c.off {
				t.Errorf("%s, %s: a channel is off by %d", name, c.way, off)
			}
		}
	}
}

// libsixel decodes the sixels.
func TestLibsixelReadsImages(t *testing.T) {
	tool, err := exec.LookPath("sixel2png")
	if err != nil {
		t.Skip("sixel2png is not here; apt-get install libsixel-bin")
	}
	data, err := terminal.Display{Graphics: terminal.Sixel}.Picture(slope())
	if err != nil {
		t.Fatal(err)
	}
	in, out := filepath.Join(t.TempDir(), "in.six"), filepath.Join(t.TempDir(), "out.png")
	if err := os.WriteFile(in, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command(tool, "-i", in, "-o", out).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if off := difference(slope(), m); off > 40 {
		t.Errorf("a channel is off by %d", off)
	}
}

// difference returns the largest difference of a channel, or 255 if the sizes differ.
func difference(a, b image.Image) int {
	if b == nil || a.Bounds().Size() != b.Bounds().Size() {
		return 255
	}
	most := 0
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			p := color.NRGBAModel.Convert(a.At(a.Bounds().Min.X+x, a.Bounds().Min.Y+y)).(color.NRGBA)
			q := color.NRGBAModel.Convert(b.At(b.Bounds().Min.X+x, b.Bounds().Min.Y+y)).(color.NRGBA)
			for _, d := range []int{int(p.R) - int(q.R), int(p.G) - int(q.G), int(p.B) - int(q.B)} {
				most = max(most, d, -d)
			}
		}
	}
	return most
}

func fromKitty(t *testing.T, data []byte) image.Image {
	t.Helper()
	var text strings.Builder
	parts := regexp.MustCompile(`(?s)\x1b_G([^;]*);([^\x1b]*)\x1b\\`).FindAllStringSubmatch(string(data), -1)
	for i, p := range parts {
		keys := "m=1"
		if i == len(parts)-1 {
			keys = "m=0"
		}
		if i == 0 {
			keys = "a=T,f=100,q=2," + keys
		}
		if p[1] != keys || len(p[2]) > 4096 || i < len(parts)-1 && len(p[2])%4 != 0 {
			t.Errorf("chunk %d: %s with %d bytes, want %s", i, p[1], len(p[2]), keys)
		}
		text.WriteString(p[2])
	}
	return fromBase64(t, text.String())
}

func fromITerm(t *testing.T, data []byte) image.Image {
	t.Helper()
	m := regexp.MustCompile(`^\x1b\]1337;File=inline=1;size=(\d+);width=\d+px;height=\d+px;preserveAspectRatio=1:([^\a]*)\a`).FindStringSubmatch(string(data))
	if m == nil {
		t.Fatalf("%q", data)
	}
	if raw, _ := base64.StdEncoding.DecodeString(m[2]); fmt.Sprint(len(raw)) != m[1] {
		t.Errorf("size %s of %d bytes", m[1], len(raw))
	}
	return fromBase64(t, m[2])
}

func fromBase64(t *testing.T, text string) image.Image {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	m, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// fromSixel decodes sixels by the VT330/VT340 manual, chapter 14.
func fromSixel(t *testing.T, data []byte) image.Image {
	t.Helper()
	text, ok := strings.CutPrefix(string(data), "\x1bP0;1;0q\"1;1;")
	text, _, ended := strings.Cut(text, "\x1b\\")
	if !ok || !ended {
		t.Fatalf("%.40q", data)
	}
	head := regexp.MustCompile(`^(\d+);(\d+)`).FindStringSubmatch(text)
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	m := image.NewNRGBA(image.Rect(0, 0, number(head[1]), number(head[2])))
	registers, now, x, y := map[int]color.NRGBA{}, color.NRGBA{}, 0, 0
	for _, p := range regexp.MustCompile(`#\d+(?:;2;\d+;\d+;\d+)?|!\d+[?-~]|[?-~]|\$|-|.`).FindAllString(text[len(head[0]):], -1) {
		switch p[0] {
		case '#':
			f := strings.Split(p[1:], ";")
			if len(f) == 5 {
				part := func(s string) uint8 { return uint8(number(s) * 255 / 100) }
				registers[number(f[0])] = color.NRGBA{part(f[2]), part(f[3]), part(f[4]), 255}
			}
			if now, ok = registers[number(f[0])]; !ok {
				t.Errorf("color %s has no value", p)
			}
		case '$':
			x = 0
		case '-':
			x, y = 0, y+6
		default:
			n := 1
			if p[0] == '!' {
				n = number(p[1 : len(p)-1])
			}
			bits := p[len(p)-1] - '?'
			if bits > 63 {
				t.Fatalf("%q is no sixel", p)
			}
			for range n {
				for i := range 6 {
					if bits>>i&1 == 1 && !image.Pt(x, y+i).In(m.Bounds()) {
						t.Errorf("a pixel at %d, %d", x, y+i)
					} else if bits>>i&1 == 1 {
						m.Set(x, y+i, now)
					}
				}
				x++
			}
		}
	}
	if len(registers) > 256 {
		t.Errorf("%d colors", len(registers))
	}
	return m
}

func TestRoom(t *testing.T) {
	for _, c := range []struct {
		d    terminal.Display
		w, h int
	}{
		{terminal.Display{Columns: 80, Rows: 24}, 632, 320},
		{terminal.Display{Columns: 80, Rows: 24, CellW: 10, CellH: 20}, 790, 400},
		{terminal.Display{Columns: 400, Rows: 200, CellW: 20, CellH: 40}, 1024, 1024},
		{terminal.Display{}, 8, 16},
	} {
		if w, h := c.d.Room(); w != c.w || h != c.h {
			t.Errorf("%+v: %d, %d", c.d, w, h)
		}
	}
}

func TestTerminalReplies(t *testing.T) {
	for reply, want := range map[string]terminal.Display{
		"": {Graphics: terminal.NoGraphics},
		"\x1b_Gi=31;OK\x1b\\\x1bP>|kitty(0.35.2)\x1b\\\x1b[6;20;10t\x1b[?62;c":    {Graphics: terminal.Kitty, CellW: 10, CellH: 20},
		"\x1bP>|iTerm2 3.5.3\x1b\\\x1b[?64;1;2;4;6c":                              {Graphics: terminal.ITerm},
		"\x1bP>|XTerm(379)\x1b\\\x1b[6;17;9t\x1b[?64;1;2;4;6;9;15c":               {Graphics: terminal.Sixel, CellW: 9, CellH: 17},
		"\x1bP>|VTE(7200)\x1b\\\x1b[?65;1;9c":                                     {Graphics: terminal.NoGraphics},
		"\x1b[?4c":                                                                {Graphics: terminal.NoGraphics}, // a VT132
		"\x1b[6;99999;-3t\x1b[?62;4c":                                             {Graphics: terminal.Sixel},
		"typed ahead \x1b[?2027;2$y\x1b[?62;22;4c":                                {Graphics: terminal.Sixel},
		"\x1b_Gi=31;EINVAL:no\x1b\\\x1bP>|tmux 3.4\x1b\\\x1b[6;16;8t\x1b[?1;2;4c": {Graphics: terminal.Sixel, CellW: 8, CellH: 16},
	} {
		if got := terminal.Understood(reply); got != want {
			t.Errorf("%q: %+v, want %+v", reply, got, want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	for set, want := range map[string]terminal.Graphics{
		"TERM=xterm-kitty":                               terminal.Kitty,
		"TERM=xterm-256color TERM_PROGRAM=ghostty":       terminal.Kitty,
		"TERM=xterm-256color LC_TERMINAL=iTerm2":         terminal.ITerm,
		"TERM=xterm TERM_PROGRAM=WezTerm":                terminal.ITerm,
		"TERM=screen-256color LC_TERMINAL=iTerm2":        "",
		"TERM=xterm-kitty TMUX=/tmp/x KITTY_WINDOW_ID=1": "",
		"TERM=xterm-256color":                            "",
		"TERM=linux":                                     terminal.NoGraphics,
		"TERM=dumb":                                      terminal.NoGraphics,
	} {
		env := func(name string) string {
			for pair := range strings.FieldsSeq(set) {
				if v, ok := strings.CutPrefix(pair, name+"="); ok {
					return v
				}
			}
			return ""
		}
		if got := terminal.Named(env); got != want {
			t.Errorf("%s: %q, want %q", set, got, want)
		}
	}
}

func FuzzTerminalReplies(f *testing.F) {
	f.Add("\x1b_Gi=31;OK\x1b\\\x1b[6;20;10t\x1b[?62;4c")
	f.Fuzz(func(t *testing.T, reply string) {
		d := terminal.Understood(reply)
		d.Columns, d.Rows = 80, 24
		if w, h := d.Room(); w < 1 || h < 1 || w > 1024 || h > 1024 {
			t.Errorf("%+v: %d, %d", d, w, h)
		}
	})
}
