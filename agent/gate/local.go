package gate

import (
	"fmt"

	"github.com/messkit/messkit/capabilities"
)

// Local is what people at the place have decided while the agent runs.
type Local struct {
	Locked   map[string]string            // why, by device
	Disarmed map[capabilities.Risk]string // why, by risk class
	Unarmed  map[string]string            // why, by device
	Armed    map[string]bool              // devices that act though their class is disarmed
	// Unknown is why nobody knows all that; "" if it is known. Every device is
	// locked then.
	Unknown string
	// Nothing is why nothing acts at all for now; "" if it may.
	Nothing string
}

// ask looks at what people have decided. It reads a file, so Gate.mu is not
// held: a disk that hangs must not keep a stop waiting.
func (g *Gate) ask() {
	now := g.local()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.people = now
}

func (g *Gate) notLocked(d *device, p capabilities.Plan) error {
	if !p.Actuates() {
		return nil
	}
	no := func(text string) error { return &Refusal{Device: d.name, Rule: "locked", Text: text} }
	why, locked := g.people.Locked[d.name]
	switch {
	case d.limits.Locked:
		return no("its owner has locked it in the configuration")
	case g.people.Nothing != "":
		return no(fmt.Sprintf("nothing acts now: %s; look at the disk", g.people.Nothing))
	case g.people.Unknown != "":
		return no(fmt.Sprintf("nobody knows what is locked (%s); a person at the place looks, and then says: messkit arm --reset", g.people.Unknown))
	case locked && why != "":
		return no(fmt.Sprintf("a person at the place has locked it (%s) until: messkit unlock %s", why, d.name))
	case locked:
		return no(fmt.Sprintf("a person at the place has locked it until: messkit unlock %s", d.name))
	}
	return nil
}

// armed refuses what is disarmed, but for switching off.
func (g *Gate) armed(d *device, p capabilities.Plan) error {
	if !p.Actuates() || releases(p) {
		return nil
	}
	no := func(what, why, how string) error {
		return &Refusal{Device: d.name, Rule: "disarmed", Text: fmt.Sprintf("%s (%s) until a person at the place has looked and says: messkit arm %s", what, why, how)}
	}
	if why, is := g.people.Unarmed[d.name]; is {
		return no("it does not act", why, d.name)
	}
	class, why := g.disarmed(p.Risk)
	if class == "" || g.people.Armed[d.name] {
		return nil
	}
	return no(fmt.Sprintf("nothing of risk %s acts", class), why, string(class))
}

// disarmed is the class that keeps a risk from acting, and why; "" for none. A
// class that nobody has thought about may be any.
func (g *Gate) disarmed(risk capabilities.Risk) (class capabilities.Risk, why string) {
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
