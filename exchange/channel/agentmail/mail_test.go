package agentmail_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/channel/agentmail"
	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/exchange/channel/agentmail/mailboxtest"
	"github.com/messkit/messkit/mess"
)

var bossOnly = agentmail.Config{Senders: []string{boss}}

func TestPhotoByMail(t *testing.T) {
	h := newFixture(t, server(t), "Kitchen-1", bossOnly)
	m := h.assign("bd-1", assignment("msg-1", "bd-1", "photo", `,"metadata":{"labels":["take-photo","frontend"]}`))
	end := h.until(boss, "bd-1", format.TypeTaskCompletion)
	c := body[*format.TaskCompletion](t, end)
	if c.Status != "complete" || !strings.Contains(c.Summary, "the fridge") || !strings.Contains(c.Summary, "photographed") || end.Thread != "bd-1" || !strings.HasPrefix(end.Subject, "[task_completion] bd-1 ") || end.SenderID != "Kitchen-1" {
		t.Errorf("%+v", end)
	}
	items, _, err := format.Carried(c)
	if err != nil || len(items) != 2 {
		t.Fatalf("%v %v", items, err)
	}
	media, _ := items[1].(*mess.Response).Content[1].Media()
	mime, data, _ := mess.ParseDataURI(media.URI)
	if mime != "image/jpeg" || !bytes.Equal(data, picture()) || media.CapturedAt == "" {
		t.Errorf("the picture is %s, %d bytes, %+v", mime, len(data), media.CapturedAt)
	}
	if !h.mail.Acknowledged(h.ctx, m.ID) {
		t.Error("not acknowledged")
	}
	th, err := h.x.Thread(t.Context(), operator, end.ref())
	if err != nil || th.Requester != "mail/"+boss || len(th.Needs.Requires) != 1 || th.ClientID != "bd-1" {
		t.Errorf("%+v %v", th.Envelope, err)
	}
}

// The executor acts once on duplicates, also after restarts, and if answers of the server get
// lost.
func TestDuplicatesAndLossesAreHarmless(t *testing.T) {
	mail := server(t)
	h := newFixture(t, mail, "Kitchen-1", bossOnly)
	var n atomic.Int32
	mail.Fail(func(_ string, after bool) error { // every other call fails, half of them after their work
		if i := n.Add(1); i%5 == 0 && after == (i%2 == 0) {
			return errors.New("gone")
		}
		return nil
	})
	for i := range 4 {
		task := fmt.Sprintf("bd-%d", i)
		h.assign(task, assignment("msg-"+task, task, "photo"))
		h.assign(task, assignment("msg-"+task, task, "photo"))
		h.end()
		h.open()
	}
	ends := func(all []agentMessage) map[string]int {
		count := map[string]int{}
		for _, one := range all {
			if one.Type == format.TypeTaskCompletion {
				count[format.TaskOf(one.Message.Body)]++
			}
		}
		return count
	}
	h.waitForMails(boss, func(all []agentMessage) bool { return len(ends(all)) == 4 })
	mail.Fail(nil)
	ids := map[string]bool{}
	for _, one := range h.waitForMails(boss, func([]agentMessage) bool { return true }) {
		if ids[one.MessageID] {
			t.Errorf("%s was sent twice", one.MessageID)
		}
		ids[one.MessageID] = true
	}
	if got := h.Acts(); len(got) != 4 {
		t.Errorf("done: %v", got)
	}
}

func TestDuplicateTaskIsAnsweredAgain(t *testing.T) {
	h := newFixture(t, server(t), "Kitchen-1", bossOnly)
	h.assign("bd-1", assignment("msg-1", "bd-1", "photo"))
	h.until(boss, "bd-1", format.TypeTaskCompletion)
	h.assign("bd-1", assignment("msg-2", "bd-1", "photo"))
	h.waitForMails(boss, func(all []agentMessage) bool {
		n := 0
		for _, one := range all {
			if one.Type == format.TypeTaskCompletion {
				n++
			}
		}
		return n == 2
	})
	if len(h.Acts()) != 1 {
		t.Error("the executor has acted again, want once")
	}
	h.assign("bd-1", assignment("msg-3", "bd-1", "wait"))
	r := body[*format.ErrorReport](t, h.until(boss, "bd-1", format.TypeErrorReport))
	if r.Error.Code != "conflict" {
		t.Errorf("%+v", r)
	}
}

// hasBlocker reports whether a status update names the open question as a blocker. The agent
// may get a report of the accepted task before it, or none.
func hasBlocker(all []agentMessage) bool {
	return slices.ContainsFunc(all, func(one agentMessage) bool {
		u, ok := one.Message.Body.(*format.StatusUpdate)
		return ok && len(u.Blockers) > 0
	})
}

func TestQuestionInPlainText(t *testing.T) {
	h := newFixture(t, server(t), "Kitchen-1", bossOnly)
	h.assign("bd-1", assignment("msg-1", "bd-1", "ask"))
	q := body[*format.CoordinationRequest](t, h.until(boss, "bd-1", format.TypeCoordinationRequest))
	if q.RequestType != "sync" || !strings.Contains(q.Topic, "where? (sink | stove)") {
		t.Errorf("%+v", q)
	}
	all := h.waitForMails(boss, hasBlocker)
	blocked := body[*format.StatusUpdate](t, all[len(all)-1])
	if len(blocked.Blockers) != 1 {
		t.Errorf("%+v", blocked)
	}
	h.assign("bd-1", "near the sink\n> where?")
	h.until(boss, "bd-1", format.TypeTaskCompletion)
	if got := fmt.Sprint(h.Acts()); !strings.Contains(got, "near the sink") || strings.Contains(got, "where?") {
		t.Error(got)
	}
}

// saying returns a coordination request with a MESS item.
func saying(id, task, at, item string) string {
	return fmt.Sprintf(`{"version":"1.0.0","timestamp":"%s","sender_id":"%s","message_id":"%s","type":"coordination_request","request_type":"sync","participants":["Kitchen-1"],"coordination_topic":"yes",
"metadata":{"task_id":"%s","mess":{%s}}}`, at, boss, id, task, item)
}

func now() string { return time.Now().UTC().Add(time.Second).Format(time.RFC3339) }

// A confirmation counts for the plan in the question, after the question, and in time.
func TestConfirmationIsForOnePlan(t *testing.T) {
	h := newFixture(t, server(t), "Kitchen-1", bossOnly)
	h.assign("bd-1", assignment("msg-1", "bd-1", "confirm"))
	q := h.until(boss, "bd-1", format.TypeCoordinationRequest)
	if c := body[*format.CoordinationRequest](t, q); c.RequestType != "review" || !strings.Contains(c.Topic, "open the valve") {
		t.Errorf("%+v", c)
	}
	for i, one := range []struct{ body, why string }{
		{saying("m-1", "bd-1", "2026-01-01T00:00:00Z", `"reply":{"confirm":true}`), "is before the question"},
		{saying("m-2", "bd-1", now(), `"reply":{"confirm":true,"action_hash":"other"}`), "for another plan"},
		{saying("m-3", "bd-1", now(), `"reply":{"confirm":true,"re":"msg-other"}`), "for another question"},
		{saying("m-4", "bd-9", now(), `"reply":{"confirm":true}`), `no task "bd-9"`},
		{saying("m-5", "bd-1", now(), `"reply":{"confirm":"yes"}`), "confirm"},
		{saying("m-6", "bd-1", now(), `"status":{"code":"completed"}`), "a requester says"},
		{"yes, but slowly", "the question wants a confirmation"},
	} {
		h.assign("bd-1", one.body)
		h.waitForMails(boss, func(all []agentMessage) bool {
			n, found := 0, false
			for _, m := range all {
				if m.Type == format.TypeErrorReport {
					n++
					found = found || strings.Contains(m.Message.Body.(*format.ErrorReport).Error.Message, one.why)
				}
			}
			return n == i+1 && found
		})
	}
	if len(h.Acts()) != 0 {
		t.Fatal("the executor acted before the confirmation")
	}
	h.assign("bd-1", saying("m-8", "bd-1", now(), `"reply":{"confirm":true,"re":"`+q.MessageID+`","action_hash":"abc"}`))
	h.until(boss, "bd-1", format.TypeTaskCompletion)
	if len(h.Acts()) != 1 {
		t.Error("the executor has not acted once")
	}
}

// A confirmation from before the question does not count.
func TestEarlyConfirmationIsIgnored(t *testing.T) {
	mail := server(t)
	h := newFixture(t, mail, "Kitchen-1", bossOnly)
	h.assign("bd-1", assignment("msg-1", "bd-1", "confirm"))
	h.assign("bd-1", "yes")
	r := body[*format.ErrorReport](t, h.until(boss, "bd-1", format.TypeErrorReport))
	if len(h.Acts()) != 0 || r.NeedsHumanIntervention {
		t.Errorf("%v %+v", h.Acts(), r)
	}
	h.until(boss, "bd-1", format.TypeCoordinationRequest)
	h.waitForMails(boss, hasBlocker)
	h.assign("bd-1", "Yes.")
	h.until(boss, "bd-1", format.TypeTaskCompletion)
}

func TestLateConfirmationIsIgnored(t *testing.T) {
	h := newFixture(t, server(t), "Kitchen-1", bossOnly)
	h.assign("bd-1", assignment("msg-1", "bd-1", "late"))
	h.until(boss, "bd-1", format.TypeCoordinationRequest)
	h.assign("bd-1", saying("m-1", "bd-1", now(), `"reply":{"confirm":true}`))
	r := body[*format.ErrorReport](t, h.until(boss, "bd-1", format.TypeErrorReport))
	if !strings.Contains(r.Error.Message, "the time for it") || len(h.Acts()) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestOperatorConfirmations(t *testing.T) {
	h := newFixture(t, server(t), "Kitchen-1", bossOnly)
	h.assign("bd-1", assignment("msg-1", "bd-1", "operator"))
	for _, one := range h.waitForMails(boss, hasBlocker) {
		if strings.Contains(one.Mail.Body, "in this thread") {
			t.Errorf("the mail asks for an answer in this thread: %s", one.Mail.Body)
		}
	}
	h.assign("bd-1", "yes")
	r := body[*format.ErrorReport](t, h.until(boss, "bd-1", format.TypeErrorReport))
	if r.Error.Code != "forbidden" || len(h.Acts()) != 0 {
		t.Errorf("%+v", r)
	}
}

// The adapter works with a server that has sessions, also after the server has lost them in a
// restart.
func TestServerWithSessions(t *testing.T) {
	mail, forget := mailboxtest.NewWithSessions("let-me-in")
	t.Cleanup(mail.Close)
	mail.Join(project, boss)
	h := newFixture(t, mail, "Kitchen-1", bossOnly)
	for _, task := range []string{"bd-1", "bd-2"} {
		h.assign(task, assignment("msg-of-"+task, task, "photo"))
		if c := body[*format.TaskCompletion](t, h.until(boss, task, format.TypeTaskCompletion)); c.Status != "complete" {
			t.Errorf("%+v", c)
		}
		forget()
	}
}

func TestCancelAndFailure(t *testing.T) {
	h := newFixture(t, server(t), "Kitchen-1", bossOnly)
	h.assign("bd-1", assignment("msg-1", "bd-1", "wait"))
	h.waitForMails(boss, func(all []agentMessage) bool {
		return len(all) > 0 && strings.Contains(all[len(all)-1].Mail.Body, "begun")
	})
	h.assign("bd-1", saying("m-1", "bd-1", now(), `"cancel":{"reason":"enough"}`))
	c := body[*format.TaskCompletion](t, h.until(boss, "bd-1", format.TypeTaskCompletion))
	if c.Status != "blocked" || c.Errors[0] != "cancelled" {
		t.Errorf("%+v", c)
	}
	h.assign("bd-2", assignment("msg-2", "bd-2", "fail"))
	r := body[*format.ErrorReport](t, h.until(boss, "bd-2", format.TypeErrorReport))
	if r.Error.Code != "jam" || r.Severity != "high" || !r.NeedsHumanIntervention || r.SuggestedActions[0] != "free the brush" {
		t.Errorf("%+v", r)
	}
	c = body[*format.TaskCompletion](t, h.until(boss, "bd-2", format.TypeTaskCompletion))
	if c.Status != "blocked" || !strings.Contains(c.Summary, "the brush is stuck") {
		t.Errorf("%+v", c)
	}
}

// The adapter rejects and records every kind of bad message, and sends an error report. An error
// report never gets one.
func TestInvalidMessagesAreReported(t *testing.T) {
	mail := server(t)
	mail.Join(project, "Stranger-1")
	h := newFixture(t, mail, "Kitchen-1", bossOnly)
	good := assignment("msg-1", "bd-1", "photo")
	bad := []struct{ body, code string }{
		{"please turn on the light", "invalid_format"},
		{strings.Replace(good, `"version":"1.0.0"`, `"version":"2.0.0"`, 1), "version_mismatch"},
		{strings.Replace(good, "task_assignment", "task_wish", 1), "unknown_message_type"},
		{strings.Replace(good, `"task_id":"bd-1",`, "", 1), "invalid_format"},
		{strings.Replace(good, `"priority_value":2`, `"priority_value":0`, 1), "invalid_format"},
		{strings.Replace(good, boss, "Somebody-2", 1), "sender_mismatch"},
		{strings.Replace(good, `"task_id":"bd-1"`, `"task_id":"bd-\u0001"`, 1), "invalid_format"},
		{strings.Replace(good, `"file_patterns":[]`, `"file_patterns":[],"metadata":{"mess":{"needed_by":"soon"}}`, 1), "invalid_format"},
		{strings.Replace(good, `"file_patterns":[]`, `"file_patterns":[],"dependencies":["bd-1"]`, 1), "invalid"},
		{`{"type":`, "invalid_format"},
		{saying("m-9", "bd-7", now(), `"reply":{"confirm":true}`), "unknown_task"},
		{strings.NewReplacer("task_assignment", "status_update", `"description"`, `"status_summary"`, `"file_patterns":[]`, `"update_type":"progress","blockers":[]`).Replace(good), "unknown_task"},
	}
	for i, one := range bad {
		m := h.assign("", one.body)
		h.waitForMails(boss, func(all []agentMessage) bool {
			return len(all) == i+1 && all[i].Message.Body.(*format.ErrorReport).Error.Code == one.code
		})
		if !mail.Acknowledged(h.ctx, m.ID) {
			t.Errorf("%s: not acknowledged", one.body)
		}
	}
	for _, silent := range []string{
		strings.Replace(good, "task_assignment", "error_report", 1),
		`{"type":"error_report"}`,
		`{"version":"1.0.0","timestamp":"2026-11-22T00:00:00Z","sender_id":"` + boss + `","message_id":"m","type":"error_report","task_id":"bd-1","severity":"low","error":{"code":"x","message":"y"},"reproduction_steps":[],"needs_human_intervention":false}`,
	} {
		if m := h.assign("", silent); !mail.Acknowledged(h.ctx, m.ID) {
			t.Errorf("%s: not acknowledged", silent)
		}
	}
	m := mail.Post(project, "Stranger-1", "Kitchen-1", "hello", "", good)
	if !mail.Acknowledged(h.ctx, m.ID) {
		t.Error("the stranger's mail is not acknowledged")
	}
	if all := h.waitForMails(boss, func([]agentMessage) bool { return true }); len(all) != len(bad) {
		t.Errorf("%d answers, want %d", len(all), len(bad))
	}
	if n := len(h.adapter.Status().Refused); n != len(bad)+4 {
		t.Errorf("%d are recorded", n)
	}
	if len(h.Acts()) != 0 {
		t.Error("something was done")
	}
}
