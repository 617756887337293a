package interpret_test

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/mess"
)

//go:embed testdata/answers.txt
var answers string

// several is a home in which most orders lead to a question.
func several() *interpret.Interpreter {
	of := func(name, class, area string, commands ...capabilities.Command) capabilities.Device {
		return capabilities.Device{
			Name: strings.ReplaceAll(name, " ", "-"), Label: name, Class: class, Area: area,
			Commands: append(commands, capabilities.ReadState), Quantities: []string{},
		}
	}
	light := []capabilities.Command{capabilities.SetSwitch, capabilities.Dim}
	blind := []capabilities.Command{capabilities.Open, capabilities.Close, capabilities.OpenTo}
	h := exampleHome()
	h.Devices = append(
		h.Devices[3:],
		of("kitchen light", "light", "kitchen", light...), of("hall light", "light", "hall", light...),
		of("bedroom light", "light", "bedroom", light...), of("office light", "light", "office", light...),
		of("bedroom blind", "blind", "bedroom", blind...), of("kids room blind", "blind", "kids room", blind...),
		of("fan", "fan", "bedroom", capabilities.SetSwitch),
	)
	return interpret.New(catalog.Default(), h)
}

// Each everyday answer picks an option, ends the request, or repeats the question. An
// answer with a correction, a condition or a doubt does nothing.
func TestEverydayAnswers(t *testing.T) {
	r := several()
	var req mess.Request
	var q capabilities.Clarification
	for line := range strings.Lines(answers) {
		line = strings.TrimSpace(line)
		if intent, ok := strings.CutPrefix(line, "# "); ok {
			req = ask(intent)
			q = question(t, r, req)
			continue
		}
		answer, want, ok := strings.Cut(line, " -> ")
		if !ok {
			t.Fatalf("testdata/answers.txt: %q has no ->", line)
		}
		for _, o := range []capabilities.Outcome{
			r.Answer(q, mess.Object{{Key: q.Field, Value: answer}}, answer, req),
			r.Answer(q, nil, answer, req),
		} {
			was := "?"
			switch {
			case o.Plan != nil:
				was = o.Plan.Summary
			case o.Refusal != nil:
				was = "no"
			case o.Question.Text != q.Text:
				was = o.Question.Text
			}
			if was != want {
				t.Errorf("%s: %q: %s, want %s", req.Intent, answer, was, want)
			}
		}
	}
}

// A no ends the request. The refusal does not repeat the words that led to the question.
func TestNoEndsTheRequest(t *testing.T) {
	r, req := resolver(), ask("turn on the secret porch light")
	o := r.Answer(question(t, r, req), nil, "no", req)
	if got(o) != "no: the answer was no; nothing happens" {
		t.Errorf("Answer(no) = %q", got(o))
	}
	q := question(t, r, req)
	for _, both := range [][]any{{"yes", "no"}, {"no", "yes"}} {
		if o := r.Answer(q, mess.Object{{Key: q.Field, Value: both}}, "", req); o.Question == nil {
			t.Errorf("Answer(%v) = %q, want the question again", both, got(o))
		}
	}
}

func FuzzAnswers(f *testing.F) {
	for line := range strings.Lines(answers) {
		answer, _, _ := strings.Cut(line, " -> ")
		f.Add(strings.TrimSpace(answer))
	}
	r, req := several(), ask("turn on the light")
	q := *r.Resolve(req).Question
	f.Fuzz(func(t *testing.T, answer string) {
		o := r.Answer(q, nil, answer, req)
		if n := len(q.Options); o.Plan != nil && len(o.Plan.Each()) > n {
			t.Errorf("%q: %d lights of %d", answer, len(o.Plan.Each()), n)
		}
	})
}
