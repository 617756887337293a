package policy

import (
	"fmt"

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

// ask reads the local operator's decisions. It reads a file, so the caller must not hold
// Gate.mu: a hanging disk must not delay a stop.
func (g *Policy) ask() {
	now := g.local()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.people = now
}

func (g *Policy) notLocked(d *device, p capabilities.Plan) error {
	if !p.Actuates() {
		return nil
	}
	no := func(text string) error { return &Rejection{Device: d.name, Rule: "locked", Text: text} }
	why, locked := g.people.LockedOut[d.name]
	switch {
	case d.limits.Locked:
		return no("its owner has locked it in the configuration")
	case g.people.Blocked != "":
		return no(fmt.Sprintf("nothing acts now: %s; look at the disk", g.people.Blocked))
	case g.people.Unknown != "":
		return no(fmt.Sprintf("nobody knows what is locked (%s); a person at the place looks, and then says: messkit arm --reset", g.people.Unknown))
	case locked && why != "":
		return no(fmt.Sprintf("a person at the place has locked it (%s) until: messkit unlock %s", why, d.name))
	case locked:
		return no(fmt.Sprintf("a person at the place has locked it until: messkit unlock %s", d.name))
	}
	return nil
}

// armed rejects a plan for a disarmed class or device, except for switching off.
func (g *Policy) armed(d *device, p capabilities.Plan) error {
	if !p.Actuates() || releases(p) {
		return nil
	}
	no := func(what, why, how string) error {
		return &Rejection{Device: d.name, Rule: "disarmed", Text: fmt.Sprintf("%s (%s) until a person at the place has looked and says: messkit arm %s", what, why, how)}
	}
	if why, is := g.people.DisarmedDevices[d.name]; is {
		return no("it does not act", why, d.name)
	}
	class, why := g.disarmed(p.Risk)
	if class == "" || g.people.ArmedDevices[d.name] {
		return nil
	}
	return no(fmt.Sprintf("nothing of risk %s acts", class), why, string(class))
}

// disarmed returns the disarmed class that blocks a risk, and its reason; "" if none does. An
// unknown class counts as every class.
func (g *Policy) disarmed(risk capabilities.Risk) (class capabilities.Risk, why string) {
	if why, is := g.people.Disarmed[risk]; is {
		return risk, why
	}
	if !risk.Known() {
		for _, class := range sortedKeys(g.people.Disarmed) {
			return class, g.people.Disarmed[class]
		}
	}
	return "", ""
}
