package interpret_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/mess"
)

// question returns the question of the interpreter about a request.
func question(t *testing.T, r *interpret.Interpreter, req mess.Request) capabilities.Clarification {
	t.Helper()
	o := r.Resolve(req)
	if o.Question == nil {
		t.Fatalf("Resolve(%q) = %q, want a question", req.Intent, got(o))
	}
	return *o.Question
}

func TestAnswerAboutSpots(t *testing.T) {
	two := []string{"near sink", "by stove"}
	tests := []struct {
		answer any
		want   []string // none: the question again
	}{
		{"both", two},
		{"Both, please.", two},
		{"all of them", two},
		{"near sink", two[:1]},
		{"by the stove", two[1:]},
		{"the one by the stove", two[1:]},
		{"stove", two[1:]},
		{"the rice", two[:1]},
		{"sink and stove", two},
		{"sink but not stove", two[:1]},
		{"not the stove, the other one", two[:1]},
		{"2", two[1:]},
		{"the first one", two[:1]},
		{"option two", two[1:]},
		{mess.Number("1"), two[:1]},
		{1, two[:1]},
		{[]any{"by stove"}, two[1:]},
		{[]any{"near sink", "by stove"}, two},

		{"purple", nil},
		{"", nil},
		{"4", nil},
		{"not the stove", nil},
		{[]any{"near sink", "purple"}, nil},
		{mess.Object{}, nil},
		{nil, nil},
		{true, nil},
	}
	r, req := resolver(), ask("vacuum the kitchen")
	q := question(t, r, req)
	if want := "Rice spill near sink and crumbs by stove: which?"; q.Text != want {
		t.Errorf("asks %q, want %q", q.Text, want)
	}
	for _, tt := range tests {
		o := r.Answer(q, mess.Object{{Key: "area", Value: tt.answer}}, "", req)
		if tt.want == nil {
			if o.Question == nil || o.Question.Text != q.Text {
				t.Errorf("Answer(%v) = %q, want the question again", tt.answer, got(o))
			}
			continue
		}
		if o.Plan == nil {
			t.Errorf("Answer(%v) = %q, want a plan", tt.answer, got(o))
			continue
		}
		if areas, _ := o.Plan.Args.Get("areas"); !cmp.Equal(areas, any(tt.want)) {
			t.Errorf("Answer(%v): areas %v, want %v", tt.answer, areas, tt.want)
		}
	}
}

func TestAnswerAboutDevices(t *testing.T) {
	tests := []struct{ text, want string }{
		{"porch light", "switch-on porch-lamp"},
		{"the porch one", "switch-on porch-lamp"},
		{"front door light", "switch-on porch-lamp"},
		{"the reading lamp", "switch-on reading-lamp"},
		{"number 3", "switch-on ceiling"},
		{"the third", "switch-on ceiling"},
		{"all", "switch-on porch-lamp,reading-lamp,ceiling"},
		{"the living room one", "? device: porch light, reading lamp, ceiling light"},
		{"heater", "? device: porch light, reading lamp, ceiling light"},
		{"never mind", "no: the requester withdrew it; nothing happens"},
		{"stop", "no: the requester withdrew it; nothing happens"},
		{"please cancel", "no: the requester withdrew it; nothing happens"},
	}
	r, req := resolver(), ask("turn on the light")
	q := question(t, r, req)
	for _, tt := range tests {
		if o := r.Answer(q, nil, tt.text, req); got(o) != tt.want {
			t.Errorf("Answer(%q) = %q, want %q", tt.text, got(o), tt.want)
		}
	}
}

func TestAnswerContinuesRequest(t *testing.T) {
	h := exampleHome()
	second := h.Devices[6]
	second.Name, second.Label = "hoover", "old hoover"
	h.Devices = append(h.Devices, second)
	r := interpret.New(catalog.Default(), h)
	req := ask("could you vacuum the kitchen?")

	q := question(t, r, req)
	for _, step := range []struct{ answer, want string }{
		{"the old one", "? area: near sink, by stove, both"},
		{"the left one", "? area: near sink, by stove, both"},
		{"both", "? go_ahead: yes, no"},
		{"perhaps", "? go_ahead: yes, no"},
		{"yes, do it", "vacuum-floor hoover"},
	} {
		o := r.Answer(q, nil, step.answer, req)
		if got(o) != step.want {
			t.Fatalf("Answer(%q) = %q, want %q", step.answer, got(o), step.want)
		}
		if o.Question != nil {
			q = *o.Question
		}
	}
	if o := r.Answer(q, nil, "no", req); o.Refusal == nil {
		t.Errorf("Answer(no) = %q, want a refusal", got(o))
	}
}

// The device of an option may lack the command when the answer arrives. The question repeats
// without that option.
func TestAnswerAfterTheOptionIsGone(t *testing.T) {
	req := ask("turn on the light")
	q := question(t, resolver(), req)
	h := exampleHome()
	h.Devices[0].Commands = nil // the porch light
	r := interpret.New(catalog.Default(), h)
	want := "? device: reading lamp, ceiling light"
	if o := r.Answer(q, nil, "porch light", req); got(o) != want {
		t.Errorf("Answer = %q, want %q", got(o), want)
	}
}

func TestMatchYesNo(t *testing.T) {
	tests := []struct {
		text          string
		yes, no, stop bool
	}{
		{"yes", true, false, false},
		{"Yes!", true, false, false},
		{"yes please", true, false, false},
		{"yes, do it", true, false, false},
		{"please go ahead", true, false, false},
		{"OK", true, false, false},
		{"sure", true, false, false},
		{"I confirm.", true, false, false},

		{"yes?", false, false, false},
		{"yes but only the kitchen", false, false, false},
		{"yes and no", false, false, false},
		{"yes no", false, false, false},
		{"is that ok", false, false, false},
		{"ok wait", false, false, false},
		{"maybe", false, false, false},
		{"I said yes to the other one", false, false, false},
		{"yesterday", false, false, false},
		{"", false, false, false},
		{"please", false, false, false},
		{"the the", false, false, false},

		{"no", false, true, false},
		{"No, thanks", false, true, false},
		{"please don't", false, true, false},
		{"don’t do it", false, true, false},
		{"no, yes", false, true, false},
		{"not now", false, true, false},

		{"stop", false, true, true},
		{"STOP!!!", false, true, true},
		{"never mind", false, true, true},
		{"yes, no, cancel it", false, true, true},
		{"please stop now", false, true, true},
	}
	for _, tt := range tests {
		if yes, no, stop := catalog.MatchYesNo(tt.text); yes != tt.yes || no != tt.no || stop != tt.stop {
			t.Errorf("MatchYesNo(%q) = %t, %t, %t; want %t, %t, %t", tt.text, yes, no, stop, tt.yes, tt.no, tt.stop)
		}
	}
}
