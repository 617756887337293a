// Package capabilities holds the types that the agent, the safety policy and the command line
// share with the interpreter of sentences: plans, commands, risks, homes, devices and outcomes.
// It does not interpret sentences; see package interpret.
package capabilities

import (
	"strconv"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
)

// DurationText returns a duration in words.
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
	Capability string        // id in the catalog: "switch-on"
	Device     string        // name in the configuration: "porch-lamp"
	Command    Command       // for the device
	Args       mess.Object   // parameters in SI units, in the order of the catalog
	Risk       Risk          // of a wrong interpretation
	Effect     Effect        // of a repetition of the plan
	For        time.Duration // how long a state lasts; 0 for until another order
	Summary    string        // for a person: "turn on the porch lamp"
	// Consequences for a confirmation: "the vacuum will move about the kitchen".
	Consequences string
	Reversible   bool
	// NotBefore is the earliest begin; zero for at once.
	NotBefore time.Time `json:",omitzero"`
	// After is how long a step waits after the end of the one before it.
	After time.Duration `json:",omitzero"`
	// Steps run in their order. A plan with steps has no command of its own.
	Steps []Plan `json:",omitempty"`
	// Want are the content types that the requester asks for in addition to the answer of
	// the capability (response_hint).
	Want []string
	// Place is where the device is or works, if the requester asks for the location; "" if
	// it is unknown.
	Place string `json:",omitempty"`
	// Asks is the state that a yes/no question asks about, like "on" or "closed", behind AnyOf
	// if one of several devices is enough; "" for none.
	Asks string `json:",omitempty"`
	// Unused are the lines of the context that change nothing of the plan. The executor reports
	// them to the requester.
	Unused []string `json:",omitempty"`
}

// Actuates reports whether the plan changes a physical state: its effect is not Query, or its
// command acts.
func (p Plan) Actuates() bool { return p.Effect != Query || p.Command.Acts() }

// Repeatable reports whether a second execution of the plan changes nothing more. A plan with a
// duration is not repeatable, because a repetition restarts the duration.
func (p Plan) Repeatable() bool {
	for _, step := range p.Each() {
		if step.Actuates() && (step.Effect != Idempotent || step.For > 0) {
			return false
		}
	}
	return true
}

// Outcome is the interpretation of a request. It has exactly one of plan, question and refusal.
type Outcome struct {
	Plan     *Plan
	Question *Clarification
	Refusal  *Rejection
	Explain  Trace
}

// Clarification is the question that the requester must answer before there is a plan.
type Clarification struct {
	Field   string   // the name of the answer
	Text    string   // "Rice near the sink and crumbs by the stove: which area?"
	Options []string // the answers that fit
	// Given are the answers to earlier questions of the same request. The interpreter
	// continues with them.
	Given mess.Object
}

// Rejection is the reason for an outcome without a plan.
type Rejection struct {
	Reason  string   // for the requester: the missing part, and the alternatives of this home
	Nearest []string // the nearest names or capabilities
}

// Trace shows how the interpreter reached an outcome.
type Trace struct {
	Template   string            // the matching sentence template
	Capability string            // of the text, with any outcome
	Evidence   mess.Evidence     // of the effect, once it is complete
	Slots      map[string]string // the values of its slots
	Score      float64           // 1 for a template, less for the scorer
	RunnerUp   string            // the next best reading, and its score
	Leftover   []string          // words without a meaning
}

// NoneOfThese is the option that takes no guess.
const NoneOfThese = "none of these"

// Image is the type of content that a request for an image wants.
const Image = "image"

// BeginTime returns when a plan of this moment begins.
func (p *Plan) BeginTime(now time.Time) time.Time {
	if p.NotBefore.IsZero() {
		return now
	}
	return p.NotBefore
}

// Present is the state that a search for an object asks about.
const Present = "there"

// AnyOf stands before the state that a plan asks about if one of several devices is enough
// for a yes.
const AnyOf = "any "

// QueriedState returns the state that a plan asks about, and whether one of several devices is
// enough for a yes.
func (p Plan) QueriedState() (state string, any bool) { return strings.CutPrefix(p.Asks, AnyOf) }
