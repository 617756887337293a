package interpret

import (
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
)

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
