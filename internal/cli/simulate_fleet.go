package cli

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/internal/cli/fleet"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon/watchdog"
)

// progressEvery is the time between two lines of progress.
const progressEvery = 10 * time.Second

func simulateFleetCommand(a *output.Env) *cobra.Command {
	c := fleet.DefaultConfig()
	var keyFile string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "simulate-fleet",
		Short: "Simulate many executors and requesters, and measure the exchange",
		Long: `Simulate-fleet connects many simulated executors and requesters to an exchange over
HTTP, MQTT or both. The requesters send requests at a fixed rate. The executors claim,
start and complete them. The report has times, errors, and the exchange's use of CPU
and memory.

Without --url the command starts its own exchange in a temporary folder, and removes it
at the end. With --url it uses a running one, with the operator's key of --key-file: it
makes keys there. If the exchange has several nodes, the fleet uses all at --url. At the end it revokes them and removes its executors, which takes half
a minute. The threads of its requests stay. It uses another machine only with
--i-own-this-exchange.

No real device acts: the requests need capabilities that only simulated executors have.

Exit code: 0 the exchange ended each request once, 1 it lost, doubled or did not finish
one, or the run failed.`,
		Example: "  messkit simulate-fleet --executors 1000 --rate 50 --for 1m\n  messkit simulate-fleet --executors 100 --rate 10 --protocol both --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("url") {
				key, err := config.ReadKey(keyFile)
				if err != nil {
					return err
				}
				c.Key = string(key)
			}
			if err := c.Validate(); err != nil {
				return output.Usagef(cmd, "%w", err)
			}
			return runSimulateFleet(a, cmd, c, asJSON)
		},
	}
	f := cmd.Flags()
	f.IntVar(&c.Executors, "executors", c.Executors, "number of executors, at most 50000")
	f.Float64Var(&c.Rate, "rate", c.Rate, "requests a second; the requesters do not wait for earlier answers")
	f.DurationVar(&c.For, "for", c.For, "time in which the requesters send")
	f.StringVar(&c.Protocol, "protocol", c.Protocol, "http, mqtt or both")
	f.IntVar(&c.Compete, "compete", c.Compete, "executors that can take the same request")
	f.DurationVar(&c.Heartbeat, "heartbeat", c.Heartbeat, "time between two heartbeats of an executor; 0: none")
	f.IntVar(&c.Connections, "connections", c.Connections, "connections over which all post by HTTP; each executor has one more for its events")
	f.StringVar(&c.Broker, "broker", "", "with --url: address of the exchange's MQTT broker, like mqtt://127.0.0.1:1883")
	f.BoolVar(&c.OwnsExchange, "i-own-this-exchange", false, "the exchange at --url is on another machine, is mine, and nothing depends on it now")
	f.StringSliceVar(&c.URLs, "url", nil, "a running exchange, like http://127.0.0.1:8420, or its nodes with commas between; without it the command starts one")
	f.StringVar(&keyFile, "key-file", config.EnvOr("MESSKIT_KEY_FILE", config.DataDir()+"/"+config.OperatorFile), "with --url: file with the operator's key")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func runSimulateFleet(a *output.Env, cmd *cobra.Command, c fleet.Config, asJSON bool) error {
	name, err := watchdog.Executable()
	if err != nil {
		return err
	}
	r, leave, err := fleet.Run(cmd.Context(), c, name, fleetProgress(a), a.Err)
	if err != nil {
		return err
	}
	if asJSON {
		err = a.JSON(r)
	} else {
		err = r.Write(a.Out)
	}
	if err = errors.Join(err, leave()); err == nil && !r.OK() {
		return output.ErrQuiet // the report contains the reason
	}
	return err
}

// fleetProgress prints a line of progress to standard error from time to time.
func fleetProgress(a *output.Env) func(string) {
	var last time.Time
	p := output.Printer{Out: a.Err}
	return func(text string) {
		if now := time.Now(); now.Sub(last) >= progressEvery {
			last = now
			p.Printf("%s\n", text)
		}
	}
}
