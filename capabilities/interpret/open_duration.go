package interpret

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/reply"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/capabilities/timeexpr"
)

// untilTold is the option of a question about a duration that sets no end.
const untilTold = "until told otherwise"

// parseOpenDuration reads an order with a duration of unknown length: "for a moment". If
// the order switches a device on, the interpreter asks for the length. Otherwise nothing
// ends the state, and the question says so.
func (x *request) parseOpenDuration() (capabilities.Outcome, bool) {
	for i := 0; i < len(x.Tokens); i++ {
		long := x.Words().DayLong.Longest(x.Tokens, i)
		n := max(long, x.Words().Awhile.Longest(x.Tokens, i))
		if n == 0 || x.IsName(i) {
			continue
		}
		said := lexicon.Join(x.Tokens[i : i+n])
		out, ok := x.parseWithout(i, i+n)
		if !ok || out.Plan == nil || !out.Plan.Actuates() {
			return withWords(out, said), ok
		}
		return x.askDuration(*out.Plan, said, long > 0), true
	}
	return capabilities.Outcome{}, false
}

// withWords puts words of the request into the question that asks about it, so that a
// confirmation covers both.
func withWords(o capabilities.Outcome, said string) capabilities.Outcome {
	if q := o.Question; q != nil && slices.Equal(q.Options, []string{"yes", "no"}) {
		q.Text = fmt.Sprintf("%s, %q?", strings.TrimSuffix(q.Text, "?"), said)
	}
	return o
}

// askDuration asks for the duration of a plan. long offers hours.
func (x *request) askDuration(p capabilities.Plan, said string, long bool) capabilities.Outcome {
	if slices.ContainsFunc(p.Each(), func(step capabilities.Plan) bool { return !resolve.Switches(step, true) || step.For > 0 }) {
		q := capabilities.Question{Field: "stays", Text: fmt.Sprintf("%q has no effect, because nothing here ends it then: shall I %s?", said, p.Summary), Options: []string{"yes", "no"}}
		switch picked, out, ok := x.AskClarification(q); {
		case !ok:
			return out
		case picked[0] != "yes":
			return x.Reject("the answer was no; nothing happens", nil)
		}
		return capabilities.Outcome{Plan: &p}
	}
	q := capabilities.Question{Field: reply.ForField, Text: fmt.Sprintf("%q: for how long shall I %s?", said, p.Summary), Options: []string{"5 minutes", "15 minutes", "1 hour", untilTold}}
	if long {
		q.Options = []string{"4 hours", "8 hours", "12 hours", untilTold}
	}
	picked, out, ok := x.AskClarification(q)
	switch {
	case !ok:
		return out
	case len(picked) > 1:
		q.Given = resolve.WithoutKey(x.Given, q.Field)
		return capabilities.Outcome{Question: &q}
	case picked[0] == untilTold:
		return capabilities.Outcome{Plan: &p}
	}
	lasts := x.Words().WholeDuration(x.Words().Tokens(picked[0]))
	steps := slices.Clone(p.Each())
	for i := range steps {
		steps[i].For = lasts
		steps[i].Summary += " for " + capabilities.DurationText(lasts)
	}
	if len(p.Steps) == 0 {
		return capabilities.Outcome{Plan: &steps[0]}
	}
	all := capabilities.Sequence(steps)
	all.Capability = p.Capability
	return capabilities.Outcome{Plan: &all}
}

// parseFinalDuration reads an order that ends with a duration without a preposition: "pump
// on 10s", "rover forward 2 seconds". It asks whether the order shall last so long.
func (x *request) parseFinalDuration() (capabilities.Outcome, bool) {
	for i := range x.Tokens {
		if x.IsQuestion || timeexpr.Recurs(&x.Utterance, i) {
			return capabilities.Outcome{}, false
		}
	}
	for i := 2; i < len(x.Tokens); i++ {
		end, d := x.DurationAt(i)
		if d == 0 || end != len(x.Tokens) || x.IsName(i) || x.Words().Fillers.Longest(x.Tokens, i) > 0 { // "twice a day"
			continue
		}
		if w := x.Words(); w.Clock.Longest(x.Tokens, i-1)+w.Lasting.Longest(x.Tokens, i-1)+w.Delaying.Longest(x.Tokens, i-1)+w.Ending.Longest(x.Tokens, i-1) > 0 {
			return capabilities.Outcome{}, false
		}
		said := lexicon.Join(x.Tokens[i:end])
		out, ok := x.parseWithout(i, end)
		if p := out.Plan; !ok || p == nil || len(p.Steps) > 0 || p.For > 0 || !p.NotBefore.IsZero() || p.Command != capabilities.Move && !resolve.Switches(*p, true) {
			return capabilities.Outcome{}, false
		}
		p := *out.Plan
		p.For = d
		p.Summary += " for " + capabilities.DurationText(d)
		return x.AskConfirmation(p, fmt.Sprintf("%q may be for how long, or when: ", said)), true
	}
	return capabilities.Outcome{}, false
}
