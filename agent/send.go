package agent

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

	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// session is the way of one run of the executor to its exchange. Its methods are safe for
// concurrent use.
type session struct {
	cfg      Config
	exchange Exchange
	log      *slog.Logger
	instance string        // id of this run of the program
	sooner   chan struct{} // signals a shorter heartbeat interval
	reach    reach         // whether the exchange answers

	mu     sync.Mutex
	beat   time.Duration // heartbeat interval
	serial uint64        // number of the last message
}

func newSession(cfg Config, x Exchange, log *slog.Logger) *session {
	return &session{
		cfg: cfg, exchange: x, log: log, instance: strings.ToLower(rand.Text()[:10]), sooner: make(chan struct{}, 1), beat: cfg.Heartbeat,
	}
}

// heard records whether a heartbeat, a registration or the delivery of messages succeeded.
func (s *session) heard(yes bool) { s.reach.heard(yes) }

// receive passes the messages of the exchange to handle, as Exchange.Receive does.
func (s *session) receive(ctx context.Context, handle func(mess.Message)) error {
	return s.exchange.Receive(ctx, handle)
}

// attach uploads an attachment, as Exchange.Attach does.
func (s *session) attach(ctx context.Context, ref, name, mime string, data io.Reader) (mess.Media, error) {
	return s.exchange.Attach(ctx, ref, name, mime, data)
}

// nextID returns an id with which the exchange recognizes a duplicate.
func (s *session) nextID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	return fmt.Sprintf("%s-%d", s.instance, s.serial)
}

// interval returns the heartbeat interval.
func (s *session) interval() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.beat
}

// keep shortens the heartbeat interval for a granted lease if needed.
func (s *session) keep(lease mess.Duration) {
	d, err := lease.Duration()
	if err != nil || d <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if third := max(d/3, time.Second); third < s.beat {
		s.beat = third
		wait.Notify(s.sooner)
	}
}

// say sends a message until the exchange has taken or rejected it, or ctx ends. Each attempt
// sends the same id.
func (s *session) say(ctx context.Context, m mess.Message) (mess.Ack, error) {
	pause := s.backoff()
	for {
		ack, err := s.send(ctx, m)
		if !unavailable(err) {
			return ack, err
		}
		s.log.Debug("exchange not available", "err", err)
		if !pause.sleep(ctx) {
			return mess.Ack{}, context.Cause(ctx)
		}
	}
}

// sendTime is the time limit for one message.
const sendTime = 30 * time.Second

// send sends a message once.
func (s *session) send(ctx context.Context, m mess.Message) (mess.Ack, error) {
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

// unavailable reports whether the caller may send the same message again: the exchange did not
// answer.
func unavailable(err error) bool {
	r, refused := errors.AsType[*mess.Error](err)
	return err != nil && (!refused || r.Code == mess.Unavailable)
}

// reach records whether the exchange answers heartbeats and registrations, and delivers. A
// failure of any other call does not count. It is safe for concurrent use.
type reach struct {
	mu   sync.Mutex
	lost bool          // the last of these calls failed
	back chan struct{} // closed when the exchange answers again
}

// heard records whether a heartbeat, a registration or the delivery succeeded.
func (r *reach) heard(yes bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if yes && r.lost && r.back != nil {
		close(r.back)
		r.back = nil
	}
	r.lost = !yes
}

// again returns a channel that closes when the exchange answers after a silence.
func (r *reach) again() <-chan struct{} {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.back == nil {
		r.back = make(chan struct{})
	}
	return r.back
}

// backoff increases the delay at each failure, with full jitter, so that clients that lost an
// exchange together do not return together. An answer of the exchange ends a wait.
type backoff struct {
	wait.Backoff
	reach *reach // nil: nothing ends a wait
}

func newBackoff(jitter func(limit time.Duration) time.Duration, r *reach) backoff {
	return backoff{wait.Backoff{First: firstWait, Last: lastWait, Jitter: jitter}, r}
}

func (s *session) backoff() backoff { return newBackoff(s.cfg.Jitter, &s.reach) }

// The longest wait after the first failure, and the longest of all. After a delivery that
// lasted for healthy, the next wait counts as the first.
const (
	firstWait = time.Second
	lastWait  = time.Minute
	healthy   = 30 * time.Second
)

// sleep waits and returns false if ctx has ended. An answer of the exchange never makes a wait
// shorter than firstWait, in case it answers one call and not the next.
func (b *backoff) sleep(ctx context.Context) bool {
	d, again := b.Next(), b.reach.again()
	if d <= firstWait {
		return wait.For(ctx, d)
	}
	if !wait.For(ctx, firstWait) {
		return false
	}
	t := time.NewTimer(d - firstWait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-again:
		b.Reset(0)
	case <-t.C:
	}
	return true
}
