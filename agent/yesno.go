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

// answers says yes or no to what the plan asks for, where is is what makes it a yes.
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

// opposites are the states of which a thing has always one: it is not on if it is off.
var opposites = map[string]string{"on": "off", "closed": "open", "locked": "unlocked"}

// truthful are the states that a measurement tells by not being zero, by quantity.
var truthful = map[string]string{
	"contact": "closed", "lock": "locked", "motion": "motion", "presence": "motion", "occupancy": "motion",
}

// measuredYes answers by what was measured. Of several measurements of the same the
// first answers.
func (v verbs) measuredYes(r *result, readings []drivers.Reading) {
	for _, m := range slices.Backward(readings) {
		if is, ok := truthful[m.Quantity]; ok && m.Unit == "" {
			v.answers(r, is, math.Abs(m.Value) >= 1)
		}
	}
}

// observedYes answers by what a device knows of itself, or what it sees: that a thing
// is there is known where it is named, and that it is not only where that is said.
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

// addYes takes up the answer of one step: a plan has one where each step has, which is
// a yes if all are, or one of them where that is enough.
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
