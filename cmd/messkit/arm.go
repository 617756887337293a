package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/agent/admin"
	"github.com/messkit/messkit/capabilities"
)

func (a *app) armCommand() *cobra.Command {
	var o atPlace
	var reset bool
	c := &cobra.Command{
		Use:   "arm [CLASS|DEVICE]",
		Short: "Let what is disarmed act again, after you have looked",
		Long: `Arm lets a risk class (access, motion, ...) or a device act again; without a name,
all. After a crash, and where nobody knows what came of something risky, the
classes of agent: disarm: are disarmed until a person has looked and says this.

It works where the executor's data folder can be written, whether or not the
executor runs, and holds for the next plan. --reset is for a file of decisions
that is damaged: it forgets them all, locks too.`,
		Example: "  messkit arm motion\n  messkit arm vacuum",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if reset {
				return a.reset(cmd, o, args)
			}
			f, devices, err := o.open(cmd)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return a.done("armed", "everything", f.Arm())
			}
			class, err := classOrDevice(args[0], devices)
			switch {
			case err != nil:
				return err
			case class != "":
				return a.done("armed", args[0], f.Arm(class))
			}
			return a.done("armed", args[0], f.ArmDevice(args[0]))
		},
	}
	o.flags(c)
	c.Flags().BoolVar(&reset, "reset", false, "forget all that was locked and disarmed")
	return c
}

// reset forgets everything, whatever state it is in.
func (a *app) reset(cmd *cobra.Command, o atPlace, args []string) error {
	if len(args) > 0 {
		return usage(cmd, "--reset is for everything; leave %s out", args[0])
	}
	data := cmp.Or(o.data, dataDir())
	if o.file != "" && o.data == "" {
		c, err := load(o.file, quiet)
		if err != nil {
			return err
		}
		data = c.Agent.Data
	}
	return a.done("armed, and nothing locked", data, admin.In(data).Reset())
}

func (a *app) disarmCommand() *cobra.Command {
	var o atPlace
	c := &cobra.Command{
		Use:   "disarm [CLASS|DEVICE]",
		Short: "Keep a risk class or a device from acting until it is armed",
		Long: `Disarm keeps a risk class or a device from acting until messkit arm; without a
name, all risk classes. Switching off goes on.`,
		Example: `  messkit disarm motion --why "children are here"`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, devices, err := o.open(cmd)
			if err != nil {
				return err
			}
			why := cmp.Or(o.why, "by hand")
			if len(args) == 0 {
				return a.done("disarmed", "everything", f.Disarm(why, time.Now(), everyClass...))
			}
			class, err := classOrDevice(args[0], devices)
			switch {
			case err != nil:
				return err
			case class != "":
				return a.done("disarmed", args[0], f.Disarm(why, time.Now(), class))
			}
			return a.done("disarmed", args[0], f.DisarmDevice(args[0], why, time.Now()))
		},
	}
	o.flags(c)
	o.whyFlag(c)
	return c
}

// everyClass is what can act.
var everyClass = []capabilities.Risk{
	capabilities.RiskComfort, capabilities.RiskAppliance, capabilities.RiskAccess, capabilities.RiskMotion, capabilities.RiskIrreversible,
}

func classNames() string {
	names := make([]string, len(everyClass))
	for i, c := range everyClass {
		names[i] = string(c)
	}
	return strings.Join(names, ", ")
}

func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
