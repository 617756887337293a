// Package wait waits, and no longer than somebody wants it to.
package wait

import (
	"context"
	"time"
)

// For waits for d, and reports false if ctx ended before that. Without anything
// to wait for it reports whether ctx lasts.
func For(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
