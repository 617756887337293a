package interpret_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// beside returns a request with lines of context.
func beside(intent string, lines ...string) mess.Request {
	req := ask(intent)
	for _, line := range lines {
		req.Context = append(req.Context, mess.TextEntry(line))
	}
	return req
}

// The interpreter quotes every line that is no plain description before anything acts,
// whether it forbids, orders, wishes or warns.
func TestUnclearContextLeadsToQuestion(t *testing.T) {
	for _, line := range []string{
		"keep it dark", "leave the light off, the baby sleeps", "leave it as it is", "hands off", "total darkness please", "darkness suits us", "everything stays dark",
		"the lamp stays off", "the baby is asleep", "my wife sleeps", "lights should be off", "it is better off", "it is fine off", "Mum hates it", "kids prefer pasta",
		"Planning dinner for 4", "ages 6 and 9", "I meant the reading lamp", "the heater is on", "in the kitchen", "Rice spill near the sink", "skip this one", "twice", "quietly",
		"there is smoke", "you know what to do", "maybe", "xyzzy", "and the heater", "it is to stay off", "nowhere but the kitchen", "just kidding", "y'all stay out", "ask Dad first",
		"the bulb is broken", "this is a test", "it is on fire", "to red", "somebody must look at it", "we rather like the dark", "I'd leave it",
	} {
		o := resolver().Resolve(beside("turn on the porch light", line))
		switch {
		case o.Refusal != nil && strings.Contains(o.Refusal.Reason, "the context says"):
		case o.Question != nil && o.Question.Field == "context" && strings.Contains(o.Question.Text, line):
		default:
			t.Errorf("beside an order, %q led to %q; want a question that quotes it", line, got(o))
		}
	}
}

// A description needs no question, and the plan lists it as unused. With a dangerous act the
// interpreter must know every word of it.
func TestDescriptionsNeedNoQuestion(t *testing.T) {
	for _, tt := range []struct{ intent, line, want string }{
		{"turn on the porch light", "I am cooking", "switch-on porch-lamp"},
		{"turn on the porch light", "It's dark out here", "switch-on porch-lamp"},
		{"turn on the porch light", "The porch light is off", "switch-on porch-lamp"},
		{"turn on the porch light", "my mother is here", "switch-on porch-lamp"},
		{"turn on the porch light", "thanks", "switch-on porch-lamp"},
		{"vacuum the hall", "my mother is at the door", "? context: yes, no"},
		{"vacuum the hall", "the dog is in the hall", "? context: yes, no"},
		{"vacuum the hall", "the kids are playing", "? context: yes, no"},
		{"is the porch light on?", "do not touch anything", "read-switch porch-lamp"},
	} {
		o := resolver().Resolve(beside(tt.intent, tt.line))
		if got(o) != tt.want {
			t.Errorf("%q with the context %q: %q, want %q", tt.intent, tt.line, got(o), tt.want)
		}
		if o.Plan != nil && tt.line != "thanks" && (len(o.Plan.Unused) != 1 || o.Plan.Unused[0] != tt.line) {
			t.Errorf("%q with the context %q: unused context is %q", tt.intent, tt.line, o.Plan.Unused)
		}
	}
}

// A hint says which device, where, how much and how long.
func TestContextNarrowsTheOrder(t *testing.T) {
	object := func(kind string, fields ...mess.Field) mess.Entry {
		return mess.Entry{Type: kind, Value: mess.Object(fields)}
	}
	text := mess.TextEntry
	for _, tt := range []struct {
		intent  string
		context []mess.Entry
		want    string // the summary
	}{
		{"turn on the light", []mess.Entry{text("I meant the porch light")}, "turn on the porch light"},
		{"turn on the light", []mess.Entry{text("it is on the porch")}, "turn on the porch light"},
		{"turn on the light", []mess.Entry{text("the reading one")}, "turn on the reading lamp"},
		{"turn on the light", []mess.Entry{object("location", mess.Field{Key: "name", Value: "porch"})}, "turn on the porch light"},
		{"turn on the light", []mess.Entry{{Type: "location", Value: "porch"}}, "turn on the porch light"},
		{"turn on the light", []mess.Entry{object("structured", mess.Field{Key: "device", Value: "reading lamp"}, mess.Field{Key: "for", Value: "PT10M"})}, "turn on the reading lamp for 10 minutes"},
		{"turn on the porch light", []mess.Entry{text("for ten minutes")}, "turn on the porch light for 10 minutes"},
		{"turn on the porch light.", []mess.Entry{text("for 10 minutes")}, "turn on the porch light for 10 minutes"},
		{"vacuum the kitchen", []mess.Entry{text("Rice spill near the sink")}, "vacuum near sink"},
		{"start the vacuum", []mess.Entry{text("by the stove")}, "vacuum by stove"},
		{"vacuum", []mess.Entry{object("json", mess.Field{Key: "room", Value: "hall"})}, "vacuum the hall"},
		{"what is the temperature?", []mess.Entry{text("in the bathroom")}, "read the temperature from the bathroom sensor"},
	} {
		req := ask(tt.intent)
		req.Context = tt.context
		switch o := resolver().Resolve(req); {
		case o.Plan == nil || o.Plan.Summary != tt.want:
			t.Errorf("%q with the context %v: %q, want %q", tt.intent, tt.context, got(o), tt.want)
		case len(o.Plan.Unused) > 0:
			t.Errorf("%q with the context %v: unused context is %q, want none", tt.intent, tt.context, o.Plan.Unused)
		}
	}
}

// A line about a dark place may say which light, and leads to a question.
func TestDarknessInContextNamesTheLight(t *testing.T) {
	for _, tt := range []struct{ intent, line, want string }{
		{"turn on the light", "it is dark on the porch", `the context says "it is dark on the porch": shall I turn on the porch light?`},
		{"turn on the light", "it is not dark on the porch", "no: the context says"},
		{"turn on the light", "it is dark on the porch until 8 pm", "no: the context says"},
	} {
		o := resolver().Resolve(beside(tt.intent, tt.line))
		no, refused := strings.CutPrefix(tt.want, "no: ")
		switch {
		case refused && o.Refusal != nil && strings.HasPrefix(o.Refusal.Reason, no):
		case o.Question != nil && o.Question.Text == tt.want:
		default:
			t.Errorf("%q with the context %q: %q, want %q", tt.intent, tt.line, got(o), tt.want)
		}
	}
}

// The question offers the device that a line of context names, and the one of the request.
func TestCorrectionInContextIsAnOption(t *testing.T) {
	for line, both := range map[string]bool{
		"I meant the reading lamp": true, "actually the reading lamp": true, "sorry, the reading lamp": true, "the reading lamp": true,
		"I meant the heater": false, "the reading lamp is broken": false, "and the reading lamp": false,
	} {
		r, req := resolver(), beside("turn on the porch light", line)
		q := question(t, r, req)
		if want := []string{"turn on the porch light", "turn on the reading lamp"}; slices.Equal(q.Options, want) != both {
			t.Errorf("%q: %q, want both offered: %t", line, q.Options, both)
		}
		if !both {
			continue
		}
		for answer, want := range map[string]string{
			"the reading lamp": "switch-on reading-lamp", "the porch light": "switch-on porch-lamp", "turn on the porch light": "switch-on porch-lamp", "the second": "switch-on reading-lamp",
			"both": "? context", "yes": "? context", "no": "no: ",
		} {
			if o := r.Answer(q, nil, answer, req); !strings.HasPrefix(got(o), want) {
				t.Errorf("%q, answered with %q: %q, want %q", line, answer, got(o), want)
			}
		}
	}
}

// Data without words in this home lead to a question. The interpreter neither reads nor
// mentions the content of a file or an image.
func TestUnknownDataLeadsToQuestion(t *testing.T) {
	for _, tt := range []struct {
		entry mess.Entry
		want  string
	}{
		{mess.Entry{Type: "json", Value: mess.Object{{Key: "max_level", Value: mess.Number("40")}}}, "? context: yes, no"},
		{mess.Entry{Type: "json", Value: mess.Object{{Key: "enabled", Value: false}}}, "? context: yes, no"},
		{mess.Entry{Type: "json", Value: mess.Object{{Key: "notes", Value: []any{"do not"}}}}, `no: the context says "notes: do not"`},
		{mess.Entry{Type: "json", Value: []any{mess.Object{{Key: "a", Value: mess.Object{{Key: "b", Value: "never"}}}}}}, "no: the context says"},
		{mess.Entry{Type: "file", Value: mess.Object{{Key: "uri", Value: "file://x.txt"}, {Key: "name", Value: "do not"}}}, "switch-on porch-lamp"},
		{mess.Entry{Type: "image", Value: "data:image/png;base64,ZG8gbm90"}, "switch-on porch-lamp"},
		{mess.Entry{Type: "location", Value: mess.Object{{Key: "name", Value: "porch"}, {Key: "lat", Value: mess.Number("1")}}}, "switch-on porch-lamp"},
		{mess.Entry{Type: "location", Value: mess.Object{{Key: "name", Value: "kitchen"}}}, "? context: yes, no"},
	} {
		req := ask("turn on the porch light")
		req.Context = []mess.Entry{tt.entry}
		o := resolver().Resolve(req)
		if no, refused := strings.CutPrefix(tt.want, "no: "); got(o) != tt.want && !(refused && o.Refusal != nil && strings.Contains(o.Refusal.Reason, no)) {
			t.Errorf("beside %+v: %q, want %q", tt.entry, got(o), tt.want)
		}
	}
}

// The answer to a question about the context continues from the answers of the hints.
func TestAnswerKeepsWhatHintsAnswered(t *testing.T) {
	r, req := resolver(), beside("turn on the light", "the reading one", "Mum hates it")
	q := question(t, r, req)
	if want := `the context says "Mum hates it": shall I turn on the reading lamp?`; q.Text != want {
		t.Fatalf("asked %q, want %q", q.Text, want)
	}
	if o := r.Answer(q, nil, "yes", req); got(o) != "switch-on reading-lamp" || len(o.Plan.Unused) != 1 {
		t.Errorf("after yes: %q", got(o))
	}
	if o := r.Answer(q, nil, "no", req); o.Refusal == nil {
		t.Errorf("no led to %q", got(o))
	}
	req = beside("turn on the light", "xyzzy")
	q = question(t, r, req)
	o := r.Answer(q, nil, "the porch light", req)
	if o.Question == nil || o.Question.Field != "context" {
		t.Fatalf("the answer led to %q, want a question about the context", got(o))
	}
	if o = r.Answer(*o.Question, nil, "yes", req); got(o) != "switch-on porch-lamp" {
		t.Errorf("after yes: %q", got(o))
	}
}

// A long context takes no longer than a request, and the interpreter asks about the lines
// that it does not read.
func TestLongContextIsBounded(t *testing.T) {
	lines := make([]string, 20_000)
	for i := range lines {
		lines[i] = "it is dark"
	}
	o := resolver().Resolve(beside("turn on the porch light", lines...))
	if o.Question == nil || !strings.Contains(o.Question.Text, "more lines") {
		t.Errorf("%q", got(o))
	}
	if o := resolver().Resolve(beside("turn on the porch light", strings.Repeat("it is dark ", 10_000))); o.Question == nil || len(o.Question.Text) > 400 {
		t.Errorf("%q", got(o))
	}
}

func FuzzContext(f *testing.F) {
	f.Add("turn on the light", "the reading one")
	f.Add("vacuum", "by the stove, but not now")
	f.Fuzz(func(t *testing.T, intent, line string) {
		o := resolver().Resolve(beside(intent, line))
		if n := one(o); n != 1 {
			t.Fatalf("%d outcomes", n)
		}
		if bare := resolver().Resolve(ask(intent)); o.Plan != nil && o.Plan.Actuates() && bare.Plan != nil && !bare.Plan.Actuates() {
			t.Fatalf("%q only looks, and acts beside %q", intent, line)
		}
	})
}

// one returns how many of the three kinds of outcome there are.
func one(o capabilities.Outcome) (n int) {
	for _, is := range []bool{o.Plan != nil, o.Question != nil, o.Refusal != nil} {
		if is {
			n++
		}
	}
	return n
}
