package capabilities

import (
	"fmt"
	"slices"
	"time"
)

// untilTold is the option of a question for how long that sets no end.
const untilTold = "until told otherwise"

// awhile reads an order that is to last, and does not say how long: "for a moment". Of
// what is switched on it is asked for how long. Of all else nobody ends it then, and that is
// said.
func (x *request) awhile() (Outcome, bool) {
	for i := 0; i < len(x.tokens); i++ {
		n := x.words().indefinite.longest(x.tokens, i)
		if n == 0 || x.named(i) {
			continue
		}
		said := joined(x.tokens[i : i+n])
		out, ok := x.leaving(i, i+n)
		if !ok || out.Plan == nil || !out.Plan.Actuates() {
			return out, ok
		}
		return x.howLong(*out.Plan, said), true
	}
	return Outcome{}, false
}

// howLong asks how long a plan is to last.
func (x *request) howLong(p Plan, said string) Outcome {
	if slices.ContainsFunc(p.Each(), func(step Plan) bool { return !switches(step, true) || step.For > 0 }) {
		q := Question{Field: "stays", Text: fmt.Sprintf("%q cannot be kept, for nothing here ends it then: shall I %s?", said, p.Summary), Options: []string{"yes", "no"}}
		switch picked, out, ok := x.ask(q); {
		case !ok:
			return out
		case picked[0] != "yes":
			return x.refuse("the answer was no; nothing is done", nil)
		}
		return Outcome{Plan: &p}
	}
	q := Question{Field: forField, Text: fmt.Sprintf("%q: for how long shall I %s?", said, p.Summary), Options: []string{"5 minutes", "15 minutes", "1 hour", untilTold}}
	picked, out, ok := x.ask(q)
	switch {
	case !ok:
		return out
	case len(picked) > 1:
		q.Given = without(x.given, q.Field)
		return Outcome{Question: &q}
	case picked[0] == untilTold:
		return Outcome{Plan: &p}
	}
	lasts := x.words().length(x.words().tokens(picked[0]))
	steps := slices.Clone(p.Each())
	for i := range steps {
		steps[i].For = lasts
		steps[i].Summary += " for " + spoken(lasts)
	}
	if len(p.Steps) == 0 {
		return Outcome{Plan: &steps[0]}
	}
	all := ofSteps(steps)
	all.Capability = p.Capability
	return Outcome{Plan: &all}
}

// forField is the field of a question for how long.
const forField = "for"

// length is the length of time that words are, 0 if they are none.
func (w *words) length(tokens []token) (d time.Duration) {
	at := w.lasting.longest(tokens, 0)
	w.durations(tokens, at, func(end int, one time.Duration) {
		if len(w.bare(tokens[end:])) == 0 {
			d = one
		}
	})
	return d
}
