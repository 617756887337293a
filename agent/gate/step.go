package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/capabilities"
)

// Permit has every act of the pass preceded by a permission that is no older
// than Fresh: asked is when the one was asked for that there is, and again asks
// for a new one and returns when it did so. The process may have been stopped
// for hours between any two acts.
func (p *Pass) Permit(asked time.Time, again func(context.Context) (time.Time, error)) {
	p.asked.at, p.again = asked, again // the machine may have slept since the pass began
}

// errOld is a look at the world, or a permission, that took too long to count.
var errOld = errors.New("it took too long")

// maxLooks is how often a pass looks around before one act.
const maxLooks = 3

// act calls a verb that changes the world: it looks around, and touches the
// world if what it has seen is still fresh.
func act[T any](ctx context.Context, p *Pass, name string, limit time.Duration, f func(context.Context) (T, error)) (v T, err error) {
	if err := p.begin(ctx); err != nil {
		return v, err
	}
	for range maxLooks {
		if v, err = step(ctx, p, name, limit, f); !errors.Is(err, errOld) {
			return v, err
		}
	}
	return v, &Refusal{Device: p.dev.name, Rule: "fresh", Text: fmt.Sprintf(
		"what it depends on could not be looked at and done within %v, %d times; try again when this machine has less to do", Fresh, maxLooks)}
}

// planned refuses a verb that is not the plan's: the rules have looked at the
// plan.
func (p *Pass) planned(verb string, c capabilities.Command, args bool) error {
	if p.order.Command == c && args {
		return nil
	}
	return &Refusal{Device: p.dev.name, Rule: "plan", Text: fmt.Sprintf("the plan is to %s (%s %v), and not to %s", p.order.Summary, p.order.Command, p.order.Args, verb)}
}

// areasOf are the areas of a plan to clean; none are all.
func areasOf(p capabilities.Plan) any {
	areas, ok := p.Args.Get("areas")
	if !ok {
		return []string(nil)
	}
	return areas
}

// step is one try.
func step[T any](ctx context.Context, p *Pass, name string, limit time.Duration, f func(context.Context) (T, error)) (v T, err error) {
	c := &call{dev: p.dev, name: name, limit: limit, line: p.line(), acts: true}
	ctx, end := p.g.stoppable(ctx, c)
	defer end()
	if err := p.permitted(ctx); err != nil {
		return v, err
	}
	looked := p.g.moment()
	if err := p.g.look(ctx, p.dev, p.order.Plan); err != nil {
		return v, err
	}
	p.g.ask()
	v, err = run(ctx, p.g, c, func(ctx context.Context) (T, error) {
		if err := p.mayAct(ctx, looked); err != nil {
			var none T
			return none, err
		}
		v, err := tracked(ctx, p, f)
		return v, p.midway(ctx, name, err)
	})
	if err == nil {
		p.took(name)
	}
	return v, err
}

// line is what a call of the pass waits for: the act before it, or, where it is about
// that act, what else is about it.
func (p *Pass) line() chan struct{} {
	if steers(p.order.Plan) {
		return p.dev.steer
	}
	return p.dev.acting
}

// midway tells an act that a stop has cut short from one that was refused: the
// driver had been told, and may have done it.
func (p *Pass) midway(ctx context.Context, name string, err error) error {
	stop, ok := errors.AsType[*Refusal](context.Cause(ctx))
	if !ok || !errors.Is(err, stop) {
		return err
	}
	return fmt.Errorf("%s: it had been told to %s", p.dev.name, name)
}

// permitted asks for a new permission where the last one is too old.
func (p *Pass) permitted(ctx context.Context) error {
	if p.again == nil || p.g.since(p.asked) <= Fresh {
		return nil
	}
	err := p.askAgain(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return &Refusal{Device: p.dev.name, Rule: "permission", Text: fmt.Sprintf("the exchange's yes was older than %v, and it does not say it again: %v", Fresh, err)}
}

// mayAct is the last look before the world is touched. The driver is held, so
// nothing is waited for between this and the act.
func (p *Pass) mayAct(ctx context.Context, looked moment) error {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if err := first(append(p.g.always(), p.g.notDry), p.dev, p.order.Plan); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if p.g.since(looked) > Fresh || p.again != nil && p.g.since(p.asked) > Fresh {
		return errOld
	}
	p.dev.used = p.g.now()
	return nil
}
