// Package wait waits, and ends at the deadline of its caller. It wakes others that wait.
package wait

import (
	"context"
	"math/rand/v2"
	"time"
)

// For waits for d, and reports false if ctx ended before that. Without anything
// to wait for it reports whether ctx lasts.
func For(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	return ForSignal(ctx, d, nil)
}

// ForSignal waits until signal is closed or has an entry, for at most d. It reports false if ctx
// ended before that.
func ForSignal(ctx context.Context, d time.Duration, signal <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-signal:
	case <-t.C:
	}
	return true
}

// Notify wakes the goroutine that receives from c, now or at its next receive. The channel has
// room for one entry, so that Notify never blocks.
func Notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Backoff is how long to wait after failures that follow each other: about First after the
// first one, then twice as long each time, up to Last.
type Backoff struct {
	First, Last time.Duration
	// Jitter picks the time to wait by its limit, so that those that failed together do not try
	// again together; nil: from half of it to one and a half.
	Jitter func(limit time.Duration) time.Duration

	failures int
}

// Next is how long to wait after one more failure.
func (b *Backoff) Next() time.Duration {
	b.failures++
	return b.After(b.failures)
}

// After is how long to wait after so many failures.
func (b Backoff) After(failures int) time.Duration {
	limit := min(b.Last, b.First<<min(max(failures-1, 0), 16))
	if b.Jitter != nil {
		return b.Jitter(limit)
	}
	return limit/2 + rand.N(limit)
}

// Reset forgets all failures but the last so many.
func (b *Backoff) Reset(failures int) { b.failures = min(b.failures, failures) }
