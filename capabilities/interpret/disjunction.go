package interpret

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/mess"
)

// parseDisjunction asks which of two orders the requester means: "turn on the lamp or the
// heater", "dim or turn off the hall light". A part that one order lacks comes from the
// other.
func (x *request) parseDisjunction() (capabilities.Outcome, bool) {
	at := slices.IndexFunc(x.Tokens, func(t lexicon.Token) bool { return t.Text == "or" })
	if x.IsQuestion || x.part || at < 1 || at+1 >= len(x.Tokens) || slices.ContainsFunc(x.Tokens[at+1:], func(t lexicon.Token) bool { return t.Text == "or" }) {
		return capabilities.Outcome{}, false
	}
	if out, ok := x.parseAlternatives(at); ok {
		return out, true
	}
	one, other := x.splitAlternatives(x.Tokens[:at:at], x.Tokens[at+1:])
	if one == nil {
		return capabilities.Outcome{}, false
	}
	explain := x.Explain
	unanswered := x.r.newRequest(x.Message, nil) // so that the options stay the same when the interpreter asks more
	orders := []string{withPauses(one), withPauses(other)}
	var options []string
	for i, order := range orders {
		out, y := unanswered.parseClause(order, i+1)
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
		picked, out, ok := x.askWhichOfTwo(options)
		if !ok {
			return out, true
		}
		at = picked
	}
	out, y := x.parseClause(orders[at], at+1)
	x.Explain = y.Explain
	return out, true
}

// askWhichOfTwo returns the index of the option that the requester picked. ok is false if
// out is the question.
func (x *request) askWhichOfTwo(options []string) (at int, out capabilities.Outcome, ok bool) {
	q := capabilities.Clarification{Field: "meaning", Text: "which of the two: " + lexicon.OrList(options) + "?", Options: options}
	picked, out, ok := x.AskClarification(q)
	switch {
	case !ok:
		return 0, out, false
	case len(picked) > 1:
		q.Text, q.Given = "pick one of them; "+q.Text, resolve.WithoutKey(x.Given, q.Field)
		return 0, capabilities.Outcome{Question: &q}, false
	}
	return slices.Index(options, picked[0]), capabilities.Outcome{}, true
}

// splitAlternatives returns the two orders on both sides of "or", or nil if they are no
// orders. The verb before the first name also holds for the second name, and the name after
// the second verb also for the first verb.
func (x *request) splitAlternatives(left, right []lexicon.Token) (one, other []lexicon.Token) {
	l, r := x.r.withTokens(left), x.r.withTokens(right)
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
	case start >= 0 && rf.IsPlace(first) && start > 0: // "turn on A or B"
		return slices.Concat(left, right[rf.NameEnd(first):]), slices.Concat(left[:start:start], right)
	case frame.OpensOrder(&r.Utterance, 0) && start > 0: // "turn on A or dim B"
		return left, right
	case frame.OpensOrder(&r.Utterance, 0) && start < 0 && frame.OpensOrder(&l.Utterance, 0): // "dim or turn off A"
		for i := range right {
			if rf.IsPlace(i) && rf.NameEnd(i) == len(right) {
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

// parseAlternatives reads an order with a choice of two devices or values: "turn on the kitchen
// or the hall light", "make it red or blue". It asks which one the requester means. The word "or"
// stands at index at. Each choice must be a complete plan, and the two plans must differ.
func (x *request) parseAlternatives(at int) (capabilities.Outcome, bool) {
	behind := at + 1
	var plans [2]capabilities.Plan
	var how capabilities.Trace
	found := false
	for _, from := range append(x.thingsBefore(at), 0) {
		for _, end := range append(x.thingsFrom(x.SkipArticles(behind)), len(x.Tokens)) {
			first, one := x.planWithout(x.Tokens[:at], x.Tokens[end:])
			second, _ := x.planWithout(x.Tokens[:from], x.Tokens[behind:])
			if first == nil || second == nil || first.Summary == second.Summary {
				continue
			}
			same := first.Capability == second.Capability
			if !found || same {
				plans, how, found = [2]capabilities.Plan{*first, *second}, one, true
			}
			if same {
				return x.askWhichPlan(plans, how), true
			}
		}
	}
	if !found {
		return capabilities.Outcome{}, false
	}
	return x.askWhichPlan(plans, how), true
}

// askWhichPlan asks which of two plans the requester means.
func (x *request) askWhichPlan(plans [2]capabilities.Plan, how capabilities.Trace) capabilities.Outcome {
	x.Explain = how
	at, out, ok := x.askWhichOfTwo([]string{plans[0].Summary, plans[1].Summary})
	if !ok {
		return out
	}
	p := plans[at]
	if x.InQuotes && p.Actuates() {
		return x.AskConfirmation(p, x.DoubtText(&resolve.Hypothesis{}))
	}
	return capabilities.Outcome{Plan: &p}
}

// planWithout returns the plan of an order without some of its words, or nil if there is no
// such plan.
func (x *request) planWithout(before, behind []lexicon.Token) (*capabilities.Plan, capabilities.Trace) {
	req := x.Message
	req.Intent = withPauses(slices.Concat(before, behind))
	y := x.r.newPart(req, nil)
	out := y.parse()
	return out.Plan, y.Explain
}

// maxThing is the largest number of words of a device or value next to "or".
const maxThing = 5

// thingsBefore returns where the names and meaningful words begin that end at word i, the
// longest first.
func (x *request) thingsBefore(i int) (list []int) {
	for from := max(1, i-maxThing); from < i; from++ {
		if slices.Contains(x.thingsFrom(from), i) {
			list = append(list, from)
		}
	}
	return list
}

// thingsFrom returns the ends of the names and meaningful words that begin at word i, the
// longest first.
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
	return f.IsPlace(i) || f.HasSetting(i, i+1) || x.BeginsOrder(i) || frame.IsOnOrOff(&x.Utterance, x.Tokens[i]) || x.Words().CardinalEnd(x.Tokens, i) > i
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
