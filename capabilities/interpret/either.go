package interpret

import (
	"slices"

	"github.com/messkit/messkit/capabilities"
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
