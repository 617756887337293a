// Package safety has the commands that stop, lock out, disarm and release: stop, clear,
// lock, unlock, arm and disarm.
package safety

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
)

// stopDir returns the folder of the stop that the flags name.
func (o *localFlags) stopDir() (string, error) {
	data, err := o.dataOf()
	return config.StopFolder(data), err
}

// ReportWithin is the longest time that `messkit stop` waits for all drivers before it prints
// their results: a driver on the network may be slow.
const ReportWithin = 3 * time.Second

// StopCommand returns the command messkit stop.
func StopCommand(a *output.Env) *cobra.Command {
	var o localFlags
	var k client.Client
	var all, show, asJSON bool
	c := &cobra.Command{
		Use:   "stop",
		Short: "Stop all work of an executor, until messkit clear",
		Long: `Stop takes every device of this machine's executor to its safe state, ends its tasks,
and rejects every act until messkit clear, also after a restart or a power cut. It
works through the executor's data folder, whether or not the executor runs or reaches
its exchange.

With --show it stops nothing, and reports whether there is a stop, its reason, and what
each device did. With --all it asks the exchange instead, which passes the stop on to
every executor; an absent one receives it when it returns. Clear each of them on its
own machine.

A stop in software is not a safety function (ISO 13850, IEC 61508): a device that can
hurt a person needs a switch that works without messkit.`,
		Example: "  messkit stop --why \"the cat is on the vacuum\"\n  messkit stop --show\n  messkit stop --all",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case all && show || asJSON && !show:
				return output.Usagef(cmd, "--show is about this machine, --json is for it")
			case show:
				return showStop(a, &o, asJSON)
			case all:
				return stopAll(cmd.Context(), a, &k, o.reason)
			}
			for _, name := range []string{"exchange", "url", "key-file", "pin"} {
				if cmd.Flags().Changed(name) {
					return output.Usagef(cmd, "nothing has stopped: --%s is about an exchange, and stop is about this machine; add --all, or leave --%s out", name, name)
				}
			}
			return stopHere(cmd.Context(), a, &o)
		},
	}
	o.flags(c)
	o.addReasonFlag(c)
	k.Flags(c)
	c.Flags().BoolVar(&all, "all", false, "stop every executor of the exchange")
	c.Flags().BoolVar(&show, "show", false, "do not stop; show the stop and the results of the devices")
	c.Flags().BoolVar(&asJSON, "json", false, "with --show: print JSON")
	return c
}

// stopHere stops the executor of a data folder, and prints the results of its devices.
func stopHere(ctx context.Context, a *output.Env, o *localFlags) error {
	dir, err := o.stopDir()
	if err != nil {
		return err
	}
	order := stop.Order{ID: rand.Text(), Reason: o.reason, By: localUser(), At: time.Now()}
	if err := stop.WriteOrder(dir, order); err != nil {
		return stopUnwritten(ctx, a, dir, order, err)
	}
	r, err := awaitReport(ctx, dir, order.ID)
	if err != nil {
		return err
	}
	p := output.Printer{Out: a.Out}
	if len(r.Orders) == 0 {
		p.Printf("latched for the next start; no executor has answered within %v: none runs with %s, or it hangs\n", ReportWithin, filepath.Dir(dir))
		return errors.Join(p.Err, output.ErrQuiet)
	}
	p.Printf("stopped; messkit clear ends it\n")
	return printDevices(&p, r.Devices)
}

// stopUnwritten stops the running executor if the disk does not accept the order.
func stopUnwritten(ctx context.Context, a *output.Env, dir string, order stop.Order, cause error) error {
	h, err := stop.SendStop(dir, order)
	if err != nil {
		return output.Hint(cause, "this stopped nothing, and no executor runs there; check the folder (--data) and its permissions")
	}
	ctx, cancel := context.WithTimeout(ctx, ReportWithin)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for err == nil && ctx.Err() == nil && slices.ContainsFunc(h.Devices, func(d stop.Device) bool { return d.State == string(policy.StatePending) }) {
		select {
		case <-ctx.Done():
		case <-tick.C:
			h, err = stop.Query(dir)
		}
	}
	if err != nil {
		return err
	}
	p := output.Printer{Out: a.Out}
	p.Printf("stopped until messkit clear, or until the program ends: the disk does not accept it (%s)\n", output.Printable(cause.Error()))
	return printDevices(&p, h.Devices)
}

// localUser returns the name of the user who runs the command.
func localUser() string {
	u, err := user.Current()
	if err != nil {
		return "a local operator"
	}
	return u.Username + " on the host"
}

// awaitReport waits until every driver has answered an order, at most ReportWithin. It
// ignores a report without orders.
func awaitReport(ctx context.Context, dir, order string) (stop.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, ReportWithin)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		r, err := stop.ReadReport(dir)
		if err == nil && r.Settled(order) {
			return r, nil
		}
		select {
		case <-tick.C:
			continue
		case <-ctx.Done():
		}
		if err != nil || !r.Covers(order) {
			r = stop.Report{}
		}
		return r, nil
	}
}

// printDevices prints a report. It returns an error if a device is not safe.
func printDevices(p *output.Printer, devices []stop.Device) error {
	var failed bool
	for _, d := range devices {
		how := d.Evidence
		if d.State != string(policy.StateSafe) {
			failed, how = true, ""
		}
		line := fmt.Sprintf("  %-20s %-8s %-13s %5d ms", d.Device, d.State, how, d.TookMS)
		if d.Err != "" {
			line += "  " + output.Printable(d.Err)
		}
		p.Printf("%s\n", line)
	}
	if p.Err == nil && failed {
		return output.ErrQuiet
	}
	return p.Err
}

// stopStatus is the output of `messkit stop --show` for scripts.
type stopStatus struct {
	Stopped []stop.Order  `json:"stopped"`           // empty: not stopped
	Unsaved []stop.Order  `json:"unsaved,omitempty"` // orders that the running program could not write to the disk
	Devices []stop.Device `json:"devices"`           // of the last stop
}

// showStop prints the state of the stop for the executor of a data folder.
func showStop(a *output.Env, o *localFlags, asJSON bool) error {
	dir, err := o.stopDir()
	if err != nil {
		return err
	}
	s := stopStatus{Stopped: stop.ReadOrders(dir)}
	h, unasked := stop.Query(dir)
	r, err := stop.ReadReport(dir)
	if s.Devices = r.Devices; unasked == nil { // the running program knows more than the folder
		s.Unsaved, s.Devices, err = h.Unsaved, h.Devices, nil
		for _, o := range h.Orders {
			if !slices.ContainsFunc(s.Stopped, func(on stop.Order) bool { return on.ID == o.ID }) {
				s.Stopped = append(s.Stopped, o)
			}
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if asJSON {
		return a.JSON(s)
	}
	return printStop(a, s)
}

func printStop(a *output.Env, s stopStatus) error {
	p := output.Printer{Out: a.Out}
	if len(s.Stopped) == 0 {
		p.Printf("not stopped\n")
		return p.Err
	}
	for _, o := range s.Stopped {
		p.Printf("stopped: %s\n", output.Printable(o.String()))
	}
	for _, o := range s.Unsaved {
		p.Printf("not written down, and gone when the program ends: %s\n", output.Printable(o.String()))
	}
	if err := printDevices(&p, s.Devices); !errors.Is(err, output.ErrQuiet) {
		return err
	}
	return nil // a stop is no failure of this command
}
