package cli

import (
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/all"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/daemon"
	process "github.com/messkit/messkit/internal/daemon/watchdog"
)

// guardCommand returns the hidden command of the watchdog process, which `messkit run` starts.
func guardCommand(a *output.Env) *cobra.Command {
	var will string
	c := &cobra.Command{
		Use:    "guard",
		Hidden: true,
		Short:  "Switch devices off for a messkit run that no longer can (run starts it)",
		Long: `Messkit run starts guard as a separate process. Guard reads on its standard input
which device will be on and for how long. It switches the device off if run has died,
is frozen or hangs. It opens no network connection.`,
		Example: "  messkit guard        # messkit run starts it",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			debug.SetGCPercent(daemon.GCPercent)
			return process.Serve(a.In, a.Out, a.Err, will, drivers.NewRegistry(all.Kinds()))
		},
	}
	c.Flags().StringVar(&will, "will", "", "file in which a guard lists the devices that are on for the next guard")
	return c
}
