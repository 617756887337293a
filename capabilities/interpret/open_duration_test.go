package interpret_test

import (
	"testing"
	"time"
)

// A duration of unknown length leads to a question. If nothing ends the state, the question
// says so.
func TestOpenDurationLeadsToQuestion(t *testing.T) {
	r := lamps()
	for _, intent := range []string{
		"turn on the heater for a while", "turn the pump on for a moment", "for now turn on the hall light", "hall light on for a bit", "turn on the heater for the time being",
	} {
		req := ask(intent)
		q := question(t, r, req)
		if q.Field != "for" {
			t.Errorf("Resolve(%q) asks %q, want for how long", intent, q.Text)
			continue
		}
		for answer, want := range map[string]time.Duration{
			"15 minutes": 15 * time.Minute, "the first": 5 * time.Minute, "for two hours": 2 * time.Hour, "20 min please": 20 * time.Minute, "until told otherwise": 0,
		} {
			if o := r.Answer(q, nil, answer, req); o.Plan == nil || o.Plan.For != want {
				t.Errorf("%q, then %q: %s, want a plan for %v", intent, answer, got(o), want)
			}
		}
		for _, answer := range []string{"a bit", "long", "both", "0 minutes", "yes"} {
			if o := r.Answer(q, nil, answer, req); o.Question == nil {
				t.Errorf("%q, then %q: %s, want the question again", intent, answer, got(o))
			}
		}
		if o := r.Answer(q, nil, "neither", req); o.Refusal == nil {
			t.Errorf("%q, then neither: %s", intent, got(o))
		}
	}
	for _, intent := range []string{"vacuum the kitchen for a bit", "turn off the hall light for now", "dim the hall light for a while", "temporarily turn off the hall light"} {
		req := ask(intent)
		q := question(t, r, req)
		yes, no := r.Answer(q, nil, "yes", req), r.Answer(q, nil, "no", req)
		if q.Field != "stays" || yes.Plan == nil || no.Refusal == nil {
			t.Errorf("Resolve(%q) asks %q; yes: %s, no: %s", intent, q.Text, got(yes), got(no))
		}
	}
	for _, intent := range []string{"turn on the hall light all night", "hall light on all day long", "turn on the heater overnight"} {
		req := ask(intent)
		q := question(t, r, req)
		if o := r.Answer(q, nil, "8 hours", req); q.Field != "for" || o.Plan == nil || o.Plan.For != 8*time.Hour {
			t.Errorf("Resolve(%q) asks %q; 8 hours: %s", intent, q.Text, got(o))
		}
	}
	if o := r.Resolve(ask("is the hall light on for now")); o.Plan == nil || o.Plan.Actuates() {
		t.Errorf("a question: %s", got(o))
	}
}
