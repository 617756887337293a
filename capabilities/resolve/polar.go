package resolve

import (
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// AskedState returns the state that a yes/no question asks about: "on", "closed", Seen. It
// is "" if the text asks about none, or about several.
func (x *Request) AskedState(p *capabilities.Plan) string {
	w := x.Words()
	y := &Request{Resolver: x.Resolver, Utterance: entity.Utterance{Home: &x.Resolver.Home, Tokens: x.Whole}, Message: x.Message}
	if p.Effect != capabilities.Query || p.Command.Watches() {
		return ""
	}
	if from, _ := w.Openly.Find(y.Tokens); from >= 0 { // "what", "how"
		return ""
	}
	if from, to := w.Lacking.Find(y.Tokens); from >= 0 {
		return lexicon.Join(y.Tokens[from:to])
	}
	if _, looks := p.Args.Get("thing"); looks {
		return capabilities.Seen
	}
	state, any := "", ""
	for i, t := range y.Tokens {
		if y.IsName(i) {
			continue
		}
		if w.AnyOne.Longest(y.Tokens, i) > 0 {
			any = capabilities.AnyOf
		}
		is := w.States[t.Text]
		if is != "" && state != "" && is != state {
			return ""
		}
		if is != "" {
			state = is
		}
	}
	if state == "" {
		return ""
	}
	return any + state
}
