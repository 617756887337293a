// Package output prints what commands tell a person or a script: messages of threads,
// tables, JSON, and errors with a hint. It does not know the configuration.
package output

import (
	"io"
	"os"

	"github.com/messkit/messkit/internal/terminal"
)

// HasTerminal reports whether a person can type here.
func (a *Env) HasTerminal() bool {
	in, ok := a.In.(*os.File)
	return ok && terminal.IsTerminal(in)
}

// Env is what all commands share.
type Env struct {
	In    io.Reader
	Out   io.Writer
	Err   io.Writer
	Raw   io.Writer // out for the bytes of a file
	Began bool      // the command line was right, and the command has begun

	Screen *os.File          // the terminal that out is; nil: it is none
	shows  *terminal.Display // what it can show; nil: not asked yet
}

// NewEnv cleans all text that is printed, wherever it comes from and wherever it
// goes. Only files are printed raw.
func NewEnv(in io.Reader, out, errs io.Writer) *Env {
	a := &Env{In: in, Out: terminal.Cleaner{To: out}, Err: terminal.Cleaner{To: errs}, Raw: out}
	if f, ok := out.(*os.File); ok && terminal.IsTerminal(f) && os.Getenv("TERM") != "dumb" {
		a.Screen = f // lines are drawn in place there
	}
	return a
}

// Columns are those of the terminal now.
func (a *Env) Columns() int {
	n, _ := terminal.Size(a.Screen)
	return n
}

// Display finds out, once, what the terminal can show.
func (a *Env) Display(in *os.File) terminal.Display {
	if a.shows == nil {
		d := terminal.Ask(in, a.Screen, os.Getenv, terminal.Graphics(os.Getenv("MESSKIT_IMAGES")))
		a.shows = &d
	}
	a.shows.Columns, a.shows.Rows = terminal.Size(a.Screen)
	return *a.shows
}
