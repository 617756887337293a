package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/internal/cli/output"
)

func clearCommand(a *output.Env) *cobra.Command {
	var o again
	var anyway bool
	c := &cobra.Command{
		Use:   "clear",
		Short: "End a stop, at the place, after you have looked",
		Long: `Clear lets an executor act again after a stop. Nothing that was stopped goes on by
itself; the devices start as at the start of the program.

It works through the executor's data folder, at a terminal of its machine, where it
asks you. A pipe or a script ends no stop, unless the exchange has confirm: script;
under confirm: page the page does it, in a browser on that machine, and under
confirm: code this command with --code (docs/safety.md).

A device that is not known to be safe is named, and nothing is cleared unless you
say yes, or --anyway: after a clear it is not halted any more.`,
		Example: "  messkit clear",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runClear(cmd.Context(), a, &o, anyway)
		},
	}
	o.flags(c)
	c.Flags().BoolVar(&anyway, "anyway", false, "clear though devices are not known to be safe")
	return c
}

func runClear(ctx context.Context, a *output.Env, o *again, anyway bool) error {
	data, err := o.dataOf()
	if err != nil {
		return err
	}
	dir, p := stopFolder(data), output.Printer{Out: a.Out}
	if h, err := stop.Ask(dir); len(stop.Read(dir)) == 0 && (err != nil || len(h.Orders) == 0) {
		return stop.ErrNotStopped
	}
	ask, coded, err := provePerson(a, o, data)
	switch {
	case err != nil:
		return err
	case coded:
		return o.unreachable(clearByCode(ctx, a, o, anyway))
	}
	if err := mayClear(ctx, a, dir, ask, anyway); err != nil {
		return err
	}
	orders, err := clearStop(dir, whoHere())
	for _, one := range orders {
		p.Printf("cleared: %s\n", output.Printable(one.String()))
	}
	return errors.Join(err, p.Err)
}

// clearByCode has the exchange end the stop of the executor in its program.
func clearByCode(ctx context.Context, a *output.Env, o *again, anyway bool) error {
	x, err := o.client.open()
	if err != nil {
		return err
	}
	cleared, err := x.Release(ctx, o.code, anyway)
	p := output.Printer{Out: a.Out}
	for _, one := range cleared {
		p.Printf("cleared: %s\n", output.Printable(one))
	}
	return errors.Join(err, p.Err)
}

// clearStop ends the stop of a folder, and what the program that runs there holds in
// memory alone.
func clearStop(dir, by string) ([]stop.Order, error) {
	orders, err := stop.Clear(dir, by, time.Now())
	if h, unasked := stop.Forget(dir, by); unasked == nil && len(h.Cleared) > 0 {
		orders = append(orders, h.Cleared...)
		if errors.Is(err, stop.ErrNotStopped) {
			err = nil
		}
	}
	return orders, err
}

// mayClear names what a stop has not made safe, unless that does not matter, and asks
// the person at the terminal.
func mayClear(ctx context.Context, a *output.Env, dir string, ask, anyway bool) error {
	question := "have you looked, and is the stop over?"
	if !anyway {
		unsafe := awaitSafe(ctx, dir, clearWithin)
		if len(unsafe) > 0 && !a.HasTerminal() {
			return output.Hint(notSafe(unsafe), "look at them, switch them off by hand, and then: messkit clear --anyway")
		}
		if len(unsafe) > 0 {
			p := output.Printer{Out: a.Out}
			p.Printf("%s\n", notSafe(unsafe))
			if p.Err != nil {
				return p.Err
			}
			ask, question = true, "clear all the same?"
		}
	}
	if !ask {
		return nil
	}
	return askSure(ctx, a, question)
}

// notSafe names devices that are not known to be safe, and why.
func notSafe(devices []stop.Device) error {
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = output.Printable(d.Device)
		switch {
		case d.State == string(gate.Pending):
			names[i] += " (its driver has not answered yet)"
		case d.Err != "":
			names[i] += " (" + output.Printable(d.Err) + ")"
		}
	}
	return fmt.Errorf("not known to be safe: %s", strings.Join(names, "; "))
}

// clearWithin is how long drivers that have not answered to a stop are waited for
// before it is cleared; after that time they count as unsafe by themselves.
const clearWithin = 10 * time.Second

// awaitSafe are the devices that a stop which holds in a folder has not made safe, once
// every driver has answered, or after a time. Where no program runs, it is what the
// last one has written; a folder that says nothing names none.
func awaitSafe(ctx context.Context, dir string, within time.Duration) []stop.Device {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		devices, runs := stopDevices(dir)
		devices = slices.DeleteFunc(devices, func(d stop.Device) bool { return d.State == string(gate.Reached) })
		if !runs || ctx.Err() != nil || !slices.ContainsFunc(devices, func(d stop.Device) bool { return d.State == string(gate.Pending) }) {
			return devices
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// stopDevices is what the devices have done in a stop that holds, and whether the
// program runs that says so.
func stopDevices(dir string) (devices []stop.Device, runs bool) {
	if h, err := stop.Ask(dir); err == nil {
		if len(h.Orders) == 0 {
			return nil, true
		}
		return h.Devices, true
	}
	r, err := stop.ReadReport(dir)
	if err != nil || !slices.ContainsFunc(stop.Read(dir), func(o stop.Order) bool { return r.Answers(o.ID) }) {
		return nil, false
	}
	return r.Devices, false
}
