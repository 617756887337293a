package task

import (
	"errors"
	"slices"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// lastingRules lists the policy rules that block a device for every command until a person or the time
// lifts them. A busy device may be free before the answer.
var lastingRules = []string{"stop", "locked", "disarmed", "quiet_hours"}

// mostTried limits the answers that Barred tries before it allows the question. The first
// answer that may succeed ends the search.
const mostTried = 64

// Unanswerable returns the rejection that makes a question useless: no offered answer can lead to an
// act now, and the policy rejects at least one of them. It returns nil if one answer may
// succeed, or if the question offers none. check is the check of the safety policy; Barred
// changes nothing.
func Unanswerable(r runtime.Resolver, check func(capabilities.Plan) (policy.Decision, error), q capabilities.Question, req mess.Request) *policy.Rejection {
	b := answerSearch{r: r, check: check, req: req, left: mostTried}
	if b.open(q) {
		return nil
	}
	return b.why
}

// answerSearch searches for an answer that may succeed.
type answerSearch struct {
	r     runtime.Resolver
	check func(capabilities.Plan) (policy.Decision, error)
	req   mess.Request
	left  int               // answers left to try
	why   *policy.Rejection // the first rejection
}

// open reports whether an answer may succeed, or whether that is unknown.
func (b *answerSearch) open(q capabilities.Question) bool {
	return len(q.Options) == 0 || slices.ContainsFunc(q.Options, func(option string) bool { return b.could(q, option) })
}

func (b *answerSearch) could(q capabilities.Question, option string) bool {
	if b.left--; b.left < 0 {
		return true
	}
	out := b.r.Answer(q, mess.Object{{Key: q.Field, Value: option}}, option, b.req)
	switch {
	case out.Question != nil:
		return out.Question.Field == q.Field || b.open(*out.Question)
	case out.Plan == nil:
		return false
	}
	for _, step := range out.Plan.Each() {
		_, err := b.check(step)
		if no, ok := errors.AsType[*policy.Rejection](err); ok && slices.Contains(lastingRules, no.Rule) {
			if b.why == nil {
				b.why = no
			}
			return false
		}
	}
	return true
}
