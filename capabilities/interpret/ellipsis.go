package interpret

import (
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
)

// evenly is the plan of several orders of which the last alone has how much, or which colour,
// read as one order for all of them; nil if that is none: "dim the hall and the kitchen
// light to 30 percent".
func (x *request) evenly() *capabilities.Plan {
	if !x.uneven {
		return nil
	}
	y := &request{r: x.r, Request: resolve.Request{Resolver: &x.r.Resolver, Utterance: entity.Utterance{Home: &x.r.Home, Tokens: slices.Clone(x.Tokens)}, Message: x.Message, Demand: x.Demand, InQuotes: x.InQuotes}, part: true}
	out, _ := y.plainly()
	if out.Plan == nil || !out.Plan.Actuates() {
		return nil
	}
	x.Explain = y.Explain
	return out.Plan
}

// classOf is the class of all devices of steps, "" where they are of several.
func (r *Interpreter) classOf(steps []capabilities.Plan) (class string) {
	for _, s := range steps {
		d := r.Index.Device(s.Device)
		if d < 0 || class != "" && r.Class[d] != class {
			return ""
		}
		class = r.Class[d]
	}
	return class
}

// ofClass puts what the order before was about where an order names a place alone: "set
// the hall light to 30 percent, the kitchen to 70 percent", "lights off in the hall, on in the
// bedroom".
func (x *request) ofClass(tokens []lexicon.Token, class string) []lexicon.Token {
	y := &request{r: x.r, Request: resolve.Request{Resolver: &x.r.Resolver, Utterance: entity.Utterance{Home: &x.r.Home, Tokens: tokens}}}
	if class == "" || frame.OpensOrder(&y.Utterance, 0) || y.namesDevice(tokens) {
		return tokens
	}
	thing := x.Words().Tokens(x.r.Catalog.ClassWords[class][0])
	for i := range tokens {
		end := y.LongestSlot("area", i)
		switch {
		case end == i:
			continue
		case frame.IsOnOrOff(&x.Utterance, tokens[0]):
			return slices.Concat(thing, tokens)
		}
		return slices.Concat(tokens[:end], thing, tokens[end:])
	}
	return tokens
}

// namesThing reports whether a device or a place is among the words.
func (x *request) namesThing(tokens []lexicon.Token) bool {
	f := frame.Parser{Text: &entity.Utterance{Home: &x.r.Home, Tokens: tokens}}
	return f.AnyPlace(0, len(tokens))
}

// namesDevice reports whether a device is among the words.
func (x *request) namesDevice(tokens []lexicon.Token) bool {
	y := &request{r: x.r, Request: resolve.Request{Resolver: &x.r.Resolver, Utterance: entity.Utterance{Home: &x.r.Home, Tokens: tokens}}}
	for i := range tokens {
		if len(y.SlotValues("device", i)) > 0 {
			return true
		}
	}
	return false
}
