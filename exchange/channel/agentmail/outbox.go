package agentmail

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/exchange/channel/agentmail/mailbox"
	"github.com/messkit/messkit/mess"
)

// rest is how long a recipient gets nothing since the server would not take it.
type rest struct {
	until time.Time
	wait  time.Duration
}

// send sends what waits, for each recipient in order. Its error is that the server
// cannot be reached; what the server does not take is tried again later, and given
// up where that cannot help.
func (d *Adapter) send(ctx context.Context) error {
	for {
		e, ok := d.next()
		if !ok {
			return nil
		}
		if err := d.sendOne(ctx, e); err != nil {
			return err
		}
	}
}

// next is the first message whose recipient takes one now.
func (d *Adapter) next() (entry, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.s.Out {
		if !e.HTTP && !d.now().Before(d.rests[e.To].until) {
			return *e, true
		}
	}
	return entry{}, false
}

// sendOne sends one message: that it is tried is written down before, so that what
// may have arrived is looked for, and not sent twice.
func (d *Adapter) sendOne(ctx context.Context, e entry) error {
	if !e.Tried.IsZero() {
		there, err := d.wasSent(ctx, e)
		if err != nil {
			return err
		}
		if there {
			return d.sent(e, e.Tried)
		}
	}
	body, err := d.render(ctx, &e) // a slow machine may take longer than a call
	if errors.Is(err, mess.Unavailable) {
		return err
	}
	if err != nil {
		d.log.Error("a message cannot be made, and is left out", "ref", e.Ref, "to", e.To, "err", err)
		return d.drop(e)
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if e.Tried.IsZero() {
		e.Tried = d.now()
		if g := d.of(e.Ref); g != nil && e.Kind == string(format.TypeTaskAssignment) && d.unwanted(ctx, e.Ref) {
			return d.revoke(ctx, e, g)
		}
		if err := d.alter(e.Seq, func(one *entry) { one.Tried = e.Tried }); err != nil {
			return err
		}
	}
	at, err := d.box.Send(ctx, d.letter(e, body))
	var tool *mailbox.ToolError
	switch {
	case err == nil:
		return d.sent(e, at)
	case !errors.As(err, &tool):
		return err
	}
	return d.notTaken(ctx, e, err)
}

// wasSent reports whether the server has a message of an earlier attempt.
func (d *Adapter) wasSent(ctx context.Context, e entry) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return d.box.Sent(ctx, e.ID, e.Tried.Add(-overlap))
}

// letter is a message as a mail.
func (d *Adapter) letter(e entry, body []byte) mailbox.Letter {
	l := mailbox.Letter{To: e.To, Body: string(body), Thread: threadID(e.Thread), Importance: "normal"}
	kind, about, importance := describe(body)
	l.Subject = mailbox.Subject("[" + kind + "] " + strings.TrimSpace(e.Task+" "+about))
	if importance != "" {
		l.Importance = importance
	}
	l.Ack = kind == string(format.TypeTaskAssignment) || kind == string(format.TypeCoordinationRequest)
	return l
}

// describe is what a mail about a message says on its outside.
func describe(body []byte) (kind, about, importance string) {
	m, err := format.Parse(string(body), format.Mail{}, format.Strict)
	if err != nil {
		return "message", "", ""
	}
	switch b := m.Body.(type) {
	case *format.TaskAssignment:
		about, importance = b.Description, string(b.Priority)
	case *format.TaskCompletion:
		about = b.Summary
	case *format.StatusUpdate:
		about = b.Summary
	case *format.ErrorReport:
		about = b.Error.Message
		if b.NeedsHumanIntervention {
			importance = "high"
		}
	case *format.CoordinationRequest:
		about, importance = b.Topic, "high"
	}
	return string(m.Type), about, importance
}

// notTaken is what becomes of a message that the server does not take.
func (d *Adapter) notTaken(ctx context.Context, e entry, err error) error {
	d.log.Warn("the mail server does not take a message", "to", e.To, "ref", e.Ref, "err", err)
	switch {
	case errors.Is(err, mailbox.ErrToken):
		return err
	case errors.Is(err, mailbox.ErrNoContact):
		if err := d.box.Ask(ctx, e.To); err != nil {
			d.log.Warn("not asked for contact", "to", e.To, "err", err)
		}
	case errors.Is(err, mailbox.ErrBadName), errors.Is(err, mailbox.ErrBadMessage):
		d.unsendable(ctx, e, err)
		return d.drop(e)
	}
	if d.now().Sub(e.At) > giveUp(e) {
		d.unsendable(ctx, e, err)
		return d.drop(e)
	}
	if g := d.of(e.Ref); g != nil && e.Kind == string(format.TypeTaskAssignment) && d.unwanted(ctx, e.Ref) {
		return d.revoke(ctx, e, g)
	}
	if err := d.alter(e.Seq, func(one *entry) { one.Tried = time.Time{} }); err != nil { // it has not arrived
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.rests[e.To]
	r.wait = min(max(2*r.wait, firstWait), lastWait)
	r.until = d.now().Add(r.wait)
	d.rests[e.To] = r
	return nil
}

// unwanted reports whether a task was taken back while it was being sent.
func (d *Adapter) unwanted(ctx context.Context, ref string) bool {
	th, err := d.x.Thread(ctx, self, ref)
	return err == nil && th.CancelBy != ""
}

// revoke ends a task that was taken back and has not arrived, and all that was to be
// said about it.
func (d *Adapter) revoke(_ context.Context, e entry, g *given) error {
	a, ok := d.cfg.agent(g.Agent)
	if ok {
		if err := d.end(a, e.Ref, g, mess.Cancelled, "cancelled", "it was cancelled before it could be sent"); err != nil {
			d.log.Warn("a task that was taken back is not ended", "ref", e.Ref, "err", err)
		}
	}
	return d.change(func(s *state) {
		s.Out = slices.DeleteFunc(s.Out, func(one *entry) bool { return !one.HTTP && one.To == e.To && one.Task == e.Ref })
	})
}

// giveUp is how long a message is tried to be sent: a task that nobody gets is soon
// given to another.
func giveUp(e entry) time.Duration {
	if e.Kind == string(format.TypeTaskAssignment) {
		return beat
	}
	return keptFor
}

// sent notes that a message has arrived, and when, by the server's clock.
func (d *Adapter) sent(e entry, at time.Time) error {
	d.mu.Lock()
	delete(d.rests, e.To)
	d.mu.Unlock()
	return d.change(func(s *state) {
		s.remove(e.Seq)
		if t := s.Tasks[e.Ref]; t != nil {
			for i := range t.Asked {
				if t.Asked[i].Letter == e.ID {
					t.Asked[i].Sent = at
				}
			}
		}
		if g := s.Given[e.Ref]; g != nil && e.Kind == string(format.TypeTaskAssignment) {
			g.Sent = true
		}
	})
}

func (d *Adapter) drop(e entry) error { return d.change(func(s *state) { s.remove(e.Seq) }) }

func (s *state) remove(seq uint64) {
	s.Out = slices.DeleteFunc(s.Out, func(e *entry) bool { return e.Seq == seq })
}

func (d *Adapter) alter(seq uint64, do func(*entry)) error {
	return d.change(func(s *state) {
		for _, e := range s.Out {
			if e.Seq == seq {
				do(e)
			}
		}
	})
}
