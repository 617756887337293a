package policy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
)

// withinRange rejects a parameter outside its bounds, and a missing one: the device would then
// choose a value that no rule has checked. Switching off needs no parameter.
func (g *Policy) withinRange(d *device, p capabilities.Plan) error {
	if !p.Actuates() {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(d.limits.Range[p.Command])) {
		b := d.limits.Range[p.Command][name]
		value, given := parameter(*d.limits, p, name)
		if !given && turnsOff(p) {
			continue
		}
		if reason := b.Outside(value, given); reason != "" {
			return &Rejection{Device: d.name, Rule: "range", Text: fmt.Sprintf("%s %s, and may be %s; ask for that", name, reason, b)}
		}
	}
	return nil
}

// parameter returns a value of a plan; "for" is the duration in seconds.
func parameter(l settings.Limits, p capabilities.Plan, name string) (any, bool) {
	if name != "for" {
		return p.Args.Get(name)
	}
	last := p.For
	if TurnsOn(p) {
		last = offIn(l, p)
	}
	return last.Seconds(), last > 0
}
