package safety

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/agent/localpolicy"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/cli/output"
)

// ArmCommand returns the command messkit arm.
func ArmCommand(a *output.Env) *cobra.Command {
	var o permitFlags
	var reset bool
	c := &cobra.Command{
		Use:   "arm [CLASS|DEVICE]",
		Short: "Arm a disarmed risk class or device, after you have looked",
		Long: `Arm enables a risk class (access, motion, ...) or a device again; without a name, all.
After a crash, or if the result of an act with risk is unknown, the classes of
agent: disarm: are disarmed until a person has inspected the devices and runs arm.

It needs write access to the executor's data folder, whether or not the executor
runs, and takes effect from the next plan. It asks you at a terminal and rejects a
pipe, unless the exchange has another confirm: (docs/how-to/safety.md). --reset is for a
damaged file of decisions: it removes all decisions, lockouts included.`,
		Example: "  messkit arm motion\n  messkit arm vacuum",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if reset {
				return resetLocal(a, cmd, &o, args)
			}
			f, devices, err := o.localFlags.open(cmd)
			if err != nil {
				return err
			}
			return runArm(cmd.Context(), a, &o, f, devices, strings.Join(args, ""))
		},
	}
	o.flags(c)
	c.Flags().BoolVar(&reset, "reset", false, "delete all lockouts, and arm everything")
	return c
}

// runArm arms a risk class or a device; "" means all.
func runArm(ctx context.Context, a *output.Env, o *permitFlags, f localpolicy.Folder, devices []string, what string) error {
	act := func() error { return f.Arm() }
	if what != "" {
		class, err := localpolicy.ClassOrDevice(what, devices)
		if err != nil {
			return err
		}
		if act = func() error { return f.ArmDevice(what) }; class != "" {
			act = func() error { return f.Arm(class) }
		}
	}
	name := cmp.Or(what, "everything")
	return letActAgain(ctx, a, o, "arm", what, "have you looked, and may it act again: "+name+"?", func() error { return a.Done("armed", name, act()) })
}

// letActAgain arms or unlocks (do) after the proof of a person.
func letActAgain(ctx context.Context, a *output.Env, o *permitFlags, do, what, question string, act func() error) error {
	data, err := o.dataOf()
	if err != nil {
		return err
	}
	return runByPerson(ctx, a, o, data, question, act, func() error {
		x, err := o.Client.Open()
		if err != nil {
			return err
		}
		return a.Done(do+"ed", cmp.Or(what, "everything"), x.ActAgain(ctx, o.code, do, what))
	})
}

// resetLocal deletes all decisions, also from damaged files. The console cannot do this, so
// with `confirm: page` a terminal proves the person.
func resetLocal(a *output.Env, cmd *cobra.Command, o *permitFlags, args []string) error {
	if len(args) > 0 {
		return output.Usagef(cmd, "--reset is for everything; leave %s out", args[0])
	}
	data, err := o.dataOf()
	if err != nil {
		return err
	}
	by, err := o.confirmBy(data)
	if err != nil {
		return err
	}
	if by != exchange.ConfirmScript {
		if err := exchange.ConfirmTerminal.CheckRelease(terminalProof(a)); err != nil {
			return output.Hint(err, atATerminal)
		}
		if err := askSure(cmd.Context(), a, "have you looked, and shall messkit delete all lockouts and arm everything?"); err != nil {
			return err
		}
	}
	return a.Done("armed, and nothing locked", data, localpolicy.In(data).ResetDecisions())
}

// DisarmCommand returns the command messkit disarm.
func DisarmCommand(a *output.Env) *cobra.Command {
	var o localFlags
	c := &cobra.Command{
		Use:   "disarm [CLASS|DEVICE]",
		Short: "Disable a risk class or a device until you arm it",
		Long: `Disarm disables a risk class or a device until messkit arm; without a name, all risk
classes. messkit still switches devices off.`,
		Example: `  messkit disarm motion --why "children are here"`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, devices, err := o.open(cmd)
			if err != nil {
				return err
			}
			reason := cmp.Or(o.reason, "by hand")
			if len(args) == 0 {
				return a.Done("disarmed", "everything", f.Disarm(reason, time.Now(), localpolicy.EveryClass...))
			}
			class, err := localpolicy.ClassOrDevice(args[0], devices)
			switch {
			case err != nil:
				return err
			case class != "":
				return a.Done("disarmed", args[0], f.Disarm(reason, time.Now(), class))
			}
			return a.Done("disarmed", args[0], f.DisarmDevice(args[0], reason, time.Now()))
		},
	}
	o.flags(c)
	o.addReasonFlag(c)
	return c
}
