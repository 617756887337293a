package policy

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/capabilities"
)

// MaxActs limits how often devices may act, in addition to the max_acts of each device. The
// safety policy neither counts nor rejects switching off and docking.
type MaxActs struct {
	Requester Rate `yaml:"requester"` // one requester; all unknown requesters share one budget
	All       Rate `yaml:"all"`       // all requesters together
}

// counts reports whether a plan uses up the budgets.
func counts(p capabilities.Plan) bool {
	return p.Actuates() && !releases(p) && p.Command != capabilities.Dock
}

// spender identifies the owner of a budget: a device, a requester, or all together.
type spender struct {
	kind budgetKind
	name string // the device or the requester
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

// budgets returns the limits that apply when a device acts for the requester by.
func (g *Policy) budgets(d *device, by string) []budget {
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

// spend charges an act to its budgets. A budget keeps the times of as many acts as it allows;
// its oldest time shows whether it allows another act. The caller holds Gate.mu.
func (g *Policy) spend(d *device, a Act) {
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

// longest is the longest period of a Rate. Above minSweep used budgets, spend drops those whose
// last act is older than longest.
const (
	longest  = 24 * time.Hour
	minSweep = 256
)

// withinActs rejects an act that would exceed a budget. The caller holds Gate.mu.
func (g *Policy) withinActs(d *device, o Order) error {
	if !counts(o.Plan) {
		return nil
	}
	now := g.now()
	for _, b := range g.budgets(d, o.By) {
		if !g.gap.IsZero() && now.Sub(g.gap) < b.rate.Per {
			retry := b.rate.Per - now.Sub(g.gap)
			return &Rejection{Device: d.name, Rule: "max_acts", Retry: retry, Text: fmt.Sprintf(
				"%s may act %v at most, and a part of the journal is lost, and with it how often that was; ask again in %v", b.whose, b.rate, retry.Round(time.Second))}
		}
		times := g.spent[b.spender]
		if len(times) < b.rate.N || now.Sub(times[0]) >= b.rate.Per {
			continue
		}
		retry := b.rate.Per - now.Sub(times[0])
		return &Rejection{Device: d.name, Rule: "max_acts", Retry: retry, Text: fmt.Sprintf(
			"%s may act %v at most, and has; ask again in %v", b.whose, b.rate, retry.Round(time.Second))}
	}
	return nil
}

// counted charges one act to the budgets and returns the note of it for the disk, or none
// without a book. An act that the safety policy rejects later stays counted.
func (p *Pass) counted() ([]journal.LedgerEntry, error) {
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
	act.At = act.At.Round(0) // the disk cannot store monotonic time
	return []journal.LedgerEntry{{Act: &act}}, nil
}
