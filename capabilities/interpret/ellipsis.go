package interpret

import (
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// planForAll reads several orders of which only the last has a value or a color as one
// order for all devices: "dim the hall and the kitchen light to 30 percent". It returns nil
// if that is no order.
func (x *request) planForAll() *capabilities.Plan {
	if !x.uneven {
		return nil
	}
	y := x.r.newPart(x.Message, nil)
	y.Tokens, y.Demand, y.InQuotes = slices.Clone(x.Tokens), x.Demand, x.InQuotes
	out, _ := y.parseWithoutTime()
	if out.Plan == nil || !out.Plan.Actuates() {
		return nil
	}
	x.Explain = y.Explain
	return out.Plan
}

// classOf returns the class of the devices of all steps, or "" if they differ.
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

// withClass adds the device class of the order before to an order that names only a place:
// "set the hall light to 30 percent, the kitchen to 70 percent", "lights off in the hall,
// on in the bedroom".
func (x *request) withClass(tokens []lexicon.Token, class string) []lexicon.Token {
	y := x.r.withTokens(tokens)
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

// namesThing reports whether the words name a device or a place.
func (x *request) namesThing(tokens []lexicon.Token) bool {
	f := frame.Parser{Text: &entity.Utterance{Home: &x.r.Home, Tokens: tokens}}
	return f.AnyPlace(0, len(tokens))
}

// namesDevice reports whether the words name a device.
func (x *request) namesDevice(tokens []lexicon.Token) bool {
	y := x.r.withTokens(tokens)
	for i := range tokens {
		if len(y.SlotValues("device", i)) > 0 {
			return true
		}
	}
	return false
}
