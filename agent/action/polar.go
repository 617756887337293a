package action

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
func (run Run) answers(r *Result, is string, so bool) {
	asked, _ := run.Plan.AsksFor()
	if asked == "working" && is == "on" { // "is the fan running?"
		asked = is
	}
	switch asked {
	case is:
		r.Yes = &so
	case opposites[is]:
		r.Yes = new(!so)
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
func (run Run) measuredYes(r *Result, readings []drivers.Reading) {
	for _, m := range slices.Backward(readings) {
		if is, ok := truthful[m.Quantity]; ok && m.Unit == "" {
			run.answers(r, is, math.Abs(m.Value) >= 1)
		}
	}
}

// observedYes answers a question from a device's observations: a named thing is there, and only
// an explicit statement means that it is not.
func (run Run) observedYes(ctx context.Context, r *Result, facts []drivers.Fact) {
	asked, _ := run.Plan.AsksFor()
	if dev, ok := run.Device.Driver.(drivers.DockReader); ok && asked == "docked" {
		if in, err := run.Pass.Docked(ctx, dev); err == nil {
			r.Yes = &in
		}
	}
	if dev, ok := run.Device.Driver.(drivers.RestReader); ok && asked == "working" {
		if still, err := run.Pass.AtRest(ctx, dev); err == nil {
			r.Yes = new(!still)
		}
	}
	value, _ := run.Plan.Args.Get("thing")
	thing, _ := value.(string)
	if asked != capabilities.Seen || thing == "" {
		return
	}
	for _, f := range facts {
		there, tells := f.Value.(bool)
		if tells && slices.ContainsFunc(strings.Fields(f.Name), func(word string) bool { return interpret.EqualIgnoringPlural(word, thing) }) {
			r.Yes = &there
			return
		}
	}
}
