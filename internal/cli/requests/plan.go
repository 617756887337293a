package requests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/agent/selftest"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/internal/daemon/inspect"
)

// PlanCommand returns the command messkit plan.
func PlanCommand(a *output.Env) *cobra.Command {
	var file, lines string
	var requires, beside []string
	var asJSON bool
	c := &cobra.Command{
		Use:   `plan "REQUEST"`,
		Short: "Show the plan of a request, and do nothing",
		Long: `Plan resolves a request with the devices of a configuration and explains the plan. It
starts no device and sends nothing. Without a configuration it asks the messkit that
runs here, with its devices; if none runs, it uses the simulated home. The line "home"
names the one that answered. It reads lockouts, disarmed classes, stops and recent acts
in the executor's data folder, whether or not the executor runs, and asks a running one
whether the device is busy. It reads no sensor. With --json and --file it does so for
each line of a file, and prints one JSON object per line.`,
		Example: `  messkit plan "turn on the porch light for ten minutes"
  messkit plan --json --file sentences.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch empty := strings.TrimSpace(strings.Join(args, " ")) == ""; {
			case lines != "" && (!asJSON || len(args) > 0):
				return output.Usagef(cmd, "--file needs --json, and no request")
			case lines != "":
				return planLines(a, file, lines)
			case empty:
				return output.Usagef(cmd, "the request is empty; write it in words")
			}
			c, err := daemon.LoadConfig(file, output.NoLog)
			if err != nil {
				return err
			}
			return runPlan(cmd.Context(), a, c, selftest.Request{Intent: strings.Join(args, " "), Requires: requires, Context: beside}, asJSON)
		},
	}
	f := c.Flags()
	f.StringVarP(&file, "config", "c", "", "configuration file; without one: that of the messkit that runs here, or the simulated home")
	f.StringSliceVar(&requires, "requires", nil, "capabilities that the request names")
	f.StringArrayVar(&beside, "context", nil, "a hint for the executor; repeatable")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.StringVarP(&lines, "file", "f", "", "with --json: plan each line of this file; - is the standard input")
	return c
}

// runPlan prints the plan of a request and the home that planned it: the named configuration,
// or the messkit that runs on this machine.
func runPlan(ctx context.Context, a *output.Env, c *config.Config, r selftest.Request, asJSON bool) error {
	home, runs := planHome{Config: c.File, Executor: c.Agent.ID}, selftest.Response{}
	if c.File == "" {
		var err error
		runs, err = selftest.Ask(ctx, c.Agent.Data, selftest.Query{Plan: &r})
		switch {
		case err == nil && runs.Plan != nil:
			home = planHome{Running: true, Config: runs.Config, Executor: runs.Executor}
		case !errors.Is(err, selftest.ErrNotRunning):
			home.Note = "the messkit that runs here did not answer: " + client.Unasked(err, c.Agent.Data)
		default:
			home.Note = "no messkit runs here with the usual data folder"
		}
	}
	if !home.Running {
		plan, err := inspect.Plan(ctx, c, r)
		if err != nil {
			return err
		}
		runs.Plan = &plan
	}
	if asJSON {
		var doc map[string]any
		if err := json.Unmarshal(runs.Plan.JSON, &doc); err != nil {
			return err
		}
		doc["home"] = home
		return a.JSON(doc)
	}
	p := output.Printer{Out: a.Out}
	p.Printf("%s%-13s %s\n", output.PrintableLines(runs.Plan.Text)+"\n", "home", output.Printable(home.String()))
	return p.Err
}

// planHome names the home whose devices a plan has.
type planHome struct {
	Running  bool   `json:"running"` // the running messkit has planned
	Config   string `json:"config"`  // its file; "" for the simulated home
	Executor string `json:"executor"`
	Note     string `json:"note,omitempty"` // the reason why the running messkit has not
}

func (h planHome) String() string {
	devices := "the simulated home"
	if h.Config != "" {
		devices = h.Config
	}
	switch {
	case h.Running:
		return fmt.Sprintf("the messkit that runs here as %s, with %s", h.Executor, devices)
	case h.Note != "":
		return devices + "; " + h.Note
	}
	return devices
}
