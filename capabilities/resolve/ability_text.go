package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// toldAs is what a device tells of a quantity.
func toldAs(quantity string) string {
	switch quantity {
	case "contact":
		return "whether it is open"
	case "lock":
		return "whether it is locked"
	case "motion":
		return "whether something moves"
	}
	return "its " + quantity
}

// some are what devices are called, the first of many.
func (r *Resolver) some(devices []int) string {
	labels := r.Labels(devices)
	if more := len(labels) - 4; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(labels[:4], ", "), more)
	}
	return strings.Join(labels, ", ")
}

// oneThing is a class with its article: "an oven".
func oneThing(class string) string {
	if strings.ContainsRune("aeiou", rune(class[0])) {
		return "an " + lexicon.SpaceHyphens(class)
	}
	return "a " + lexicon.SpaceHyphens(class)
}

// abilities says by examples what can be asked for in this home, and where all of it
// stands.
func (r *Resolver) abilities() string { return r.AbilityText }

// exemplary are the capabilities that are shown by examples, the first of this home.
var exemplary = []string{"switch-on", "look", "vacuum-floor", "read-sensor", "open", "take-photo", "print-status", "start-appliance"}

// examples are orders and questions that fit this home.
func (r *Resolver) examples() string {
	var list []string
	for _, id := range exemplary {
		c := r.Catalog.Find(id)
		if c == nil || len(list) == 3 {
			continue
		}
		for _, d := range r.Index.Those(func(d int) bool { return r.CanDo(c, "", d) && (id != "switch-on" || r.Class[d] == "light") }) {
			if say := r.Example(c, d, r.Site.Devices[d]); say != "" {
				list = append(list, fmt.Sprintf("%q", say))
				break
			}
		}
	}
	if len(list) == 0 {
		return "\"messkit capabilities\" lists what can be asked for"
	}
	return fmt.Sprintf("ask like %s; \"messkit capabilities\" lists all that can be asked for", strings.Join(list, ", "))
}

// Example is what is said for a capability of a device; "" where it looks at nothing
// that has a name.
func (r *Resolver) Example(c *grammar.Capability, d int, dev capabilities.Device) string {
	rd, areas := &Hypothesis{Pattern: &grammar.Pattern{Capability: c}}, []string(nil)
	if len(dev.Spots) > 0 && c.Command == capabilities.Clean {
		areas = []string{dev.Spots[0].Room}
	}
	switch {
	case len(dev.Sees) > 0:
		rd.Slots = []grammar.BoundSlot{{Kind: "view", Name: "view", Match: &lexicon.SlotValue{Value: dev.Sees[0]}}}
	case c.ID == "take-photo":
		return "take a photo with the " + r.Label(d)
	case c.ID == "look":
		return ""
	}
	return strings.TrimSuffix(r.planFor(rd, d, areas).Summary, " with the "+r.Label(d))
}

func (r *Resolver) abilitiesOf(d int) string {
	can := r.whatCan(func(c *grammar.Capability) bool { return r.CanOffer(c, d) })
	return strings.ReplaceAll(strings.ReplaceAll(can, "something", "it"), "whether it is there", "whether something is there")
}

func (r *Resolver) whatCan(can func(*grammar.Capability) bool) string {
	var list []string
	for _, c := range r.Catalog.Capabilities {
		if can(c) {
			list = append(list, c.Description)
		}
	}
	if len(list) == 0 {
		return "do nothing that is known here"
	}
	return strings.Join(list, ", ")
}

// offered are the ids of the capabilities that this home has.
func (r *Resolver) offered() []string { return slices.Clone(r.IDs) }
