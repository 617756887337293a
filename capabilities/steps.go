package capabilities

import (
	"slices"
	"strings"
)

// IsIdempotent reports whether the effect of each step is Idempotent and no step has a duration.
func (p Plan) IsIdempotent() bool {
	return !slices.ContainsFunc(p.Each(), func(step Plan) bool { return step.Effect != Idempotent || step.For > 0 })
}

// NeedsRefill reports whether a person must prepare the device before a second execution, for
// example fill a machine or clear a print bed.
func (p Plan) NeedsRefill() bool {
	return len(p.Steps) == 0 && p.Effect == Once && (p.Command == SetSwitch && p.For == 0 || p.Command == Print)
}

// MayFollowItself reports whether the plan may run again as soon as it has ended.
func (p Plan) MayFollowItself() bool {
	for _, step := range p.Each() {
		if step.Command == SetSwitch && step.For == 0 || step.Command == Print || step.Command.IsWait() {
			return false
		}
	}
	return true
}

// SeveralCapabilities is the capability of a plan whose steps have different capabilities.
const SeveralCapabilities = "several"

// Each returns the steps of the plan. A plan without steps is its own only step.
func (p Plan) Each() []Plan {
	if len(p.Steps) == 0 {
		return []Plan{p}
	}
	return p.Steps
}

// Sequence returns a plan with these steps, of which there is at least one. The plan has
// the highest risk and effect of its steps.
func Sequence(steps []Plan) Plan {
	p := Plan{Capability: steps[0].Capability, Risk: RiskObserve, Effect: Query, Reversible: true, Steps: steps, Want: steps[0].Want}
	var summaries, after []string
	devices := make([]string, len(steps))
	for i, s := range steps {
		if s.Capability != p.Capability {
			p.Capability = SeveralCapabilities
		}
		if IsGraver(string(p.Risk), string(s.Risk), AllRisks) {
			p.Risk = s.Risk
		}
		if IsGraver(string(p.Effect), string(s.Effect), AllEffects) {
			p.Effect = s.Effect
		}
		p.Reversible = p.Reversible && s.Reversible
		summaries, devices[i] = append(summaries, s.Summary), s.Device
		if s.Consequences != "" {
			after = append(after, s.Consequences)
		}
	}
	p.Device = strings.Join(devices, ",")
	p.Summary, p.Consequences = strings.Join(summaries, ", "), strings.Join(after, "; ")
	return p
}

// IsGraver reports whether b comes after a in the list, which begins with the mildest
// value. A value that is not in the list is the gravest.
func IsGraver(a, b string, list []string) bool {
	at := slices.Index(list, b)
	return at < 0 || at > slices.Index(list, a)
}

// AllEffects lists the effects, the mildest first.
var AllEffects = []string{string(Query), string(Idempotent), string(Once)}
