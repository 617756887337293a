package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// say sends a message until the exchange has taken or refused it, or ctx ends.
// The same message is sent again: it bears an id.
func (a *Agent) say(ctx context.Context, m mess.Message) (mess.Ack, error) {
	wait := a.backoff()
	for {
		ack, err := a.send(ctx, m)
		if !unavailable(err) {
			return ack, err
		}
		a.log.Debug("exchange not available", "err", err)
		if !wait.sleep(ctx) {
			return mess.Ack{}, context.Cause(ctx)
		}
	}
}

// sendTime is how long one message may take.
const sendTime = 30 * time.Second

// send sends a message once.
func (a *Agent) send(ctx context.Context, m mess.Message) (mess.Ack, error) {
	if ctx.Err() != nil {
		return mess.Ack{}, context.Cause(ctx)
	}
	sctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
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

// unavailable reports whether the same message may be sent again: the exchange
// could not be reached, or there is no telling.
func unavailable(err error) bool {
	r, refused := errors.AsType[*mess.Refusal](err)
	return err != nil && (!refused || r.Why == mess.Unavailable)
}

// backoff waits longer each time, with full jitter, so that those who lost an
// exchange together do not come back together.
type backoff struct {
	jitter func(limit time.Duration) time.Duration
	tries  int
}

func (a *Agent) backoff() backoff { return backoff{jitter: a.cfg.Jitter} }

// The longest wait after the first failure, and the longest of all.
const (
	firstWait = time.Second
	lastWait  = time.Minute
)

// sleep waits, and reports false if ctx has ended.
func (b *backoff) sleep(ctx context.Context) bool {
	limit := min(lastWait, firstWait<<min(b.tries, 16))
	b.tries++
	return wait.For(ctx, b.jitter(limit))
}
