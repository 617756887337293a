package format_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/mess"
)

// vector is a mail and the error in it.
type vector struct {
	Name, Body, Strict, Lenient string
	Mail                        format.Mail
}

func vectors(t testing.TB) []vector {
	t.Helper()
	f, err := os.Open("testdata/messages.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []vector
	for s := bufio.NewScanner(f); s.Scan(); {
		var v vector
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	if len(all) < 12 {
		t.Fatalf("%d vectors, want 12 at least", len(all))
	}
	return all
}

func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		for profile, want := range map[format.Profile]string{format.Strict: v.Strict, format.Lenient: v.Lenient} {
			m, err := format.Parse(v.Body, v.Mail, profile)
			if want != "" {
				if err == nil || !regexp.MustCompile(want).MatchString(err.Error()) || m.Body != nil {
					t.Errorf("%s, profile %d: %v, want %s", v.Name, profile, err, want)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s, profile %d: %v", v.Name, profile, err)
				continue
			}
			same(t, v, m, profile == format.Strict)
		}
	}
}

// same checks that the encoded message has all fields of the parsed one.
func same(t *testing.T, v vector, m format.Message, whole bool) {
	t.Helper()
	text, err := m.JSON()
	if err != nil {
		t.Errorf("%s: %v", v.Name, err)
		return
	}
	again, err := format.Parse(string(text), v.Mail, format.Strict)
	if diff := cmp.Diff(m, again, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(format.Message{}, "Notes")); err != nil || diff != "" {
		t.Errorf("%s: %v %s", v.Name, err, diff)
	}
	body := v.Body[strings.IndexByte(v.Body, '{') : strings.LastIndexByte(v.Body, '}')+1]
	var in, out map[string]any
	if err := errors.Join(json.Unmarshal([]byte(strings.ReplaceAll(body, `"shared"`, `"shared_read"`)), &in), json.Unmarshal(text, &out)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out); whole && diff != "" {
		t.Errorf("%s: %s", v.Name, diff)
	}
}

// examples are the complete messages in the specification.
func examples(t testing.TB) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for _, v := range vectors(t) {
		if name, ok := strings.CutPrefix(v.Name, "section "); ok {
			var o map[string]any
			if err := json.Unmarshal([]byte(v.Body), &o); err != nil {
				t.Fatal(err)
			}
			all[name] = o
		}
	}
	if len(all) != 6 {
		t.Fatalf("%d types, want 6", len(all))
	}
	return all
}

func parse(o map[string]any, p format.Profile) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = format.Parse(string(text), format.Mail{}, p)
	return err
}

// Parse checks every field: it rejects a value of another kind, and a message without a required
// field.
func TestEveryFieldIsValidated(t *testing.T) {
	required := map[string][]string{
		"task_assignment": {"task_id", "description", "specification", "file_patterns", "priority", "priority_value"},
		"task_completion": {"task_id", "status", "completion_summary", "files_modified", "test_results", "errors_encountered"},
		"error_report":    {"task_id", "severity", "error", "reproduction_steps", "needs_human_intervention"},
		"status_update":   {"task_id", "update_type", "status_summary", "blockers"},
		"coordination_request": {
			"request_type", "participants", "coordination_topic",
		},
		"file_reservation": {"task_id", "reservation_request"},
	}
	for name, o := range examples(t) {
		must := append([]string{"version", "timestamp", "sender_id", "message_id", "type"}, required[name]...)
		for key, value := range o {
			delete(o, key)
			err := parse(o, format.Strict)
			missing := err != nil && strings.Contains(err.Error(), "Missing required field: "+key)
			if need := contains(must, key); need != missing {
				t.Errorf("%s without %s: %v", name, key, err)
			}
			for _, wrong := range []any{map[string]any{"a": 1}, []any{1}, true, 7.5, "?"} {
				if sameKind(value, wrong) {
					continue
				}
				o[key] = wrong
				if err := parse(o, format.Strict); err == nil && key != "metrics" {
					t.Errorf("%s with %s: %v is taken", name, key, wrong)
				}
			}
			o[key] = value
		}
	}
}

func contains(list []string, one string) bool {
	for _, s := range list {
		if s == one {
			return true
		}
	}
	return false
}

// sameKind reports whether two JSON values have the same kind.
func sameKind(a, b any) bool {
	switch a.(type) {
	case map[string]any:
		_, ok := b.(map[string]any)
		return ok
	case []any:
		_, ok := b.([]any)
		return ok
	case bool:
		_, ok := b.(bool)
		return ok
	case float64:
		_, ok := b.(float64)
		return ok
	}
	_, ok := b.(string)
	return ok
}

// The parser never guesses a field that decides about an action, and rejects a message that
// contradicts itself.
func TestInvalidMessagesAreRejected(t *testing.T) {
	const head = `"version":"1.0.0","timestamp":"2025-12-25T12:00:00Z","sender_id":"a","message_id":"m",`
	task := func(more string) string {
		return `{` + head + `"type":"task_assignment","task_id":"t","description":"d","specification":{"acceptance_criteria":[]},"file_patterns":[],` + more + `}`
	}
	for _, c := range []struct {
		body, strict, lenient string // "" for no error
	}{
		{task(`"priority":"high","priority_value":1`), "", ""},
		{task(`"priority":"high","priority_value":2`), "priority_value mismatch: high is 1, not 2", ""},
		{task(`"priority":"high","priority_value":9`), "out of range", "out of range"},
		{task(`"priority":"asap","priority_value":1`), `"asap" is not one of low, normal, high, urgent`, `"asap" is not one of`},
		{task(`"priority_value":1`), "Missing required field: priority", "Missing required field: priority"},
		{task(`"priority":"high","priority":"low","priority_value":1`), "priority", "priority"},
		{task(`"priority":"high","priority_value":1,"deadline":"tomorrow"`), "deadline", "deadline"},
		{task(`"priority":"high","priority_value":1,"deadline":"2025-12-25T12:00:00"`), "deadline", "deadline"},
		{task(`"priority":"high","priority_value":1,"dependencies":[1]`), "dependencies: is not an array of strings", "dependencies"},
		{task(`"priority":"high","priority_value":1,"metadata":{"labels":"x"}`), "metadata.labels", "metadata.labels"},
		{task(`"priority":"high","priority_value":1,"metadata":{"mess":"{\"confirm_before\":true}"}`), "metadata.mess: is not an object", "metadata.mess"},
		{task(`"priority":"high","priority_value":1,"metadata":{"mess":[{"confirm_before":true}]}`), "metadata.mess: is not an object", "metadata.mess"},
		{task(`"priority":"high","priority_value":1,"unknown":{"kept":true}`), "", ""},
		{`{"type":"task_assignment","task_id":"t","description":"d","priority":"low"}`, "Missing required field: version", "sender_id"},
		{`{` + head + `"type":"file_reservation","task_id":"t","reservation_request":{"mode":"shared","file_patterns":["a"],"duration_minutes":1}}`, "", ""},
		{`{` + head + `"type":"file_reservation","task_id":"t","reservation_request":{"mode":"mine","file_patterns":[],"duration_minutes":0}}`, "mode.*file_patterns.*duration_minutes", "mode.*file_patterns.*duration_minutes"},
		{`{` + head + `"type":"status_update","task_id":"t","status_summary":"s","update_type":"progress","blockers":[],"progress":{"percentage":101}}`, "progress.percentage: 101 is out of range", "progress.percentage"},
		{`{` + head + `"type":"error_report","task_id":"t","severity":"high","error":{"message":"m"},"reproduction_steps":[],"needs_human_intervention":"yes"}`, "error.code.*needs_human_intervention: is not true or false", "error.code"},
		{`{` + head + `"type":"coordination_request","request_type":"sync","participants":[],"coordination_topic":"x"}`, "participants: is not an array of at least one", "participants"},
		{`{` + head + `"type":"lunch"}`, "unknown_message_type", "unknown_message_type"},
		{`{` + head + `"type":7}`, "Missing required field: type", "Missing required field: type"},
		{strings.Replace(task(`"priority":"low","priority_value":3`), "1.0.0", "1.9.3", 1), "", ""},
		{strings.Replace(task(`"priority":"low","priority_value":3`), "1.0.0", "2.0.0", 1), "version_mismatch: messkit does not understand version 2.0.0", "version_mismatch"},
		{strings.Replace(task(`"priority":"low","priority_value":3`), "1.0.0", "one", 1), "MAJOR.MINOR.PATCH", "MAJOR.MINOR.PATCH"},
		{strings.Replace(task(`"priority":"low","priority_value":3`), `"m"`, `"`+strings.Repeat("m", 129)+`"`, 1), "message_id: is longer", "message_id: is longer"},
		{"hello", "not one message in JSON", "not one message in JSON"},
		{"", "not one message in JSON", "not one message in JSON"},
		{"[]", "not one message in JSON", "not one message in JSON"},
		{"{", "not JSON", "not JSON"},
		{task(`"priority":"low","priority_value":3`) + "{}", "more after the end", "more after the end"},
		{"see:\n```json\n" + task(`"priority":"low","priority_value":3`) + "\n```\nthanks", "", ""},
		{"```json\n{}\n```\n```json\n{}\n```", "not one message in JSON", "not one message in JSON"},
		{strings.Repeat(`{"a":`, 200), "", "x"},
	} {
		for profile, want := range map[format.Profile]string{format.Strict: c.strict, format.Lenient: c.lenient} {
			_, err := format.Parse(c.body, format.Mail{}, profile)
			if strings.HasPrefix(c.body, `{"a":{`) {
				want = "."
			}
			if want == "" && err != nil || want != "" && (err == nil || !regexp.MustCompile(want).MatchString(err.Error())) {
				t.Errorf("%.200s, profile %d: %v, want %q", c.body, profile, err, want)
			}
		}
	}
}

// Every bad message gets a report, but a bad error report gets none.
func TestInvalidMessagesGetReports(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	mail := format.Mail{From: "a", ThreadID: "thread-1", ID: "7"}
	for _, c := range []struct {
		body, code, task, message string
		mail                      format.Mail
	}{
		{`{"type":"task_assignment"}`, "invalid_format", "thread-1", "7", mail},
		{`{"type":"task_assignment","message_id":"m","task_id":"t"}`, "invalid_format", "t", "m", mail},
		{`{"type":"lunch","message_id":"m"}`, "unknown_message_type", "thread-1", "m", mail},
		{`{"type":"status_update","version":"3.0.0"}`, "version_mismatch", "unknown", "", format.Mail{}},
		{`hello`, "invalid_format", "thread-1", "7", mail},
		{`{"type":"error_report"}`, "", "", "", mail},
		{`{"type":"error_report","version":"3.0.0"}`, "", "", "", mail},
		{`{"type":"error_re`, "", "", "", format.Mail{Subject: "Re: [error_report] bd-42"}},
	} {
		_, err := format.Parse(c.body, c.mail, format.Strict)
		bad, ok := errors.AsType[*format.Invalid](err)
		if !ok {
			t.Fatalf("%s: %v", c.body, err)
		}
		m, ok := bad.Report("kitchen-pi", "msg-1", now)
		if ok != (c.code != "") {
			t.Errorf("%s: a report: %v", c.body, ok)
		}
		if !ok {
			continue
		}
		text, err := m.JSON()
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		if _, err := format.Parse(string(text), format.Mail{}, format.Strict); err != nil {
			t.Errorf("the report is none: %v", err)
		}
		r := m.Body.(*format.ErrorReport)
		about, _ := r.Error.Context.Get("message_id")
		if r.Error.Code != c.code || r.TaskID != c.task || about != c.message || r.Error.Message == "" {
			t.Errorf("%s: %s", c.body, text)
		}
	}
}

// Parse rejects a message whose mail has another sender.
func TestWrongSenderIsRejected(t *testing.T) {
	body := ""
	for _, v := range vectors(t) {
		if v.Name == "section status_update" {
			body = v.Body
		}
	}
	if _, err := format.Parse(body, format.Mail{From: "Database-Engineer"}, format.Strict); err != nil {
		t.Error(err)
	}
	_, err := format.Parse(body, format.Mail{From: "mallory"}, format.Strict)
	if bad, ok := errors.AsType[*format.Invalid](err); !ok || bad.Code != format.CodeSenderMismatch {
		t.Errorf("%v", err)
	}
}

// JSON follows the specification strictly.
func TestJSONIsStrict(t *testing.T) {
	m := format.Message{Version: format.Version, Timestamp: "2026-11-21T12:00:00Z", SenderID: "a", MessageID: "m", Type: format.TypeTaskAssignment}
	for _, body := range []format.Body{nil, &format.StatusUpdate{}, &format.TaskAssignment{TaskID: "t", Priority: format.Low}} {
		m.Body = body
		if text, err := m.JSON(); err == nil {
			t.Errorf("%s", text)
		}
	}
	m.Body = &format.TaskAssignment{TaskID: "t", Description: "d", Priority: format.Urgent, Metadata: mess.Object{{Key: "mess", Value: mess.Object{{Key: "confirm_before", Value: true}}}}}
	if text, err := m.JSON(); err != nil || !strings.Contains(string(text), `"file_patterns":[]`) || !strings.Contains(string(text), `"priority_value":0`) {
		t.Errorf("%s, %v", text, err)
	}
}

// FuzzParse: after an error there is no message but one report, and an encoded message parses to
// the same message.
func FuzzParse(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.Body, v.Mail.From, v.Mail.Subject)
	}
	f.Add("```json\n{}\n```", "a", "[error_report] x")
	f.Fuzz(func(t *testing.T, body, from, subject string) {
		mail := format.Mail{From: from, Subject: subject, ID: "7", Created: time.Unix(0, 0)}
		for _, p := range []format.Profile{format.Strict, format.Lenient} {
			m, err := format.Parse(body, mail, p)
			if err != nil {
				bad, ok := errors.AsType[*format.Invalid](err)
				if !ok || m.Body != nil || bad.Details == "" {
					t.Fatalf("%v, %v", m, err)
				}
				if r, ok := bad.Report("a", "m", time.Unix(0, 0)); ok {
					if _, err := r.JSON(); err != nil {
						t.Errorf("%v: %v", bad, err)
					}
				}
				continue
			}
			text, err := m.JSON()
			if err != nil {
				if p == format.Strict {
					t.Errorf("%v", err)
				}
				continue
			}
			again, err := format.Parse(string(text), mail, format.Strict)
			if diff := cmp.Diff(m, again, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(format.Message{}, "Notes")); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
		}
	})
}

// FuzzReports: the items of a message are valid, or there is an error.
func FuzzReports(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.Body)
	}
	head := `{"version":"1.0.0","timestamp":"2026-11-22T00:00:00Z","sender_id":"a","message_id":"m",`
	f.Add(head + `"type":"status_update","task_id":"t","update_type":"blocker","status_summary":"","blockers":[{"a":1}],"metadata":{"mess":{"status":{"code":"claimed"},"items":[{"x":1}]}}}`)
	f.Add(head + `"type":"task_completion","task_id":"t","status":"blocked","completion_summary":"","files_modified":[],"test_results":{},"errors_encountered":["cancelled"],"metadata":{"mess":{"content":["x",{"image":"data:,"}]}}}`)
	f.Fuzz(func(t *testing.T, body string) {
		m, err := format.Parse(body, format.Mail{From: "a", ID: "7", Created: time.Unix(0, 0)}, format.Lenient)
		if err != nil {
			return
		}
		items, err := format.Reports(m, time.Unix(0, 0))
		if err != nil && items != nil {
			t.Errorf("%v with %v", items, err)
		}
		message := mess.Message{Re: mess.Refs{"t"}, Items: items}
		for _, b := range (format.ReportContext{Task: "t", To: "a"}).Bodies(message) {
			out := format.Message{Version: format.Version, Timestamp: "2026-11-22T00:00:00Z", SenderID: "b", MessageID: "m", Type: b.Type(), Body: b}
			if _, err := out.JSON(); err != nil && message.Validate() == nil {
				t.Errorf("%s: %v", body, err)
			}
		}
		if a, ok := m.Body.(*format.TaskAssignment); ok {
			_, _ = a.Request(func(string) bool { return true }) // it must not panic
		}
	})
}
