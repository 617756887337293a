package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/trial"
	"github.com/messkit/messkit/internal/cli/output"
)

// askRunning has the messkit that runs with the data folder of this configuration
// use the devices that are the same there. theirs is what it says of them, by name;
// what it does not have is nobody's. found tells of the two configurations.
func (c *config) askRunning(ctx context.Context) (theirs map[string]output.CheckResult, found []output.CheckResult) {
	theirs = map[string]output.CheckResult{}
	a, err := trial.Ask(ctx, c.Agent.Data, c.question())
	switch {
	case errors.Is(err, trial.ErrNobody) && !c.runs():
		return theirs, nil
	case err != nil:
		for _, d := range c.home.devices {
			theirs[d.name] = output.CheckResult{What: d.name, OK: true, Note: true, Says: "was not used: the messkit that runs may have it"}
		}
		return theirs, []output.CheckResult{{What: "devices", OK: true, Note: true, Says: "messkit runs here and may have them, so that they were not used; " + unasked(err, c.Agent.Data)}}
	}
	var others, same []string
	for _, r := range a.Devices {
		switch {
		case r.Used:
			same = append(same, r.Name)
			theirs[r.Name] = ofRunning(r)
		default:
			others = append(others, r.Name)
		}
	}
	return theirs, []output.CheckResult{c.compare(a, same, others)}
}

// findExchange looks where the exchange is of the messkit that runs with a data folder,
// when none answers at the address of this machine, and goes on with that one.
func (k *client) findExchange(ctx context.Context, silent output.CheckResult, data string) output.CheckResult {
	a, err := trial.Ask(ctx, data, trial.Question{})
	switch {
	case errors.Is(err, trial.ErrNobody):
		silent.Says += fmt.Sprintf("; with the data folder %s none runs either; of one with another folder or port tell with --config, or with --url and --key-file", data)
		return silent
	case err != nil || a.URL == "" || a.URL == k.url:
		return silent
	}
	asked := k.url
	k.url = a.URL
	x := k.checkExchange(ctx)
	if x.OK {
		x.Note, x.Says = true, fmt.Sprintf("%s; nobody is at %s, where commands look: give them --url %s, or set MESSKIT_URL", x.Says, asked, a.URL)
	}
	return x
}

// refusedModels tells of MCP clients that the exchange refused since it began
// because of their revision. Without an operator's key there is nothing to read.
func (k *client) refusedModels(ctx context.Context) (found []output.CheckResult) {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	x, err := k.open()
	if err != nil {
		return nil // checkKey has said it
	}
	list, err := x.Refused(ctx)
	if err != nil {
		return nil
	}
	for _, r := range list {
		if r.Code == http.StatusBadRequest {
			found = append(found, output.CheckResult{What: "mcp", OK: true, Note: true, Says: fmt.Sprintf("%s was refused %s, last at %s: %s", cmp.Or(r.Actor, r.From), output.Count(r.Count, "time"), r.At.Local().Format(time.DateTime), r.Error)})
		}
	}
	return found
}

// ofRunning is what a messkit that runs says of a device.
func ofRunning(r trial.Result) output.CheckResult {
	return output.CheckResult{What: r.Name, OK: r.OK, Note: r.Note, Says: r.Says}
}

// unasked is what to do where a messkit runs and does not answer.
func unasked(err error, data string) string {
	if errors.Is(err, trial.ErrRefused) {
		return fmt.Sprintf("%v: say it as that user, or with sudo", err)
	}
	return fmt.Sprintf("it does not answer for %s (%v): start it again if it is an older version, or end it to have them used", data, err)
}

// mostNamed is how many devices are named in one line.
const mostNamed = 6

// someOf lists names, and how many more there are where they are too many to be read.
func someOf(names []string) string {
	if more := len(names) - mostNamed; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// compare tells where what runs has another configuration than this one.
func (c *config) compare(a trial.Answer, same, others []string) output.CheckResult {
	f := output.CheckResult{What: "devices", OK: true}
	its := "what is built in"
	if a.Config != "" {
		its = a.Config
	}
	since := a.Began.Local().Format(time.DateTime)
	if len(same) == len(c.home.devices) && len(others) == 0 {
		f.Says = fmt.Sprintf("messkit runs with them since %s, and uses them for this", since)
		if stopped := func(r trial.Result) bool { return r.Says == agent.ErrStopped.Error() }; slices.ContainsFunc(a.Devices, stopped) {
			f.Note, f.Says = true, fmt.Sprintf("messkit runs with them since %s, and uses none while everything is stopped", since)
		}
		return f
	}
	f.Note = true
	f.Says = fmt.Sprintf("messkit runs since %s with another configuration (%s)", since, its)
	if len(others) > 0 {
		f.Says += fmt.Sprintf("; what it has as %s is otherwise in this one, or not there", someOf(others))
	}
	if len(same) > 0 {
		f.Says += fmt.Sprintf("; it has used %s for this", someOf(same))
	}
	if len(same) < len(c.home.devices) {
		f.Says += "; the rest of this one was used here, and is messkit's when it is started again with it"
	}
	return f
}

// question asks for every device.
func (c *config) question() trial.Question {
	var q trial.Question
	for _, d := range c.home.devices {
		q.Devices = append(q.Devices, trial.Device{Name: d.name, Settings: c.Devices[d.name].Sum()})
	}
	return q
}

// runs reports whether a messkit has the data folder of this configuration.
func (c *config) runs() bool {
	name := filepath.Join(c.Agent.Data, "run.lock")
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	lock, err := journal.Lock(name)
	if err != nil {
		return errors.Is(err, journal.ErrInUse)
	}
	_ = lock.Close() // nothing was written
	return false
}

// serveTrials answers doctors until ctx ends: the devices that they have alike are
// used for them.
func (c *config) serveTrials(ctx context.Context, o *outputs, log *slog.Logger) error {
	trials, began := agent.NewTrials(o.gate, o.devices, time.Now), time.Now()
	return trial.Serve(ctx, c.Agent.Data, func(ctx context.Context, q trial.Question) trial.Answer {
		a := trial.Answer{Config: c.file, Began: began, Devices: make([]trial.Result, len(o.devices))}
		if url := o.url.Load(); url != nil {
			a.URL = *url
		}
		if q.Plan != nil {
			if plan, err := c.planned(ctx, *q.Plan); err == nil {
				a.Executor, a.Plan = c.Agent.ID, &plan
			}
		}
		asked := map[string]string{}
		for _, d := range q.Devices {
			asked[d.Name] = d.Settings
		}
		var g errgroup.Group
		for i, d := range o.devices {
			r := &a.Devices[i]
			r.Name, r.Settings = d.Name, c.Devices[d.Name].Sum()
			if r.Used = asked[d.Name] == r.Settings; !r.Used {
				continue
			}
			g.Go(func() error {
				says, err := try(ctx, trials, d)
				f := tried(d.Name, says, err)
				r.OK, r.Note, r.Says = f.OK, f.Note, f.Says
				return nil
			})
		}
		_ = g.Wait() // each says what is wrong with it
		return a
	}, log)
}
