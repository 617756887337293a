package policy

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
)

// countsAsAct reports whether a plan uses up the budgets.
func countsAsAct(p capabilities.Plan) bool {
	return p.Actuates() && !isDeEnergizing(p) && p.Command != capabilities.Dock
}

// budgetOwner identifies the owner of a budget: a device, a requester, or all together.
type budgetOwner struct {
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
	budgetOwner
	rate      settings.Rate
	ownerText string
}

// budgets returns the limits that apply when a device acts for the requester by.
func (g *Policy) budgets(d *device, by string) []budget {
	requester := fmt.Sprintf("%q", by)
	if by == "" {
		requester = "an unknown requester"
	}
	all := []budget{
		{budgetOwner{ofDevice, d.name}, d.limits.MaxActs, "it"},
		{budgetOwner{ofRequester, by}, g.cfg.MaxActs.Requester, requester},
		{budgetOwner{ofAll, ""}, g.cfg.MaxActs.All, "all devices together"},
	}
	return slices.DeleteFunc(all, func(b budget) bool { return b.rate.N == 0 })
}

// charge charges an act to its budgets. A budget keeps the times of as many acts as it allows;
// its oldest time shows whether it allows another act. The caller holds Policy.mu.
func (g *Policy) charge(d *device, a Act) {
	for _, b := range g.budgets(d, a.By) {
		times := append(g.budgetUse[b.budgetOwner], a.At)
		g.budgetUse[b.budgetOwner] = times[max(0, len(times)-b.rate.N):]
	}
	if len(g.budgetUse) > g.cleanupAt {
		now := g.now()
		maps.DeleteFunc(g.budgetUse, func(_ budgetOwner, times []time.Time) bool { return now.Sub(times[len(times)-1]) >= maxRatePeriod })
		g.cleanupAt = 2*len(g.budgetUse) + minCleanup
	}
}

// longest is the longest period of a rate. Above minCleanup used budgets, charge drops those whose
// last act is older than maxRatePeriod.
const (
	maxRatePeriod = 24 * time.Hour
	minCleanup    = 256
)

// withinBudgets rejects an act that would exceed a budget. The caller holds Policy.mu.
func (g *Policy) withinBudgets(d *device, o Order) error {
	if !countsAsAct(o.Plan) {
		return nil
	}
	now := g.now()
	for _, b := range g.budgets(d, o.By) {
		if !g.ledgerGap.IsZero() && now.Sub(g.ledgerGap) < b.rate.Per {
			retry := b.rate.Per - now.Sub(g.ledgerGap)
			return &Rejection{Device: d.name, Rule: "max_acts", Retry: retry, Text: fmt.Sprintf(
				"%s may act %v at most, but a part of the journal is missing, so the count is unknown; ask again in %v", b.ownerText, b.rate, retry.Round(time.Second))}
		}
		times := g.budgetUse[b.budgetOwner]
		if len(times) < b.rate.N || now.Sub(times[0]) >= b.rate.Per {
			continue
		}
		retry := b.rate.Per - now.Sub(times[0])
		return &Rejection{Device: d.name, Rule: "max_acts", Retry: retry, Text: fmt.Sprintf(
			"%s may act %v at most, and has used that up; ask again in %v", b.ownerText, b.rate, retry.Round(time.Second))}
	}
	return nil
}

// chargeBudgets charges one act to the budgets and returns the note of it for the disk, or none
// without a ledger. An act that the safety policy rejects later stays counted.
func (p *Pass) chargeBudgets() ([]journal.LedgerEntry, error) {
	g, d, o := p.g, p.dev, p.order
	if !countsAsAct(o.Plan) || len(g.budgets(d, o.By)) == 0 {
		return nil, nil
	}
	if err := g.loadActs(); err != nil {
		return nil, p.ledgerRejection(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.withinBudgets(d, o); err != nil {
		return nil, err
	}
	act := Act{Device: d.name, By: o.By, At: g.now()}
	g.charge(d, act)
	if g.ledger == nil {
		return nil, nil
	}
	act.At = act.At.Round(0) // the disk cannot store monotonic time
	return []journal.LedgerEntry{{Act: &act}}, nil
}
