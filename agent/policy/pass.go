package policy

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/wait"
)

// Pass is the right to carry out one plan on one device, from Admit to End. A plan that acts
// holds its device for that time; a plan that steers a running task does not wait for the end
// of that task.
type Pass struct {
	g       *Policy
	dev     *device
	order   Order
	hasTurn bool // it holds the device

	permissionAsked moment // when the agent asked for the permission
	renew           func(context.Context) (time.Time, error)

	// Guarded by Policy.mu.
	recorded   bool // Record has written what the next act needs
	offPlanned bool // the switch-off is pending, but no act has switched the device on yet
	unanswered bool // the device has not answered a command

	endOnce sync.Once
}

// Admit waits until the device is free and its minimum interval has passed, and returns a pass
// if every rule still allows the plan. It calls busy, unless nil, once with the reason for
// waiting. The error is a *Rejection or the cause of ctx.
func (g *Policy) Admit(ctx context.Context, o Order, busy func(string)) (*Pass, error) {
	g.mu.Lock()
	d := g.device(o.Device)
	g.mu.Unlock()
	if _, err := g.check(o); err != nil {
		return nil, err
	}
	reported := false
	report := func(reason string) {
		if busy != nil && !reported {
			reported = true
			busy(reason)
		}
	}
	if !isSteering(o.Plan) || o.Command == capabilities.Resume { // the other steering plans act at once, as a stop does; Resume starts motion
		if err := g.awaitReservation(ctx, o, report); err != nil {
			return nil, err
		}
	}
	held := false
	switch {
	case isSteering(o.Plan):
		held = g.tryTakeTurn(d, o.Plan)
	case g.overtakes(d, o.Plan):
	case o.Actuates():
		if err := g.takeTurn(ctx, d, o.Plan, report); err != nil {
			return nil, err
		}
		held = true
	}
	pass, err := g.newPass(d, o, held)
	if err != nil {
		return nil, err
	}
	if err := g.checkConditions(ctx, d, o.Plan); err != nil {
		pass.End()
		return nil, err
	}
	return pass, nil
}

// takeTurn makes p the task that holds the device. It rejects p if another task stopped, cancelled
// or switched off the device while p waited: that requester saw the device at rest and did not
// know of p.
func (g *Policy) takeTurn(ctx context.Context, d *device, p capabilities.Plan, report func(string)) error {
	breaks := g.interruptions(d)
	select {
	case d.turn <- struct{}{}:
	default:
		if neverWaits(p) {
			return busyRejection(d, g.holder(d))
		}
		report(fmt.Sprintf("%s does one task at a time, and now: %s", d.name, g.holder(d)))
		select {
		case d.turn <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	g.setHolder(d, p.Summary)
	if err := g.awaitMinInterval(ctx, d, p, breaks, report); err != nil {
		(&Pass{g: g, dev: d, order: Order{Plan: p}, hasTurn: true}).End()
		return err
	}
	return nil
}

// awaitMinInterval waits until the device that p holds may act again. breaks is the number of stops of
// the device when p came.
func (g *Policy) awaitMinInterval(ctx context.Context, d *device, p capabilities.Plan, breaks uint64, report func(string)) error {
	for {
		g.mu.Lock()
		ended := d.interruptions != breaks && !isDeEnergizing(p)
		rest, reason := g.waitTime(d, p)
		var overtaken chan struct{}
		if rest > 0 && !ended {
			overtaken = make(chan struct{})
		}
		d.overtaken = overtaken
		g.mu.Unlock()
		switch {
		case ended:
			return &Rejection{Device: d.name, Rule: "ended", Text: "another request stopped, cancelled or switched off the device while this one waited; ask again if you still want it"}
		case rest == 0:
			return nil
		}
		report(d.name + " " + reason)
		if !wait.ForSignal(ctx, rest, overtaken) {
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
	if d.overtaken == nil || !isDeEnergizing(p) {
		return false
	}
	close(d.overtaken)
	d.overtaken = nil
	d.interruptions++
	return true
}

// MarkCancelled records that the requester cancelled the plan after it had begun: the waiting tasks do
// not begin.
func (p *Pass) MarkCancelled() {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if p.hasTurn {
		p.dev.interruptions++
	}
}

// interruptions returns how often tasks have ended an activity of the device.
func (g *Policy) interruptions(d *device) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return d.interruptions
}

// tryTakeTurn makes p the task that holds the device, if no other task does.
func (g *Policy) tryTakeTurn(d *device, p capabilities.Plan) bool {
	select {
	case d.turn <- struct{}{}:
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

// newPass checks every rule once more, now that the plan holds the device.
func (g *Policy) newPass(d *device, o Order, held bool) (*Pass, error) {
	pass := &Pass{g: g, dev: d, order: o, hasTurn: held, permissionAsked: g.moment()}
	g.updateDecisions()
	g.mu.Lock()
	defer g.mu.Unlock()
	err := firstRejection(append(g.standingRules(), g.notDryRun), d, o.Plan)
	if err == nil {
		err = g.confirmed(d, o)
	}
	if err == nil {
		err = g.withinBudgets(d, o)
	}
	if err != nil {
		pass.end()
		return nil, err
	}
	if held {
		d.active = !isDeEnergizing(o.Plan)
	}
	if o.Command == capabilities.Stop {
		d.interruptions++
	}
	return pass, nil
}

// End releases the device. Further calls do nothing.
func (p *Pass) End() {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.end()
}

// end implements End. The caller holds Policy.mu.
func (p *Pass) end() {
	p.endOnce.Do(func() {
		p.revertPendingOff()
		if p.hasTurn {
			p.dev.holder, p.dev.active, p.dev.overtaken = "", false, nil
			<-p.dev.turn // this pass filled it, so the receive does not block
		}
	})
}
