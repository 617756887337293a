package safety

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/agent/localpolicy"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon"
)

// localFlags has the flags of the commands for local operators. These commands write to the
// executor's data folder.
type localFlags struct {
	file   string
	data   string
	reason string
}

func (o *localFlags) flags(c *cobra.Command) {
	c.Flags().StringVarP(&o.file, "config", "c", "", "configuration file of the executor")
	c.Flags().StringVar(&o.data, "data", "", "its data folder (~/.mess)")
}

func (o *localFlags) addReasonFlag(c *cobra.Command) {
	c.Flags().StringVar(&o.reason, "why", "", "the reason, which requesters see")
}

// maxReason is the longest reason, in bytes. Requesters read it.
const maxReason = 200

// open returns the folder and the names of the devices.
func (o *localFlags) open(cmd *cobra.Command) (localpolicy.Folder, []string, error) {
	if len(o.reason) > maxReason {
		return localpolicy.Folder{}, nil, output.Usagef(cmd, "--why: %d bytes are too much; write %d at most", len(o.reason), maxReason)
	}
	data, devices := config.DataDir(), []string(nil)
	if o.file != "" {
		c, err := daemon.LoadConfig(o.file, output.NoLog)
		if err != nil {
			return localpolicy.Folder{}, nil, err
		}
		data, devices = c.Agent.Data, c.Opened.Names()
	}
	if o.data != "" {
		data = o.data
	}
	f := localpolicy.In(data)
	if devices != nil {
		return f, devices, nil
	}
	devices, err := f.Devices()
	if err != nil {
		return f, nil, output.Hint(err, "look at the devices, and then: messkit arm --reset deletes all lockouts")
	}
	if len(devices) == 0 {
		return f, nil, output.Hint(fmt.Errorf("%s: no executor has run there", data), "name its data folder with --data, or its configuration with --config")
	}
	return f, devices, nil
}

// LockCommand returns the command messkit lock.
func LockCommand(a *output.Env) *cobra.Command {
	var o localFlags
	c := &cobra.Command{
		Use:   "lock [DEVICE]",
		Short: "Lock out a device, or show lockouts and disarmed classes",
		Long: `Lock keeps a device from acting until messkit unlock, also after a restart. It needs
write access to the executor's data folder, whether or not the executor runs, and
takes effect from the next act. Requests that only read still work.

Without a device it lists the lockouts and disarmed classes.`,
		Example: `  messkit lock porch-light --why "the paint is wet"`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, devices, err := o.open(cmd)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return showLocal(a, f)
			}
			if err := localpolicy.CheckDevice(args[0], devices); err != nil {
				return err
			}
			return a.Done("locked", args[0], f.LockOut(args[0], o.reason, time.Now()))
		},
	}
	o.flags(c)
	o.addReasonFlag(c)
	return c
}

// UnlockCommand returns the command messkit unlock.
func UnlockCommand(a *output.Env) *cobra.Command {
	var o permitFlags
	c := &cobra.Command{
		Use:   "unlock DEVICE",
		Short: "Release the lockout of a device",
		Long: `Unlock releases a lockout of messkit lock. It asks you at a terminal and rejects a
pipe, unless the exchange has another confirm: (docs/how-to/safety.md).`,
		Example: "  messkit unlock porch-light",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, devices, err := o.localFlags.open(cmd)
			if err != nil {
				return err
			}
			if _, locked := f.Decisions().LockedOut[args[0]]; !locked { // the device may have left the configuration
				if err := localpolicy.CheckDevice(args[0], devices); err != nil {
					return err
				}
				return fmt.Errorf("%s has no lockout here; if its configuration has locked: true, change that", args[0])
			}
			return letActAgain(cmd.Context(), a, &o, "unlock", args[0], "may it act again: "+output.Printable(args[0])+"?", func() error {
				return a.Done("unlocked", args[0], f.ReleaseLockout(args[0]))
			})
		},
	}
	o.flags(c)
	return c
}

// showLocal prints the lockouts and the disarmed risk classes.
func showLocal(a *output.Env, f localpolicy.Folder) error {
	l := f.Decisions()
	p := output.Printer{Out: a.Out}
	waits := localpolicy.Blocks(l)
	client.PrintKept(&p, waits)
	for _, name := range output.SortedKeys(l.ArmedDevices) {
		p.Printf("%-9s %s\n", "armed", name)
	}
	if len(waits) == 0 {
		p.Printf("no lockouts; nothing disarmed\n")
	}
	return p.Err
}
