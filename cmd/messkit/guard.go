package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/agent/guard"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/all"
	"github.com/messkit/messkit/internal/cli/output"
)

// guardCommand is the guard's process. It is started by run, and by nobody else.
func guardCommand(a *output.Env) *cobra.Command {
	var will string
	c := &cobra.Command{
		Use:    "guard",
		Hidden: true,
		Short:  "Switch off what messkit run cannot any more (started by it)",
		Long: `Guard is started by messkit run, as a process of its own. It hears from it on its
standard input what is going to be on and for how long, and switches that off
when run has died, is frozen or hangs. It opens no network.`,
		Example: "  messkit guard        # nothing to be typed: messkit run does",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			beGuard()
			debug.SetGCPercent(gcPercent)
			notes := newNotes(a.Err)
			defer notes.end()
			log := slog.New(slog.NewTextHandler(notes, nil)).With("process", "guard")
			g := guard.New(obeying(drivers.NewRegistry(all.Kinds())), log)
			s := succeed(will, g, log)
			err := g.Run(a.In, a.Out)
			return errors.Join(err, s.leave(g.Rest()))
		},
	}
	c.Flags().StringVar(&will, "will", "", "file in which a guard leaves what is on to the next one")
	return c
}

// obeying carries out orders by the kinds of drivers that there are.
func obeying(kinds *drivers.Registry) guard.Obey {
	return func(kind string, order []byte) (bool, error) {
		k, err := kinds.Lookup(kind)
		if err != nil {
			return false, err
		}
		if k.Obey == nil {
			return false, fmt.Errorf("driver %s has devices that obey orders, and does not itself", kind)
		}
		return k.Obey(order)
	}
}

// notes are what a guard logs. They are dropped where nobody takes them: a
// terminal or a pipe that stands still must not keep a guard from its work.
type notes struct {
	lines  chan []byte
	writer errgroup.Group
}

func newNotes(w io.Writer) *notes {
	n := &notes{lines: make(chan []byte, 64)}
	n.writer.Go(func() error {
		for line := range n.lines {
			_, _ = w.Write(line) // there is nobody to tell
		}
		return nil
	})
	return n
}

func (n *notes) Write(line []byte) (int, error) {
	select {
	case n.lines <- append([]byte(nil), line...):
	default:
	}
	return len(line), nil
}

// lastNotes is how long the end may wait for the log to be taken.
const lastNotes = time.Second

func (n *notes) end() {
	close(n.lines)
	ctx, cancel := context.WithTimeout(context.Background(), lastNotes)
	defer cancel()
	var g errgroup.Group
	g.Go(func() error { defer cancel(); return n.writer.Wait() })
	<-ctx.Done()
}

// guarded are the devices that a guard can watch. It is said of the others that
// have a longest time on.
func (h *home) guarded(limits gate.Config, log *slog.Logger) []guard.Device {
	var list []guard.Device
	for _, d := range h.devices {
		orders := d.orders()
		_, itself := d.dev.(drivers.AutoOff)
		switch _, switches := d.dev.(drivers.Switch); {
		case orders.Off != nil:
			list = append(list, guard.Device{Name: d.name, Kind: d.Driver, Off: orders.Off, Safe: orders.Safe})
		case switches && !itself && limits.MaxOn(d.name) > 0:
			log.Info("if messkit itself is killed while it is on, nothing switches it off at its max_on", "device", d.name)
		}
		if _, moves := d.dev.(drivers.Mover); moves && orders.Off == nil {
			log.Info("if messkit itself is killed while it moves, nothing stops it but its own limits", "device", d.name)
		}
	}
	return list
}

func (d device) orders() drivers.Orders {
	if g, ok := d.dev.(drivers.Guarded); ok {
		return g.Orders()
	}
	return drivers.Orders{}
}
