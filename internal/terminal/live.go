package terminal

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// Live is a terminal whose last lines the program redraws in place. Text written to it appears
// above them and stays. It is safe for concurrent use. It removes control characters from all
// text but that of Raw.
type Live struct {
	mu    sync.Mutex
	out   io.Writer
	width func() int // the present number of columns; below 1 if unknown
	lines []string   // the present last lines
}

// NewLive returns a Live that draws lines at the end of out.
func NewLive(out io.Writer, width func() int) *Live { return &Live{out: out, width: width} }

// Sequences of ECMA-48 and, for wrapping, of DEC.
const (
	eraseDown = "\x1b[J"
	noWrap    = "\x1b[?7l"
	wrap      = "\x1b[?7h"
)

// unknownWidth is the width of a terminal that does not report one.
const unknownWidth = 80

// Draw replaces the last lines, or removes them if there are none. It writes nothing without a
// change.
func (l *Live) Draw(lines ...string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range lines {
		lines[i] = Cut(Clean(lines[i]), l.columns()-1)
	}
	if slices.Equal(lines, l.lines) {
		return nil
	}
	var b bytes.Buffer
	l.erase(&b)
	l.lines = lines
	l.put(&b)
	return l.send(&b)
}

// Write puts text above the lines. It ends with the end of a line.
func (l *Live) Write(p []byte) (int, error) {
	err := l.printAbove(func(b *bytes.Buffer) { _, _ = Cleaner{b}.Write(p) })
	return len(p), err
}

// Raw writes bytes for the terminal above the lines, unchanged.
func (l *Live) Raw(p []byte) error {
	return l.printAbove(func(b *bytes.Buffer) { b.Write(p) })
}

func (l *Live) printAbove(write func(*bytes.Buffer)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b bytes.Buffer
	l.erase(&b)
	write(&b)
	l.put(&b)
	return l.send(&b)
}

// erase erases the lines. A terminal that has become narrower has wrapped them into more rows.
func (l *Live) erase(b *bytes.Buffer) {
	rows := 0
	for _, line := range l.lines {
		rows += max(1, (Width(line)+l.columns()-1)/l.columns())
	}
	if rows > 0 {
		fmt.Fprintf(b, "\r\x1b[%dA%s", rows, eraseDown)
	}
}

// put draws the lines, and leaves the cursor below them. The terminal cuts lines that are too
// wide.
func (l *Live) put(b *bytes.Buffer) {
	if len(l.lines) > 0 {
		b.WriteString(noWrap + strings.Join(l.lines, "\n") + "\n" + wrap)
	}
}

// send writes in one piece, so that nothing flickers.
func (l *Live) send(b *bytes.Buffer) error {
	if b.Len() == 0 {
		return nil
	}
	_, err := l.out.Write(b.Bytes())
	return err
}

func (l *Live) columns() int {
	if n := l.width(); n > 0 {
		return n
	}
	return unknownWidth
}
