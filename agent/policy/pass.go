package policy

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/messkit/messkit/capabilities"
)

// Pass is the right to carry out one plan on one device, from Enter to Leave. A plan that acts
// holds its device for that time; a plan that steers a running task does not wait for the end
// of that task.
type Pass struct {
	g     *Policy
	dev   *device
	order Order
	held  bool // it holds the device

	asked moment // when the agent asked for the permission
	again func(context.Context) (time.Time, error)

	// Guarded by Gate.mu.
	begun      bool // Begin has written what the next act needs
	foreseen   bool // the switch-off is pending, but no act has switched the device on yet
	unanswered bool // the device has not answered a command

	left sync.Once
}

// Enter waits until the device is free and its minimum interval has passed, and returns a pass
// if every rule still allows the plan. A plan that needs a confirmation must use Admit. Enter
// calls busy, unless nil, once with the reason for waiting. The error is a *Refusal or the
// cause of ctx.
func (g *Policy) Enter(ctx context.Context, p capabilities.Plan, busy func(string)) (*Pass, error) {
	return g.Admit(ctx, Order{Plan: p}, busy)
}

// Admit does the same as Enter for a plan with a known requester and confirmation.
func (g *Policy) Admit(ctx context.Context, o Order, busy func(string)) (*Pass, error) {
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
	if !steers(o.Plan) || o.Command == capabilities.Resume { // the other steering plans act at once, as a stop does; Resume starts motion
		if err := g.awaitTurn(ctx, o, tell); err != nil {
			return nil, err
		}
	}
	held := false
	switch {
	case steers(o.Plan):
		held = g.tryHold(d, o.Plan)
	case g.overtakes(d, o.Plan):
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
		pass.End()
		return nil, err
	}
	return pass, nil
}

// hold makes p the task that holds the device. It rejects p if another task stopped, cancelled
// or switched off the device while p waited: that requester saw the device at rest and did not
// know of p.
func (g *Policy) hold(ctx context.Context, d *device, p capabilities.Plan, tell func(string)) error {
	breaks := g.breaks(d)
	select {
	case d.hold <- struct{}{}:
	default:
		if alone(p) {
			return busy(d, g.holder(d))
		}
		tell(fmt.Sprintf("%s does one thing at a time, and now: %s", d.name, g.holder(d)))
		select {
		case d.hold <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	g.setHolder(d, p.Summary)
	if err := g.awaitRest(ctx, d, p, breaks, tell); err != nil {
		(&Pass{g: g, dev: d, order: Order{Plan: p}, held: true}).End()
		return err
	}
	return nil
}

// awaitRest waits until the device that p holds may act again. breaks is the number of stops of
// the device when p came.
func (g *Policy) awaitRest(ctx context.Context, d *device, p capabilities.Plan, breaks uint64, tell func(string)) error {
	for {
		g.mu.Lock()
		ended := d.breaks != breaks && !releases(p)
		rest, why := g.rest(d, p)
		var overtaken chan struct{}
		if rest > 0 && !ended {
			overtaken = make(chan struct{})
		}
		d.resting = overtaken
		g.mu.Unlock()
		switch {
		case ended:
			return &Rejection{Device: d.name, Rule: "ended", Text: "it was stopped, cancelled or switched off while this waited, so this is not begun; ask again if it is still wanted"}
		case rest == 0:
			return nil
		}
		tell(d.name + " " + why)
		t := time.NewTimer(rest)
		select {
		case <-t.C:
		case <-overtaken:
		case <-ctx.Done():
		}
		if t.Stop(); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// overtakes reports whether a plan that switches off goes before a task that holds the device
// and only waits for its minimum interval. That task, and all tasks behind it, then do not
// begin.
func (g *Policy) overtakes(d *device, p capabilities.Plan) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.resting == nil || !releases(p) {
		return false
	}
	close(d.resting)
	d.resting = nil
	d.breaks++
	return true
}

// MarkCancelled records that the requester cancelled the plan after it had begun: the waiting tasks do
// not begin.
func (p *Pass) MarkCancelled() {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if p.held {
		p.dev.breaks++
	}
}

// breaks returns how often tasks have ended an activity of the device.
func (g *Policy) breaks(d *device) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return d.breaks
}

// tryHold makes p the task that holds the device, if no other task does.
func (g *Policy) tryHold(d *device, p capabilities.Plan) bool {
	select {
	case d.hold <- struct{}{}:
		g.setHolder(d, p.Summary)
		return true
	default:
		return false
	}
}

func (g *Policy) holder(d *device) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return d.holder
}

func (g *Policy) setHolder(d *device, what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d.holder = what
	if what == "" {
		d.holder = d.name
	}
}

// pass checks every rule once more, now that the plan holds the device.
func (g *Policy) pass(d *device, o Order, held bool) (*Pass, error) {
	pass := &Pass{g: g, dev: d, order: o, held: held, asked: g.moment()}
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
	if o.Command == capabilities.Stop {
		d.breaks++
	}
	return pass, nil
}

// End releases the device. Further calls do nothing.
func (p *Pass) End() {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.leave()
}

// leave implements Leave. The caller holds Gate.mu.
func (p *Pass) leave() {
	p.left.Do(func() {
		p.unforesee()
		if p.held {
			p.dev.holder, p.dev.active, p.dev.resting = "", false, nil
			<-p.dev.hold // this pass filled it, so the receive does not block
		}
	})
}
