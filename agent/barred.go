package agent

import (
	"errors"
	"slices"

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// bars are the rules of the gate that keep a device from acting whatever it is told,
// until somebody or the hour lets it. What is only busy or at rest may be otherwise
// when the answer comes.
var bars = []string{"stop", "locked", "disarmed", "quiet_hours"}

// mostTried is how many answers are tried until a question is asked after all: the
// first that something could come of ends the trying.
const mostTried = 64

// Barred is why a question need not be asked: of no answer that it offers something
// could come now, and of one of them the gate says why. nil where one could be
// carried out, or where it offers none. check is the gate's; nothing is changed.
func Barred(r Resolver, check func(capabilities.Plan) (gate.Verdict, error), q capabilities.Question, req mess.Request) *gate.Refusal {
	b := barring{r: r, check: check, req: req, left: mostTried}
	if b.open(q) {
		return nil
	}
	return b.why
}

// barring looks for an answer of which something could come.
type barring struct {
	r     Resolver
	check func(capabilities.Plan) (gate.Verdict, error)
	req   mess.Request
	left  int           // answers that may be tried yet
	why   *gate.Refusal // the first
}

// open reports whether something could come of an answer, or nobody knows that.
func (b *barring) open(q capabilities.Question) bool {
	return len(q.Options) == 0 || slices.ContainsFunc(q.Options, func(option string) bool { return b.could(q, option) })
}

func (b *barring) could(q capabilities.Question, option string) bool {
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
		if no, ok := errors.AsType[*gate.Refusal](err); ok && slices.Contains(bars, no.Rule) {
			if b.why == nil {
				b.why = no
			}
			return false
		}
	}
	return true
}
