package session

import (
	"context"
	"sync"
	"time"

	"github.com/messkit/messkit/internal/wait"
)

// reach records whether the exchange answers heartbeats and registrations, and delivers. A
// failure of any other call does not count. It is safe for concurrent use.
type reach struct {
	mu   sync.Mutex
	lost bool          // the last of these calls failed
	back chan struct{} // closed when the exchange answers again
}

// setAnswered records whether a heartbeat, a registration or the delivery succeeded.
func (r *reach) setAnswered(yes bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if yes && r.lost && r.back != nil {
		close(r.back)
		r.back = nil
	}
	r.lost = !yes
}

// answersAgain returns a channel that closes when the exchange answers after a silence.
func (r *reach) answersAgain() <-chan struct{} {
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

// Backoff increases the delay at each failure, with full jitter, so that clients that lost an
// exchange together do not return together. An answer of the exchange ends a wait.
type Backoff struct {
	wait.Backoff
	reach *reach // nil: nothing ends a wait
}

// NewBackoff returns a backoff whose waits end when r reports an answer of the exchange.
func NewBackoff(jitter func(limit time.Duration) time.Duration, r *reach) Backoff {
	return Backoff{wait.Backoff{First: firstWait, Last: lastWait, Jitter: jitter}, r}
}

// Backoff returns a new backoff whose waits end with an answer of the exchange.
func (s *Session) Backoff() Backoff { return NewBackoff(s.Config.Jitter, &s.reach) }

// The longest wait after the first failure, and the longest of all. After a delivery that
// lasted for healthy, the next wait counts as the first.
const (
	firstWait = time.Second
	lastWait  = time.Minute
	Healthy   = 30 * time.Second
)

// Sleep waits and returns false if ctx has ended. An answer of the exchange never makes a wait
// shorter than firstWait, in case it answers one call and not the next.
func (b *Backoff) Sleep(ctx context.Context) bool {
	d, again := b.Next(), b.reach.answersAgain()
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
