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
		Short:  "Switch off what messkit run cannot any more (started by it)",
		Long: `Guard is started by messkit run, as a process of its own. It hears from it on its
standard input what is going to be on and for how long, and switches that off
when run has died, is frozen or hangs. It opens no network.`,
		Example: "  messkit guard        # messkit run starts it",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			debug.SetGCPercent(daemon.GCPercent)
			return process.Serve(a.In, a.Out, a.Err, will, drivers.NewRegistry(all.Kinds()))
		},
	}
	c.Flags().StringVar(&will, "will", "", "file in which a guard leaves what is on to the next one")
	return c
}
