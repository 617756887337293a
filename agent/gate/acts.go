package gate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/order"
)

// MaxActs bounds how often things are acted on, beside the max_acts that a
// device has of its own. Switching off and going to a dock are neither counted
// nor refused.
type MaxActs struct {
	Requester Rate `yaml:"requester"` // by one requester; all that nobody knows are one
	All       Rate `yaml:"all"`       // by all together
}

// Act is one time that a device was made to act.
type Act struct {
	Device string    `json:"device"`
	By     string    `json:"by,omitempty"` // the requester
	At     time.Time `json:"at"`
}

// Ledger remembers acts over a restart.
type Ledger interface {
	// Acts are those that were noted before.
	Acts() ([]Act, error)
	// Note writes an act down. It is on the disk when Note returns nil, and not
	// done before.
	Note(ctx context.Context, a Act) error
}

// Remember has acts written down from now on, and takes over what an earlier run
// has done. As long as that cannot be read nothing acts that is counted.
func (g *Gate) Remember(l Ledger) {
	g.mu.Lock()
	g.ledger, g.unread = l, true
	g.mu.Unlock()
	if err := g.recall(); err != nil {
		g.log.Error("earlier acts cannot be read", "err", err)
	}
}

// recall takes over what an earlier run has done, once. Where a clock that was
// set meanwhile, or is not set yet, hides how long that is ago, it counts as
// done just now.
func (g *Gate) recall() error {
	g.mu.Lock()
	kept, unread := g.ledger, g.unread
	g.mu.Unlock()
	if !unread {
		return nil
	}
	earlier, err := kept.Acts()
	if err != nil {
		return err
	}
	_, unset := g.wall()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.unread {
		return nil // another was quicker
	}
	g.unread = false
	now := g.now()
	for _, a := range earlier {
		age := max(0, now.Sub(a.At))
		if unset != nil {
			age = 0
		}
		a.At = now.Add(-age)
		g.acts = append(g.acts, a)
		if d := g.device(a.Device); d.used.Before(a.At) {
			d.used = a.At // it rests from then on
		}
	}
	order.By(g.acts, func(a, b Act) int { return a.At.Compare(b.At) })
	return nil
}

// counts reports whether a plan is taken off the budgets.
func counts(p capabilities.Plan) bool {
	return p.Actuates() && !releases(p) && p.Command != capabilities.Dock
}

// budget is one limit that an act falls under.
type budget struct {
	rate  Rate
	whose string
	mine  func(Act) bool
}

func (g *Gate) budgets(d *device, by string) []budget {
	who := fmt.Sprintf("%q", by)
	if by == "" {
		who = "a requester that is not known"
	}
	all := []budget{
		{d.limits.MaxActs, "it", func(a Act) bool { return a.Device == d.name }},
		{g.cfg.MaxActs.Requester, who, func(a Act) bool { return a.By == by }},
		{g.cfg.MaxActs.All, "everything here together", func(Act) bool { return true }},
	}
	return slices.DeleteFunc(all, func(b budget) bool { return b.rate.N == 0 })
}

// withinActs refuses an act for which a budget is used up. Gate.mu is held.
func (g *Gate) withinActs(d *device, o Order) error {
	if !counts(o.Plan) {
		return nil
	}
	now := g.now()
	for _, b := range g.budgets(d, o.By) {
		var within []time.Time
		for _, a := range g.acts {
			if b.mine(a) && now.Sub(a.At) < b.rate.Per {
				within = append(within, a.At)
			}
		}
		if len(within) < b.rate.N {
			continue
		}
		retry := b.rate.Per - now.Sub(within[len(within)-b.rate.N])
		return &Refusal{Device: d.name, Rule: "max_acts", Retry: retry, Text: fmt.Sprintf(
			"%s may act %v at most, and has; ask again in %v", b.whose, b.rate, retry.Round(time.Second))}
	}
	return nil
}

// count takes one act off the budgets, in memory and on the disk. What is
// refused after that stays counted: nothing is done that is not.
func (g *Gate) count(ctx context.Context, d *device, o Order) error {
	if !counts(o.Plan) || len(g.budgets(d, o.By)) == 0 {
		return nil
	}
	no := func(err error) error {
		return &Refusal{Device: d.name, Rule: "max_acts", Text: fmt.Sprintf("it could not be written down that it acts (%v); look at the disk", err)}
	}
	if err := g.recall(); err != nil {
		return no(err)
	}
	act, kept, err := g.book(d, o)
	if err != nil || kept == nil {
		return err
	}
	if err := kept.Note(ctx, act); err != nil {
		return no(err)
	}
	return nil
}

// book is count in memory; kept is where it is to be written down, nil for
// nowhere.
func (g *Gate) book(d *device, o Order) (act Act, kept Ledger, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.withinActs(d, o); err != nil {
		return act, nil, err
	}
	now := g.now()
	act = Act{Device: d.name, By: o.By, At: now}
	g.acts = slices.DeleteFunc(g.acts, func(a Act) bool { return now.Sub(a.At) >= longest })
	g.acts = append(g.acts, act)
	return act, g.ledger, nil
}

// longest is the longest time that a Rate is counted over.
const longest = 24 * time.Hour
