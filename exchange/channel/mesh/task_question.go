package mesh

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/mess"
)

// openQuestion returns the question that a thread waits for, and its text. asks is false if it
// waits for none.
func openQuestion(th exchange.Thread) (q question, text string, asks bool) {
	var s *mess.Status
	for m, one := range mess.ItemsOf[*mess.Status](th.Messages) {
		if one.Code == th.Status {
			s, q.Ref = one, m.Ref
		}
	}
	if s == nil {
		return question{}, "", false
	}
	switch th.Status {
	case mess.NeedsConfirmation:
		c := th.Confirm
		if c == nil || c.Given != nil {
			return question{}, "", false
		}
		q.Ref, q.Hash, q.Confirm = c.Message, c.ActionHash, true
		text = "May the executor do this: " + s.Action + "?"
		if s.Consequences != "" {
			text += " " + s.Consequences
		}
		if c.By == "operator" {
			q.Tries = maxTries // an operator must answer, and not the peer
			return q, "Waits for the confirmation of an operator: " + s.Action, true
		}
		return q, text + "\nAnswer yes or no.", true
	case mess.NeedsInput:
		var lines []string
		for _, one := range s.Questions {
			if slices.ContainsFunc(th.Questions, func(o exchange.OpenQuestion) bool { return o.Key == one.Key() }) {
				q.Keys = append(q.Keys, one.Key())
				lines = append(lines, one.Key()+": "+strings.TrimSpace(one.Question+options(one)))
			}
		}
		if len(q.Keys) == 1 {
			return q, strings.TrimPrefix(lines[0], q.Keys[0]+": ") + "\nAnswer with the answer alone.", true
		}
		return q, strings.Join(lines, "\n") + "\nAnswer each in a line of its own, like " + firstKey(q.Keys) + ": answer", len(q.Keys) > 0
	}
	return question{}, "", false
}

func firstKey(keys []string) string {
	if len(keys) == 0 {
		return "name"
	}
	return keys[0]
}

func options(q mess.Question) string {
	if len(q.Options) == 0 {
		return ""
	}
	return " (" + strings.Join(q.Options, ", ") + ")"
}

// maxTries limits how often a peer gets the same question.
const maxTries = 3

// askPeer sends the open question of a task to its peer. The peer answers with a response to that
// message.
func (ts *tasks) askPeer(ctx context.Context, p *peers.Agent, t *task, q question, text string, th exchange.Thread) error {
	ts.mu.Lock()
	was := t.Question
	known := was != nil && was.Ref == q.Ref && slices.Equal(was.Keys, q.Keys)
	ts.mu.Unlock()
	if known {
		return nil
	}
	s, _ := mess.LastStatus(th.Messages)
	if q.Tries >= maxTries {
		ts.setQuestion(t, q)
		return ts.ack(ctx, p, t, th, text, s)
	}
	q.ID = newID()
	ts.setQuestion(t, q)
	if err := ts.saveTask(ctx, t); err != nil {
		return err
	}
	return ts.sendQuestion(ctx, p, t, q, text, s)
}

func (ts *tasks) setQuestion(t *task, q question) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t.Question != nil {
		delete(ts.questions, t.Question.ID)
	}
	t.Question = &q
	if q.ID != "" {
		ts.questions[q.ID] = t.Ref
	}
}

// sendQuestion sends a question as a request.
func (ts *tasks) sendQuestion(ctx context.Context, p *peers.Agent, t *task, q question, text string, s *mess.Status) error {
	ts.mu.Lock()
	a := t.Asked[len(t.Asked)-1]
	ts.mu.Unlock()
	e := ts.outbox.answerTo(p, a, wire.Request)
	e.ID = q.ID
	e.Payload.Subject = "Question about: " + a.Subject
	e.Payload.Body = text
	e.ReplyTo = ts.outbox.replyTo(p, "") // the session in the context is that of the peer
	e.Payload.Metadata = wire.Object{}.With("status", "needs_answer").With("ref", t.Ref)
	if s != nil {
		e.Payload.Metadata = e.Payload.Metadata.With(messKey, string(jsonOf(mess.Message{Ref: q.Ref, Re: mess.Refs{t.Ref}, Items: []mess.Item{s}})))
	}
	return ts.outbox.enqueue(ctx, ts.outbox.answer(p, e, a))
}

// acceptAnswer handles the answer of a peer to a question about its task. The answer counts for
// that question only. ours is false if the message answers no question.
func (ts *tasks) acceptAnswer(ctx context.Context, in *incoming) (status string, ours bool, _ error) {
	ts.mu.Lock()
	t := ts.tasks[ts.questions[in.CorrelationID]]
	if t == nil || t.Peer != in.From || t.Question == nil || t.Question.ID != in.CorrelationID {
		ts.mu.Unlock()
		return "", false, nil
	}
	q := *t.Question
	ts.mu.Unlock()
	if in.Type == wire.Ack {
		return received, true, nil
	}
	in.line.Ref = t.Ref
	if in.Payload.Metadata.Get("status") == string(mess.Failed) { // the peer could not accept the question
		return "answer_refused", true, nil
	}
	r, reason := ts.replyOf(in, q)
	if r != nil {
		r.Re = mess.Refs{q.Ref}
		_, err := ts.x.Post(ctx, exchange.Inbound{Actor: in.peer.Actor(), Channel: channel, Message: mess.Message{ID: in.ID, Items: []mess.Item{r}}})
		if err == nil {
			return "answer", true, nil
		}
		if unavailable(err) {
			return "", true, err
		}
		reason = err.Error()
	}
	ts.audit(in, "answer_refused", reason)
	return "answer_not_taken", true, ts.askAgain(ctx, in.peer, t, q, reason)
}

// askAgain repeats an unanswered question, at most maxTries times.
func (ts *tasks) askAgain(ctx context.Context, p *peers.Agent, t *task, q question, reason string) error {
	th, err := ts.x.Thread(ctx, p.Actor(), t.Ref)
	if err != nil {
		return err
	}
	now, text, asks := openQuestion(th)
	if q.Tries++; !asks || now.Ref != q.Ref || q.Tries >= maxTries {
		return nil
	}
	q.ID = newID()
	ts.setQuestion(t, q)
	if err := ts.saveTask(ctx, t); err != nil {
		return err
	}
	s, _ := mess.LastStatus(th.Messages)
	return ts.sendQuestion(ctx, p, t, q, "The answer is not valid: "+reason+"\n"+text, s)
}

// replyOf converts an answer to a reply, or returns why it is invalid.
func (ts *tasks) replyOf(in *incoming, q question) (*mess.Reply, string) {
	if text := in.Payload.Metadata.Get(messKey); text != "" {
		return nativeReply(text, q)
	}
	text := strings.TrimSpace(in.Payload.Body)
	if q.Confirm {
		yes, no, stop := ts.opts.YesNo(text)
		if !yes && !no && !stop {
			return nil, "it is neither a plain yes nor no"
		}
		confirm := yes && !stop
		return &mess.Reply{Confirm: &confirm, ActionHash: q.Hash}, ""
	}
	if text == "" {
		return nil, "it is empty"
	}
	if len(q.Keys) == 1 {
		return &mess.Reply{Answers: mess.Object{{Key: q.Keys[0], Value: strings.TrimSpace(strings.TrimPrefix(text, q.Keys[0]+":"))}}}, ""
	}
	given := map[string]string{}
	if json.Unmarshal([]byte(text), &given) != nil {
		for line := range strings.Lines(text) {
			key, value, ok := strings.Cut(line, ":")
			if ok {
				given[strings.TrimSpace(key)] = strings.TrimSpace(value)
			}
		}
	}
	r := &mess.Reply{}
	for _, key := range q.Keys {
		if given[key] == "" {
			return nil, fmt.Sprintf("there is no answer to %q", key)
		}
		r.Answers = append(r.Answers, mess.Field{Key: key, Value: given[key]})
	}
	return r, ""
}

// nativeReply returns the reply in a MESS message. A confirmation counts for the plan in the
// question only.
func nativeReply(text string, q question) (*mess.Reply, string) {
	m, err := parseMess(text)
	if err != nil {
		return nil, err.Error()
	}
	if len(m.Items) != 1 {
		return nil, "payload.metadata.mess: is not one reply"
	}
	r, ok := m.Items[0].(*mess.Reply)
	switch {
	case !ok:
		return nil, "payload.metadata.mess: is no reply"
	case r.Confirm != nil && !q.Confirm:
		return nil, "the question wants no confirmation"
	case r.ActionHash != "" && r.ActionHash != q.Hash:
		return nil, "action_hash is that of another plan"
	}
	c := *r
	if c.Confirm != nil {
		c.ActionHash = q.Hash
	}
	return &c, ""
}

// cancel cancels a task for its peer.
func (ts *tasks) cancel(ctx context.Context, in *incoming, t *task) (string, error) {
	c := &mess.Cancel{Re: mess.Refs{t.Ref}, Reason: "asked for by " + in.From}
	_, err := ts.x.Post(ctx, exchange.Inbound{Actor: in.peer.Actor(), Channel: channel, Message: mess.Message{ID: in.ID, Items: []mess.Item{c}}})
	in.line.Ref = t.Ref
	switch {
	case err == nil:
		return "cancel", nil
	case unavailable(err):
		return "", err
	}
	return "cancel_refused", nil
}
