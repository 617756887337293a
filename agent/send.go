package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// say sends a message until the exchange has taken or rejected it, or ctx ends. Each attempt
// sends the same id.
func (a *Agent) say(ctx context.Context, m mess.Message) (mess.Ack, error) {
	pause := a.backoff()
	for {
		ack, err := a.send(ctx, m)
		if !unavailable(err) {
			return ack, err
		}
		a.log.Debug("exchange not available", "err", err)
		if !pause.sleep(ctx) {
			return mess.Ack{}, context.Cause(ctx)
		}
	}
}

// sendTime is the time limit for one message.
const sendTime = 30 * time.Second

// send sends a message once.
func (a *Agent) send(ctx context.Context, m mess.Message) (mess.Ack, error) {
	if ctx.Err() != nil {
		return mess.Ack{}, context.Cause(ctx)
	}
	sctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	m.Version = cmp.Or(m.Version, mess.Current)
	answer, err := a.x.Send(sctx, m)
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

func (a *Agent) backoff() backoff { return newBackoff(a.cfg.Jitter, &a.reach) }

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
