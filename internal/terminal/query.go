package terminal

import (
	"cmp"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Size returns the columns and rows of a terminal, or 0 if it does not report them.
func Size(f *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// Resized returns a channel that receives a signal after each change of the terminal's size,
// until the caller calls forget.
func Resized() (again <-chan os.Signal, forget func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGWINCH)
	return c, func() { signal.Stop(c) }
}

// question queries Kitty's graphics, the name of the terminal, and the pixels of a character. The
// last query is for the device attributes: every terminal since the VT100 answers it, so the wait
// has an end.
const question = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\" + "\x1b[>q" + "\x1b[16t" + "\x1b[c"

// queryTimeout is the timeout for an answer, long enough for a slow line.
const queryTimeout = 500 * time.Millisecond

// Ask returns the abilities of the terminal of in and out, from the environment and by a query of
// at most half a second. Input of the user meanwhile is lost. choice is the user's setting, or ""
// for the result of the query.
func Ask(in, out *os.File, env func(string) string, choice Graphics) Display {
	d := Display{Graphics: cmp.Or(choice, named(env))}
	d.Columns, d.Rows = Size(out)
	if d.Graphics == NoGraphics || !IsTerminal(in) || !IsTerminal(out) {
		return Display{Graphics: NoGraphics, Columns: d.Columns, Rows: d.Rows}
	}
	reported := understood(ask(in, out))
	d.CellW, d.CellH = reported.CellW, reported.CellH
	d.Graphics = cmp.Or(d.Graphics, reported.Graphics)
	return d
}

// ask sends the query and returns the answer, "" for none.
func ask(in, out *os.File) string {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return ""
	}
	defer func() { _ = term.Restore(int(in.Fd()), before) }() // the state was valid a moment ago
	if _, err := out.WriteString(question); err != nil {
		return ""
	}
	var response []byte
	for end := time.Now().Add(queryTimeout); !answered(string(response)); {
		left := time.Until(end)
		if left <= 0 || !readable(int(in.Fd()), left) {
			break
		}
		var part [256]byte
		n, err := unix.Read(int(in.Fd()), part[:])
		if err != nil || n == 0 {
			break
		}
		response = append(response, part[:n]...)
	}
	return string(response)
}

// readable waits for input, for at most wait. It reports whether there is input.
func readable(fd int, wait time.Duration) bool {
	for end := time.Now().Add(wait); ; {
		var set unix.FdSet
		set.Set(fd)
		t := unix.NsecToTimeval(max(0, time.Until(end)).Nanoseconds())
		n, err := unix.Select(fd+1, &set, nil, nil, &t)
		if err == unix.EINTR { // a signal, such as of another size
			continue
		}
		return err == nil && n > 0
	}
}

// answered reports whether the last question has its answer.
func answered(response string) bool {
	_, ok := attributes(response)
	return ok
}

// attributes returns the numbers of a terminal's primary device attributes: ESC [ ? 62 ; 4 c.
func attributes(response string) ([]string, bool) {
	for rest := response; ; {
		_, after, ok := strings.Cut(rest, "\x1b[?")
		if !ok {
			return nil, false
		}
		end := strings.IndexFunc(after, func(r rune) bool { return r != ';' && (r < '0' || r > '9') })
		if end >= 0 && after[end] == 'c' {
			return strings.Split(after[:end], ";"), true
		}
		rest = after
	}
}

// understood returns the abilities and the size of a character from the answer.
func understood(response string) Display {
	d := Display{Graphics: NoGraphics}
	if _, after, ok := strings.Cut(response, "\x1b[6;"); ok { // of height ; width t
		size, _, _ := strings.Cut(after, "t")
		h, w, _ := strings.Cut(size, ";")
		d.CellH, d.CellW = pixels(h), pixels(w)
	}
	attributes, _ := attributes(response)
	_, name, _ := strings.Cut(response, "\x1bP>|")
	switch {
	case strings.Contains(response, "\x1b_Gi=31;OK"):
		d.Graphics = Kitty
	case strings.HasPrefix(name, "iTerm2"), strings.HasPrefix(name, "WezTerm"), strings.HasPrefix(name, "mintty"):
		d.Graphics = ITerm
	default:
		for _, a := range attributes[min(1, len(attributes)):] {
			if a == "4" {
				d.Graphics = Sixel
			}
		}
	}
	return d
}

// pixels reads an edge of a character in pixels. It returns 0 for an impossible value.
func pixels(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 200 {
		return 0
	}
	return n
}
