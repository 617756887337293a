package interpret_test

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/mess"
)

func atNoon() *interpret.Interpreter {
	h := exampleHome()
	h.Now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	return interpret.New(catalog.Default(), h)
}

func TestStepsThatWait(t *testing.T) {
	for _, c := range []struct{ intent, want string }{
		{"turn on the porch light, wait ten minutes, turn it off", "turn on the porch light for 10 minutes"},
		{"turn on the porch light, then wait for 10 minutes and then turn it off again please", ""},
		{"turn on the porch light, wait a minute, then turn on the heater", "turn on the porch light, wait for 1 minute and turn on the heater"},
		{"wait ten minutes and turn on the porch light", "turn on the porch light"},
		{"turn on the porch light. Turn off the heater.", "turn on the porch light, turn off the heater"},
		{"turn on the porch light, wait ten minutes", "no: no order follows the wait for 10 minutes"},
		{"turn on the porch light, wait ten minutes, turn it off, turn it on", "turn on the porch light, wait for 10 minutes and turn off the porch light, turn on the porch light"},
		{"turn on the heater, wait ten minutes, turn it off, then turn on the porch light", "turn on the heater for 10 minutes, wait for 10 minutes and turn on the porch light"},
		{"turn on the porch light, wait two hours, turn it off", "no: to wait for 2 hours is longer than one request may"},
		{"turn on the porch light, turn it off after two hours", "turn on the porch light for 2 hours"}, // the device keeps it, not the program
		{"turn on the porch light, wait two hours and turn on the heater", "no: to wait for 2 hours is longer than one request may"},
		{"turn on the porch light, wait two hours, turn it off and turn on the heater", "no: to wait for 2 hours is longer than one request may"},
		{"turn on the porch light, wait until dark, turn it off", `no: of several things, "wait until dark" is not possible`},
		{"turn on the porch light twice", `no: "twice": to turn on the porch light twice has the effect of one time`},
		{"pulse the heater twice", "no: "},
		{"turn on the porch light from 7 to 9 pm", "turn on the porch light for 2 hours, on "},
		{"turn on the porch light between 7 and 8", `no: "between 7 and 8" is a span of time`},
	} {
		o, text := atNoon().Resolve(ask(c.intent)), ""
		switch {
		case o.Plan != nil:
			text = o.Plan.Summary
		case o.Question != nil:
			text = "? " + o.Question.Text
		default:
			text = "no: " + o.Refusal.Reason
		}
		if c.want == "" && o.Plan == nil { // "again" is a word too many, and so nothing acts
			continue
		}
		if c.want == "" || !strings.HasPrefix(text, c.want) {
			t.Errorf("Resolve(%q): %s, want %s", c.intent, text, c.want)
		}
	}
}

// An on, a wait and an off are one step with a duration, so that the device goes off in any
// case. A wait before the first step is a time to begin.
func TestOffAfterWaitIsADuration(t *testing.T) {
	p := atNoon().Resolve(ask("turn on the porch light, wait ten minutes, turn it off")).Plan
	if p == nil || p.For != 10*time.Minute || len(p.Steps) != 0 {
		t.Fatalf("%+v, want one step that lasts ten minutes", p)
	}
	p = atNoon().Resolve(ask("wait ten minutes and turn on the porch light")).Plan
	if want := time.Date(2026, 11, 21, 12, 10, 0, 0, time.UTC); p == nil || !p.NotBefore.Equal(want) {
		t.Fatalf("%+v, want it to begin at %v", p, want)
	}
	p = atNoon().Resolve(ask("turn on the porch light, wait a minute, turn on the heater")).Plan
	if p == nil || len(p.Steps) != 2 || p.Steps[1].After != time.Minute || p.Steps[0].After != 0 {
		t.Fatalf("%+v, want two steps with a minute between", p)
	}
	without := *p
	without.Steps = append([]capabilities.Plan(nil), p.Steps...)
	without.Steps[1].After = 0
	if p.Digest() == without.Digest() {
		t.Error("steps with and without a wait have the same digest")
	}
}

// The answer to a question about one of several orders is for that order.
func TestQuestionOfOneOrderKeepsTheOthers(t *testing.T) {
	req := ask("turn off the heater and turn on the light and turn off the lamp on the porch")
	q := atNoon().Resolve(req).Question
	if q == nil || q.Field != "device_2" || !strings.Contains(q.Text, `"turn on the light"`) {
		t.Fatalf("asks %+v, want which light is meant by the second order", q)
	}
	o := atNoon().Answer(*q, mess.Object{{Key: "device_2", Value: "reading lamp"}}, "", req)
	if got(o) != "several heater,reading-lamp,porch-lamp" {
		t.Errorf("answered: %q", got(o))
	}
}
