package mesh

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/mess"
)

// respond sends the result of a task to all requests for it.
func (ts *tasks) respond(ctx context.Context, p *peers.Agent, t *task, th exchange.Thread) error {
	ts.mu.Lock()
	var open []replyTarget
	for i := range t.Asked {
		if !t.Asked[i].Sent {
			t.Asked[i].Answer = cmp.Or(t.Asked[i].Answer, newID())
			open = append(open, t.Asked[i])
		}
	}
	if t.Question != nil {
		delete(ts.questions, t.Question.ID)
		t.Question = nil
	}
	taskNotes := slices.Clone(t.Notes)
	ts.mu.Unlock()
	if len(open) == 0 {
		return nil
	}
	if err := ts.saveTask(ctx, t); err != nil { // stored before anything is sent, so that a restart uses the same ids
		return err
	}
	files, notes := ts.files.sentFiles(ctx, p, th)
	notes = append(taskNotes, notes...)
	for _, a := range open {
		e := ts.outbox.answerTo(p, a, wire.Response)
		e.ID = a.Answer
		e.Payload.Body = resultText(th, notes)
		e.Payload.Metadata = wire.Object{}.With("status", string(th.Status)).With("ref", t.Ref)
		if !p.Encrypts(a.Sealed) { // metadata are not encrypted
			e.Payload.Metadata = append(e.Payload.Metadata, responseMetadata(th)...)
		}
		o, err := ts.outbox.withFiles(ctx, p, e, a, files, allResults(th))
		if err == nil {
			err = ts.outbox.enqueue(ctx, o)
		}
		if err != nil {
			return err
		}
	}
	ts.mu.Lock()
	for i := range t.Asked {
		if slices.ContainsFunc(open, func(a replyTarget) bool { return a.ID == t.Asked[i].ID }) {
			t.Asked[i].Sent = true
		}
	}
	if t.Ended.IsZero() {
		t.Ended = time.Now()
	}
	ts.mu.Unlock()
	return ts.saveTask(ctx, t)
}

// responseMetadata returns the metadata of the last response that a peer has sent for a
// thread (section 6, pattern 6).
func responseMetadata(th exchange.Thread) (meta wire.Object) {
	for _, r := range mess.ItemsOf[*mess.Response](th.Messages) {
		meta = relayedMetadata(r.Extra)
	}
	return meta
}

// allResults returns the results of a thread as one MESS message: the terminal status and all
// content.
func allResults(th exchange.Thread) mess.Message {
	s, m := mess.LastStatus(th.Messages)
	if s == nil || s.Code != th.Status { // a cancel has ended the thread, or a later message has another status
		s = &mess.Status{Code: th.Status}
		for one, is := range mess.ItemsOf[*mess.Status](th.Messages) {
			if is.Code == th.Status {
				m, s = one, is
			}
		}
	}
	out := mess.Message{Version: "1.1.0", Ref: m.Ref, From: m.From, Received: m.Received, Re: mess.Refs{cmp.Or(th.ClientID, th.Ref)}}
	out.Items = append(out.Items, s)
	for _, r := range mess.ItemsOf[*mess.Response](th.Messages) {
		out.Items = append(out.Items, r)
	}
	return out
}

// resultText describes the result of a task.
func resultText(th exchange.Thread, notes []string) string {
	s, _ := mess.LastStatus(th.Messages)
	parts := []string{}
	if th.Status != mess.Completed {
		parts = append(parts, statusText(th.Status, s))
	}
	for _, r := range mess.ItemsOf[*mess.Response](th.Messages) {
		for i, e := range r.Content {
			if e.Type != "structured" || i == 0 { // later ones repeat the content for programs
				parts = append(parts, entryText(e))
			}
		}
		parts = append(parts, r.Notes)
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		parts = []string{statusText(th.Status, s)}
	}
	for _, n := range notes {
		parts = append(parts, "Note: "+n)
	}
	return strings.Join(parts, "\n")
}

// entryText describes an entry of content.
func entryText(e mess.Entry) string {
	if text, ok := e.Text(); ok {
		return text
	}
	if media, ok := e.Media(); ok {
		return "[" + e.Type + ": " + cmp.Or(media.File, media.Name, "attached") + "]"
	}
	if c, ok := e.Confirmation(); ok {
		word := map[bool]string{true: "yes", false: "no"}[c.Confirmed]
		return strings.TrimSuffix(word+": "+c.Details, ": ")
	}
	if f, ok := e.Failure(); ok {
		return "Error: " + strings.TrimSuffix(f.Message+" ("+f.Code+")", " ()")
	}
	text, err := json.Marshal(e.Value)
	if err != nil {
		return ""
	}
	return e.Type + ": " + string(text)
}

// statusText describes the status of a task.
func statusText(code mess.Code, s *mess.Status) string {
	words := strings.ReplaceAll(string(cmp.Or(code, mess.Pending)), "_", " ")
	text := strings.ToUpper(words[:1]) + words[1:]
	if s == nil || s.Code != code {
		return text + "."
	}
	if s.ProgressPct != nil {
		text += fmt.Sprintf(", %.0f %%", *s.ProgressPct)
	}
	if s.Message != "" {
		text += ": " + s.Message
	}
	if r := s.Reason; r != nil {
		if reason := cmp.Or(r.Detail, r.Type); reason != "" {
			text += ": " + reason
		}
		switch r.Effect {
		case mess.EffectUnknown:
			text += "; the outcome is unknown, check the state before you ask again"
		case mess.EffectPartial:
			text += "; part of it happened"
		case mess.EffectNone:
			if !strings.Contains(text, "nothing was done") {
				text += "; nothing was done"
			}
		}
	}
	if s.Suggestion != "" {
		text += "; " + s.Suggestion
	}
	return strings.TrimSuffix(text, ".") + "."
}
