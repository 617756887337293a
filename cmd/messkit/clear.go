package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/internal/terminal"
)

func (a *app) clearCommand() *cobra.Command {
	var o atPlace
	var anyway bool
	c := &cobra.Command{
		Use:   "clear",
		Short: "End a stop, at the place, after you have looked",
		Long: `Clear lets an executor act again after a stop. It works through the executor's
data folder alone: whoever clears is at the place. Nothing that was stopped goes
on by itself; the devices start as at the start of the program.

A device that is not known to be safe is named, and nothing is cleared unless you
say yes, or --anyway: after a clear it is not halted any more.`,
		Example: "  messkit clear",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := o.stopDir()
			if err != nil {
				return err
			}
			if !anyway {
				if err := a.mayClear(cmd.Context(), dir); err != nil {
					return err
				}
			}
			orders, err := clearStop(dir, whoHere())
			p := printer{out: a.out}
			for _, one := range orders {
				p.printf("cleared: %s\n", printable(one.String()))
			}
			return errors.Join(err, p.err)
		},
	}
	o.flags(c)
	c.Flags().BoolVar(&anyway, "anyway", false, "clear though devices are not known to be safe")
	return c
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

// mayClear names what a stop has not made safe, and asks whoever sits at the terminal.
func (a *app) mayClear(ctx context.Context, dir string) error {
	unsafe := awaitSafe(ctx, dir, clearWithin)
	if len(unsafe) == 0 {
		return nil
	}
	in, ok := a.in.(*os.File)
	if !ok || !terminal.IsTerminal(in) {
		return hint(notSafe(unsafe), "look at them, switch them off by hand, and then: messkit clear --anyway")
	}
	p := printer{out: a.out}
	p.printf("%s\n", notSafe(unsafe))
	r := bufio.NewReader(in)
	for p.err == nil {
		p.printf("clear all the same? [y/N] ")
		line, err := readLine(ctx, r)
		yes, known := yesOrNo(strings.TrimSpace(line))
		switch {
		case err != nil: // who leaves has not said yes
			p.printf("\nnot cleared\n")
			return errors.Join(p.err, errQuiet)
		case known && !yes:
			p.printf("not cleared\n")
			return errors.Join(p.err, errQuiet)
		case known:
			return p.err
		}
	}
	return p.err
}

// notSafe names devices that are not known to be safe, and why.
func notSafe(devices []stop.Device) error {
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = printable(d.Device)
		switch {
		case d.State == string(gate.Pending):
			names[i] += " (its driver has not answered yet)"
		case d.Err != "":
			names[i] += " (" + printable(d.Err) + ")"
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
