package interpret

import (
	"fmt"
	"math"
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/reply"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/capabilities/timeexpr"
)

// numberedName is the first number that belongs to a name, where no thing or place here has
// that name: "lamp 50" in a home with one "lamp". Another executor may have such a thing,
// so the number is never taken for an amount. The words of the name go from from to end, and
// the number begins at at; end is 0 if there is no such name.
func (x *request) numberedName() (from, at, end int) {
	for i := 1; i < len(x.Tokens); i++ {
		to := x.nameNumber(i)
		if to == i || x.IsName(i) || x.inPlace(i) {
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

// unknownNumber refuses an order that is complete without such a number: "turn on lamp 50".
// Where the number may say how much ("hall light 50"), it notes the name, and what would
// be done is asked about.
func (x *request) unknownNumber() (capabilities.Outcome, bool) {
	from, at, end := x.numberedName()
	if end == 0 {
		return capabilities.Outcome{}, false
	}
	name := lexicon.Join(x.Tokens[from:end])
	if x.unnamed = name; x.endsPlace(at) { // "the lights in bedroom two": where it is may be said in another way here
		return capabilities.Outcome{}, false
	}
	rest := &request{r: x.r, Request: resolve.Request{Resolver: &x.r.Resolver, Utterance: entity.Utterance{Home: &x.r.Home}, Message: x.Message, Given: x.Given}}
	rest.Message.Intent = lexicon.Join(slices.Concat(x.Tokens[:at], x.Tokens[end:]))
	if x.IsQuestion {
		rest.Message.Intent += "?"
	}
	if out := rest.outcome(); out.Plan == nil && (out.Question == nil || out.Question.Field == reply.AmountField) {
		return capabilities.Outcome{}, false
	}
	x.Explain.Leftover = []string{name}
	return x.Reject(fmt.Sprintf("nothing here has the name %q; say the name of the thing, and an amount with its unit, like \"to 50 percent\"", name), x.r.Near(lexicon.Texts(x.Tokens[from:at]))), true
}

// nameNumber is the end of a number at word i that may belong to the name before it, i if
// there is none. A number with a unit, a time and a number that counts do not belong to a name.
func (x *request) nameNumber(i int) int {
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

// inPlace reports whether word i is in the name of a place.
func (x *request) inPlace(i int) bool { return x.placeBefore(i, func(end int) bool { return end > i }) }

// endsPlace reports whether the name of a place ends before word i.
func (x *request) endsPlace(i int) bool {
	return x.placeBefore(i, func(end int) bool { return end == i })
}

// placeBefore reports whether the name of a place begins before word i and has such an end.
func (x *request) placeBefore(i int, such func(end int) bool) bool {
	for from := range i {
		if slices.ContainsFunc(x.SlotValues("area", from), func(m lexicon.SlotValue) bool { return such(m.End) }) {
			return true
		}
	}
	return false
}
