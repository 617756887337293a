package capabilities

import (
	"fmt"
	"slices"
)

// corrected reads an order that takes back a part of itself: "turn off the kitchen light,
// sorry, the hall light". It asks which of the two is meant, and never does both.
func (x *request) corrected() (Outcome, bool) {
	if x.asks || x.part || x.demand.capabilities != nil {
		return Outcome{}, false
	}
	for i := 2; i+1 < len(x.tokens); i++ {
		n := x.words().takingBack.longest(x.tokens, i)
		if n == 0 || x.named(i) || !x.orders(x.tokens[:i]) || !x.stands(i+n) {
			continue
		}
		all := x.tokens
		x.tokens = slices.Concat(all[:i], []token{{text: "or", folded: "or"}}, all[i+n:])
		x.matches, x.names = nil, nil
		out, ok := x.either()
		if x.tokens, x.matches, x.names = all, nil, nil; ok && out.Refusal == nil {
			return out, true
		}
		x.explain.Leftover = texts(all[i:])
		return x.refuse(fmt.Sprintf("%q takes back what stands before it; say the order once, as it is meant", joined(all[i:])), nil), true
	}
	return Outcome{}, false
}

// orders reports whether an order is among the words.
func (x *request) orders(tokens []token) bool {
	return slices.ContainsFunc(tokens, func(t token) bool { return x.r.catalogue.lexicon.orders[t.folded] || x.switching(t) })
}

// stands reports whether what may stand in the place of a part of an order begins at word
// i, or behind a comma and fillers there: a thing, a value, "on" or "off", or an order.
func (x *request) stands(i int) bool {
	i = x.pass(i)
	if i >= len(x.tokens) {
		return false
	}
	f := framer{x: x}
	return f.place(i) || f.setting(i, i+1) || x.ordered(i) || x.switching(x.tokens[i]) || x.words().cardinalEnd(x.tokens, i) > i
}

// unnumbered takes the number off that a list gives to an order: "1. turn on the light".
func (x *request) unnumbered(tokens []token) []token {
	if len(tokens) < 3 || len(tokens[0].text) > 2 || tokens[0].text[0] < '0' || tokens[0].text[0] > '9' || !tokens[1].pause {
		return tokens
	}
	rest := slices.Clone(tokens[1:])
	rest[0].pause = false
	if y := (&request{r: x.r, tokens: rest}); !y.opens(0) {
		return tokens
	}
	return rest
}
