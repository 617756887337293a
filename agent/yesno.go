package agent

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/drivers"
)

// answers sets yes or no if the plan asks a yes-or-no question; is names the state that makes
// it a yes.
func (v verbs) answers(r *result, is string, so bool) {
	asked, _ := v.plan.AsksFor()
	if asked == "working" && is == "on" { // "is the fan running?"
		asked = is
	}
	switch asked {
	case is:
		r.yes = &so
	case opposites[is]:
		r.yes = new(!so)
	}
}

// opposites holds pairs of states of which exactly one is true: a device is on or off.
var opposites = map[string]string{"on": "off", "closed": "open", "locked": "unlocked"}

// truthful names the states that a measurement other than zero means, by quantity.
var truthful = map[string]string{
	"contact": "closed", "lock": "locked", "motion": "motion", "presence": "motion", "occupancy": "motion",
}

// measuredYes answers a question from measurements. Of several measurements of one quantity,
// the first counts.
func (v verbs) measuredYes(r *result, readings []drivers.Reading) {
	for _, m := range slices.Backward(readings) {
		if is, ok := truthful[m.Quantity]; ok && m.Unit == "" {
			v.answers(r, is, math.Abs(m.Value) >= 1)
		}
	}
}

// observedYes answers a question from a device's observations: a named thing is there, and only
// an explicit statement means that it is not.
func (v verbs) observedYes(ctx context.Context, r *result, facts []drivers.Fact) {
	asked, _ := v.plan.AsksFor()
	if dev, ok := v.dev.Driver.(drivers.DockReader); ok && asked == "docked" {
		if in, err := v.pass.Docked(ctx, dev); err == nil {
			r.yes = &in
		}
	}
	if dev, ok := v.dev.Driver.(drivers.RestReader); ok && asked == "working" {
		if still, err := v.pass.AtRest(ctx, dev); err == nil {
			r.yes = new(!still)
		}
	}
	value, _ := v.plan.Args.Get("thing")
	thing, _ := value.(string)
	if asked != capabilities.Seen || thing == "" {
		return
	}
	for _, f := range facts {
		there, tells := f.Value.(bool)
		if tells && slices.ContainsFunc(strings.Fields(f.Name), func(word string) bool { return interpret.EqualIgnoringPlural(word, thing) }) {
			r.yes = &there
			return
		}
	}
}

// addYes combines the answer of one step with the result. The combined answer exists if each
// step has one; it is yes if all are yes, or if one is and that is enough.
func (r *result) addYes(step capabilities.Plan, one result, first bool) {
	_, any := step.AsksFor()
	switch {
	case first, one.yes == nil:
		r.yes = one.yes
	case r.yes != nil && any:
		r.yes = new(*r.yes || *one.yes)
	case r.yes != nil:
		r.yes = new(*r.yes && *one.yes)
	}
}
