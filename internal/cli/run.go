package cli

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/internal/cli/cluster"
	"github.com/messkit/messkit/internal/cli/keys"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/internal/daemon/watchdog"
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
	var nodes int
	c := &cobra.Command{
		Use:   "exchange",
		Short: "Run an exchange alone, for executors elsewhere",
		Long: `Exchange runs an exchange without an executor.

With --cluster-dev it runs a cluster on this machine, for trial: three NATS servers and
three exchanges that share their threads. It needs the program nats-server. All of them
keep their data in the folder cluster of the data folder, and end with the command.`,
		Example: "  messkit exchange --config messkit.yaml\n  messkit exchange --cluster-dev 3",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("cluster-dev") {
				return runCluster(c, a, &r, nodes)
			}
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
	c.Flags().IntVar(&nodes, "cluster-dev", 0, "run a cluster for trial on this machine: 3 or 5 NATS servers, and as many exchanges")
	c.Flags().Lookup("config").Usage = "configuration file; without one: an exchange for this machine"
	c.AddCommand(keys.ACLCommand(a))
	return c
}

// runCluster runs a cluster for trial. Flags of a single exchange have no meaning for it.
func runCluster(c *cobra.Command, a *output.Env, r *daemon.RunFlags, nodes int) error {
	for _, name := range []string{"config", "mqtt", "tls", "confirm", "insecure"} {
		if c.Flags().Changed(name) {
			return output.Usagef(c, "--cluster-dev: a cluster for trial has no --%s; leave it out, or configure each exchange with store:", name)
		}
	}
	data, listen := r.Place()
	program, err := watchdog.Executable()
	if err != nil {
		return err
	}
	k := cluster.Config{Nodes: nodes, Dir: filepath.Join(data, "cluster"), Listen: listen, Program: program}
	if err := k.Validate(); err != nil {
		return output.Usagef(c, "%w", err)
	}
	return cluster.Run(c.Context(), k, a.Out)
}
