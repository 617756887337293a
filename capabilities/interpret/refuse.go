package interpret

import (
	"github.com/messkit/messkit/capabilities/resolve"
)

// fits reports whether a sentence is for what was named, or for a class of what is here.
func (x *request) fits(rd resolve.Hypothesis) bool {
	return x.Suits(&rd) == 1 || rd.Slot("device") == nil && x.r.Has(rd.Capability.Classes)
}
