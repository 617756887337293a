package natsapi

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/internal/wait"
)

// session sends an executor its offers, orders and messages.
type session struct {
	api      *API
	executor string
	name     string
	subject  string
	secret   []byte

	ctx     context.Context
	cancel  context.CancelFunc
	unwatch func() // ends the watch of the key

	number uint64          // of the last event
	sent   map[string]bool // present orders that went out, by text; true: before their event

	mu    sync.Mutex
	heard time.Time // time of the last sign of life
}

const (
	ackTime  = 5 * time.Second        // for the acknowledgment of an event
	goneTime = 5 * time.Second        // after it, an executor whom no server reaches has gone
	again    = 100 * time.Millisecond // between two attempts
)

// beginSession begins the session of an executor at this exchange, in place of its earlier one. The
// same message again changes nothing.
func (a *API) beginSession(q question) {
	a.mu.Lock()
	old := a.sessions[q.Executor]
	if old != nil && old.name == q.Session {
		a.mu.Unlock()
		return
	}
	if err := natslink.CheckWord(q.Session); err != nil { // it would be another subject
		a.mu.Unlock()
		a.unreadable.Add(1)
		return
	}
	s := &session{
		api: a, executor: q.Executor, name: q.Session, secret: q.secret, heard: time.Now(), sent: map[string]bool{},
		subject: a.cfg.Subjects.Executor(q.Executor, natslink.In, q.Session),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	a.sessions[q.Executor] = s
	a.mu.Unlock()
	if old != nil {
		old.publish(natslink.End) // another process with its id, or somebody repeats its message
		old.cancel()
	}
	s.unwatch = a.keys.WatchSecret(q.secret, q.actor, func() { go a.endSession(s.executor, s.name) })
	a.work.Add(1)
	go s.run(q.executor())
}

// run subscribes to the events of the executor. It returns when the executor has the present state.
func (s *session) run(actor exchange.Actor) {
	f, err := s.api.x.Subscribe(s.ctx, actor, "", s.deliver, s.broken)
	if err != nil {
		s.broken()
	}
	context.AfterFunc(s.ctx, func() {
		defer s.api.work.Done()
		s.unwatch()
		if err == nil {
			_ = f.Close() // broken has its error
		}
	})
}

// broken ends the session after an error. The executor opens another one, and gets its state anew.
func (s *session) broken() { s.api.endSession(s.executor, s.name) }

// endSession ends a session, and tells the executor.
func (a *API) endSession(executor, name string) {
	a.mu.Lock()
	s := a.sessions[executor]
	if s == nil || s.name != name {
		a.mu.Unlock()
		return
	}
	delete(a.sessions, executor)
	a.mu.Unlock()
	s.publish(natslink.End)
	s.cancel()
}

// allSessions returns the present sessions.
func (a *API) allSessions() []*session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Values(a.sessions))
}

// endSessions ends all sessions.
func (a *API) endSessions() {
	for _, s := range a.allSessions() {
		a.endSession(s.executor, s.name)
	}
}

// alive records a sign of life.
func (a *API) alive(h natslink.Head) {
	a.mu.Lock()
	s := a.sessions[h.Executor]
	a.mu.Unlock()
	if s != nil && s.name == h.Session {
		s.markAlive()
	}
}

func (s *session) markAlive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = time.Now()
}

// isSilent reports whether the executor has given no sign of life for long.
func (s *session) isSilent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.heard) > time.Duration(float64(s.api.cfg.Beat)*natslink.Silence)
}

// publish sends a message that needs no acknowledgment. One that gets lost is followed by another.
func (s *session) publish(k natslink.Kind) {
	data := natslink.Seal(s.secret, natslink.Head{Kind: k, Executor: s.executor, ID: rand.Text(), Session: s.name}, nil)
	if err := s.api.nc.Publish(s.subject, data); err != nil {
		s.api.log.Debug("not sent over NATS", "executor", s.executor, "kind", k, "err", err)
	}
}

// deliver sends one event, and returns when the executor has acknowledged it. Orders that wait behind
// the event go before it: a stop does not wait for the acknowledgments of offers.
func (s *session) deliver(e exchange.Event) error {
	text := s.encode(e)
	if isOrder(e) {
		early := s.sent[text]
		s.sent[text] = false
		if early {
			return nil
		}
		return s.send(e, text)
	}
	now := map[string]bool{}
	for _, order := range s.api.x.Orders(s.executor) {
		text := s.encode(order)
		early, known := s.sent[text]
		if !known {
			if err := s.send(order, text); err != nil {
				return err
			}
		}
		now[text] = early || !known
	}
	s.sent = now
	return s.send(e, text)
}

func isOrder(e exchange.Event) bool {
	return e.Kind == exchange.EventStop || e.Kind == exchange.EventDrain
}

// encode returns an event as the text of a message; "" for none.
func (s *session) encode(e exchange.Event) string {
	m, ok := e.Delivery(s.executor)
	if !ok {
		return ""
	}
	text, err := m.JSON()
	if err != nil {
		s.api.log.Error("encoding a message failed", "executor", s.executor, "ref", m.Ref, "err", err)
		return "" // another attempt would fail the same way
	}
	return string(text)
}

// send sends the text of an event in parts.
func (s *session) send(e exchange.Event, text string) error {
	if text == "" {
		return nil
	}
	s.number++
	h := natslink.Head{Kind: natslink.News, Executor: s.executor, ID: rand.Text(), Session: s.name, Number: s.number}
	if isOrder(e) {
		h.Kind = natslink.Order
	}
	parts := natslink.Split([]byte(text), natslink.PartSize(s.api.nc.MaxPayload()))
	for i, part := range parts {
		h.Part, h.Parts = i, len(parts)
		if err := s.deliverPart(h, natslink.Seal(s.secret, h, part)); err != nil {
			return err
		}
	}
	return nil
}

var errSilent = errors.New("the executor does not answer")

// deliverPart sends one part until the executor acknowledges it.
func (s *session) deliverPart(h natslink.Head, data []byte) error {
	var unreached time.Time // since when nobody reads the subject
	for s.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(s.ctx, ackTime)
		answer, err := s.api.nc.RequestWithContext(ctx, s.subject, data)
		cancel()
		if err == nil {
			got, _, _, err := natslink.Open(answer.Data, s.secret)
			if err == nil && got.Kind == natslink.Answer && got.ID == h.ID && got.Part == h.Part {
				s.markAlive()
				return nil
			}
		}
		switch {
		case !errors.Is(err, nats.ErrNoResponders):
			unreached = time.Time{}
		case unreached.IsZero():
			unreached = time.Now()
		case time.Since(unreached) > goneTime:
			return errSilent
		}
		if s.isSilent() {
			return errSilent
		}
		wait.For(s.ctx, again)
	}
	return s.ctx.Err()
}
