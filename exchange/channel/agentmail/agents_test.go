package agentmail_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail"
	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/exchange/channel/agentmail/mailboxtest"
	"github.com/messkit/messkit/mess"
)

var anna = exchange.Actor{ID: "anna", Roles: exchange.Requester}

// pair returns two exchanges at one mail server: home assigns requests for take-photo to the
// executor of far.
func pair(t *testing.T) (home, far *fixture) {
	mail := mailboxtest.New("let-me-in")
	t.Cleanup(mail.Close)
	far = newFixture(t, mail, "Kitchen-1", agentmail.Config{Senders: []string{"Home-1"}})
	home = bare(t, mail, "Home-1", agentmail.Config{Agents: []agentmail.Agent{{Name: "Kitchen-1", Capabilities: []string{"take-photo"}}}})
	home.open()
	return home, far
}

// wants makes a request of anna, and returns its ref.
func (h *fixture) wants(text string) string {
	h.Helper()
	answer := h.post(anna, "request: "+text)
	return answer.Items[0].(*mess.Ack).Ref
}

func (h *fixture) post(who exchange.Actor, text string) mess.Message {
	h.Helper()
	m, err := mess.Parse([]byte(text))
	if err == nil {
		m, err = h.x.Post(h.ctx, exchange.Inbound{Actor: who, Channel: "test", Message: m})
	}
	if err != nil {
		h.Fatalf("%s: %v", text, err)
	}
	return m
}

// thread waits until a thread is ready.
func (h *fixture) thread(ref string, ready func(exchange.Thread) bool) exchange.Thread {
	h.Helper()
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	var found exchange.Thread
	look := func() bool {
		t, err := h.x.Thread(ctx, operator, ref)
		if err == nil {
			found = t
		}
		return err == nil && ready(t)
	}
	if look() {
		return found
	}
	_ = h.x.Follow(ctx, operator, "start", func(exchange.Event) error {
		if look() {
			cancel()
		}
		return nil
	})
	if !ready(found) {
		for _, m := range found.Messages {
			text, _ := m.JSON()
			h.Logf("%.600s", text)
		}
		h.Fatalf("%s is %s", ref, found.Status)
	}
	return found
}

func is(code mess.Code) func(exchange.Thread) bool {
	return func(t exchange.Thread) bool { return t.Status == code }
}

// A request from MESS by mail to MESS arrives unchanged, with its image.
func TestRequestBetweenTwoExchanges(t *testing.T) {
	home, far := pair(t)
	ref := home.wants(`{id: mine, intent: photo, requires: [take-photo], precision: exact, context: [near the sink, {image: "` + mess.DataURI("image/jpeg", picture()) + `"}],
  constraints: {environment: [daylight], timing: {urgency: soon}}, response_hint: [image], priority: elevated, compensation: {shells: 3}, x_own: [1, {a: b}]}`)
	th := home.thread(ref, is(mess.Completed))
	var last mess.Message
	for _, m := range th.Messages {
		for _, item := range m.Items {
			if _, ok := item.(*mess.Response); ok {
				last = m
			}
		}
	}
	s, r := last.Items[0].(*mess.Status), last.Items[1].(*mess.Response)
	media, _ := r.Content[1].Media()
	if s.Evidence != mess.Photographed || media.CapturedAt == "" || media.File == "" {
		t.Errorf("%+v %+v", s, media)
	}
	data, _, err := home.x.Attachment(t.Context(), anna, ref, media.File)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(data)
	if err = errors.Join(err, data.Close()); err != nil || !bytes.Equal(got, picture()) {
		t.Errorf("the picture: %d bytes, %v", len(got), err)
	}
	page, err := far.x.List(t.Context(), operator, exchange.Filter{})
	if err != nil || len(page.Threads) != 1 {
		t.Fatalf("%v %v", page, err)
	}
	there, err := far.x.Thread(t.Context(), operator, page.Threads[0].Ref)
	if err != nil {
		t.Fatal(err)
	}
	was, is := th.Request(), there.Request()
	if is.Extra, is.ID = strip(is.Extra), "mine"; err != nil || asJSON(t, was) != asJSON(t, is) {
		t.Errorf("asked %s\ncame  %s", asJSON(t, was), asJSON(t, is))
	}
	if n := len(far.Acts()); n != 1 {
		t.Errorf("done %d times", n)
	}
}

func strip(o mess.Object) mess.Object {
	var left mess.Object
	for _, f := range o {
		if f.Key != "agent_mail" {
			left = append(left, f)
		}
	}
	return left
}

func asJSON(t *testing.T, r mess.Request) string {
	data, err := r.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestQuestionsPassTwoChannels(t *testing.T) {
	home, far := pair(t)
	ref := home.wants(`{intent: ask, requires: [take-photo]}`)
	home.thread(ref, is(mess.NeedsInput))
	home.post(anna, "re: "+ref+"\nMESS: [{reply: {answers: {area: sink}}}]")
	home.thread(ref, is(mess.Completed))
	if got := fmt.Sprint(far.Acts()); !strings.Contains(got, "sink") {
		t.Error(got)
	}
	ref = home.wants(`{intent: confirm, requires: [take-photo], confirm_before: true}`)
	th := home.thread(ref, is(mess.NeedsConfirmation))
	if !strings.Contains(asStatus(th).Action, "give this to Kitchen-1") {
		t.Errorf("%+v", asStatus(th))
	}
	home.post(anna, "re: "+th.Confirm.Message+"\nMESS: [{reply: {confirm: true}}]")
	th = home.thread(ref, func(t exchange.Thread) bool {
		return t.Status == mess.NeedsConfirmation && t.Confirm.ActionHash == "abc"
	})
	if s := asStatus(th); s.Action != "open the valve" {
		t.Errorf("%+v", s)
	}
	home.post(anna, "re: "+th.Confirm.Message+"\nMESS: [{reply: {confirm: true}}]")
	home.thread(ref, is(mess.Completed))
	ref = home.wants(`{intent: wait, requires: [take-photo]}`)
	home.thread(ref, func(t exchange.Thread) bool { return asStatus(t).Message == "begun" })
	home.post(anna, "re: "+ref+"\nMESS: [{cancel: {reason: enough}}]")
	if th := home.thread(ref, is(mess.Cancelled)); asStatus(th).Reason.Effect != mess.EffectPartial {
		t.Errorf("%+v", asStatus(th))
	}
	ref = home.wants(`{intent: fail, requires: [take-photo]}`)
	if s := asStatus(home.thread(ref, is(mess.Failed))); s.Reason.Type != "jam" || s.Suggestion != "free the brush" || s.Reason.Effect != mess.EffectPartial {
		t.Errorf("%+v", s)
	}
}

// asStatus returns the last status of a thread.
func asStatus(t exchange.Thread) *mess.Status {
	last := &mess.Status{}
	for _, m := range t.Messages {
		for _, item := range m.Items {
			if s, ok := item.(*mess.Status); ok {
				last = s
			}
		}
	}
	return last
}

// A foreign agent gets a task as text, and reports in its own words.
func TestForeignAgentDoesTask(t *testing.T) {
	mail := mailboxtest.New("let-me-in")
	t.Cleanup(mail.Close)
	mail.Join(project, "arm_01")
	h := bare(t, mail, "Home-1", agentmail.Config{Agents: []agentmail.Agent{{Name: "arm_01", ID: "arm", Capabilities: []string{"pick"}}}})
	h.open()
	post := func(ref, id, kind, rest string) *mailboxtest.Mail {
		return mail.Post(project, "arm_01", "Home-1", kind, ref, fmt.Sprintf(
			`{"version":"1.0.0","timestamp":"%s","sender_id":"arm_01","message_id":"%s","type":"%s","task_id":"%s",%s}`, now(), id, kind, ref, rest))
	}
	given := func(intent string) string {
		ref := h.wants(`{intent: ` + intent + `, requires: [pick], context: [the red one], needed_by: "2100-01-01T00:00:00Z"}`)
		m := h.until("arm_01", ref, format.TypeTaskAssignment)
		a := body[*format.TaskAssignment](t, m)
		if a.Description != intent || a.Specification.TechnicalRequirements[0] != "the red one" || a.Deadline != "2100-01-01T00:00:00Z" || !m.Ack || m.Thread != ref {
			t.Errorf("%+v", a)
		}
		return ref
	}
	ref := given("pick it")
	if th := h.thread(ref, is(mess.InProgress)); th.Phase != exchange.Started {
		t.Error("the task was sent before the start permission")
	}
	post(ref, "m-1", "status_update", `"update_type":"blocker","status_summary":"gripper is busy","blockers":["gripper"]`)
	h.thread(ref, is(mess.Waiting))
	post(ref, "m-2", "status_update", `"update_type":"unblocker","status_summary":"free","blockers":[],"progress":{"percentage":50}`)
	h.thread(ref, is(mess.InProgress))
	post(ref, "m-3", "error_report", `"severity":"blocking","error":{"code":"E","message":"stuck"},"reproduction_steps":[],"needs_human_intervention":true`)
	h.thread(ref, is(mess.Held))
	post(ref, "m-4", "task_completion", `"status":"complete","completion_summary":"the red one is in the box","files_modified":[],"test_results":{},"errors_encountered":[]`)
	th := h.thread(ref, is(mess.Completed))
	if s := asStatus(th); s.Evidence != mess.Acknowledged {
		t.Errorf("%+v", s)
	}
	ref = given("pick two")
	post(ref, "m-5", "task_completion", `"status":"blocked","completion_summary":"no","files_modified":[],"test_results":{},"errors_encountered":["it fell"]`)
	if s := asStatus(h.thread(ref, is(mess.Failed))); s.Reason.Effect != mess.EffectUnknown || !strings.Contains(s.Reason.Detail, "it fell") {
		t.Errorf("%+v", s)
	}
	ref = given("pick three") // the agent rejects the task, so it has no effect
	post(ref, "m-6", "error_report", `"severity":"medium","error":{"code":"version_mismatch","message":"send 2","context":{"message_id":"x"}},"reproduction_steps":[],"needs_human_intervention":false`)
	if s := asStatus(h.thread(ref, is(mess.Failed))); s.Reason.Effect != mess.EffectNone {
		t.Errorf("%+v", s)
	}
	if m := post(ref, "m-7", "task_completion", `"status":"complete","completion_summary":"late","files_modified":[],"test_results":{},"errors_encountered":[]`); !mail.Acknowledged(h.ctx, m.ID) {
		t.Error("not acknowledged")
	}
	h.until("arm_01", ref, format.TypeErrorReport)
}

// The adapter assigns a task once, despite errors of the server and an end of the program at any
// point.
func TestTaskIsAssignedOnce(t *testing.T) {
	mail := mailboxtest.New("let-me-in")
	t.Cleanup(mail.Close)
	mail.Join(project, "arm_01")
	h := bare(t, mail, "Home-1", agentmail.Config{Agents: []agentmail.Agent{{Name: "arm_01", Capabilities: []string{"pick"}}}})
	var n atomic.Int32
	mail.Fail(func(tool string, after bool) error {
		if i := n.Add(1); tool == "send_message" && i%3 != 0 && after {
			return errors.New("gone")
		}
		return nil
	})
	h.open()
	var refs []string
	for i := range 3 {
		refs = append(refs, h.wants(fmt.Sprintf(`{intent: pick %d, requires: [pick]}`, i)))
		h.end()
		h.open()
	}
	h.waitForMails("arm_01", func(all []agentMessage) bool { return len(all) >= len(refs) })
	mail.Fail(nil)
	for _, ref := range refs {
		h.thread(ref, is(mess.InProgress))
	}
	h.end()
	h.open()
	count := map[string]int{}
	for _, one := range h.waitForMails("arm_01", func([]agentMessage) bool { return true }) {
		count[format.TaskOf(one.Message.Body)]++
	}
	for _, ref := range refs {
		if count[ref] != 1 {
			t.Errorf("%s was given %d times", ref, count[ref])
		}
	}
}

// The server does not deliver a task: the requester can cancel it, and it has not begun.
func TestUndeliveredTaskCanBeCancelled(t *testing.T) {
	mail := mailboxtest.New("let-me-in")
	t.Cleanup(mail.Close)
	h := bare(t, mail, "Home-1", agentmail.Config{Agents: []agentmail.Agent{{Name: "front_robot", Capabilities: []string{"pick"}}}})
	if _, err := agentmail.Open(h.ctx, h.x, h.cfg, nil, h.dir, time.Now, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a name that gets no mail is taken")
	}
	h.cfg.Agents[0].Name = "arm_01" // the server does not have that agent
	h.open()
	ref := h.wants(`{intent: pick, requires: [pick]}`)
	h.thread(ref, is(mess.InProgress))
	h.post(anna, "re: "+ref+"\nMESS: [{cancel: {}}]")
	if s := asStatus(h.thread(ref, is(mess.Cancelled))); s.Reason.Effect != mess.EffectNone {
		t.Errorf("%+v", s)
	}
	mail.Join(project, "arm_01")
	next := h.wants(`{intent: pick again, requires: [pick]}`)
	if m := h.until("arm_01", next, format.TypeTaskAssignment); format.TaskOf(m.Message.Body) == ref {
		t.Error("the cancelled task was sent")
	}
}
