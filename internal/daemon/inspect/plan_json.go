package inspect

import (
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/phrase"
	"github.com/messkit/messkit/internal/config"
)

// stepsJSON returns the steps of a plan for scripts.
func stepsJSON(steps []capabilities.Plan, label func(string) string) []map[string]any {
	list := make([]map[string]any, len(steps))
	for i, s := range steps {
		list[i] = map[string]any{"phrases": phrase.JSON(phrase.Of(s, label)), "summary": s.Summary, "device": s.Device, "capability": s.Capability, "command": s.Command, "args": s.Args, "for": s.For.Seconds(), "after": s.After.Seconds(), "risk": s.Risk, "effect": s.Effect}
	}
	return list
}

// DateOf returns a time for scripts, "" for the zero time.
func DateOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

// outcomeJSON returns an outcome for scripts; durations are in seconds.
func outcomeJSON(c *config.Config, out capabilities.Outcome, v policyResult) map[string]any {
	label := func(device string) string {
		if d := c.Opened.Device(device); d != nil {
			return d.PersonLabel()
		}
		return device
	}
	doc := map[string]any{"explain": map[string]any{
		"template": out.Explain.Template, "slots": out.Explain.Slots, "score": out.Explain.Score,
		"runner_up": out.Explain.RunnerUp, "left_over": out.Explain.Leftover,
	}}
	if p := out.Plan; p != nil {
		doc["plan"] = map[string]any{
			"summary": p.Summary, "device": p.Device, "capability": p.Capability, "command": p.Command, "evidence": out.Explain.Evidence, "args": p.Args,
			"risk": p.Risk, "effect": p.Effect, "for": p.For.Seconds(), "consequences": p.Consequences,
			"not_before": DateOf(p.NotBefore), "steps": stepsJSON(p.Steps, label), "phrases": phrase.JSON(phrase.Of(*p, label)), "reversible": p.Reversible, "confirm": v.first(), "confirm_by": v.confirmBy(), "needs": v.needs, "busy": v.busy, "off_in": v.off.Seconds(), "digest": p.Digest(),
			"unused": append([]string{}, p.Unused...),
		}
	}
	switch q := out.Question; {
	case q != nil && v.refused != "":
		doc["refusal"] = map[string]any{"reason": v.refused, "nearest": []string(nil)}
	case q != nil:
		doc["question"] = map[string]any{"field": q.Field, "question": q.Text, "options": q.Options}
	}
	if r := out.Refusal; r != nil {
		doc["refusal"] = map[string]any{"reason": r.Reason, "nearest": r.Nearest}
	}
	return doc
}
