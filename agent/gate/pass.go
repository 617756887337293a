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

	asked moment // when the permission was asked for
	again func(context.Context) (time.Time, error)

	// Guarded by Gate.mu.
	begun      bool // Begin has written what the next act needs
	foreseen   bool // it is due that the device goes off, and nothing has switched it on yet
	unanswered bool // the device has not answered a command

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
		pass.Leave()
		return nil, err
	}
	return pass, nil
}

// hold makes p the task that has the device. What has waited while somebody stopped or
// cancelled what the device was at, or switched it off, is refused: he has seen it
// stand, and knows of nothing behind.
func (g *Gate) hold(ctx context.Context, d *device, p capabilities.Plan, tell func(string)) error {
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
		(&Pass{g: g, dev: d, order: Order{Plan: p}, held: true}).Leave()
		return err
	}
	return nil
}

// awaitRest waits until a device that p has may act again. breaks is how often it had
// been stopped when p came.
func (g *Gate) awaitRest(ctx context.Context, d *device, p capabilities.Plan, breaks uint64, tell func(string)) error {
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
			return &Refusal{Device: d.name, Rule: "ended", Text: "it was stopped, cancelled or switched off while this waited, so this is not begun; ask again if it is still wanted"}
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

// overtakes reports whether a plan that switches off goes before a task that has the
// device and only waits for it to have rested. That, and all behind it, is not begun
// then.
func (g *Gate) overtakes(d *device, p capabilities.Plan) bool {
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

// Cut notes that what the plan has begun was cancelled: what waits behind it is not
// begun.
func (p *Pass) Cut() {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if p.held {
		p.dev.breaks++
	}
}

// breaks is how often somebody has ended what the device was at.
func (g *Gate) breaks(d *device) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return d.breaks
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

// Leave gives the device free. It may be called twice.
func (p *Pass) Leave() {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.leave()
}

// leave is Leave with Gate.mu held.
func (p *Pass) leave() {
	p.left.Do(func() {
		p.unforesee()
		if p.held {
			p.dev.holder, p.dev.active, p.dev.resting = "", false, nil
			<-p.dev.hold // it is this pass's, so this does not wait
		}
	})
}
