package safety

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon"
)

// ClearCommand returns the command messkit clear.
func ClearCommand(a *output.Env) *cobra.Command {
	var o permitFlags
	var anyway bool
	c := &cobra.Command{
		Use:   "clear",
		Short: "Reset a stop, on the executor's machine, after you have inspected the devices",
		Long: `Clear lets an executor act again after a stop. No stopped task continues; the devices
start as at the start of the program.

It works through the executor's data folder, at a terminal of its machine, where it
asks you. A pipe or a script cannot reset a stop, unless the exchange has
confirm: script. With confirm: page, a browser on that machine resets it on the page.
With confirm: code, this command does with --code (docs/how-to/safety.md).

If a device is not known to be safe, clear names it and resets nothing, unless you
answer yes or give --anyway: after a reset the stop no longer halts the device.`,
		Example: "  messkit clear",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runClear(cmd.Context(), a, &o, anyway)
		},
	}
	o.flags(c)
	c.Flags().BoolVar(&anyway, "anyway", false, "clear even if messkit does not know that all devices are safe")
	return c
}

func runClear(ctx context.Context, a *output.Env, o *permitFlags, anyway bool) error {
	data, err := o.dataOf()
	if err != nil {
		return err
	}
	dir, p := config.StopFolder(data), output.Printer{Out: a.Out}
	if h, err := stop.Query(dir); len(stop.ReadOrders(dir)) == 0 && (err != nil || len(h.Orders) == 0) {
		return stop.ErrNotStopped
	}
	ask, coded, err := provePerson(a, o, data)
	switch {
	case err != nil:
		return err
	case coded:
		return o.Unreachable(clearByCode(ctx, a, o, anyway))
	}
	if err := checkClear(ctx, a, dir, ask, anyway); err != nil {
		return err
	}
	orders, err := daemon.ClearStop(dir, localUser())
	for _, one := range orders {
		p.Printf("cleared: %s\n", output.Printable(one.String()))
	}
	return errors.Join(err, p.Err)
}

// clearByCode asks the exchange to end the stop of the executor in its process.
func clearByCode(ctx context.Context, a *output.Env, o *permitFlags, anyway bool) error {
	x, err := o.Client.Open()
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

// checkClear returns an error that names devices not known to be safe, unless anyway is true,
// and asks the person at the terminal.
func checkClear(ctx context.Context, a *output.Env, dir string, ask, anyway bool) error {
	question := "have you looked, and is the stop over?"
	if !anyway {
		unsafe := daemon.AwaitSafe(ctx, dir, daemon.ClearWithin)
		if len(unsafe) > 0 && !a.HasTerminal() {
			return output.Hint(daemon.NotSafe(unsafe), "look at them, switch them off by hand, and then: messkit clear --anyway")
		}
		if len(unsafe) > 0 {
			p := output.Printer{Out: a.Out}
			p.Printf("%s\n", daemon.NotSafe(unsafe))
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
