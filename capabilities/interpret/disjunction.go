package interpret

import (
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
)

// either asks which of two orders is meant: "turn on the lamp or the heater", "dim or
// turn off the hall light". What one of the two does not say, the other does.
func (x *request) either() (capabilities.Outcome, bool) {
	at := slices.IndexFunc(x.Tokens, func(t lexicon.Token) bool { return t.Text == "or" })
	if x.IsQuestion || x.part || at < 1 || at+1 >= len(x.Tokens) || slices.ContainsFunc(x.Tokens[at+1:], func(t lexicon.Token) bool { return t.Text == "or" }) {
		return capabilities.Outcome{}, false
	}
	if out, ok := x.ofTwo(at); ok {
		return out, true
	}
	one, other := x.alternatives(x.Tokens[:at:at], x.Tokens[at+1:])
	if one == nil {
		return capabilities.Outcome{}, false
	}
	explain := x.Explain
	unanswered := &request{r: x.r, Request: resolve.Request{Resolver: &x.r.Resolver, Utterance: entity.Utterance{Home: &x.r.Home}, Message: x.Message}} // so that the options are the same when more is asked
	orders := []string{withPauses(one), withPauses(other)}
	var options []string
	for i, order := range orders {
		out, y := unanswered.clause(order, i+1)
		x.Explain = y.Explain
		switch {
		case out.Plan != nil && !out.Plan.Actuates(), out.Refusal != nil, len(y.Explain.Leftover) > 0:
			x.Explain = explain
			return capabilities.Outcome{}, false
		case out.Plan != nil:
			options = append(options, out.Plan.Summary)
		default:
			options = append(options, order)
		}
	}
	at = 0
	if options[0] != options[1] {
		picked, out, ok := x.whichOfTwo(options)
		if !ok {
			return out, true
		}
		at = picked
	}
	out, y := x.clause(orders[at], at+1)
	x.Explain = y.Explain
	return out, true
}

// whichOfTwo is the place of the option that was picked, else the question.
func (x *request) whichOfTwo(options []string) (at int, out capabilities.Outcome, ok bool) {
	q := capabilities.Question{Field: "meaning", Text: "which of the two: " + lexicon.OrList(options) + "?", Options: options}
	picked, out, ok := x.AskClarification(q)
	switch {
	case !ok:
		return 0, out, false
	case len(picked) > 1:
		q.Text, q.Given = "one of them is to be done; "+q.Text, resolve.WithoutKey(x.Given, q.Field)
		return 0, capabilities.Outcome{Question: &q}, false
	}
	return slices.Index(options, picked[0]), capabilities.Outcome{}, true
}

// alternatives are the two orders that "or" stands between, nil where they are none. A
// verb that stands before the first holds for the second, and a name behind the second
// for the first.
func (x *request) alternatives(left, right []lexicon.Token) (one, other []lexicon.Token) {
	l, r := &request{r: x.r, Request: resolve.Request{Resolver: &x.r.Resolver, Utterance: entity.Utterance{Home: &x.r.Home, Tokens: left}}}, &request{r: x.r, Request: resolve.Request{Resolver: &x.r.Resolver, Utterance: entity.Utterance{Home: &x.r.Home, Tokens: right}}}
	lf, rf := frame.Parser{Text: &l.Utterance}, frame.Parser{Text: &r.Utterance}
	start := -1 // of the name that the first ends with
	for i := range left {
		if lf.NameEnd(i) == len(left) {
			start = i
			break
		}
	}
	first := r.SkipArticles(0)
	if first >= len(right) {
		return nil, nil
	}
	switch {
	case start >= 0 && rf.Place(first) && start > 0: // "turn on A or B"
		return slices.Concat(left, right[rf.NameEnd(first):]), slices.Concat(left[:start:start], right)
	case frame.OpensOrder(&r.Utterance, 0) && start > 0: // "turn on A or dim B"
		return left, right
	case frame.OpensOrder(&r.Utterance, 0) && start < 0 && frame.OpensOrder(&l.Utterance, 0): // "dim or turn off A"
		for i := range right {
			if rf.Place(i) && rf.NameEnd(i) == len(right) {
				from := i
				if i > 0 && x.Words().Articles.Longest(right, i-1) > 0 {
					from--
				}
				return slices.Concat(left, right[from:]), right
			}
		}
	}
	return nil, nil
}

// ofTwo reads an order of one of two things, "turn on the kitchen or the hall light" or
// "make it red or blue", with "or" at word at, and asks which. Each must be a whole plan
// by itself, and they must differ.
func (x *request) ofTwo(at int) (capabilities.Outcome, bool) {
	behind := at + 1
	var plans [2]capabilities.Plan
	var how capabilities.Explanation
	found := false
	for _, from := range append(x.thingsBefore(at), 0) {
		for _, end := range append(x.thingsFrom(x.SkipArticles(behind)), len(x.Tokens)) {
			first, one := x.leavingOut(x.Tokens[:at], x.Tokens[end:])
			second, _ := x.leavingOut(x.Tokens[:from], x.Tokens[behind:])
			if first == nil || second == nil || first.Summary == second.Summary {
				continue
			}
			same := first.Capability == second.Capability
			if !found || same {
				plans, how, found = [2]capabilities.Plan{*first, *second}, one, true
			}
			if same {
				return x.oneOfTwo(plans, how), true
			}
		}
	}
	if !found {
		return capabilities.Outcome{}, false
	}
	return x.oneOfTwo(plans, how), true
}

// oneOfTwo asks which of two plans is meant.
func (x *request) oneOfTwo(plans [2]capabilities.Plan, how capabilities.Explanation) capabilities.Outcome {
	x.Explain = how
	at, out, ok := x.whichOfTwo([]string{plans[0].Summary, plans[1].Summary})
	if !ok {
		return out
	}
	p := plans[at]
	if x.InQuotes && p.Actuates() {
		return x.AskConfirmation(p, x.DoubtText(&resolve.Hypothesis{}))
	}
	return capabilities.Outcome{Plan: &p}
}

// leavingOut is the plan of an order with words left out, nil if that is none.
func (x *request) leavingOut(before, behind []lexicon.Token) (*capabilities.Plan, capabilities.Explanation) {
	req := x.Message
	req.Intent = withPauses(slices.Concat(before, behind))
	y := &request{r: x.r, Request: resolve.Request{Resolver: &x.r.Resolver, Utterance: entity.Utterance{Home: &x.r.Home}, Message: req}, part: true}
	out := y.outcome()
	return out.Plan, y.Explain
}

// maxThing is how many words a thing has at most that stands beside "or".
const maxThing = 5

// thingsBefore are where names, or words that say something, begin that end at word i;
// the longest first.
func (x *request) thingsBefore(i int) (list []int) {
	for from := max(1, i-maxThing); from < i; from++ {
		if slices.Contains(x.thingsFrom(from), i) {
			list = append(list, from)
		}
	}
	return list
}

// thingsFrom are the ends of names, and of words that say something, from word i on;
// the longest first.
func (x *request) thingsFrom(i int) (list []int) {
	for _, kind := range []string{"device", "area", "spot"} {
		for _, m := range x.SlotValues(kind, i) {
			list = append(list, m.End)
		}
	}
	l := &x.r.Catalog.Frames
	l.Signals.Each(x.Tokens, i, func(end int, s catalog.Feature) {
		if s != 0 {
			list = append(list, end)
		}
	})
	l.Colors.Each(x.Tokens, i, func(end int, _ string) { list = append(list, end) })
	slices.SortFunc(list, func(a, b int) int { return b - a })
	return slices.Compact(list)
}
