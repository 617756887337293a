package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/internal/cli/keys"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/daemon"
)

func runCommand(a *output.Env) *cobra.Command {
	var r daemon.RunFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "Run an executor, with its own exchange unless it connects to one",
		Long: `Run makes this machine an executor. Without a configuration it is a whole system: an
exchange named home on 127.0.0.1:8420, an MQTT broker on 127.0.0.1:1883, and a
simulated home for tests.

Stop it with Ctrl-C: each device at work goes to its safe state, and the thread lists
what is done.`,
		Example: "  messkit run\n  messkit run --config messkit.yaml",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, log, err := r.Load(a.Err)
			if err != nil {
				return err
			}
			return daemon.Run(c.Context(), a, cfg, log)
		},
	}
	r.Flags(c)
	return c
}

func exchangeCommand(a *output.Env) *cobra.Command {
	var r daemon.RunFlags
	c := &cobra.Command{
		Use:     "exchange",
		Short:   "Run an exchange alone, for executors elsewhere",
		Example: "  messkit exchange --config messkit.yaml",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, log, err := r.Load(a.Err)
			if err != nil {
				return err
			}
			if cfg.Exchange == nil {
				return errors.New("this configuration connects to an exchange elsewhere; messkit run uses it")
			}
			e, err := daemon.OpenExchange(c.Context(), a, cfg.Exchange, nil, log)
			switch {
			case errors.Is(err, context.Canceled) && c.Context().Err() != nil: // the end of the context during the start is no failure
				return nil
			case err != nil:
				return err
			}
			return e.Run(c.Context())
		},
	}
	r.Flags(c)
	c.Flags().Lookup("config").Usage = "configuration file; without one: an exchange for this machine"
	c.AddCommand(keys.ACLCommand(a))
	return c
}
