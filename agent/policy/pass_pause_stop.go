package policy

import (
	"context"
	"errors"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// Pause pauses the device's activity.
func (p *Pass) Pause(ctx context.Context, d drivers.Pauser) error {
	return p.do(ctx, capabilities.Pause, true, d.Pause)
}

// Resume continues the device's activity.
func (p *Pass) Resume(ctx context.Context, d drivers.Pauser) error {
	return p.do(ctx, capabilities.Resume, true, d.Resume)
}

// Stop ends the device's activity. left describes the remaining work for a person.
func (p *Pass) Stop(ctx context.Context, d drivers.Stopper) (left string, err error) {
	err = p.do(ctx, capabilities.Stop, true, func(ctx context.Context) (err error) {
		left, err = d.Stop(ctx)
		return err
	})
	if err != nil {
		return "", err
	}
	return left, nil
}

// CleanSpot cleans the spot at the cleaner's position. It calls progress from another goroutine.
func (p *Pass) CleanSpot(ctx context.Context, d drivers.SpotCleaner, progress func(drivers.Progress)) error {
	return p.do(ctx, capabilities.CleanSpot, true, func(ctx context.Context) error {
		return d.CleanSpot(ctx, progress)
	})
}

// Press triggers a button, a scene or a script. A button on an output line of this machine is
// on during the press, and the policy and the watchdog treat it like any device that is on.
func (p *Pass) Press(ctx context.Context, d drivers.Presser) error {
	s, line := d.(drivers.Switch)
	if !line {
		return p.do(ctx, capabilities.Press, true, d.Press)
	}
	err := p.do(ctx, capabilities.Press, true, func(ctx context.Context) error { return p.switchOn(ctx, s, d.Press) })
	if err == nil { // the driver has released it
		p.g.setOff(p.dev)
	}
	return err
}

// PressState reads back when the device last fired.
func (p *Pass) PressState(ctx context.Context, r drivers.PressReader) (drivers.PressState, error) {
	return readDevice(ctx, p, "read its last trigger", r.PressState)
}

// Print starts the print of a file.
func (p *Pass) Print(ctx context.Context, d drivers.Printer, file string) (drivers.Print, error) {
	planned, _ := p.order.Args.Get("file")
	if err := p.matchesPlan("print", capabilities.Print, planned == file); err != nil {
		return drivers.Print{}, err
	}
	return act(ctx, p, "print", p.dev.limits.Timeout, func(ctx context.Context) (drivers.Print, error) { return d.Print(ctx, file) })
}

// PrintState reads the state of a print.
func (p *Pass) PrintState(ctx context.Context, d drivers.Printer, one drivers.Print) (drivers.PrintState, error) {
	return readDevice(ctx, p, "read state", func(ctx context.Context) (drivers.PrintState, error) { return d.PrintState(ctx, one) })
}

// Working reads whether a device is working on its own.
func (p *Pass) Working(ctx context.Context, d drivers.Worker) (bool, error) {
	return readDevice(ctx, p, "read whether it works", d.Working)
}

// Changes returns a channel that the device closes at its next change.
func (p *Pass) Changes(ctx context.Context, d drivers.Notifier) (<-chan struct{}, error) {
	return readDevice(ctx, p, "listen", func(context.Context) (<-chan struct{}, error) { return d.Changes(), nil })
}

// FindPrint looks for a print that an earlier run of the program has begun.
func (p *Pass) FindPrint(ctx context.Context, d drivers.Printer, file string, since time.Time) (drivers.Print, error) {
	return readDevice(ctx, p, "find the print", func(ctx context.Context) (drivers.Print, error) { return d.FindPrint(ctx, file, since) })
}

// StopActivity ends the print of a pass: a person has asked for it in its own thread, or has
// cancelled that thread. If the printer does not acknowledge it, the policy repeats it until
// the printer does or gets another command.
func (p *Pass) StopActivity(ctx context.Context, d drivers.Stopper) (left string, err error) {
	left, err = run(ctx, p.g, &call{dev: p.dev, name: "stop", limit: p.dev.limits.Timeout, lock: p.dev.steerLock, acts: true}, d.Stop)
	if errors.Is(err, drivers.ErrMayAct) {
		p.g.mu.Lock()
		defer p.g.mu.Unlock()
		p.g.repeatStop(p.dev)
	}
	return left, err
}

// ResumeActivity resumes a print that waits for a person. It checks the rules for the plan
// again, since the pass may only be one for reading.
func (p *Pass) ResumeActivity(ctx context.Context, d drivers.Pauser, plan capabilities.Plan) error {
	c := &call{dev: p.dev, name: "resume", limit: p.dev.limits.Timeout, lock: p.dev.steerLock, acts: true}
	ctx, end := p.g.stoppable(ctx, c)
	defer end()
	_, err := run(ctx, p.g, c, func(ctx context.Context) (struct{}, error) {
		p.g.updateDecisions()
		p.g.mu.Lock()
		err := firstRejection(append(p.g.standingRules(), p.g.notDryRun), p.dev, plan)
		p.g.mu.Unlock()
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, d.Resume(ctx)
	})
	return err
}
