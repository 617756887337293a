package mess_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/mess"
)

// every contains an item of each type with all fields, in print order, followed by unknown
// ones.
var every = []string{
	`{"request":{"id":"a","intent":"look","precision":"exact","needed_by":"2026-02-08T23:00:00-08:00","confirm_before":false,"requires":["x",{"y":{"level":"expert"}}],"context":["t"],"constraints":{"location":{"lat":1.5,"lng":2,"radius_km":3,"odd":1},"timing":{"not_before":"2026-02-08T22:00:00Z","expires":"PT2H","urgency":"now","odd":2},"environment":["daylight","indoor"],"depends_on":["b"],"odd":3},"response_hint":["text",{"image":"of it"}],"priority":"urgent","compensation":{"shells":0,"note":"n","odd":4},"odd":{"z":[],"a":{}}}}`,
	`{"reply":{"id":"a","re":"b","answers":{"z":"both","a":[1,true,null]},"confirm":false,"accept":true,"reason":"r","context":[{"image":"https://a"}],"odd":1}}`,
	`{"answer":{"id":"a","re":"b","value":{"x":[1]},"odd":1}}`,
	`{"cancel":{"id":"a","re":["b","c"],"reason":"r","odd":1}}`,
	`{"query":{"id":"a","type":"status","filter":{"re":"b","status":["claimed","in_progress"],"executor":"e","since":"2026-01-31T16:45:00-08:00","tags":["visual"],"odd":1},"odd":2}}`,
	`{"config":{"id":"a","executor":{"id":"e","name":"n","capabilities":["x",{"y":{"variants":["fdm"]}}],"availability":"schedule","schedule":"0 8-22 * * *","versions":["1.0.0","1.1.0"],"holding":[{"ref":"b","epoch":3,"odd":1}],"odd":2},"odd":3}}`,
	`{"config":{"routing":{"rules":[{"match":{"capability":"x","urgency":"soon","precision":"loose","odd":1},"prefer":["e","f"],"odd":2}],"odd":3}}}`,
	`{"config":{"stop":{"id":"s","why":"w","by":"b","at":"2026-01-31T17:00:00Z","executors":["e"],"odd":1}}}`,
	`{"config":{"hold":{"id":"s","why":"w","by":"b","at":"2026-01-31T17:00:00Z","executors":["e"],"odd":1}}}`,
	`{"config":{"resume":{"why":"w","executors":["e"]}}}`,
	`{"config":{"hold":true}}`,
	`{"config":{"executor":{"id":"e","stopped":{"orders":["s"],"why":"w","odd":1},"held":{"orders":["h"],"why":"w","odd":1}}}}`,
	`{"ack":{"re":"e","hold":{"id":"h","why":"w"},"resume":true}}`,
	`{"ack":{"id":"a","re":"last","ref":"b","received_at":"2026-01-31T17:00:00-08:00","queue_position":0,"status":"pending","epoch":1,"lease":"PT30S","threads":[{"ref":"b","epoch":2,"status":"claimed","yours":false,"stop":true,"lease":"PT30S","odd":1}],"odd":2}}`,
	`{"ack":{"requests":[{"id":"a","ref":"2026-01-31-001","odd":1},{"id":"b","ref":"2026-01-31-002"}],"received_at":"2026-01-31T17:00:00-08:00"}}`,
	`{"status":{"id":"a","re":"b","code":"received","executor":"e","message":"m","queue_position":3,"exchange_id":"x","odd":1}}`,
	`{"status":{"re":"b","code":"claimed","executor":"e","eta":"45m","estimate":"PT45M"}}`,
	`{"status":{"re":"b","code":"in_progress","eta":"17:30:00","progress_pct":35.5,"partial":{"layer":105,"total_layers":300}}}`,
	`{"status":{"re":"b","code":"waiting","waiting_for":{"type":"condition","ref":["c","d"],"condition":"daylight","eta":"7h","resource":"PLA","location":"l","note":"n","available_at":"2026-01-31T17:00:00Z","odd":1}}}`,
	`{"status":{"re":"b","code":"held","reason":"r","resume_eta":"1h"}}`,
	`{"status":{"re":"b","code":"retrying","attempt":1,"max_attempts":3,"next_attempt":"2026-01-31T17:00:00Z"}}`,
	`{"status":{"re":"b","code":"needs_input","questions":[{"field":"location","question":"Which?","options":["near sink","by stove"],"odd":1},{"id":"q2","question":"When?"}]}}`,
	`{"status":{"re":"b","code":"needs_confirmation","action":"x","consequences":"y","reversible":false,"action_hash":"h","confirm_by":"operator"}}`,
	`{"status":{"re":"b","code":"completed","epoch":3,"evidence":"read_back"}}`,
	`{"status":{"re":"b","code":"partial","reason":{"type":"t","detail":"d","effect":"partial","odd":1},"completed":["main area"],"remaining":[]}}`,
	`{"status":{"re":"b","code":"failed","reason":{"type":"t","effect":"unknown"},"recoverable":false,"suggestion":"look"}}`,
	`{"status":{"re":"b","code":"declined","reason":"busy"}}`,
	`{"status":{"re":"b","code":"expired","expired_at":"2026-01-31T17:00:00Z","stage":"claimed"}}`,
	`{"status":{"re":"b","code":"cancelled","reason":"r"}}`,
	`{"status":{"re":"b","code":"superseded","reason":"merge","superseded_by":"c"}}`,
	`{"status":{"re":"b","code":"delegated","reason":"r","delegated_to":"f"}}`,
	`{"response":{"id":"a","re":"b","executor":"e","completed_at":"2026-01-31T16:45:00-08:00","content":["x",{"confirmation":true}],"notes":"n","odd":1}}`,
	`{"suggestion":{"id":"sug:merge","type":"merge","re":["b","c"],"proposed":{"executor":"e","combined_intent":"i"},"reason":"r","odd":1}}`,
	`{"review":{"stars":5,"of":["b"]}}`,
	`{"review":"text"}`,
	`{"review":null}`,
	`{"x-vendor:thing":[1,{"a":null}]}`,
}

func TestEveryFieldOfEveryType(t *testing.T) {
	for _, item := range append(every, strings.Join(every, ",")) {
		t.Run(item[2:strings.IndexByte(item, ':')-1], func(t *testing.T) {
			text := `{"MESS":[` + item + `]}`
			m := parse(t, []byte(text))
			if err := m.Validate(); err != nil {
				t.Errorf("not valid: %v", err)
			}
			roundTrip(t, text)
			if js, err := m.JSON(); err != nil || string(js) != text {
				t.Errorf("JSON is not as written:\ngot  %s (%v)\nwant %s", js, err, text)
			}
		})
	}
}

// The package keeps fields of newer peers (MESS 1.1 section 5.1); the fields named odd
// above are unknown.
func TestUnknownFieldsAreKept(t *testing.T) {
	m := parse(t, []byte("- request:\n    intent: look\n    later: {z: 1.50, a: [~, no, 2026-01-31]}\n"))
	want := mess.Object{{Key: "later", Value: mess.Object{
		{Key: "z", Value: mess.Number("1.50")},
		{Key: "a", Value: []any{nil, "no", "2026-01-31"}},
	}}}
	if diff := cmp.Diff(want, m.Items[0].(*mess.Request).Extra); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	other, ok := parse(t, []byte("- review: {stars: 5}\n")).Items[0].(*mess.Other)
	if !ok || other.Kind() != "review" || !cmp.Equal(other.Value, any(mess.Object{{Key: "stars", Value: mess.Number("5")}})) {
		t.Errorf("got %#v", other)
	}
}

func TestSpellingsOfOtherImplementations(t *testing.T) {
	m := parse(t, []byte("- request: {intent: look, response_hints: [image, {text: list}]}\n- status: {re: a, code: in-progress}\n"+
		"- status: {re: a, code: rejected, reason: r}\n- query: {type: status, filter: {status: [needs-input]}}\n"))
	if diff := cmp.Diff([]mess.ResponseHint{{Type: "image"}, {Type: "text", Spec: "list"}}, m.Items[0].(*mess.Request).ResponseHint); diff != "" {
		t.Errorf("response_hints: -want +got\n%s", diff)
	}
	if got := m.Items[1].(*mess.Status).Code; got != mess.InProgress {
		t.Errorf("in-progress is read as %q", got)
	}
	if got := m.Items[2].(*mess.Status).Code; got != mess.Declined {
		t.Errorf("rejected is read as %q", got)
	}
	if got := m.Items[3].(*mess.Query).Filter.Status; !cmp.Equal(got, []mess.Code{mess.NeedsInput}) {
		t.Errorf("needs-input in a filter is read as %q", got)
	}
	if err := m.Validate(); err != nil {
		t.Error(err)
	}
	js, err := m.JSON()
	if err != nil || strings.Contains(string(js), "response_hints") || strings.Contains(string(js), "in-progress") {
		t.Errorf("not in the documents' spelling: %s, %v", js, err)
	}
}

// An unknown status remains as written, and Validate reports it.
func TestUnknownCode(t *testing.T) {
	m := parse(t, []byte("- status: {re: a, code: pondering-hard}\n"))
	if got := m.Items[0].(*mess.Status).Code; got != "pondering-hard" {
		t.Errorf("got %q", got)
	}
	if err := m.Validate(); err == nil || !strings.Contains(err.Error(), "[0].status.code: ") {
		t.Errorf("got %v", err)
	}
}

// Values of the wrong kind are errors with their position.
func TestWrongKindsAreErrors(t *testing.T) {
	for _, c := range []struct{ text, path string }{
		{"request: [a]", "[0].request"},
		{"request: look", "[0].request"},
		{"request: {intent: [a]}", "[0].request.intent"},
		{"request: {intent: {a: b}}", "[0].request.intent"},
		{"request: {intent: true}", "[0].request.intent"},
		{"request: {intent: x, confirm_before: 'true'}", "[0].request.confirm_before"},
		{"request: {intent: x, confirm_before: yes}", "[0].request.confirm_before"},
		{"request: {intent: x, confirm_before: 1}", "[0].request.confirm_before"},
		{"request: {intent: x, requires: [[a]]}", "[0].request.requires[0]"},
		{"request: {intent: x, requires: [a, {b: 1, c: 2}]}", "[0].request.requires[1]"},
		{"request: {intent: x, constraints: soon}", "[0].request.constraints"},
		{"request: {intent: x, constraints: {timing: now}}", "[0].request.constraints.timing"},
		{"request: {intent: x, constraints: {location: {lat: north}}}", "[0].request.constraints.location.lat"},
		{"request: {intent: x, constraints: {location: [1, 2]}}", "[0].request.constraints.location"},
		{"request: {intent: x, constraints: {environment: [{a: b}]}}", "[0].request.constraints.environment[0]"},
		{"request: {intent: x, compensation: {shells: 1.5}}", "[0].request.compensation.shells"},
		{"request: {intent: x, compensation: {shells: 99999999999999999999}}", "[0].request.compensation.shells"},
		{"request: {intent: x, compensation: 5}", "[0].request.compensation"},
		{"config: {hold: false}", "[0].config.hold"},
		{"config: {resume: false}", "[0].config.resume"},
		{"config: {hold: [a]}", "[0].config.hold"},
		{"config: {hold: now}", "[0].config.hold"},
		{"config: {hold: {why: [a]}}", "[0].config.hold.why"},
		{"reply: {re: a, confirm: yes}", "[0].reply.confirm"},
		{"reply: {re: a, confirm: 'true'}", "[0].reply.confirm"},
		{"reply: {re: a, confirm: 1}", "[0].reply.confirm"},
		{"reply: {re: a, answers: [b]}", "[0].reply.answers"},
		{"status: {re: a, code: claimed, epoch: -1}", "[0].status.epoch"},
		{"status: {re: a, code: claimed, epoch: 18446744073709551616}", "[0].status.epoch"},
		{"status: {re: a, code: in_progress, progress_pct: half}", "[0].status.progress_pct"},
		{"status: {re: a, code: needs_input, questions: [Which]}", "[0].status.questions[0]"},
		{"status: {re: a, code: waiting, waiting_for: rain}", "[0].status.waiting_for"},
		{"config: {executor: roomba}", "[0].config.executor"},
		{"ack: {requests: [a]}", "[0].ack.requests[0]"},
		{"query: {type: status, filter: all}", "[0].query.filter"},
	} {
		m, err := mess.Parse([]byte("MESS:\n- " + c.text + "\n"))
		if err == nil || !cmp.Equal(m, mess.Message{}) {
			t.Errorf("%s: %v, %v, want an error and no message", c.text, m, err)
		} else if want := fmt.Sprintf("line 2: %s: ", c.path); !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %q, want it to begin with %q", c.text, err, want)
		}
	}
}

// Two spellings of a field are one field, and nothing gets lost.
func TestTwoSpellingsAreOneField(t *testing.T) {
	m, err := mess.Parse([]byte("- request: {intent: look, response_hint: [image], response_hints: [text]}\n"))
	if err != nil {
		return // an error is valid, because the message has duplicates
	}
	js, err := m.JSON()
	if err != nil || !strings.Contains(string(js), "image") || !strings.Contains(string(js), "text") {
		t.Errorf("something is lost: %s, %v", js, err)
	}
}
