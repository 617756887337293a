package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/messkit/messkit/capabilities"
)

// LocalDecisions holds the decisions of the local operator while the agent runs.
type LocalDecisions struct {
	LockedOut       map[string]string            // reason, by device
	Disarmed        map[capabilities.Risk]string // reason, by risk class
	DisarmedDevices map[string]string            // reason, by device
	ArmedDevices    map[string]bool              // devices that act although their class is disarmed
	// Unknown says why these decisions are unknown; "" if they are known. All devices count as
	// locked out while it is set.
	Unknown string
	// Blocked says why no device may act for now; "" if they may.
	Blocked string
}

// updateDecisions reads the local operator's decisions. It reads a file, so the caller must not hold
// Policy.mu: a hanging disk must not delay a stop.
func (g *Policy) updateDecisions() {
	now := g.readDecisions()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.decisions = now
}

// Lockout returns the reason of a device's lockout, "" if there is none. It reads no file.
func (g *Policy) Lockout(name string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	reason, locked := g.decisions.LockedOut[name]
	switch {
	case g.device(name).limits.Locked:
		return "the configuration locks it out"
	case g.decisions.Unknown != "":
		return "the lockouts are unknown: " + g.decisions.Unknown
	case locked:
		return cmp.Or(reason, "by hand")
	}
	return ""
}

func (g *Policy) notLockedOut(d *device, p capabilities.Plan) error {
	if !p.Actuates() {
		return nil
	}
	no := func(text string) error { return &Rejection{Device: d.name, Rule: "locked", Text: text} }
	reason, locked := g.decisions.LockedOut[d.name]
	switch {
	case d.limits.Locked:
		return no("the configuration locks it out (locked: true)")
	case g.decisions.Blocked != "":
		return no(fmt.Sprintf("no device acts now: %s; check the disk", g.decisions.Blocked))
	case g.decisions.Unknown != "":
		return no(fmt.Sprintf("the lockouts are unknown (%s); check the devices, and then run on the host: messkit arm --reset", g.decisions.Unknown))
	case locked && reason != "":
		return no(fmt.Sprintf("a local operator has locked it out (%s); to release it, run on the host: messkit unlock %s", reason, d.name))
	case locked:
		return no(fmt.Sprintf("a local operator has locked it out; to release it, run on the host: messkit unlock %s", d.name))
	}
	return nil
}

// notDisarmed rejects a plan for a disarmed class or device, except for switching off.
func (g *Policy) notDisarmed(d *device, p capabilities.Plan) error {
	if !p.Actuates() || isDeEnergizing(p) {
		return nil
	}
	no := func(what, reason, how string) error {
		return &Rejection{Device: d.name, Rule: "disarmed", Text: fmt.Sprintf("%s (%s); check the devices, and then run on the host: messkit arm %s", what, reason, how)}
	}
	if reason, is := g.decisions.DisarmedDevices[d.name]; is {
		return no("it is disarmed", reason, d.name)
	}
	class, reason := g.disarmedClass(p.Risk)
	if class == "" || g.decisions.ArmedDevices[d.name] {
		return nil
	}
	return no(fmt.Sprintf("risk class %s is disarmed", class), reason, string(class))
}

// disarmedClass returns the disarmed class that blocks a risk, and its reason; "" if none does. An
// unknown class counts as every class.
func (g *Policy) disarmedClass(risk capabilities.Risk) (class capabilities.Risk, reason string) {
	if reason, is := g.decisions.Disarmed[risk]; is {
		return risk, reason
	}
	if !risk.Known() {
		for _, class := range slices.Sorted(maps.Keys(g.decisions.Disarmed)) {
			return class, g.decisions.Disarmed[class]
		}
	}
	return "", ""
}
