package gate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/messkit/messkit/capabilities"
)

// Pass is the right to carry out one plan on one device, from Enter to Leave.
// A plan that acts has its device for itself that long; one that steers what the
// device is at does not wait for that to end.
type Pass struct {
	g     *Gate
	dev   *device
	order Order
	held  bool // it has the device for itself

	asked time.Time // when the permission was asked for
	again func(context.Context) (time.Time, error)

	left sync.Once
}

// Enter waits until the device is free and rested, and lets the plan pass if
// every rule still allows it. A plan that needs a yes must have it (Admit). busy,
// if it is not nil, is called once where there is something to wait for, with
// the reason. The error is a *Refusal, or ctx's.
func (g *Gate) Enter(ctx context.Context, p capabilities.Plan, busy func(string)) (*Pass, error) {
	return g.Admit(ctx, Order{Plan: p}, busy)
}

// Admit is Enter for a plan of which is known who has asked for it and what was
// confirmed.
func (g *Gate) Admit(ctx context.Context, o Order, busy func(string)) (*Pass, error) {
	g.mu.Lock()
	d := g.device(o.Device)
	g.mu.Unlock()
	if _, err := g.check(o); err != nil {
		return nil, err
	}
	told := false
	tell := func(why string) {
		if busy != nil && !told {
			told = true
			busy(why)
		}
	}
	if !steers(o.Plan) || o.Command == capabilities.Resume { // the others go to what runs, as a stop does; this sets it moving
		if err := g.awaitTurn(ctx, o, tell); err != nil {
			return nil, err
		}
	}
	held := false
	switch {
	case steers(o.Plan):
		held = g.tryHold(d, o.Plan)
	case o.Actuates():
		if err := g.hold(ctx, d, o.Plan, tell); err != nil {
			return nil, err
		}
		held = true
	}
	pass, err := g.pass(d, o, held)
	if err != nil {
		return nil, err
	}
	if err := g.look(ctx, d, o.Plan); err != nil {
		pass.Leave()
		return nil, err
	}
	return pass, nil
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
	for {
		g.mu.Lock()
		rest, why := g.rest(d, p)
		g.mu.Unlock()
		if rest == 0 {
			return nil
		}
		tell(d.name + " " + why)
		if !wait(ctx, rest) {
			(&Pass{g: g, dev: d, order: Order{Plan: p}, held: true}).Leave()
			return context.Cause(ctx)
		}
	}
}

// wait waits for d, and reports whether ctx let it.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// tryHold makes p the task that has the device, if none has it.
func (g *Gate) tryHold(d *device, p capabilities.Plan) bool {
	select {
	case d.hold <- struct{}{}:
		g.setHolder(d, p.Summary)
		return true
	default:
		return false
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
func (g *Gate) pass(d *device, o Order, held bool) (*Pass, error) {
	pass := &Pass{g: g, dev: d, order: o, held: held}
	g.ask()
	g.mu.Lock()
	defer g.mu.Unlock()
	err := first(append(g.always(), g.notDry), d, o.Plan)
	if err == nil {
		err = g.confirmed(d, o)
	}
	if err == nil {
		err = g.withinActs(d, o)
	}
	if err != nil {
		pass.leave()
		return nil, err
	}
	if held {
		d.active = !releases(o.Plan)
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
		if p.held {
			p.dev.holder, p.dev.active = "", false
			<-p.dev.hold // it is this pass's, so this does not wait
		}
	})
}
