// Package session is the way of an executor to its exchange: it sends messages until the
// exchange has answered, numbers and signs them, and returns the heartbeat interval. It does
// not know what the messages mean.
package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// Session is the way of one run of the executor to its exchange. Its methods are safe for
// concurrent use.
type Session struct {
	Config            runtime.Config
	Instance          string        // id of this run of the program
	IntervalShortened chan struct{} // signals a shorter heartbeat interval

	exchange runtime.Exchange
	log      *slog.Logger
	reach    reach // whether the exchange answers

	mu     sync.Mutex
	beat   time.Duration // heartbeat interval
	serial uint64        // number of the last message
}

// New returns the session of a run of the program, with an id of its own.
func New(cfg runtime.Config, x runtime.Exchange, log *slog.Logger) *Session {
	return &Session{
		Config: cfg, exchange: x, log: log, Instance: strings.ToLower(rand.Text()[:10]), IntervalShortened: make(chan struct{}, 1), beat: cfg.Heartbeat,
	}
}

// SetAnswered records whether a heartbeat, a registration or the delivery of messages succeeded.
func (s *Session) SetAnswered(yes bool) { s.reach.setAnswered(yes) }

// Receive passes the messages of the exchange to handle, as Exchange.Receive does.
func (s *Session) Receive(ctx context.Context, handle func(mess.Message)) error {
	return s.exchange.Receive(ctx, handle)
}

// Attach uploads an attachment, as Exchange.Attach does.
func (s *Session) Attach(ctx context.Context, ref, name, mime string, data io.Reader) (mess.Media, error) {
	return s.exchange.Attach(ctx, ref, name, mime, data)
}

// NextID returns an id with which the exchange recognizes a duplicate.
func (s *Session) NextID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	return fmt.Sprintf("%s-%d", s.Instance, s.serial)
}

// HeartbeatInterval returns the heartbeat interval.
func (s *Session) HeartbeatInterval() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.beat
}

// KeepLease shortens the heartbeat interval for a granted lease if needed.
func (s *Session) KeepLease(lease mess.Duration) {
	d, err := lease.Duration()
	if err != nil || d <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if third := max(d/3, time.Second); third < s.beat {
		s.beat = third
		wait.Notify(s.IntervalShortened)
	}
}

// Say sends a message until the exchange has taken or rejected it, or ctx ends. Each attempt
// sends the same id.
func (s *Session) Say(ctx context.Context, m mess.Message) (mess.Ack, error) {
	pause := s.Backoff()
	for {
		ack, err := s.Send(ctx, m)
		if !IsUnavailable(err) {
			return ack, err
		}
		s.log.Debug("exchange not available", "err", err)
		if !pause.Sleep(ctx) {
			return mess.Ack{}, context.Cause(ctx)
		}
	}
}

// sendTime is the time limit for one message.
const sendTime = 30 * time.Second

// Send sends a message once.
func (s *Session) Send(ctx context.Context, m mess.Message) (mess.Ack, error) {
	if ctx.Err() != nil {
		return mess.Ack{}, context.Cause(ctx)
	}
	sctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	m.Version = cmp.Or(m.Version, mess.Current)
	answer, err := s.exchange.Send(sctx, m)
	if err != nil && ctx.Err() != nil {
		return mess.Ack{}, context.Cause(ctx)
	}
	if err != nil {
		return mess.Ack{}, err
	}
	for _, item := range answer.Items {
		if ack, ok := item.(*mess.Ack); ok {
			return *ack, nil
		}
	}
	return mess.Ack{}, fmt.Errorf("the exchange has answered without an ack")
}

// IsUnavailable reports whether the caller may send the same message again: the exchange did not
// answer.
func IsUnavailable(err error) bool {
	r, refused := errors.AsType[*mess.Error](err)
	return err != nil && (!refused || r.Code == mess.Unavailable)
}
