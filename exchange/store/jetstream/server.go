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

// silence is since when the stream does not answer, to writes and to reads; zero if it does. A leader that
// is cut off from the others still answers reads for a time, so those say nothing about writes.
type silence struct {
	writes, reads time.Time
}

// wrote and read record how an attempt at the server has ended.
func (s *Store) wrote(err error) { s.heard(&s.silent.writes, err) }
func (s *Store) read(err error)  { s.heard(&s.silent.reads, err) }

// heard changes to another server if there was no answer for moveAfter. A server can answer pings and not
// reach the stream, because it is cut off from the other servers or its disk has failed. The client library
// stays there.
func (s *Store) heard(since *time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil || errors.Is(err, jetstream.ErrMsgNotFound) || errors.Is(err, jetstream.ErrObjectNotFound) {
		*since = time.Time{}
		return
	}
	if !isSilence(err) {
		return // a leader that is cut off can still refuse
	}
	now := time.Now()
	if since.IsZero() {
		*since = now
	}
	if now.Sub(*since) < moveAfter || !s.nc.IsConnected() || len(s.nc.Servers()) < 2 {
		return
	}
	s.silent = silence{writes: now, reads: now} // the next server has as much time
	s.cfg.Log.Warn("the stream does not answer at this server; the store looks for another one", "server", s.nc.ConnectedUrlRedacted(), "err", err)
	if err := s.nc.ForceReconnect(); err != nil {
		s.cfg.Log.Warn("the store cannot leave its server", "err", err)
	}
}

// isSilence reports whether an attempt has ended without an answer of the stream: nobody answers, or a
// server answers that it has no leader.
func isSilence(err error) bool {
	if a, ok := errors.AsType[*jetstream.APIError](err); ok {
		return a.Code == 503
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse)
}
