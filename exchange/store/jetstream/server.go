package jetstream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// moveAfter is the time without an answer of the stream after which the store changes to another server.
// It is shorter than most elections of a leader, but such a change costs only some milliseconds.
const moveAfter = 4 * time.Second

// heard records how an attempt at the server has ended. A server can answer pings and still not reach the
// stream, because it is cut off from the other servers or its disk has failed. The client library stays
// there, so heard changes to another server.
func (s *Store) heard(err error) {
	if errors.Is(err, context.Canceled) {
		return // it says nothing about the server
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !isSilence(err) {
		s.silent = time.Time{}
		return
	}
	now := time.Now()
	if s.silent.IsZero() {
		s.silent = now
	}
	if now.Sub(s.silent) < moveAfter || !s.nc.IsConnected() || len(s.nc.Servers()) < 2 {
		return
	}
	s.silent = now // the next server has as much time
	s.cfg.Log.Warn("the stream does not answer at this server; the store looks for another one", "server", s.nc.ConnectedUrlRedacted(), "err", err)
	if err := s.nc.ForceReconnect(); err != nil {
		s.cfg.Log.Warn("the store cannot leave its server", "err", err)
	}
}

// isSilence reports whether an attempt has ended without an answer of the stream: nobody answers, or a
// server answers that it has no leader.
func isSilence(err error) bool {
	if err == nil || errors.Is(err, jetstream.ErrMsgNotFound) || errors.Is(err, jetstream.ErrObjectNotFound) {
		return false
	}
	if a, ok := errors.AsType[*jetstream.APIError](err); ok {
		return a.Code == 503
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse)
}
