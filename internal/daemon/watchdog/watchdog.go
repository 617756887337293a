// Package watchdog starts the watchdog process and runs in it. That process switches off devices
// that the executor cannot switch off any more.
package watchdog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/watchdog"
	"github.com/messkit/messkit/drivers"
)

// arguments returns the arguments with which Start starts a program as the watchdog. will is
// the file of the handover.
func arguments(will string) []string { return []string{"messkit", "guard", "--will", will} }

// Called reports whether the arguments of a program are those of Start, and the file of the
// handover.
func Called(args []string) (will string, ok bool) {
	if len(args) == 0 {
		return "", false
	}
	will = args[len(args)-1]
	return will, slices.Equal(args, arguments(will))
}

// Serve makes this process the watchdog until its agent ends and everything is off. It reads
// messages from in and writes answers to out. The kinds switch their devices off.
func Serve(in io.Reader, out, errs io.Writer, will string, kinds *drivers.Registry) error {
	Detach()
	notes := NewLog(errs)
	defer notes.End()
	log := slog.New(slog.NewTextHandler(notes, nil)).With("process", "guard")
	g := watchdog.New(ExecuteBy(kinds), log)
	s := TakeOver(will, g, log)
	err := g.Run(in, out)
	return errors.Join(err, s.WriteRemaining(g.Remaining()))
}

// ExecuteBy returns a function that carries out orders by the drivers of a registry.
func ExecuteBy(kinds *drivers.Registry) watchdog.Execute {
	return func(kind string, order []byte) (bool, error) {
		k, err := kinds.Lookup(kind)
		if err != nil {
			return false, err
		}
		if k.RunWatchdogCommand == nil {
			return false, fmt.Errorf("driver %s cannot carry out orders of the watchdog, but has devices that need it", kind)
		}
		return k.RunWatchdogCommand(order)
	}
}

// Log writes the log lines of the watchdog. It drops lines that its writer does not take in
// time: a blocked terminal or pipe must not delay the watchdog.
type Log struct {
	lines  chan []byte
	writer errgroup.Group
}

// NewLog returns a log of the watchdog that writes to w.
func NewLog(w io.Writer) *Log {
	n := &Log{lines: make(chan []byte, 64)}
	n.writer.Go(func() error {
		for line := range n.lines {
			_, _ = w.Write(line) // the log itself has failed
		}
		return nil
	})
	return n
}

// Write queues a line, or drops it if the writer is too slow.
func (n *Log) Write(line []byte) (int, error) {
	select {
	case n.lines <- append([]byte(nil), line...):
	default:
	}
	return len(line), nil
}

// logTimeout limits the wait of End for the writer.
const logTimeout = time.Second

// End waits for the writer to take the remaining lines, at most for logTimeout.
func (n *Log) End() {
	close(n.lines)
	ctx, cancel := context.WithTimeout(context.Background(), logTimeout)
	defer cancel()
	var g errgroup.Group
	g.Go(func() error { defer cancel(); return n.writer.Wait() })
	<-ctx.Done()
}
