package interpret_test

import (
	"testing"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
)

// A count of devices that is not the count of all leads to a question.
func TestCountBelowAllLeadsToQuestion(t *testing.T) {
	tests := []struct{ intent, want string }{
		{"turn on both porch lights", "? go_ahead: yes, no"},
		{"turn on the two porch lights", "? go_ahead: yes, no"},
		{"turn on 3 porch lights", "? go_ahead: yes, no"},
		{"are both porch lights on?", "? go_ahead: yes, no"},
		{"turn off both heaters for good", "? go_ahead: yes, no"},
		{"all porch lights off", "switch-off porch-lamp"},
		{"turn on both living room lights", "switch-on reading-lamp,ceiling"},
		{"turn on two lights", "no: that is 3 devices: porch light, reading lamp, ceiling light; make a request for each"},
	}
	r := resolver()
	for _, tt := range tests {
		if o := r.Resolve(ask(tt.intent)); got(o) != tt.want {
			t.Errorf("Resolve(%q) = %q, want %q", tt.intent, got(o), tt.want)
		}
	}
	req := ask("turn on both porch lights")
	q := question(t, r, req)
	if want := `"both" is 2, and there is only the porch light: shall I turn on the porch light?`; q.Text != want {
		t.Errorf("asks %q, want %q", q.Text, want)
	}
	for answer, want := range map[string]string{"yes": "switch-on porch-lamp", "no": "no: the answer was no; nothing happens"} {
		if o := r.Answer(q, nil, answer, req); got(o) != want {
			t.Errorf("Answer(%q) = %q, want %q", answer, got(o), want)
		}
	}
	h := exampleHome()
	h.Devices = h.Devices[:1]
	one := interpret.New(catalog.Default(), h)
	for _, intent := range []string{"turn on both lights", "turn on two lights", "switch both of the lamps on"} {
		if o := one.Resolve(ask(intent)); o.Question == nil {
			t.Errorf("Resolve(%q) = %q, want a question", intent, got(o))
		}
	}
}
