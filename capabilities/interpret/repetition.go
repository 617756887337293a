package interpret

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/reply"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/capabilities/timeexpr"
)

// maxTimes is the largest number of repetitions in one request.
const maxTimes = 20

// parseRepetition reads an order with a number of repetitions as a plan with that many
// steps. It refuses an order that is idempotent or that cannot follow itself.
func (x *request) parseRepetition() (capabilities.Outcome, bool) {
	for i := 1; i < len(x.Tokens); i++ {
		end, n := timeexpr.ReadTimes(&x.Utterance, i)
		if end == i || x.IsName(i) {
			continue
		}
		phrase := lexicon.Join(x.Tokens[i:end])
		out, ok := x.parseWithout(i, end)
		if !ok || out.Plan == nil {
			return withRequestWords(out, phrase), ok
		}
		p := *out.Plan
		switch {
		case n > maxTimes:
			return x.Reject(fmt.Sprintf("%q: one request repeats an order %d times at most", phrase, maxTimes), nil), true
		case p.IsIdempotent():
			return x.Reject(fmt.Sprintf("%q: to %s twice has the effect of one time; leave that out", phrase, p.Summary), nil), true
		case p.NeedsRefill():
			return x.AskConfirmation(p, fmt.Sprintf("%q: after that a person must prepare the %s before it can run again; ", phrase, lexicon.SpaceHyphens(p.Device))), true
		case !p.MayFollowItself():
			return x.Reject(fmt.Sprintf("%q: to %s cannot follow itself; make a request for each", phrase, p.Summary), nil), true
		}
		return x.repeatPlan(p, n), true
	}
	return capabilities.Outcome{}, false
}

// repeatPlan returns a plan n times. A device that is on for a duration stays off for the
// same duration between two repetitions.
func (x *request) repeatPlan(p capabilities.Plan, n int) capabilities.Outcome {
	begin := p.NotBefore
	p.NotBefore = time.Time{}
	var steps []capabilities.Plan
	var total time.Duration
	for k := range n {
		for i, step := range p.Each() {
			if k > 0 && i == 0 && step.Command == capabilities.SetSwitch {
				step.After += 2 * step.For
				total += step.After
				step.Summary = fmt.Sprintf("wait for %s and %s", capabilities.DurationText(step.After), step.Summary)
			}
			steps = append(steps, step)
		}
	}
	if total > maxPause {
		return x.Reject(fmt.Sprintf("%d times would take %s, and that is longer than one request may wait; make a request for each", n, capabilities.DurationText(total)), nil)
	}
	all := capabilities.Sequence(steps)
	all.NotBefore, all.Capability = begin, capabilities.SeveralCapabilities // after a failure, the next one does not begin
	return x.StepsOutcome(all, false, "")
}

// noEndOption is the option of a question about a duration that sets no end.
const noEndOption = "until told otherwise"

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
		phrase := lexicon.Join(x.Tokens[i : i+n])
		out, ok := x.parseWithout(i, i+n)
		if !ok || out.Plan == nil || !out.Plan.Actuates() {
			return withRequestWords(out, phrase), ok
		}
		return x.askDuration(*out.Plan, phrase, long > 0), true
	}
	return capabilities.Outcome{}, false
}

// withRequestWords puts words of the request into the question that asks about it, so that a
// confirmation covers both.
func withRequestWords(o capabilities.Outcome, phrase string) capabilities.Outcome {
	if q := o.Question; q != nil && slices.Equal(q.Options, []string{"yes", "no"}) {
		q.Text = fmt.Sprintf("%s, %q?", strings.TrimSuffix(q.Text, "?"), phrase)
	}
	return o
}

// askDuration asks for the duration of a plan. long offers hours.
func (x *request) askDuration(p capabilities.Plan, phrase string, long bool) capabilities.Outcome {
	if slices.ContainsFunc(p.Each(), func(step capabilities.Plan) bool { return !resolve.SwitchesTo(step, true) || step.For > 0 }) {
		q := capabilities.Clarification{Field: "stays", Text: fmt.Sprintf("%q has no effect, because nothing here ends it then: shall I %s?", phrase, p.Summary), Options: []string{"yes", "no"}}
		switch picked, out, ok := x.AskClarification(q); {
		case !ok:
			return out
		case picked[0] != "yes":
			return x.Reject("the answer was no; nothing happens", nil)
		}
		return capabilities.Outcome{Plan: &p}
	}
	q := capabilities.Clarification{Field: reply.ForField, Text: fmt.Sprintf("%q: for how long shall I %s?", phrase, p.Summary), Options: []string{"5 minutes", "15 minutes", "1 hour", noEndOption}}
	if long {
		q.Options = []string{"4 hours", "8 hours", "12 hours", noEndOption}
	}
	picked, out, ok := x.AskClarification(q)
	switch {
	case !ok:
		return out
	case len(picked) > 1:
		q.Given = resolve.WithoutKey(x.Given, q.Field)
		return capabilities.Outcome{Question: &q}
	case picked[0] == noEndOption:
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
		phrase := lexicon.Join(x.Tokens[i:end])
		out, ok := x.parseWithout(i, end)
		if p := out.Plan; !ok || p == nil || len(p.Steps) > 0 || p.For > 0 || !p.NotBefore.IsZero() || p.Command != capabilities.Move && !resolve.SwitchesTo(*p, true) {
			return capabilities.Outcome{}, false
		}
		p := *out.Plan
		p.For = d
		p.Summary += " for " + capabilities.DurationText(d)
		return x.AskConfirmation(p, fmt.Sprintf("%q may be for how long, or when: ", phrase)), true
	}
	return capabilities.Outcome{}, false
}
