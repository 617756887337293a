package agentmail

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/exchange/channel/agentmail/mailbox"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// backoff delays the messages to a recipient after the server has rejected one.
type backoff struct {
	until    time.Time
	failures int
}

// backoffTime is the wait after failures that follow each other. It has no jitter, because all
// recipients are at one server.
var backoffTime = wait.Backoff{First: firstWait, Last: lastWait, Jitter: func(limit time.Duration) time.Duration { return limit }}

// outbox sends the stored messages to mail agents, and gives HTTP clients theirs.
type outbox struct {
	*shared
	box Mailbox // nil: there is no mail server

	backoffs map[string]backoff // by recipient; for send only
	pixels   sync.Mutex         // held while an image is scaled

	// withdrawn reports whether an assignment was cancelled before it was sent; its task has
	// ended then.
	withdrawn func(context.Context, outboxEntry) (bool, error)
	// undeliverable ends the task of an assignment that cannot be delivered.
	undeliverable func(context.Context, outboxEntry, error)
}

// send sends the queued messages, in order for each recipient. It returns an error if the server
// is unreachable. It tries a rejected message again later, or drops it if that cannot help.
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

// next returns the first message whose recipient has no backoff.
func (b *outbox) next() (outboxEntry, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.s.Out {
		if !e.HTTP && !b.now().Before(b.backoffs[e.To].until) {
			return *e, true
		}
	}
	return outboxEntry{}, false
}

// sendOne sends one message. It stores the time of the attempt first, so that a later run looks
// for the message at the server and does not send it twice.
func (b *outbox) sendOne(ctx context.Context, e outboxEntry) error {
	if !e.Tried.IsZero() {
		there, err := b.isAtServer(ctx, e)
		if err != nil {
			return err
		}
		if there {
			return b.markSent(e, e.Tried)
		}
	}
	body, err := b.render(ctx, &e) // before the time limit of the call, because it can take long on a slow board
	if errors.Is(err, mess.Unavailable) {
		return err
	}
	if err != nil {
		b.log.Error("cannot build a message; messkit drops it", "ref", e.Ref, "to", e.To, "err", err)
		return b.remove(e)
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if e.Tried.IsZero() {
		e.Tried = b.now()
		if over, err := b.withdrawn(ctx, e); over || err != nil {
			return err
		}
		if err := b.update(e.Seq, func(one *outboxEntry) { one.Tried = e.Tried }); err != nil {
			return err
		}
	}
	at, err := b.box.Send(ctx, b.emailOf(e, body))
	var tool *mailbox.ToolError
	switch {
	case err == nil:
		return b.markSent(e, at)
	case !errors.As(err, &tool):
		return err
	}
	return b.handleError(ctx, e, err)
}

// isAtServer reports whether the server has a message of an earlier attempt.
func (b *outbox) isAtServer(ctx context.Context, e outboxEntry) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return b.box.Sent(ctx, e.ID, e.Tried.Add(-overlap))
}

// handleError drops a message that the server has rejected, or delays it.
func (b *outbox) handleError(ctx context.Context, e outboxEntry, err error) error {
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
		return b.remove(e)
	}
	if b.now().Sub(e.At) > giveUp(e) {
		b.undeliverable(ctx, e, err)
		return b.remove(e)
	}
	if over, err := b.withdrawn(ctx, e); over || err != nil {
		return err
	}
	if err := b.update(e.Seq, func(one *outboxEntry) { one.Tried = time.Time{} }); err != nil { // the server does not have it
		return err
	}
	r := b.backoffs[e.To]
	r.failures++
	r.until = b.now().Add(backoffTime.After(r.failures))
	b.backoffs[e.To] = r
	return nil
}

// giveUp returns how long the outbox tries to send a message. It gives an assignment up early, so
// that another executor can get the task.
func giveUp(e outboxEntry) time.Duration {
	if e.Kind == string(format.TypeTaskAssignment) {
		return silentTime
	}
	return keptFor
}

// markSent removes a message that was delivered, and stores its time by the server's clock.
func (b *outbox) markSent(e outboxEntry, at time.Time) error {
	delete(b.backoffs, e.To)
	return b.change(func(s *state) {
		s.remove(e.Seq)
		if t := s.Tasks[e.Ref]; t != nil {
			for i := range t.Asked {
				if t.Asked[i].Mail == e.ID {
					t.Asked[i].Sent = at
				}
			}
		}
		if g := s.Given[e.Ref]; g != nil && e.Kind == string(format.TypeTaskAssignment) {
			g.Sent = true
		}
	})
}

func (b *outbox) remove(e outboxEntry) error { return b.change(func(s *state) { s.remove(e.Seq) }) }

func (s *state) remove(seq uint64) {
	s.Out = slices.DeleteFunc(s.Out, func(e *outboxEntry) bool { return e.Seq == seq })
}

func (b *outbox) update(seq uint64, do func(*outboxEntry)) error {
	return b.change(func(s *state) {
		for _, e := range s.Out {
			if e.Seq == seq {
				do(e)
			}
		}
	})
}

// pending returns the messages for an actor after a number, and a channel that is closed at the
// next change.
func (b *outbox) pending(from peer, after uint64) ([]outboxEntry, chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []outboxEntry
	for _, e := range b.s.Out {
		if e.HTTP && e.To == from.name && e.Seq > after && len(list) < maxBatch {
			list = append(list, *e)
		}
	}
	return list, b.news
}

// acknowledge removes the messages that an actor has received.
func (b *outbox) acknowledge(from peer, after uint64) error {
	mine := func(e *outboxEntry) bool { return e.HTTP && e.To == from.name && e.Seq <= after }
	b.mu.Lock()
	found := slices.ContainsFunc(b.s.Out, mine)
	b.mu.Unlock()
	if !found {
		return nil
	}
	return b.change(func(s *state) { s.Out = slices.DeleteFunc(s.Out, mine) })
}
