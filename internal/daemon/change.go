package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/exchange/home"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon/inspect"
	"github.com/messkit/messkit/internal/daemon/setup"
	"github.com/messkit/messkit/mess"
)

// NeedsRestart implements setup.Program.
func (p *localExecutor) NeedsRestart(d config.Device) string {
	if watchdogCommands(d).Off != nil {
		return "the watchdog has a device of this kind from the start of the program alone"
	}
	return ""
}

// errStarting reports that the agent does not run yet.
var errStarting = errors.New("the executor is starting; try again in a moment")

// InUse implements setup.Program.
func (p *localExecutor) InUse(ctx context.Context, name string) error {
	if p.exchange.agent == nil {
		return errStarting
	}
	task, err := home.New(p.exchange.x, time.Now).OpenTask(ctx, p.config().Agent.ID, name)
	if err != nil {
		return err
	}
	if task != nil {
		return fmt.Errorf("%s: the task %s uses it or waits for it; cancel the task, or wait for its end", name, task.Ref)
	}
	release, err := p.exchange.agent.agent.KeepDevice(name)
	if err == nil {
		release()
	}
	return err
}

// Test implements setup.Program.
func (p *localExecutor) Test(ctx context.Context, name string) (setup.TestResult, error) {
	devices := p.devices.all()
	i := slices.IndexFunc(devices, func(d device.Device) bool { return d.Name == name })
	if i < 0 {
		return setup.TestResult{}, fmt.Errorf("%s: its start waits for a restart of messkit", name)
	}
	says, err := inspect.TestDevice(ctx, device.NewSelfTest(p.devices.policy, devices, time.Now), devices[i])
	f := inspect.SelfTestResult(name, says, err)
	r := setup.TestResult{OK: f.OK, Doubt: f.Note, Text: f.Says}
	_, photographs := devices[i].Driver.(drivers.Photographer)
	switch {
	case !f.OK || f.Note:
	case photographs:
		r.Evidence = mess.Photographed
	case device.IsReadable(devices[i].Driver):
		r.Evidence = mess.ReadBack
	}
	return r, nil
}

// Apply implements setup.Program.
func (p *localExecutor) Apply(ctx context.Context, c setup.Change) error {
	if p.exchange.agent == nil {
		return errStarting
	}
	a, o := p.exchange.agent.agent, p.devices
	if ends := cmp.Or(c.Removed, c.Replaced); ends != "" {
		release, err := a.KeepDevice(ends)
		if err != nil {
			return err
		}
		defer release()
	}
	if err := o.apply(ctx, a, c); err != nil {
		return err
	}
	o.config.Store(c.Next)
	o.resolver.Replace(c.Next.Resolver())
	for _, name := range c.Described {
		if err := a.DescribeDevice(c.Next.Opened.Device(name).AgentDevice()); err != nil {
			return err
		}
	}
	if err := a.ReportCapabilities(ctx); err != nil {
		o.log.Warn("the exchange has not received the new capabilities; the next registration repeats them", "err", err)
	}
	return nil
}

// apply adds, removes or replaces the device of a change. If it returns an error, the devices are as
// before.
func (o *startedDevices) apply(ctx context.Context, a *agent.Agent, c setup.Change) error {
	switch {
	case c.Added != "":
		return o.add(ctx, a, c.Next, c.Added)
	case c.Removed != "":
		if err := o.remove(ctx, a, c.Removed); err != nil {
			return err
		}
		o.policy.Forget(c.Removed)
	case c.Replaced != "":
		return o.replace(ctx, a, c.Next, c.Replaced)
	}
	return nil
}

// add opens a device with the resources of the others, and starts it.
func (o *startedDevices) add(ctx context.Context, a *agent.Agent, c *config.Config, name string) error {
	if err := c.Opened.Reopen(name, c.Devices[name]); err != nil {
		return err
	}
	return o.start(ctx, a, c, name)
}

// replace ends a device, and starts the one of another configuration in its place. If that one does not
// start, the earlier one comes back.
func (o *startedDevices) replace(ctx context.Context, a *agent.Agent, c *config.Config, name string) error {
	before := o.config.Load()
	if err := c.Opened.Reopen(name, c.Devices[name]); err != nil {
		return err
	}
	if err := o.remove(ctx, a, name); err != nil {
		return err
	}
	err := o.start(ctx, a, c, name)
	if err != nil {
		own := before.Opened.Device(name)
		o.policy.AddDevice(name, own.Limits, own.Risk)
		o.hold(a.RestoreDevice(ctx, own.AgentDevice()))
	}
	return err
}

// start starts a device of a configuration.
func (o *startedDevices) start(ctx context.Context, a *agent.Agent, c *config.Config, name string) error {
	own := c.Opened.Device(name)
	o.policy.AddDevice(name, own.Limits, own.Risk)
	started, err := a.AddDevice(ctx, own.AgentDevice())
	if err == nil {
		o.hold(started)
	}
	return err
}

// hold adds a device to those that the end of the program halts.
func (o *startedDevices) hold(d device.Device) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.devices = append(o.devices, d)
}

// remove takes a device to its safe state and ends it.
func (o *startedDevices) remove(ctx context.Context, a *agent.Agent, name string) error {
	if err := a.RemoveDevice(ctx, name); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.devices = slices.DeleteFunc(o.devices, func(d device.Device) bool { return d.Name == name })
	return nil
}
