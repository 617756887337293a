package exchange

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wait"
)

// append stores a step and sets the revision of its envelope. If the store does not tell
// whether it has stored the step, append reads the thread, and stores the same step again
// where it is missing. The store compares revisions, so it has the step once in any case.
func (x *Exchange) append(ctx context.Context, s *Step) error {
	s.Envelope.Op = rand.Text()
	for n := range attempts {
		rev, err := x.store.Append(ctx, *s)
		if err == nil {
			s.Envelope.Rev = rev
			return nil
		}
		if n == 0 && !errors.Is(err, thread.ErrUnknown) {
			return err
		}
		t, readErr := x.read(ctx, s.Envelope.Ref)
		switch {
		case readErr == nil && t.Op == s.Envelope.Op:
			s.Envelope.Rev = t.Rev
			return nil
		case !errors.Is(err, thread.ErrUnknown):
			return err
		case readErr == nil && t.Rev != s.After:
			return ErrStale // another step was first
		case readErr != nil && !errors.Is(readErr, ErrNoThread):
			return errors.Join(err, readErr)
		}
		if !wait.For(ctx, time.Millisecond<<n) {
			return errors.Join(thread.ErrUnknown, ctx.Err())
		}
	}
	return thread.ErrUnknown
}
