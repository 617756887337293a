package terminal_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/terminal"
)

// fakeScreen is a terminal with the sequences that this package uses: ECMA-48's cursor and erasing,
// and DEC's wrapping. It holds the visible text.
type fakeScreen struct {
	t        *testing.T
	width    int
	rows     [][]rune
	x, y     int
	noWrap   bool
	sequence []string // in the order of the output
}

func (s *fakeScreen) Write(p []byte) (int, error) {
	for text := []rune(string(p)); len(text) > 0; {
		r := text[0]
		text = text[1:]
		switch r {
		case '\r':
			s.x = 0
		case '\n': // as a terminal driver has it: to the left as well
			s.x, s.y = 0, s.y+1
		case 0x1b:
			end := 1
			for end < len(text) && (text[end] < '@' || text[end] > '~') {
				end++
			}
			s.control(string(text[1:end]), text[end])
			text = text[end+1:]
		default:
			if r < ' ' || r >= 0x7f && r < 0xa0 {
				s.t.Errorf("control character %q", r)
			}
			s.put(r)
		}
	}
	return len(p), nil
}

func (s *fakeScreen) put(r rune) {
	if s.x == s.width && s.noWrap {
		s.x--
	} else if s.x == s.width {
		s.x, s.y = 0, s.y+1
	}
	s.row(s.y)[s.x] = r
	s.x++
}

func (s *fakeScreen) row(y int) []rune {
	for len(s.rows) <= y {
		s.rows = append(s.rows, []rune(strings.Repeat(" ", s.width)))
	}
	return s.rows[y]
}

func (s *fakeScreen) control(args string, final rune) {
	n, _ := strconv.Atoi(args)
	switch final {
	case 'A':
		s.y = max(0, s.y-max(n, 1))
	case 'H':
		s.x, s.y = 0, 0
	case 'J', 'K':
		copy(s.row(s.y)[s.x:], []rune(strings.Repeat(" ", s.width)))
		if final == 'J' {
			s.rows = s.rows[:s.y+1]
		}
	case 'h', 'l':
		if args == "?7" {
			s.noWrap = final == 'l'
		}
		s.sequence = append(s.sequence, args+string(final))
	default:
		s.t.Errorf("unknown sequence %s%c", args, final)
	}
}

func (s *fakeScreen) String() string {
	var b strings.Builder
	for _, row := range s.rows {
		b.WriteString(strings.TrimRight(string(row), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func TestLinesAreDrawnInPlace(t *testing.T) {
	s := &fakeScreen{t: t, width: 20}
	l := terminal.NewLive(s, func() int { return 20 })
	steps := []struct {
		do   func()
		want string
	}{
		{func() { _ = l.Draw("a", "b") }, "a\nb"},
		{func() { _, _ = l.Write([]byte("said\n")) }, "said\na\nb"},
		{func() { _ = l.Draw("c") }, "said\nc"},
		{func() { _ = l.Draw("wider than the screen is") }, "said\nwider than the scr…"},
		{func() { _, _ = l.Write([]byte("x\x1b[2Jy\x07\n")) }, "said\nx [2Jy\nwider than the scr…"},
		{func() { _ = l.Draw() }, "said\nx [2Jy"},
		{func() { _, _ = l.Write([]byte("end\n")) }, "said\nx [2Jy\nend"},
	}
	for i, step := range steps {
		if step.do(); s.String() != step.want {
			t.Errorf("step %d:\n%s\nwant\n%s", i, s, step.want)
		}
	}
	if s.noWrap {
		t.Error("lines do not wrap any more")
	}
}

// A terminal that becomes narrower wraps the lines into more rows. The next Draw erases all of
// them.
func TestNarrowerTerminal(t *testing.T) {
	var out bytes.Buffer
	width := 40
	l := terminal.NewLive(&out, func() int { return width })
	_ = l.Draw(strings.Repeat("x", 39), "y")
	out.Reset()
	width = 10
	_ = l.Draw("z")
	if got, want := out.String(), "\r\x1b[5A\x1b[J\x1b[?7lz\n\x1b[?7h"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	out.Reset()
	_ = l.Draw("z")
	if out.Len() > 0 {
		t.Errorf("%q for what is there already", out.String())
	}
}

func TestFullScreen(t *testing.T) {
	s := &fakeScreen{t: t, width: 8}
	w, err := terminal.OpenScreen(s, func() (int, int) { return 8, 3 })
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Draw([]string{"one", "two\x1b[31m", "three", "four"})
	if got, want := s.String(), "one\ntwo [31m\nthree"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	_ = w.Draw([]string{"a long line", "2"})
	if got, want := s.String(), "a long …\n2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(s.sequence, " ")
	if want := "?1049h ?25l ?7l ?7h ?7l ?7h ?25h ?1049l"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
