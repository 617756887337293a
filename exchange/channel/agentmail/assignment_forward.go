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

// forward passes on to the agent what is said to its task.
func (d *Adapter) forward(a Agent, ref string, g *given, m mess.Message, item mess.Item) error {
	topic := "More was said about this task"
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
		item, topic = &r, replyInWords(&r)
	case *mess.Answer:
		if yes, ok := i.Value.(bool); ok { // in the form that binds it
			return d.forward(a, ref, g, m, &mess.Reply{Confirm: &yes})
		}
		c := *i
		c.Re = nil
		if n := len(g.Asks); n > 0 && g.Asks[n-1].There != "" {
			c.Re = mess.Refs{g.Asks[n-1].There}
		}
		item, topic = &c, "Answer: "+inWords(i.Value)
	case *mess.Cancel:
		topic = strings.TrimSuffix("Cancel this task: "+i.Reason, ": ")
		if d.takenBack(ref) {
			return d.end(a, ref, g, mess.Cancelled, "cancelled", "it was cancelled before it was sent")
		}
	}
	return d.tellAgent(a, ref, topic, item)
}

// tellAgent queues a message for the one who works on a task.
func (d *Adapter) tellAgent(a Agent, ref, topic string, item mess.Item) error {
	body := format.Say(ref, a.Name, topic, mess.Message{Items: []mess.Item{item}})
	return d.queue(peer{name: a.Name}, ref, d.wrap(newID(), d.now(), body))
}

// takenBack takes an assignment out of what is to be sent, if it was never tried.
func (d *Adapter) takenBack(ref string) bool {
	back := false
	err := d.change(func(s *state) {
		s.Out = slices.DeleteFunc(s.Out, func(e *entry) bool {
			is := e.Ref == ref && e.Kind == string(format.TypeTaskAssignment) && e.Tried.IsZero()
			back = back || is
			return is
		})
	})
	return back && err == nil
}

// end ends the thread of a task that the agent has not got.
func (d *Adapter) end(a Agent, ref string, g *given, code mess.Code, kind, why string) error {
	s := &mess.Status{Code: code, Reason: &mess.Reason{Type: kind, Detail: why, Effect: mess.EffectNone}}
	if code == mess.Failed {
		s.Recoverable = new(true)
	}
	err := d.tells(context.Background(), a, ref, g, s)
	return errors.Join(err, d.change(func(s *state) { delete(s.Given, ref) }))
}

// unsendable ends a task that the mail server does not deliver.
func (d *Adapter) unsendable(_ context.Context, e entry, why error) {
	g := d.of(e.Ref)
	if g == nil || e.Kind != string(format.TypeTaskAssignment) {
		return
	}
	a, ok := d.cfg.agent(g.Agent)
	if !ok {
		return
	}
	if err := d.end(a, e.Ref, g, mess.Failed, "not_sent", "the mail server does not deliver it to "+g.Agent+": "+why.Error()); err != nil {
		d.log.Warn("a task that was not sent is not ended", "ref", e.Ref, "err", err)
	}
}

func replyInWords(r *mess.Reply) string {
	switch {
	case r.Confirm != nil && *r.Confirm:
		return "Answer: yes"
	case r.Confirm != nil:
		return "Answer: no"
	}
	var said []string
	for _, f := range r.Answers {
		said = append(said, f.Key+": "+inWords(f.Value))
	}
	return "Answer: " + strings.Join(said, "; ")
}

func inWords(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	data, _ := json.Marshal(v) // it was read from JSON
	return string(data)
}

// stopAll tells an agent to stop all that it does for this exchange. Mail is slow:
// the exchange goes on to show the stop as not confirmed.
func (d *Adapter) stopAll(a Agent, stop mess.Stop) error {
	d.mu.Lock()
	var refs []string
	for ref, g := range d.s.Given {
		if g.ID == a.executor() && g.Begun {
			refs = append(refs, ref)
		}
	}
	d.mu.Unlock()
	var errs []error
	for _, ref := range refs {
		if d.takenBack(ref) {
			errs = append(errs, d.end(a, ref, d.of(ref), mess.Failed, "stopped", "it was stopped before it was sent"))
			continue
		}
		errs = append(errs, d.tellAgent(a, ref, "STOP this task at once: "+stop.Why, &mess.Cancel{Reason: "stop: " + stop.Why}))
	}
	return errors.Join(errs...)
}
