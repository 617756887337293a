package entity

import (
	"slices"

	"github.com/messkit/messkit/capabilities/grammar"
)

// CanDo reports whether device d can carry out the capability, for the quantity if it is
// not "".
func (r *Home) CanDo(c *grammar.Capability, quantity string, d int) bool {
	if c.CommandFor(&r.Site.Devices[d]) == "" || quantity != "" && !r.Site.Devices[d].Reports(quantity) {
		return false
	}
	if q, ok := r.Catalog.Quantities[quantity]; ok && len(q.Classes) > 0 {
		return slices.Contains(q.Classes, r.Class[d])
	}
	return c.Suits(r.Class[d])
}
