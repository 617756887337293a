package interpret

import (
	"fmt"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// littering reads an order to clean that says what lies there, or near what, where no spot
// of the vacuum is called so: "vacuum the rice spill in front of the kitchen sink". It asks
// about what is left: the room.
func (x *request) littering() (capabilities.Outcome, bool) {
	if x.part || x.sweeping() < 0 {
		return capabilities.Outcome{}, false
	}
	w, litter := x.words(), x.r.catalogue.Context.Litter
	lies := func(i int) bool {
		return litter.Longest(x.tokens[i:i+1], 0) > 0 && x.tokens[i].Folded != "spot" && !x.named(i)
	}
	some, placed := false, false
	for i := range x.tokens {
		some = some || lies(i)
		placed = placed || len(x.filled("area", i))+len(x.filled("spot", i)) > 0
	}
	if !some || !placed {
		return capabilities.Outcome{}, false
	}
	x.read()
	known := len(x.able(x.readings)) > 0
	x.readings = nil
	if known {
		return capabilities.Outcome{}, false
	}
	var rest, said []lexicon.Token
	beside := 0 // how many words may still say near what it is
	for i := 0; i < len(x.tokens); i++ {
		one := x.tokens[i : i+1]
		switch n := w.Near.Longest(x.tokens, i); {
		case n > 0 && !x.named(i) && !x.dated(i):
			said, beside = append(said, x.tokens[i:i+n]...), maxFurniture
			i += n - 1
		case lies(i):
			said = append(said, one...)
		case beside > 0 && x.plain(i): // "the sink"
			said = append(said, one...)
			beside--
		default:
			if !x.named(i) && w.Fillers.Longest(x.tokens, i) == 0 {
				beside = 0
			}
			rest = append(rest, one...)
		}
	}
	sub := &request{r: x.r, req: x.req, given: x.given}
	sub.req.Intent, sub.req.Precision = lexicon.Join(rest), "" // it is asked about in any case
	out := sub.outcome()
	if sub.explain.Capability != "" {
		x.explain = sub.explain
	}
	x.explain.Leftover = append(lexicon.Texts(said), sub.explain.Leftover...)
	switch {
	case out.Plan != nil && len(out.Plan.Steps) == 0 && out.Plan.Command == capabilities.Clean:
		return x.shallI(*out.Plan, fmt.Sprintf("only rooms are known here, and not where %q is: ", lexicon.Join(said))), true
	case out.Question != nil:
		q := *out.Question
		q.Text = fmt.Sprintf("only rooms are known here, and not where %q is; %s", lexicon.Join(said), q.Text)
		out.Question = &q
		return out, true
	}
	return capabilities.Outcome{}, false
}

// maxFurniture is how many words may say near what the litter is.
const maxFurniture = 2

// plain reports whether word i limits nothing, orders nothing and joins nothing.
func (x *request) plain(i int) bool {
	w := x.words()
	for _, set := range []*lexicon.PhraseSet{w.Fillers, w.Joining, w.Negations, w.Conditionals, w.RuledOut} {
		if set.Longest(x.tokens, i) > 0 {
			return false
		}
	}
	return !x.named(i) && !x.dated(i) && !x.howOften(i) && !x.ordered(i) && w.CardinalEnd(x.tokens, i) == i
}
