package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/internal/cli/output"
)

// deviceTime is how long one device may take to be looked at. A camera that has
// to warm up takes some seconds.
const deviceTime = 15 * time.Second

// unread is of a device that was not used.
const unread = "was not used: there is nothing that can be read from it without setting it"

// checkDevices uses every device without changing anything. Those that a running
// messkit has that one uses.
func (c *config) checkDevices(ctx context.Context) []output.CheckResult {
	theirs, found := c.askRunning(ctx)
	own := make([]output.CheckResult, len(c.home.devices))
	devices := c.home.forAgent()
	trials := agent.NewTrials(c.gate(output.NoLog), devices, time.Now)
	var g errgroup.Group
	for i, d := range devices {
		if f, has := theirs[d.Name]; has {
			own[i] = f
			continue
		}
		g.Go(func() error {
			says, err := try(ctx, trials, d)
			own[i] = tried(d.Name, says, err)
			return nil
		})
	}
	_ = g.Wait() // it has none: each says what is wrong with it
	return append(found, own...)
}

// tried words what came of using a device.
func tried(name, says string, err error) output.CheckResult {
	doubt, doubtful := errors.AsType[agent.Doubt](err)
	switch {
	case doubtful:
		return output.CheckResult{What: name, OK: true, Note: true, Says: string(doubt)}
	case errors.Is(err, agent.ErrStopped):
		return output.CheckResult{What: name, OK: true, Note: true, Says: agent.ErrStopped.Error()} // why, and what to do, the stop tells
	case err != nil:
		return output.CheckResult{What: name, Says: strings.TrimPrefix(err.Error(), name+": ")}
	case says == "":
		return output.CheckResult{What: name, OK: true, Note: true, Says: unread}
	}
	return output.CheckResult{What: name, OK: true, Says: says}
}

// try uses one device, for deviceTime at most.
func try(ctx context.Context, trials *agent.Trials, d agent.Device) (string, error) {
	type outcome struct {
		says string
		err  error
	}
	ctx, cancel := context.WithTimeout(ctx, deviceTime)
	defer cancel()
	answer := make(chan outcome, 1)
	go func() { // a driver that hangs keeps nobody
		says, err := trials.Use(ctx, d)
		answer <- outcome{says: says, err: err}
	}()
	select {
	case o := <-answer:
		return o.says, o.err
	case <-ctx.Done():
		return "", fmt.Errorf("it has not answered within %v; is it switched on and connected?", deviceTime)
	}
}
