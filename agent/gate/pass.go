package gate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/messkit/messkit/capabilities"
)

// Pass is the right to carry out one plan on one device, from Enter to Leave.
// A plan that acts has its device for itself that long.
type Pass struct {
	g    *Gate
	dev  *device
	plan capabilities.Plan

	left sync.Once
}

// Enter waits until the device is free and rested, and lets the plan pass if
// every rule still allows it. busy, if it is not nil, is called once where there
// is something to wait for, with the reason. The error is a *Refusal, or ctx's.
func (g *Gate) Enter(ctx context.Context, p capabilities.Plan, busy func(string)) (*Pass, error) {
	g.mu.Lock()
	d := g.device(p.Device)
	g.mu.Unlock()
	if _, err := g.Check(p); err != nil {
		return nil, err
	}
	told := false
	tell := func(why string) {
		if busy != nil && !told {
			told = true
			busy(why)
		}
	}
	if p.Actuates() {
		if err := g.hold(ctx, d, p, tell); err != nil {
			return nil, err
		}
	}
	return g.pass(d, p)
}

// hold makes p the task that has the device.
func (g *Gate) hold(ctx context.Context, d *device, p capabilities.Plan, tell func(string)) error {
	select {
	case d.hold <- struct{}{}:
	default:
		tell(fmt.Sprintf("%s does one thing at a time, and now: %s", d.name, g.holder(d)))
		select {
		case d.hold <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	g.setHolder(d, p.Summary)
	g.mu.Lock()
	rest := g.rest(d, p)
	g.mu.Unlock()
	if rest == 0 {
		return nil
	}
	tell(fmt.Sprintf("%s acts every %v at most", d.name, d.limits.MinInterval))
	t := time.NewTimer(rest)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		(&Pass{g: g, dev: d, plan: p}).Leave()
		return context.Cause(ctx)
	}
}

func (g *Gate) holder(d *device) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return d.holder
}

func (g *Gate) setHolder(d *device, what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d.holder = what
	if what == "" {
		d.holder = d.name
	}
}

// pass asks every rule once more, now that the device is held.
func (g *Gate) pass(d *device, p capabilities.Plan) (*Pass, error) {
	pass := &Pass{g: g, dev: d, plan: p}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, rule := range []func(*device, capabilities.Plan) error{
		g.notStopped, g.notHung, g.notLocked, g.withinMaxOn, g.notQuiet, g.notDry,
	} {
		if err := rule(d, p); err != nil {
			pass.leave()
			return nil, err
		}
	}
	return pass, nil
}

// Leave gives the device free. It may be called twice.
func (p *Pass) Leave() {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.leave()
}

// leave is Leave with Gate.mu held.
func (p *Pass) leave() {
	p.left.Do(func() {
		if p.plan.Actuates() {
			p.dev.holder = ""
			<-p.dev.hold // it is this pass's, so this does not wait
		}
	})
}
