package agentmail

import (
	"context"
	"errors"
	"slices"
	"sync"
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

// outbox sends the stored messages to mail agents, and gives HTTP clients theirs.
type outbox struct {
	*shared
	box Mailbox // nil: there is no mail server

	rests  map[string]rest // recipients that take nothing now; for send alone
	pixels sync.Mutex      // held while an image is scaled

	// withdrawn reports whether an assignment was cancelled before it was sent; its task has
	// ended then.
	withdrawn func(context.Context, entry) (bool, error)
	// undeliverable ends the task of an assignment that cannot be delivered.
	undeliverable func(context.Context, entry, error)
}

// send sends what waits, for each recipient in order. Its error is that the server
// cannot be reached; what the server does not take is tried again later, and given
// up where that cannot help.
func (b *outbox) send(ctx context.Context) error {
	for {
		e, ok := b.next()
		if !ok {
			return nil
		}
		if err := b.sendOne(ctx, e); err != nil {
			return err
		}
	}
}

// next is the first message whose recipient takes one now.
func (b *outbox) next() (entry, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.s.Out {
		if !e.HTTP && !b.now().Before(b.rests[e.To].until) {
			return *e, true
		}
	}
	return entry{}, false
}

// sendOne sends one message: that it is tried is written down before, so that what
// may have arrived is looked for, and not sent twice.
func (b *outbox) sendOne(ctx context.Context, e entry) error {
	if !e.Tried.IsZero() {
		there, err := b.wasSent(ctx, e)
		if err != nil {
			return err
		}
		if there {
			return b.sent(e, e.Tried)
		}
	}
	body, err := b.render(ctx, &e) // a slow machine may take longer than a call
	if errors.Is(err, mess.Unavailable) {
		return err
	}
	if err != nil {
		b.log.Error("a message cannot be made, and is left out", "ref", e.Ref, "to", e.To, "err", err)
		return b.drop(e)
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if e.Tried.IsZero() {
		e.Tried = b.now()
		if over, err := b.withdrawn(ctx, e); over || err != nil {
			return err
		}
		if err := b.alter(e.Seq, func(one *entry) { one.Tried = e.Tried }); err != nil {
			return err
		}
	}
	at, err := b.box.Send(ctx, b.letter(e, body))
	var tool *mailbox.ToolError
	switch {
	case err == nil:
		return b.sent(e, at)
	case !errors.As(err, &tool):
		return err
	}
	return b.notTaken(ctx, e, err)
}

// wasSent reports whether the server has a message of an earlier attempt.
func (b *outbox) wasSent(ctx context.Context, e entry) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return b.box.Sent(ctx, e.ID, e.Tried.Add(-overlap))
}

// notTaken is what becomes of a message that the server does not take.
func (b *outbox) notTaken(ctx context.Context, e entry, err error) error {
	b.log.Warn("the mail server does not take a message", "to", e.To, "ref", e.Ref, "err", err)
	switch {
	case errors.Is(err, mailbox.ErrToken):
		return err
	case errors.Is(err, mailbox.ErrNoContact):
		if err := b.box.Ask(ctx, e.To); err != nil {
			b.log.Warn("not asked for contact", "to", e.To, "err", err)
		}
	case errors.Is(err, mailbox.ErrBadName), errors.Is(err, mailbox.ErrBadMessage):
		b.undeliverable(ctx, e, err)
		return b.drop(e)
	}
	if b.now().Sub(e.At) > giveUp(e) {
		b.undeliverable(ctx, e, err)
		return b.drop(e)
	}
	if over, err := b.withdrawn(ctx, e); over || err != nil {
		return err
	}
	if err := b.alter(e.Seq, func(one *entry) { one.Tried = time.Time{} }); err != nil { // it has not arrived
		return err
	}
	r := b.rests[e.To]
	r.wait = min(max(2*r.wait, firstWait), lastWait)
	r.until = b.now().Add(r.wait)
	b.rests[e.To] = r
	return nil
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
func (b *outbox) sent(e entry, at time.Time) error {
	delete(b.rests, e.To)
	return b.change(func(s *state) {
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

func (b *outbox) drop(e entry) error { return b.change(func(s *state) { s.remove(e.Seq) }) }

func (s *state) remove(seq uint64) {
	s.Out = slices.DeleteFunc(s.Out, func(e *entry) bool { return e.Seq == seq })
}

func (b *outbox) alter(seq uint64, do func(*entry)) error {
	return b.change(func(s *state) {
		for _, e := range s.Out {
			if e.Seq == seq {
				do(e)
			}
		}
	})
}

// waiting are the messages for an actor after a number, and what is closed when
// there are others.
func (b *outbox) waiting(from peer, after uint64) ([]entry, chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []entry
	for _, e := range b.s.Out {
		if e.HTTP && e.To == from.name && e.Seq > after && len(list) < maxBatch {
			list = append(list, *e)
		}
	}
	return list, b.news
}

// got forgets the messages that an actor has.
func (b *outbox) got(from peer, after uint64) error {
	mine := func(e *entry) bool { return e.HTTP && e.To == from.name && e.Seq <= after }
	b.mu.Lock()
	found := false
	for _, e := range b.s.Out {
		found = found || mine(e)
	}
	b.mu.Unlock()
	if !found {
		return nil
	}
	return b.change(func(s *state) {
		var left []*entry
		for _, e := range s.Out {
			if !mine(e) {
				left = append(left, e)
			}
		}
		s.Out = left
	})
}
