package gate

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/capabilities"
)

// MaxActs bounds how often things are acted on, beside the max_acts that a
// device has of its own. Switching off and going to a dock are neither counted
// nor refused.
type MaxActs struct {
	Requester Rate `yaml:"requester"` // by one requester; all that nobody knows are one
	All       Rate `yaml:"all"`       // by all together
}

// counts reports whether a plan is taken off the budgets.
func counts(p capabilities.Plan) bool {
	return p.Actuates() && !releases(p) && p.Command != capabilities.Dock
}

// spender is who or what a budget is of.
type spender struct {
	kind budgetKind
	name string // of the device or the requester
}

type budgetKind byte

const (
	ofDevice budgetKind = iota
	ofRequester
	ofAll
)

// budget is one limit that an act falls under.
type budget struct {
	spender
	rate  Rate
	whose string
}

// budgets are those that an act of a device for a requester falls under.
func (g *Gate) budgets(d *device, by string) []budget {
	who := fmt.Sprintf("%q", by)
	if by == "" {
		who = "a requester that is not known"
	}
	all := []budget{
		{spender{ofDevice, d.name}, d.limits.MaxActs, "it"},
		{spender{ofRequester, by}, g.cfg.MaxActs.Requester, who},
		{spender{ofAll, ""}, g.cfg.MaxActs.All, "everything here together"},
	}
	return slices.DeleteFunc(all, func(b budget) bool { return b.rate.N == 0 })
}

// spend takes an act off its budgets. A budget keeps the times of as many acts as it allows:
// the oldest of these says whether one more may be. mu is held.
func (g *Gate) spend(d *device, a Act) {
	for _, b := range g.budgets(d, a.By) {
		times := append(g.spent[b.spender], a.At)
		g.spent[b.spender] = times[max(0, len(times)-b.rate.N):]
	}
	if len(g.spent) > g.sweep {
		now := g.now()
		maps.DeleteFunc(g.spent, func(_ spender, times []time.Time) bool { return now.Sub(times[len(times)-1]) >= longest })
		g.sweep = 2*len(g.spent) + minSweep
	}
}

// longest is the longest time that a Rate is counted over, and minSweep how many budgets
// may have been used before those of which that is longer ago are dropped.
const (
	longest  = 24 * time.Hour
	minSweep = 256
)

// withinActs refuses an act for which a budget is used up. Gate.mu is held.
func (g *Gate) withinActs(d *device, o Order) error {
	if !counts(o.Plan) {
		return nil
	}
	now := g.now()
	for _, b := range g.budgets(d, o.By) {
		if !g.gap.IsZero() && now.Sub(g.gap) < b.rate.Per {
			retry := b.rate.Per - now.Sub(g.gap)
			return &Refusal{Device: d.name, Rule: "max_acts", Retry: retry, Text: fmt.Sprintf(
				"%s may act %v at most, and a part of the journal is lost, and with it how often that was; ask again in %v", b.whose, b.rate, retry.Round(time.Second))}
		}
		times := g.spent[b.spender]
		if len(times) < b.rate.N || now.Sub(times[0]) >= b.rate.Per {
			continue
		}
		retry := b.rate.Per - now.Sub(times[0])
		return &Refusal{Device: d.name, Rule: "max_acts", Retry: retry, Text: fmt.Sprintf(
			"%s may act %v at most, and has; ask again in %v", b.whose, b.rate, retry.Round(time.Second))}
	}
	return nil
}

// counted takes one act off the budgets, and returns the note of it for the disk, none if there
// is no book. An act that the gate refuses later stays counted.
func (p *Pass) counted() ([]journal.Note, error) {
	g, d, o := p.g, p.dev, p.order
	if !counts(o.Plan) || len(g.budgets(d, o.By)) == 0 {
		return nil, nil
	}
	if err := g.recall(); err != nil {
		return nil, p.notWritten(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.withinActs(d, o); err != nil {
		return nil, err
	}
	act := Act{Device: d.name, By: o.By, At: g.now()}
	g.spend(d, act)
	if g.book == nil {
		return nil, nil
	}
	act.At = act.At.Round(0) // a disk keeps no monotonic time
	return []journal.Note{{Act: &act}}, nil
}
