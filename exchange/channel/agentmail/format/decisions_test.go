package format_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/mess"
)

// messageText returns a message of a type with some fields.
func messageText(kind, members string) string {
	return `{"version":"1.0.0","timestamp":"2025-12-25T12:00:00Z","sender_id":"a","message_id":"m","type":"` + kind + `",` + members + `}`
}

// bodies are the required fields of each type.
var bodies = map[string]string{
	"task":   `"task_id":"t","description":"d","specification":{"acceptance_criteria":[]},"file_patterns":[],"priority":"low","priority_value":3`,
	"done":   `"task_id":"t","status":"complete","completion_summary":"","files_modified":[],"test_results":{},"errors_encountered":[]`,
	"report": `"task_id":"t","error":{"code":"c","message":"m"},"reproduction_steps":[]`,
	"update": `"task_id":"t","status_summary":"s","blockers":[]`,
}

func must[B format.Body](t *testing.T, text string) (format.Message, B) {
	t.Helper()
	m, err := format.Parse(text, format.Mail{}, format.Strict)
	b, ok := m.Body.(B)
	if err != nil || !ok {
		t.Fatalf("%s: %v", text, err)
	}
	return m, b
}

func refused(t *testing.T, text string, mail format.Mail, p format.Profile) *format.Invalid {
	t.Helper()
	m, err := format.Parse(text, mail, p)
	bad, ok := errors.AsType[*format.Invalid](err)
	if !ok || m.Body != nil {
		t.Fatalf("%s: %v, %v", text, m, err)
	}
	return bad
}

// The specification contradicts itself or is silent in twenty places, and the decisions D1 to D20
// resolve them. Each has a test with its name here or in package agentmail (TestDecisions there).
func TestDecisions(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"D1 any message_id":              anyMessageID,
		"D2 abridged examples":           abridged,
		"D3 shared":                      sharedIsRead,
		"D5 two priorities":              twoPriorities,
		"D6 one error report":            oneReport,
		"D7 its task":                    taskOfReport,
		"D8 empty arrays":                emptyArrays,
		"D9 in reply to":                 inReplyTo,
		"D10 version mismatch":           versionMismatch,
		"D11 unknown type":               unknownType,
		"D12 dependencies come first":    dependencies,
		"D13 ends without a status":      endsWithoutStatus,
		"D14 severity and intervention":  independent,
		"D15 free results":               freeResults,
		"D16 progress on any update":     progressOnAny,
		"D17 access modes":               accessModes,
		"D18 times with an offset":       timesWithOffset,
		"D19 the sender is who has sent": senderIsFrom,
	} {
		t.Run(name, test)
	}
}

func anyMessageID(t *testing.T) {
	for _, id := range []string{"msg-123e4567-e89b-12d3-a456-426614174000", "7", strings.Repeat("m", 128)} {
		if m, _ := must[*format.TaskAssignment](t, strings.Replace(messageText("task_assignment", bodies["task"]), `"m"`, `"`+id+`"`, 1)); m.MessageID != id {
			t.Error(m.MessageID)
		}
	}
	for _, id := range []string{"", strings.Repeat("m", 129)} {
		refused(t, strings.Replace(messageText("task_assignment", bodies["task"]), `"m"`, `"`+id+`"`, 1), format.Mail{}, format.Strict)
	}
}

func abridged(t *testing.T) {
	const text = `{"type":"task_assignment","task_id":"bd-42","description":"d","file_patterns":[],"priority":"high"}`
	mail := format.Mail{From: "boss_1", ID: "7", Created: time.Unix(0, 0)}
	if bad := refused(t, text, mail, format.Strict); !strings.Contains(bad.Details, "Missing required field: version") || !strings.Contains(bad.Details, "specification") {
		t.Error(bad.Details)
	}
	m, err := format.Parse(text, mail, format.Lenient)
	if err != nil || m.Version != "1.0.0" || m.Timestamp != "1970-01-01T00:00:00Z" || m.MessageID != "7" || m.SenderID != "boss_1" {
		t.Errorf("%+v, %v", m, err)
	}
	for _, never := range []string{`"type":"task_assignment",`, `"task_id":"bd-42",`, `"description":"d",`, `,"priority":"high"`} {
		refused(t, strings.Replace(text, never, "", 1), mail, format.Lenient)
	}
}

func sharedIsRead(t *testing.T) {
	const text = `"task_id":"t","reservation_request":{"mode":"shared","file_patterns":["a"],"duration_minutes":1},"alternatives":[{"pattern":"b","mode":"shared"}]`
	m, b := must[*format.FileReservation](t, messageText("file_reservation", text))
	if b.Request.Mode != format.SharedRead || b.Alternatives[0].Mode != format.SharedRead || len(m.Notes) != 1 {
		t.Errorf("%+v, %q", b, m.Notes)
	}
	if out, err := m.JSON(); err != nil || strings.Contains(string(out), `"shared"`) {
		t.Errorf("%s, %v", out, err)
	}
	for _, change := range []func(){func() { b.Request.Mode = "shared" }, func() { b.Request.Mode, b.Alternatives[0].Mode = format.Exclusive, "shared" }} {
		if change(); true {
			if out, err := m.JSON(); err == nil {
				t.Errorf("%s goes out", out)
			}
		}
	}
	for _, alternative := range []string{`{"pattern":"b","mode":"mine"}`, `{"pattern":"b"}`, `{"mode":"exclusive"}`} {
		refused(t, messageText("file_reservation", strings.Replace(text, `{"pattern":"b","mode":"shared"}`, alternative, 1)), format.Mail{}, format.Lenient)
	}
}

func twoPriorities(t *testing.T) {
	text := messageText("task_assignment", strings.Replace(bodies["task"], `"priority_value":3`, `"priority_value":0`, 1))
	if bad := refused(t, text, format.Mail{}, format.Strict); bad.Code != "invalid_format" || !strings.Contains(bad.Details, "priority_value mismatch") {
		t.Error(bad)
	}
	m, err := format.Parse(text, format.Mail{}, format.Lenient)
	if err != nil || m.Body.(*format.TaskAssignment).PriorityValue != 3 || len(m.Notes) != 1 {
		t.Errorf("%+v, %v", m, err)
	}
}

// reportOn returns the error report about a message.
func reportOn(t *testing.T, text string, mail format.Mail) *format.ErrorReport {
	t.Helper()
	m, ok := refused(t, text, mail, format.Strict).Report("kitchen_1", "msg-1", time.Unix(0, 0))
	if !ok {
		t.Fatalf("%s has no report", text)
	}
	out, err := m.JSON()
	if err != nil {
		t.Fatal(err)
	}
	_, b := must[*format.ErrorReport](t, string(out))
	return b
}

func contextOf(e *format.ErrorReport, key string) string {
	v, _ := e.Error.Context.Get(key)
	s, _ := v.(string)
	return s
}

func oneReport(t *testing.T) {
	e := reportOn(t, messageText("task_assignment", strings.Replace(bodies["task"], `"task_id":"t",`, "", 1)), format.Mail{})
	if e.Error.Code != "invalid_format" || e.Error.Message != "Missing required field: task_id" || contextOf(e, "message_id") != "m" || contextOf(e, "details") != e.Error.Message {
		t.Errorf("%+v", e.Error)
	}
}

func taskOfReport(t *testing.T) {
	bad := strings.Replace(bodies["task"], `"description":"d",`, "", 1)
	without := strings.Replace(bad, `"task_id":"t",`, "", 1)
	for _, c := range []struct{ text, thread, want string }{{bad, "bd-9", "t"}, {without, "bd-9", "bd-9"}, {without, "", "unknown"}} {
		if e := reportOn(t, messageText("task_assignment", c.text), format.Mail{ThreadID: c.thread}); e.TaskID != c.want {
			t.Errorf("%s in %q: %s", c.text, c.thread, e.TaskID)
		}
	}
}

func emptyArrays(t *testing.T) {
	must[*format.TaskAssignment](t, messageText("task_assignment", bodies["task"]))
	must[*format.TaskCompletion](t, messageText("task_completion", bodies["done"]))
	must[*format.StatusUpdate](t, messageText("status_update", bodies["update"]+`,"update_type":"progress"`))
	must[*format.ErrorReport](t, messageText("error_report", bodies["report"]+`,"severity":"low","needs_human_intervention":false`))
	e := reportOn(t, messageText("task_assignment", `"task_id":"t"`), format.Mail{})
	if len(e.ReproductionSteps) == 0 {
		t.Error("a report of ours has no steps")
	}
	for _, b := range (format.ReportContext{Task: "t", To: "a"}).Bodies(mess.Message{Items: []mess.Item{&mess.Status{Code: mess.Failed}}}) {
		if e, ok := b.(*format.ErrorReport); ok && len(e.ReproductionSteps) == 0 {
			t.Error("a failure of ours has no steps")
		}
	}
}

func inReplyTo(t *testing.T) {
	for _, text := range []string{
		messageText("status_update", bodies["update"]+`,"update_type":"progress","metadata":{"in_reply_to":"m-1"}`),
		messageText("error_report", bodies["report"]+`,"severity":"low","needs_human_intervention":false,"metadata":{"in_reply_to":"m-1"}`),
	} {
		m, err := format.Parse(text, format.Mail{}, format.Strict)
		if err != nil || format.InReplyTo(m.Body) != "m-1" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func versionMismatch(t *testing.T) {
	e := reportOn(t, strings.Replace(messageText("task_assignment", bodies["task"]), "1.0.0", "2.1.0", 1), format.Mail{})
	if e.Error.Code != "version_mismatch" || contextOf(e, "received") != "2.1.0" || contextOf(e, "supported") != "1.0.0" {
		t.Errorf("%+v", e.Error)
	}
	must[*format.TaskAssignment](t, strings.Replace(messageText("task_assignment", bodies["task"]), "1.0.0", "1.7.2", 1))
}

func unknownType(t *testing.T) {
	if e := reportOn(t, messageText("lunch", `"task_id":"t"`), format.Mail{}); e.Error.Code != "unknown_message_type" || contextOf(e, "message_id") != "m" {
		t.Errorf("%+v", e.Error)
	}
	for _, text := range []string{messageText("error_report", `"task_id":"t"`), strings.Replace(messageText("error_report", bodies["report"]), "1.0.0", "9.0.0", 1)} {
		if m, ok := refused(t, text, format.Mail{}, format.Strict).Report("kitchen_1", "msg-1", time.Unix(0, 0)); ok {
			t.Errorf("%s is answered by %+v", text, m.Body)
		}
	}
}

func dependencies(t *testing.T) {
	_, a := must[*format.TaskAssignment](t, messageText("task_assignment", bodies["task"]+`,"dependencies":["bd-40","bd-41"]`))
	r, err := a.Request(func(string) bool { return false })
	if err != nil || r.Constraints == nil || strings.Join(r.Constraints.DependsOn, " ") != "bd-40 bd-41" {
		t.Errorf("%+v, %v", r.Constraints, err)
	}
}

func endsWithoutStatus(t *testing.T) {
	for _, code := range []mess.Code{mess.Failed, mess.Declined, mess.Expired, mess.Cancelled} {
		all := (format.ReportContext{Task: "t", To: "a"}).Bodies(mess.Message{Items: []mess.Item{&mess.Status{Code: code}}})
		c, ok := all[len(all)-1].(*format.TaskCompletion)
		if !ok || c.Status != "blocked" || len(c.Errors) == 0 || c.Errors[0] != string(code) {
			t.Errorf("%s ends with %+v", code, c)
		}
		if code == mess.Cancelled {
			continue // which is no error
		}
		if e, ok := all[0].(*format.ErrorReport); !ok || len(all) != 2 || e.Severity != "blocking" || e.Error.Code != string(code) {
			t.Errorf("%s: %+v", code, all)
		}
	}
}

func independent(t *testing.T) {
	for _, severity := range []string{"low", "medium", "high", "blocking"} {
		for _, person := range []bool{true, false} {
			_, e := must[*format.ErrorReport](t, messageText("error_report", fmt.Sprintf(`%s,"severity":"%s","needs_human_intervention":%t`, bodies["report"], severity, person)))
			if e.Severity != severity || e.NeedsHumanIntervention != person {
				t.Errorf("%+v", e)
			}
		}
	}
}

func freeResults(t *testing.T) {
	must[*format.ErrorReport](t, messageText("error_report", bodies["report"]+`,"severity":"low","needs_human_intervention":false,"attempted_solutions":[{"solution":"x","result":"so-so","details":"y"}]`))
}

func progressOnAny(t *testing.T) {
	for _, kind := range []string{"progress", "milestone", "blocker", "unblocker"} {
		_, u := must[*format.StatusUpdate](t, messageText("status_update", bodies["update"]+`,"update_type":"`+kind+`","progress":{"percentage":70}`))
		if u.Progress == nil || *u.Progress.Percentage != 70 {
			t.Errorf("%s: %+v", kind, u.Progress)
		}
	}
}

func accessModes(t *testing.T) {
	must[*format.CoordinationRequest](t, messageText("coordination_request", `"request_type":"sync","participants":["a"],"coordination_topic":"x","shared_resources":[{"type":"files","patterns":["a"],"access_mode":"append"}]`))
}

func timesWithOffset(t *testing.T) {
	for at, want := range map[string]bool{"2025-12-25T12:00:00Z": true, "2025-12-25T14:00:00+02:00": true, "2025-12-25T12:00:00": false, "2025-12-25": false} {
		_, err := format.Parse(strings.Replace(messageText("task_assignment", bodies["task"]), "2025-12-25T12:00:00Z", at, 1), format.Mail{}, format.Strict)
		if (err == nil) != want {
			t.Errorf("%s: %v", at, err)
		}
	}
	m, _ := refused(t, messageText("lunch", `"a":1`), format.Mail{}, format.Strict).Report("k", "m", time.Date(2025, 12, 25, 14, 0, 0, 0, time.FixedZone("", 7200)))
	if m.Timestamp != "2025-12-25T12:00:00Z" {
		t.Error(m.Timestamp)
	}
}

func senderIsFrom(t *testing.T) {
	text := messageText("task_assignment", bodies["task"])
	if bad := refused(t, text, format.Mail{From: "b"}, format.Lenient); bad.Code != "sender_mismatch" {
		t.Error(bad)
	}
	if _, err := format.Parse(text, format.Mail{From: "A"}, format.Strict); err != nil {
		t.Error(err)
	}
}
