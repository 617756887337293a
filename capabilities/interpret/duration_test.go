package interpret_test

import (
	"strings"
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	tests := []struct {
		text string
		want time.Duration
	}{
		{"10 minutes", 10 * time.Minute},
		{"10min", 10 * time.Minute},
		{"1.5 hours", 90 * time.Minute},
		{"1.5h", 90 * time.Minute},
		{"0.5 seconds", 500 * time.Millisecond},
		{"half an hour", 30 * time.Minute},
		{"one and a half hours", 90 * time.Minute},
		{"an hour and a half", 90 * time.Minute},
		{"an hour and ten minutes", 70 * time.Minute},
		{"10 minutes and 30 seconds", 10*time.Minute + 30*time.Second},
		{"1 hour 2 minutes 3 seconds", time.Hour + 2*time.Minute + 3*time.Second},
		{"2 days", 48 * time.Hour},
		{"twenty five minutes", 25 * time.Minute},
		{"twenty-five minutes", 25 * time.Minute},
	}
	r := resolver()
	for _, tt := range tests {
		o := r.Resolve(ask("turn on the heater for " + tt.text))
		if o.Plan == nil || o.Plan.For != tt.want {
			t.Errorf("for %s: %q, want %v", tt.text, got(o), tt.want)
			continue
		}
		again := r.Resolve(ask(o.Plan.Summary))
		if again.Plan == nil || again.Plan.For != tt.want {
			t.Errorf("for %s: the summary is %q, which resolves to %q", tt.text, o.Plan.Summary, got(again))
		}
	}
}

// The refusal of an impossible duration speaks of a duration, and not of a time to begin.
func TestDurationsAreRefusedAsDurations(t *testing.T) {
	tests := []struct{ intent, because string }{
		{"turn on the heater for 0 seconds", `"for 0 seconds" is no possible length of time`},
		{"turn on the heater for 1e9 seconds", `"for 1e9 seconds" is no possible length of time`},
		{"turn on the heater for 1e9", `"for 1e9" is no possible length of time`},
		{"turn on the heater for 2 fortnights", `"for 2 fortnights" is no possible length of time`},
		{"turn on the heater for ten", `"for ten" is no possible length of time`},
		{"turn on the heater for 1:30 hours", `"for 1:30 hours" is no possible length of time`},
		{"turn on the heater for 400 days", `up to a year`},
		{"turn on the heater for 30 seconds and 10 minutes", `is a length of time; write "for 10 minutes"`},
		{"turn on the green heater for 10 minutes", `not understood: "green"`},
		{"vacuum the hall for 10 minutes", `"for 10 minutes" is a length of time; only an order that turns something on can have one`},
		{"heater 10 minutes", `write "for 10 minutes"`},
		{"turn on the heater in 10 minutes", `"in 10 minutes" is a time`},
	}
	r := resolver()
	for _, tt := range tests {
		o := r.Resolve(ask(tt.intent))
		if o.Refusal == nil || !strings.Contains(o.Refusal.Reason, tt.because) {
			t.Errorf("Resolve(%q) = %q, want a refusal with %q", tt.intent, got(o), tt.because)
		}
		if o.Refusal != nil && !strings.Contains(tt.because, " is a time") && strings.Contains(o.Refusal.Reason, "is a time,") {
			t.Errorf("Resolve(%q) names a start time: %q", tt.intent, o.Refusal.Reason)
		}
	}
}
