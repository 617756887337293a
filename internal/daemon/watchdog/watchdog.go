// Package watchdog starts the watchdog process, and runs in it: it switches off what the
// executor no longer can.
package watchdog

import (
	"context"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/watchdog"
	"github.com/messkit/messkit/drivers"
)

// ExecuteBy carries out orders by the kinds of drivers that there are.
func ExecuteBy(kinds *drivers.Registry) watchdog.Execute {
	return func(kind string, order []byte) (bool, error) {
		k, err := kinds.Lookup(kind)
		if err != nil {
			return false, err
		}
		if k.Obey == nil {
			return false, fmt.Errorf("driver %s cannot carry out orders of the watchdog, but has devices that need it", kind)
		}
		return k.Obey(order)
	}
}

// Log are what a guard logs. They are dropped where nobody takes them: a
// terminal or a pipe that stands still must not keep a guard from its work.
type Log struct {
	lines  chan []byte
	writer errgroup.Group
}

// NewLog returns a log of the watchdog that writes to w.
func NewLog(w io.Writer) *Log {
	n := &Log{lines: make(chan []byte, 64)}
	n.writer.Go(func() error {
		for line := range n.lines {
			_, _ = w.Write(line) // there is nobody to tell
		}
		return nil
	})
	return n
}

// Write passes a line on, or drops it where the writer does not keep up.
func (n *Log) Write(line []byte) (int, error) {
	select {
	case n.lines <- append([]byte(nil), line...):
	default:
	}
	return len(line), nil
}

// logTimeout is how long the end may wait for the log to be taken.
const logTimeout = time.Second

// End waits for a second at most until the writer has taken the log.
func (n *Log) End() {
	close(n.lines)
	ctx, cancel := context.WithTimeout(context.Background(), logTimeout)
	defer cancel()
	var g errgroup.Group
	g.Go(func() error { defer cancel(); return n.writer.Wait() })
	<-ctx.Done()
}
