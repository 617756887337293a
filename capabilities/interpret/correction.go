package interpret

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/mess"
)

// parseCorrection reads an order that takes back a part of itself: "turn off the kitchen
// light, sorry, the hall light". It asks which of the two the requester means, and never
// does both.
func (x *request) parseCorrection() (capabilities.Outcome, bool) {
	if x.IsQuestion || x.part || x.Demand.Capabilities != nil {
		return capabilities.Outcome{}, false
	}
	for i := 2; i+1 < len(x.Tokens); i++ {
		n := x.Words().TakingBack.Longest(x.Tokens, i)
		if n == 0 || x.IsName(i) || !x.hasOrderIn(x.Tokens[:i]) || !x.beginsPart(i+n) {
			continue
		}
		out, ok := x.try(func(x *request) (capabilities.Outcome, bool) {
			x.SetTokens(slices.Concat(x.Tokens[:i], []lexicon.Token{{Text: "or", Folded: "or"}}, x.Tokens[i+n:]))
			out, ok := x.parseDisjunction()
			return out, ok && out.Refusal == nil
		})
		if ok {
			return out, true
		}
		x.Explain.Leftover = lexicon.Texts(x.Tokens[i:])
		return x.Reject(fmt.Sprintf("%q withdraws the words before it; repeat the whole order", lexicon.Join(x.Tokens[i:])), nil), true
	}
	return capabilities.Outcome{}, false
}

// correctedPlan returns the plan that a line of context puts in the place of p: "I meant
// the kitchen light", "actually the kitchen one". It returns nil if the line names none.
func (x *request) correctedPlan(p *capabilities.Plan, lines []string) *capabilities.Plan {
	w := x.Words()
	tokens := w.Tokens(lines[0])
	for n := 1; n > 0 && len(tokens) > 0; tokens = tokens[n:] {
		n = max(w.Picking.Longest(tokens, 0), w.Fillers.Longest(tokens, 0), w.TakingBack.Longest(tokens, 0), x.r.Catalog.Context.Corrects.Longest(tokens, 0))
	}
	if len(lines) > 1 || len(p.Steps) > 0 || len(tokens) == 0 || len(tokens) > maxThing {
		return nil
	}
	if last := len(tokens) - 1; w.Picking.Longest(tokens, last) > 0 { // "the kitchen one"
		d := x.r.Index.Device(p.Device)
		tokens = append(tokens[:last], w.Tokens(lexicon.SpaceHyphens(x.r.Class[d]))...)
	}
	req := x.Message
	req.Context, req.Intent = nil, strings.TrimRight(req.Intent, " .!,;:")+" or the "+lexicon.Join(tokens)
	o := x.r.resolveText(req, x.Given)
	if o.Question == nil || o.Question.Field != "meaning" || o.Question.Options[0] != p.Summary {
		return nil
	}
	o = x.r.resolveText(req, append(resolve.WithoutKey(x.Given, "meaning"), mess.Field{Key: "meaning", Value: o.Question.Options[1:]}))
	if o.Plan == nil || o.Plan.Capability != p.Capability || len(o.Plan.Steps) > 0 {
		return nil
	}
	return o.Plan
}

// hasOrderIn reports whether the words have an order.
func (x *request) hasOrderIn(tokens []lexicon.Token) bool {
	return slices.ContainsFunc(tokens, func(t lexicon.Token) bool {
		return x.r.Catalog.Frames.OrderWords[t.Folded] || frame.IsOnOrOff(&x.Utterance, t)
	})
}

// beginsPart reports whether a part of an order can begin at word i, or behind a comma and
// fillers there: a device, a value, "on" or "off", or an order.
func (x *request) beginsPart(i int) bool {
	i = x.SkipArticles(i)
	if i >= len(x.Tokens) {
		return false
	}
	f := frame.Parser{Text: &x.Utterance}
	return f.Place(i) || f.Setting(i, i+1) || x.BeginsOrder(i) || frame.IsOnOrOff(&x.Utterance, x.Tokens[i]) || x.Words().CardinalEnd(x.Tokens, i) > i
}

// withoutEmphasis removes the "do" before an order: "do turn on the fan". It keeps the "do"
// of "do lights turn on at eight?".
func (x *request) withoutEmphasis(tokens []lexicon.Token) []lexicon.Token {
	y := x.r.withTokens(tokens)
	i := y.SkipArticles(0)
	if i+2 >= len(tokens) || tokens[i].Text != "do" || tokens[i+1].Text != tokens[i+1].Folded || !y.BeginsOrder(i+1) || !frame.IsOnOrOff(&y.Utterance, tokens[i+2]) && x.Words().Articles.Longest(tokens, i+2) == 0 {
		return tokens
	}
	return slices.Concat(tokens[:i], tokens[i+1:])
}

// withoutListNumber removes the number of a list before an order: "1. turn on the light".
func (x *request) withoutListNumber(tokens []lexicon.Token) []lexicon.Token {
	if len(tokens) < 3 || len(tokens[0].Text) > 2 || tokens[0].Text[0] < '0' || tokens[0].Text[0] > '9' || !tokens[1].Pause {
		return tokens
	}
	rest := slices.Clone(tokens[1:])
	rest[0].Pause = false
	if y := x.r.withTokens(rest); !frame.OpensOrder(&y.Utterance, 0) {
		return tokens
	}
	return rest
}
