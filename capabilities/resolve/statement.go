package resolve

import (
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// SaysSwitch reports whether a word at i says how something is switched.
func (r *Resolver) SaysSwitch(tokens []lexicon.Token, i int) (is bool) {
	l := &r.Catalog.Frames
	l.Signals.Each(tokens, i, func(end int, s catalog.Feature) {
		is = is || s.Has(l.Bits["on"]|l.Bits["off"]|l.Bits["up"]|l.Bits["down"]|l.Bits["brighter"]|l.Bits["darker"])
	})
	return is
}
