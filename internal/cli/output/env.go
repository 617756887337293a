// Package output prints the results of commands for people and scripts: messages of threads,
// tables, JSON, and errors with a hint. It does not know the configuration.
package output

import (
	"io"
	"os"

	"github.com/messkit/messkit/internal/terminal"
)

// HasTerminal reports whether the input is a terminal.
func (a *Env) HasTerminal() bool {
	in, ok := a.In.(*os.File)
	return ok && terminal.IsTerminal(in)
}

// Env has the streams and the terminal that all commands share.
type Env struct {
	In    io.Reader
	Out   io.Writer
	Err   io.Writer
	Raw   io.Writer // out for the bytes of a file
	Began bool      // the command line is valid, and the command has begun

	Screen *os.File          // the terminal of Out; nil: none
	shows  *terminal.Display // abilities of the terminal; nil: not asked yet
}

// NewEnv makes an Env whose writers escape control characters in all text. Only Raw, for the
// bytes of files, does not.
func NewEnv(in io.Reader, out, errs io.Writer) *Env {
	a := &Env{In: in, Out: terminal.Cleaner{To: out}, Err: terminal.Cleaner{To: errs}, Raw: out}
	if f, ok := out.(*os.File); ok && terminal.IsTerminal(f) && os.Getenv("TERM") != "dumb" {
		a.Screen = f // a terminal can redraw lines
	}
	return a
}

// Columns returns the present width of the terminal.
func (a *Env) Columns() int {
	n, _ := terminal.Size(a.Screen)
	return n
}

// Display returns the capabilities of the terminal and its present size. Only the first call
// detects the capabilities.
func (a *Env) Display(in *os.File) terminal.Display {
	if a.shows == nil {
		d := terminal.Ask(in, a.Screen, os.Getenv, terminal.Graphics(os.Getenv("MESSKIT_IMAGES")))
		a.shows = &d
	}
	a.shows.Columns, a.shows.Rows = terminal.Size(a.Screen)
	return *a.shows
}
