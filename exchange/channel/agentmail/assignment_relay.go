package agentmail

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// forward sends a message of the requester to the agent.
func (as *assignments) forward(a Agent, ref string, g *assignment, item mess.Item) error {
	topic := "More about this task"
	switch i := item.(type) {
	case *mess.Reply:
		r := *i
		r.Re = nil
		if n := len(g.Asks); n > 0 {
			if q := g.Asks[n-1]; q.There != "" {
				r.Re = mess.Refs{q.There}
			}
			r.ActionHash = g.Asks[n-1].Hash
		}
		item, topic = &r, replyText(&r)
	case *mess.Answer:
		if yes, ok := i.Value.(bool); ok { // a reply binds the answer to the question
			return as.forward(a, ref, g, &mess.Reply{Confirm: &yes})
		}
		c := *i
		c.Re = nil
		if n := len(g.Asks); n > 0 && g.Asks[n-1].There != "" {
			c.Re = mess.Refs{g.Asks[n-1].There}
		}
		item, topic = &c, "Answer: "+textOf(i.Value)
	case *mess.Cancel:
		topic = strings.TrimSuffix("Cancel this task: "+i.Reason, ": ")
		if as.unqueue(ref) {
			return as.fail(a, ref, g, mess.Cancelled, "cancelled", "the cancel came before the exchange sent it")
		}
	}
	return as.sendToAgent(a, ref, topic, item)
}

// sendToAgent queues a message for the agent of a task.
func (as *assignments) sendToAgent(a Agent, ref, topic string, item mess.Item) error {
	body := format.NewTaskMessage(ref, a.Name, topic, mess.Message{Items: []mess.Item{item}})
	return as.queue(peer{name: a.Name}, ref, as.wrap(newID(), as.now(), body))
}

// unqueue removes an assignment from the outbox, unless an attempt to send it was made.
func (as *assignments) unqueue(ref string) bool {
	back := false
	err := as.change(func(s *state) {
		s.Out = slices.DeleteFunc(s.Out, func(e *outboxEntry) bool {
			is := e.Ref == ref && e.Kind == string(format.TypeTaskAssignment) && e.Tried.IsZero()
			back = back || is
			return is
		})
	})
	return back && err == nil
}

// fail ends the thread of a task that the agent has not received.
func (as *assignments) fail(a Agent, ref string, g *assignment, code mess.Code, kind, reason string) error {
	s := &mess.Status{Code: code, Reason: &mess.Reason{Type: kind, Detail: reason, Effect: mess.EffectNone}}
	if code == mess.Failed {
		s.Recoverable = new(true)
	}
	err := as.postAs(context.Background(), a, ref, g, s)
	return errors.Join(err, as.change(func(s *state) { delete(s.Given, ref) }))
}

// undeliverable ends a task whose assignment the mail server rejects.
func (as *assignments) undeliverable(_ context.Context, e outboxEntry, cause error) {
	g := as.of(e.Ref)
	if g == nil || e.Kind != string(format.TypeTaskAssignment) {
		return
	}
	a, ok := as.cfg.agent(g.Agent)
	if !ok {
		return
	}
	if err := as.fail(a, e.Ref, g, mess.Failed, "not_sent", "the mail server does not deliver it to "+g.Agent+": "+cause.Error()); err != nil {
		as.log.Warn("cannot end a task that has no assignment", "ref", e.Ref, "err", err)
	}
}

func replyText(r *mess.Reply) string {
	switch {
	case r.Confirm != nil && *r.Confirm:
		return "Answer: yes"
	case r.Confirm != nil:
		return "Answer: no"
	}
	var lines []string
	for _, f := range r.Answers {
		lines = append(lines, f.Key+": "+textOf(f.Value))
	}
	return "Answer: " + strings.Join(lines, "; ")
}

func textOf(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	data, _ := json.Marshal(v) // the value was parsed from JSON
	return string(data)
}

// stopAll asks an agent to stop all its tasks of this exchange. The stop stays unconfirmed,
// because mail is slow.
func (as *assignments) stopAll(a Agent, stop mess.Stop) error {
	as.mu.Lock()
	var refs []string
	for ref, g := range as.s.Given {
		if g.ID == a.executor() && g.Begun {
			refs = append(refs, ref)
		}
	}
	as.mu.Unlock()
	var errs []error
	for _, ref := range refs {
		if as.unqueue(ref) {
			errs = append(errs, as.fail(a, ref, as.of(ref), mess.Failed, "stopped", "the stop came before the exchange sent it"))
			continue
		}
		errs = append(errs, as.sendToAgent(a, ref, "STOP this task at once: "+stop.Reason, &mess.Cancel{Reason: "stop: " + stop.Reason}))
	}
	return errors.Join(errs...)
}

// withdrawn reports whether the requester has cancelled a task before its assignment was sent.
// It ends the task then.
func (as *assignments) withdrawn(ctx context.Context, e outboxEntry) (bool, error) {
	g := as.of(e.Ref)
	if g == nil || e.Kind != string(format.TypeTaskAssignment) {
		return false, nil
	}
	th, err := as.x.Thread(ctx, self, e.Ref)
	if err != nil || th.CancelBy == "" {
		return false, nil
	}
	return true, as.revoke(e, g)
}

// revoke ends a cancelled task whose assignment was not sent, and removes its messages from the
// outbox.
func (as *assignments) revoke(e outboxEntry, g *assignment) error {
	a, ok := as.cfg.agent(g.Agent)
	if ok {
		if err := as.fail(a, e.Ref, g, mess.Cancelled, "cancelled", "the cancel came before the exchange could send it"); err != nil {
			as.log.Warn("cannot end a cancelled task", "ref", e.Ref, "err", err)
		}
	}
	return as.change(func(s *state) {
		s.Out = slices.DeleteFunc(s.Out, func(one *outboxEntry) bool { return !one.HTTP && one.To == e.To && one.Task == e.Ref })
	})
}

// report handles a message of an agent about its task.
func (as *assignments) report(ctx context.Context, l email, ref string, m format.Message) (receipt, error) {
	g := as.of(ref)
	if g == nil {
		return receipt{}, reject(codeUnknownTask, "task %s is over", ref)
	}
	items, err := as.reported(ref, m)
	if err != nil {
		return receipt{}, reject(format.CodeInvalidFormat, "%v", err)
	}
	if len(items) == 0 { // the content comes in another message
		return receipt{TaskID: ref, Ref: ref}, nil
	}
	message := mess.Message{ID: m.MessageID, Re: mess.Refs{ref}, Epoch: g.Epoch}
	var ask *agentQuestion
	for _, item := range items {
		switch i := item.(type) {
		case *mess.Status:
			s := as.localStatus(*i)
			if s.Code == mess.NeedsInput || s.Code == mess.NeedsConfirmation {
				ask = &agentQuestion{There: format.RefOf(m.Body), Hash: s.ActionHash}
			}
			message.Items = append(message.Items, s)
		case *mess.Response:
			r := *i
			r.Re, r.Content = nil, as.attachFiles(ctx, l.from.agent.actor(), ref, r.Content)
			message.Items = append(message.Items, &r)
		case *mess.Suggestion:
			s := *i
			s.Re = nil
			message.Items = append(message.Items, &s)
		case *mess.Other:
			message.Items = append(message.Items, i)
		default:
			return receipt{}, reject(codeUnexpected, "metadata.mess.%s: one who works on a task says status and response", item.Kind())
		}
	}
	answer, err := as.post(ctx, l.from.agent.actor(), message)
	if err != nil {
		if errors.Is(err, mess.Unavailable) {
			return receipt{}, err
		}
		return receipt{}, as.refusedReport(ctx, ref, err)
	}
	ack, _ := answer.Items[0].(*mess.Ack)
	err = as.change(func(s *state) {
		switch one := s.Given[ref]; {
		case one == nil:
		case ack.Status.Terminal():
			delete(s.Given, ref)
		case ask != nil:
			ask.Here = ack.Ref
			one.Asks = append(slices.Clone(one.Asks), *ask)
		}
	})
	return receipt{TaskID: ref, Ref: ack.Ref, Status: ack.Status}, err
}

// refusedReport removes the assignment if its task has ended.
func (as *assignments) refusedReport(ctx context.Context, ref string, cause error) error {
	if th, err := as.x.Thread(ctx, self, ref); err == nil && th.Status.Terminal() {
		return errors.Join(cause, as.change(func(s *state) { delete(s.Given, ref) }))
	}
	return cause
}

// reported returns the items of a report. An error report about the assignment itself ends the
// task, because the agent has not begun.
func (as *assignments) reported(ref string, m format.Message) ([]mess.Item, error) {
	e, ok := m.Body.(*format.ErrorReport)
	if ok && slices.Contains([]string{format.CodeInvalidFormat, format.CodeVersionMismatch, format.CodeUnknownType, format.CodeSenderMismatch, codeForbidden}, e.Error.Code) {
		if _, about := e.Error.Context.Get("message_id"); about && !as.hasReported(ref) {
			return []mess.Item{&mess.Status{
				Code: mess.Failed, Reason: &mess.Reason{Type: e.Error.Code, Detail: "the agent does not take the task: " + e.Error.Message, Effect: mess.EffectNone}, Recoverable: new(true),
			}}, nil
		}
	}
	return format.Reports(m, as.now())
}

// hasReported reports whether an agent has sent anything about a task.
func (as *assignments) hasReported(ref string) bool {
	th, err := as.x.Thread(context.Background(), self, ref)
	if err != nil {
		return true
	}
	g := as.of(ref)
	if g == nil {
		return true
	}
	begun := false
	for m, s := range mess.ItemsOf[*mess.Status](th.Messages) {
		switch {
		case m.From != g.ID:
		case begun:
			return true
		case s.Code == mess.InProgress: // the start, which this adapter has posted
			begun = true
		}
	}
	return false
}

// localStatus converts a status of another exchange to one that a started task can have here.
// Extra keeps the original code.
func (as *assignments) localStatus(s mess.Status) *mess.Status {
	was := s.Code
	s.Re, s.Epoch, s.Instance, s.ID = nil, 0, "", ""
	switch s.Code {
	case mess.Claimed, mess.Pending, mess.Received:
		s.Code = mess.InProgress
	case mess.Declined, mess.Expired, mess.Superseded, mess.Delegated:
		effect := mess.EffectUnknown
		if was == mess.Declined || was == mess.Expired {
			effect = mess.EffectNone
		}
		s.Code = mess.Failed
		reason := mess.Reason{Type: string(was), Detail: s.Message, Effect: effect}
		if s.Reason != nil {
			reason.Detail = s.Reason.Detail
			if s.Reason.Effect != "" {
				reason.Effect = s.Reason.Effect
			}
		}
		s.Reason = &reason
	}
	if s.Code != was {
		s.Extra = append(slices.Clone(s.Extra), mess.Field{Key: "said", Value: string(was)})
	}
	return &s
}

// attachFiles stores the files of a response in its thread.
func (as *assignments) attachFiles(ctx context.Context, actor exchange.Actor, ref string, content []mess.Entry) []mess.Entry {
	content = slices.Clone(content)
	for i, e := range content {
		media, ok := e.Media()
		if !ok {
			continue
		}
		mime, data, ok := mess.ParseDataURI(media.URI)
		if !ok {
			continue
		}
		name := cmp.Or(media.Name, e.Type+messeaf.Extension(mime))
		file, err := as.x.Attach(ctx, actor, ref, name, mime, bytes.NewReader(data))
		if err != nil { // the file stays in the message
			as.log.Warn("cannot store a file from a mail; it stays in the message", "ref", ref, "err", err)
			continue
		}
		media.URI, media.File, media.MIME, media.Size, media.SHA256 = "", file.File, file.MIME, file.Size, file.SHA256
		content[i] = mess.MediaEntry(e.Type, media)
	}
	return content
}
