package interpret

import (
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
)

// quoting reports whether something that orders stands in quotation marks: it may be
// what somebody has said. What is nothing but the name of a thing is none.
func (x *request) quoting() bool {
	for _, said := range lexicon.Quotations(x.Message.Intent) {
		y := &request{r: x.r, Request: resolve.Request{Resolver: &x.r.Resolver, Utterance: entity.Utterance{Home: &x.r.Home, Tokens: x.Words().Tokens(said)}, Message: x.Message}}
		if y.BareName() == "" && y.speaks() {
			return true
		}
	}
	return false
}

// speaks reports whether a word of the text orders something, or says on or off.
func (x *request) speaks() bool {
	l := &x.r.Catalog.Frames
	for _, t := range x.Tokens {
		if l.OrderWords[t.Folded] || l.ActWords[t.Folded] {
			return true
		}
	}
	return false
}
