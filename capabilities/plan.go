// Package capabilities holds the types that the agent, the safety policy and the command
// line share with the interpreter of sentences: plans, commands, risks, homes, devices and
// outcomes. It does not know how a sentence is understood; see package interpret.
package capabilities

import (
	"strconv"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
)

// DurationText says a length of time in words.
func DurationText(d time.Duration) string {
	var parts []string
	add := func(n float64, unit string) {
		if n != 1 {
			unit += "s"
		}
		if n > 0 {
			parts = append(parts, strconv.FormatFloat(n, 'f', -1, 64)+" "+unit)
		}
	}
	add(float64(d/time.Hour), "hour")
	add(float64(d%time.Hour/time.Minute), "minute")
	add((d % time.Minute).Seconds(), "second")
	return strings.Join(parts, " ")
}

// YesOrNo are the options of "shall I?".
var YesOrNo = []string{"yes", "no"}

// Plan is a request resolved to one device, one command and its parameters.
type Plan struct {
	Capability string        // id in the catalogue: "switch-on"
	Device     string        // name in the configuration: "porch-lamp"
	Command    Command       // what is done with the device
	Args       mess.Object   // parameters in SI units, in the catalogue's order
	Risk       Risk          // the effect of being wrong
	Effect     Effect        // what doing it twice means
	For        time.Duration // how long a state is to last, 0 for until told otherwise
	Summary    string        // what will be done, for a person: "turn on the porch lamp"
	// Consequences for a confirmation: "the vacuum will move about the kitchen".
	Consequences string
	Reversible   bool
	// NotBefore is when it may begin; zero for at once.
	NotBefore time.Time `json:",omitzero"`
	// After is how long a step waits when the one before it is done.
	After time.Duration `json:",omitzero"`
	// Steps, if there are any, are carried out in order, and the plan has no
	// command of its own.
	Steps []Plan `json:",omitempty"`
	// Want is what the requester asked to get back beyond the capability's own
	// answer (response_hint), as content types.
	Want []string
	// Place is where the device is, or what it works on, where the requester asked for
	// that; "" where nobody knows.
	Place string `json:",omitempty"`
	// Asks is the state that a question asks for with yes or no, like "on" or "closed",
	// behind AnyOf where one of several things is enough; "" for none.
	Asks string `json:",omitempty"`
	// Unused is what of the request's context changes nothing of the plan, as it was
	// written. It is told to the requester.
	Unused []string `json:",omitempty"`
}

// Actuates reports whether the plan would change the world, whatever it says of
// itself.
func (p Plan) Actuates() bool { return p.Effect != Query || p.Command.Acts() }

// Repeatable reports whether carrying out the plan twice changes no more than once does.
// A repetition of what acts for a time begins that time anew.
func (p Plan) Repeatable() bool {
	for _, step := range p.Each() {
		if step.Actuates() && (step.Effect != Idempotent || step.For > 0) {
			return false
		}
	}
	return true
}

// Outcome is what a request was resolved to: exactly one of the three is set.
type Outcome struct {
	Plan     *Plan
	Question *Question
	Refusal  *Refusal
	Explain  Explanation
}

// Question is what must be answered before there is a plan.
type Question struct {
	Field   string   // the name the answer goes by
	Text    string   // "Rice near the sink and crumbs by the stove: which area?"
	Options []string // the answers that fit
	// Given are the answers to earlier questions of the same request; a resolver
	// that is given the question back goes on from them.
	Given mess.Object
}

// Refusal is why there is no plan.
type Refusal struct {
	Reason  string   // for the requester: what was not understood or is not there, and what is
	Nearest []string // names or capabilities that come nearest
}

// Explanation shows how an outcome was reached.
type Explanation struct {
	Template   string            // the sentence template that matched
	Capability string            // that the text is about, whatever the outcome
	Evidence   mess.Evidence     // by which it would be known that it was done
	Slots      map[string]string // what its slots took
	Score      float64           // 1 for a template, less for the scorer
	RunnerUp   string            // the next best reading, and its score
	Leftover   []string          // words that nothing consumed
}

// NoneOfThese is the option that takes no guess.
const NoneOfThese = "none of these"

// Image is the type of content that a request for a picture wants.
const Image = "image"

// Begins is when a plan begins that is made now.
func (p *Plan) Begins(now time.Time) time.Time {
	if p.NotBefore.IsZero() {
		return now
	}
	return p.NotBefore
}

// Seen is the state that a plan asks for which looks for a thing: whether it is there.
const Seen = "there"

// AnyOf stands before the state that a plan asks for where one of several things is
// enough for a yes.
const AnyOf = "any "

// AsksFor is the state that a plan asks for, and whether one of several things in it is
// enough for a yes.
func (p Plan) AsksFor() (state string, any bool) { return strings.CutPrefix(p.Asks, AnyOf) }
