package agentmail

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/mess"
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
