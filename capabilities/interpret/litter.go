package interpret

import (
	"fmt"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/timeexpr"
)

// parseLitter reads an order to clean that names the litter or an object near it, where the
// vacuum has no spot of that name: "vacuum the rice spill in front of the kitchen sink". It
// asks whether the requester means the room.
func (x *request) parseLitter() (capabilities.Outcome, bool) {
	if x.part || x.Sweeping() < 0 {
		return capabilities.Outcome{}, false
	}
	w, litter := x.Words(), x.r.Catalog.Context.Litter
	lies := func(i int) bool {
		return litter.Longest(x.Tokens[i:i+1], 0) > 0 && x.Tokens[i].Folded != "spot" && !x.IsName(i)
	}
	some, placed := false, false
	for i := range x.Tokens {
		some = some || lies(i)
		placed = placed || len(x.SlotValues("area", i))+len(x.SlotValues("spot", i)) > 0
	}
	if !some || !placed {
		return capabilities.Outcome{}, false
	}
	x.Read()
	known := len(x.Able(x.Readings)) > 0
	x.Readings = nil
	if known {
		return capabilities.Outcome{}, false
	}
	var rest, said []lexicon.Token
	beside := 0 // how many words may still say near what it is
	for i := 0; i < len(x.Tokens); i++ {
		one := x.Tokens[i : i+1]
		switch n := w.Near.Longest(x.Tokens, i); {
		case n > 0 && !x.IsName(i) && !timeexpr.IsDated(&x.Utterance, i):
			said, beside = append(said, x.Tokens[i:i+n]...), maxFurniture
			i += n - 1
		case lies(i):
			said = append(said, one...)
		case beside > 0 && x.isPlainWord(i): // "the sink"
			said = append(said, one...)
			beside--
		default:
			if !x.IsName(i) && w.Fillers.Longest(x.Tokens, i) == 0 {
				beside = 0
			}
			rest = append(rest, one...)
		}
	}
	sub := x.r.newRequest(x.Message, x.Given)
	sub.Message.Intent, sub.Message.Precision = lexicon.Join(rest), "" // it is asked about in any case
	out := sub.parse()
	if sub.Explain.Capability != "" {
		x.Explain = sub.Explain
	}
	x.Explain.Leftover = append(lexicon.Texts(said), sub.Explain.Leftover...)
	switch {
	case out.Plan != nil && len(out.Plan.Steps) == 0 && out.Plan.Command == capabilities.Clean:
		return x.AskConfirmation(*out.Plan, fmt.Sprintf("this home knows only rooms, and not where %q is: ", lexicon.Join(said))), true
	case out.Question != nil:
		q := *out.Question
		q.Text = fmt.Sprintf("this home knows only rooms, and not where %q is; %s", lexicon.Join(said), q.Text)
		out.Question = &q
		return out, true
	}
	return capabilities.Outcome{}, false
}

// maxFurniture is the largest number of words that say what the litter is near to.
const maxFurniture = 2

// isPlainWord reports whether word i limits nothing, orders nothing, and joins nothing.
func (x *request) isPlainWord(i int) bool {
	w := x.Words()
	for _, set := range []*lexicon.PhraseSet{w.Fillers, w.Joining, w.Negations, w.Conditionals, w.RuledOut} {
		if set.Longest(x.Tokens, i) > 0 {
			return false
		}
	}
	return !x.IsName(i) && !timeexpr.IsDated(&x.Utterance, i) && !timeexpr.BeginsTimes(&x.Utterance, i) && !x.BeginsOrder(i) && w.CardinalEnd(x.Tokens, i) == i
}
