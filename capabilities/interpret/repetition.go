package interpret

import (
	"fmt"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
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
		said := lexicon.Join(x.Tokens[i:end])
		out, ok := x.parseWithout(i, end)
		if !ok || out.Plan == nil {
			return withWords(out, said), ok
		}
		p := *out.Plan
		switch {
		case n > maxTimes:
			return x.Reject(fmt.Sprintf("%q: one request repeats an order %d times at most", said, maxTimes), nil), true
		case p.IsIdempotent():
			return x.Reject(fmt.Sprintf("%q: to %s twice has the effect of one time; leave that out", said, p.Summary), nil), true
		case p.NeedsRefill():
			return x.AskConfirmation(p, fmt.Sprintf("%q: after that a person must prepare the %s before it can run again; ", said, lexicon.SpaceHyphens(p.Device))), true
		case !p.MayFollowItself():
			return x.Reject(fmt.Sprintf("%q: to %s cannot follow itself; make a request for each", said, p.Summary), nil), true
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
	all.NotBefore, all.Capability = begin, capabilities.Several // where one fails, the next is not begun
	return x.Several(all, false, "")
}
