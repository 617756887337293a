package mqtt

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/inbox"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/topic"
)

// retainedState is the state of a thread at the broker.
type retainedState struct {
	requester string
	clear     time.Time // when the broker may forget it; zero for an open thread
}

// maxFound bounds the states at an external broker whose threads the exchange does not have.
const maxFound = 10_000

// threadStates publishes the envelope of each thread as a retained message, until some time
// after its end. It is safe for concurrent use.
type threadStates struct {
	x          *exchange.Exchange
	root       topic.Root
	keep       time.Duration // after the end of a thread
	log        *slog.Logger
	now        func() time.Time
	connection *connection
	observer   observer

	mu    sync.Mutex
	byRef map[string]*retainedState
}

// run publishes the state of each thread that changes, until ctx ends.
func (s *threadStates) run(ctx context.Context, to publisher) {
	actor := exchange.Actor{ID: exchange.Self, Roles: exchange.Observer}
	inbox.Events(ctx, s.x, actor, inbox.OnlyNew, s.log, func(e exchange.Event) error {
		switch e.Kind {
		case exchange.EventReset:
			return s.publishAll(ctx, to, actor)
		case exchange.EventMessage:
			if err := s.publish(ctx, to, e.Thread); err != nil {
				return err
			}
			s.observer.Message(e.Thread, e.Message, true)
		}
		return nil
	})
}

// publishAll publishes the open threads, the newest first, and those that have ended recently.
func (s *threadStates) publishAll(ctx context.Context, to publisher, actor exchange.Actor) error {
	f := exchange.Filter{Status: exchange.OpenCodes(), Limit: 1000}
	for {
		page, err := s.x.List(ctx, actor, f)
		if err != nil {
			return err
		}
		for _, e := range page.Threads {
			if err := s.publish(ctx, to, e); err != nil {
				return err
			}
			s.observer.Thread(ctx, e)
		}
		if f.Cursor = page.Cursor; f.Cursor == "" {
			break
		}
	}
	s.mu.Lock()
	var open []string
	for ref, r := range s.byRef {
		if r.clear.IsZero() {
			open = append(open, ref)
		}
	}
	s.mu.Unlock()
	for _, ref := range open { // one may have ended without an event to this session
		if t, err := s.x.Thread(ctx, actor, ref); err == nil && t.Status.Terminal() {
			if err := s.publish(ctx, to, t.Envelope); err != nil {
				return err
			}
			s.observer.Message(t.Envelope, t.Messages[len(t.Messages)-1], false)
		}
	}
	return nil
}

// publish publishes the envelope of a thread.
func (s *threadStates) publish(ctx context.Context, to publisher, e exchange.Envelope) error {
	s.record(e)
	text, err := envelopeObject(e).MarshalJSON()
	if err != nil {
		return err
	}
	return to.publish(ctx, outgoing{topic: s.root.State(e.Ref), payload: text, retain: true})
}

// record notes the requester of a thread, and when its state expires.
func (s *threadStates) record(e exchange.Envelope) {
	r := &retainedState{requester: e.Requester}
	if e.Status.Terminal() {
		r.clear = e.Updated.Add(s.keep)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byRef[e.Ref] = r
}

// envelopeObject returns the envelope of a thread with the fields of MESSE-AF 2.1 ("Envelope
// Fields").
func envelopeObject(e exchange.Envelope) mess.Object {
	o := mess.Object{{Key: "ref", Value: e.Ref}}
	add := func(key, value string) {
		if value != "" {
			o = append(o, mess.Field{Key: key, Value: value})
		}
	}
	add("client_id", e.ClientID)
	add("requestor", e.Requester)
	add("executor", e.Executor)
	add("status", string(e.Status))
	add("created", string(mess.TimeOf(e.Created)))
	add("updated", string(mess.TimeOf(e.Updated)))
	add("expires", string(mess.TimeOf(e.Expires)))
	add("intent", e.Intent)
	add("priority", string(e.Priority))
	return append(o, mess.Field{Key: "ver", Value: e.Ver})
}

// adopt takes a state that an earlier run has left at an external broker. The broker forgets it
// later, or at once if there are too many.
func (s *threadStates) adopt(ctx context.Context, ref string, in inbound) {
	if !in.retain || len(in.payload) == 0 {
		return // the exchange has published it now
	}
	s.mu.Lock()
	known, room := s.byRef[ref] != nil, len(s.byRef) < maxFound
	s.mu.Unlock()
	switch {
	case known:
	case room || s.envelope(ref).Ref != "":
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.byRef[ref] == nil {
			s.byRef[ref] = &retainedState{clear: s.now().Add(s.keep)} // publish replaces the entry of an open thread
		}
	default:
		s.connection.send(ctx, outgoing{topic: in.topic, retain: true})
	}
}

// clearExpired removes expired states from the broker.
func (s *threadStates) clearExpired(ctx context.Context, to publisher) {
	var over []string
	s.mu.Lock()
	now := s.now()
	for ref, r := range s.byRef {
		if !r.clear.IsZero() && now.After(r.clear) {
			over = append(over, ref)
		}
	}
	s.mu.Unlock()
	for _, ref := range over {
		if err := to.publish(ctx, outgoing{topic: s.root.State(ref), retain: true}); err != nil {
			s.log.Debug("clearing a state failed", "ref", ref, "err", err)
			return
		}
		s.mu.Lock()
		if r := s.byRef[ref]; r != nil && !r.clear.IsZero() {
			delete(s.byRef, ref)
		}
		s.mu.Unlock()
	}
}

// requesterOf returns the requester of a thread, or "".
func (s *threadStates) requesterOf(ref string) string {
	s.mu.Lock()
	r := s.byRef[ref]
	s.mu.Unlock()
	if r != nil && r.requester != "" {
		return r.requester
	}
	return s.envelope(ref).Requester
}

// envelope reads the envelope of a thread. It is empty if there is no such thread.
func (s *threadStates) envelope(ref string) exchange.Envelope {
	ctx, cancel := context.WithTimeout(context.Background(), workTime)
	defer cancel()
	t, err := s.x.Thread(ctx, exchange.Actor{ID: exchange.Self, Roles: exchange.Observer}, ref)
	if err != nil || t.Ref != ref {
		return exchange.Envelope{}
	}
	return t.Envelope
}
