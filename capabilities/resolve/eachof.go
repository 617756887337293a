package resolve

import (
	"slices"

	"github.com/messkit/messkit/capabilities/lexicon"
)

// Partly reports whether one of several things that were named cannot do what the
// reading says, or is one of several that can: it is none then, for it would leave that
// one out, or do it with others.
func (rd *Hypothesis) Partly() bool {
	m := rd.Slot("device")
	return m != nil && slices.ContainsFunc(m.Parts, func(p lexicon.NamedGroup) bool {
		can := len(p.Devices) - len(lexicon.Subtract(p.Devices, rd.Devices))
		return can == 0 || can > 1 && !p.All
	})
}
