package terminal

import (
	"bytes"
	"io"
)

// Screen is the alternate screen of a terminal. The earlier content returns at its end. It
// removes control characters from lines.
type Screen struct {
	out  io.Writer
	size func() (columns, rows int)
}

// Sequences of xterm: another screen, and the cursor.
const (
	enter = "\x1b[?1049h\x1b[?25l"
	leave = "\x1b[?25h\x1b[?1049l"
	home  = "\x1b[H"
	rest  = "\x1b[K" // erase the rest of the line
)

// OpenScreen opens the alternate screen of a terminal.
func OpenScreen(out io.Writer, size func() (columns, rows int)) (*Screen, error) {
	_, err := io.WriteString(out, enter)
	return &Screen{out: out, size: size}, err
}

// Draw shows the lines and columns that fit on the screen.
func (s *Screen) Draw(lines []string) error {
	columns, rows := s.size()
	if columns < 1 || rows < 1 {
		columns, rows = unknownWidth, 24
	}
	var b bytes.Buffer
	b.WriteString(home + noWrap)
	for i, line := range lines[:min(len(lines), rows)] {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(Cut(Clean(line), columns) + rest)
	}
	b.WriteString(eraseDown + wrap)
	_, err := s.out.Write(b.Bytes())
	return err
}

// Close restores the terminal.
func (s *Screen) Close() error {
	_, err := io.WriteString(s.out, leave)
	return err
}
