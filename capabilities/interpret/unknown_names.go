package interpret

import (
	"fmt"
	"math"
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/reply"
	"github.com/messkit/messkit/capabilities/timeexpr"
)

// parseLitter reads an order to clean that names the litter or an object near it: "vacuum the
// rice spill in front of the kitchen sink". The vacuum has no spot of that name. It asks whether
// the requester means the room.
func (x *request) parseLitter() (capabilities.Outcome, bool) {
	if x.part || x.OrderedCleaner() < 0 {
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
	x.FindHypotheses()
	known := len(x.Executable(x.Hypotheses)) > 0
	x.Hypotheses = nil
	if known {
		return capabilities.Outcome{}, false
	}
	var rest, leftOut []lexicon.Token
	beside := 0 // the number of words that may still name the object near it
	for i := 0; i < len(x.Tokens); i++ {
		one := x.Tokens[i : i+1]
		switch n := w.Near.Longest(x.Tokens, i); {
		case n > 0 && !x.IsName(i) && !timeexpr.IsDated(&x.Utterance, i):
			leftOut, beside = append(leftOut, x.Tokens[i:i+n]...), maxFurniture
			i += n - 1
		case lies(i):
			leftOut = append(leftOut, one...)
		case beside > 0 && x.isPlainWord(i): // "the sink"
			leftOut = append(leftOut, one...)
			beside--
		default:
			if !x.IsName(i) && w.Fillers.Longest(x.Tokens, i) == 0 {
				beside = 0
			}
			rest = append(rest, one...)
		}
	}
	sub := x.r.newRequest(x.Message, x.Given)
	sub.Message.Intent, sub.Message.Precision = lexicon.Join(rest), "" // the interpreter asks in any case
	out := sub.parse()
	if sub.Explain.Capability != "" {
		x.Explain = sub.Explain
	}
	x.Explain.Leftover = append(lexicon.Texts(leftOut), sub.Explain.Leftover...)
	switch {
	case out.Plan != nil && len(out.Plan.Steps) == 0 && out.Plan.Command == capabilities.Clean:
		return x.AskConfirmation(*out.Plan, fmt.Sprintf("this home knows only rooms, and not where %q is: ", lexicon.Join(leftOut))), true
	case out.Question != nil:
		q := *out.Question
		q.Text = fmt.Sprintf("this home knows only rooms, and not where %q is; %s", lexicon.Join(leftOut), q.Text)
		out.Question = &q
		return out, true
	}
	return capabilities.Outcome{}, false
}

// maxFurniture is the largest number of words for the object near the litter.
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

// unknownNumberedName returns the first number that belongs to a name, where no device or
// place of this home has that name: "lamp 50" in a home with one "lamp". Another executor
// may have such a device, so the number is never an amount. The name goes from word from to
// word end, and the number begins at word at. end is 0 if there is no such name.
func (x *request) unknownNumberedName() (from, at, end int) {
	for i := 1; i < len(x.Tokens); i++ {
		to := x.nameNumberEnd(i)
		if to == i || x.IsName(i) || x.isInPlaceName(i) {
			continue
		}
		before := i
		if x.Words().Numbering.Longest(x.Tokens, i-1) == 1 { // "lamp number 4"
			before--
		}
		for from := range before {
			ends := func(m lexicon.SlotValue) bool { return m.End == before }
			if slices.ContainsFunc(x.SlotValues("device", from), func(m lexicon.SlotValue) bool { return ends(m) && m.Specificity != lexicon.Unspecified }) || slices.ContainsFunc(x.SlotValues("area", from), ends) {
				return x.SkipArticles(from), before, to
			}
		}
	}
	return 0, 0, 0
}

// rejectUnknownNumber refuses an order that is complete without such a number: "turn on
// lamp 50". If the number may be a value ("hall light 50"), it notes the name, and the
// interpreter asks for a confirmation.
func (x *request) rejectUnknownNumber() (capabilities.Outcome, bool) {
	from, at, end := x.unknownNumberedName()
	if end == 0 {
		return capabilities.Outcome{}, false
	}
	name := lexicon.Join(x.Tokens[from:end])
	if x.unnamed = name; x.endsPlaceName(at) { // "the lights in bedroom two": the name of the place may differ in this home
		return capabilities.Outcome{}, false
	}
	rest := x.r.newRequest(x.Message, x.Given)
	rest.Message.Intent = lexicon.Join(slices.Concat(x.Tokens[:at], x.Tokens[end:]))
	if x.IsQuestion {
		rest.Message.Intent += "?"
	}
	if out := rest.parse(); out.Plan == nil && (out.Question == nil || out.Question.Field == reply.AmountField) {
		return capabilities.Outcome{}, false
	}
	x.Explain.Leftover = []string{name}
	return x.Reject(fmt.Sprintf("nothing here has the name %q; say the name of the thing, and an amount with its unit, like \"to 50 percent\"", name), x.r.NearestNames(lexicon.Texts(x.Tokens[from:at]))), true
}

// nameNumberEnd returns the end of a number at word i that may belong to the name before
// it, or i if there is none. A number with a unit, a time, and a count do not belong to a
// name.
func (x *request) nameNumberEnd(i int) int {
	w, l := x.Words(), &x.r.Catalog.Frames
	end := i
	w.EachCardinal(x.Tokens, i, func(to int, n float64) {
		if n == math.Trunc(n) && n >= 0 {
			end = max(end, to)
		}
	})
	if end == i || x.Tokens[i].Pause || x.Tokens[i].Colon || w.Picking.Longest(x.Tokens, i) > 0 || w.IsDecimal(x.Tokens[i]) {
		return i
	}
	if to, _ := x.DurationAt(i); to > 0 || x.PercentAt(i) || timeexpr.BeginsTimes(&x.Utterance, i) || timeexpr.PlainClock(&x.Utterance, i, min(end+1, len(x.Tokens))) {
		return i
	}
	if end < len(x.Tokens) && !x.Tokens[end].Pause {
		next := x.Tokens[end]
		for _, set := range []*lexicon.PhraseSet{l.Percent, l.Degrees, l.Kelvins, w.OClock, w.Hours, w.PastIs, w.FromNow} {
			if set.Longest(x.Tokens, end) > 0 {
				return i
			}
		}
		switch {
		case next.Colon, w.Measures[next.Folded], w.Units[next.Folded] > 0:
			return i
		case next.Text != next.Folded: // "vacuum 2 rooms"
			return i
		}
	}
	return end
}

// isInPlaceName reports whether word i is in the name of a place.
func (x *request) isInPlaceName(i int) bool {
	return x.hasPlaceBefore(i, func(end int) bool { return end > i })
}

// endsPlaceName reports whether the name of a place ends before word i.
func (x *request) endsPlaceName(i int) bool {
	return x.hasPlaceBefore(i, func(end int) bool { return end == i })
}

// hasPlaceBefore reports whether the name of a place begins before word i and has such an
// end.
func (x *request) hasPlaceBefore(i int, such func(end int) bool) bool {
	for from := range i {
		if slices.ContainsFunc(x.SlotValues("area", from), func(m lexicon.SlotValue) bool { return such(m.End) }) {
			return true
		}
	}
	return false
}
