package gate

import (
	"context"
	"fmt"
	"time"
)

// Reserved tells who has reserved a device, and until when, for a task that
// somebody else has asked for; ok is false if nobody has. changed is closed when
// that may have changed.
type Reserved func(device, by string) (holder string, until time.Time, changed <-chan struct{}, ok bool)

// WithReserved has tasks wait while others have a device reserved.
func WithReserved(r Reserved) Option { return func(g *Gate) { g.reserved = r } }

// awaitTurn waits until nobody else has the device reserved. What has passed goes
// on when somebody reserves it then.
func (g *Gate) awaitTurn(ctx context.Context, o Order, tell func(string)) error {
	for {
		holder, until, changed, ok := g.reserved(o.Device, o.By)
		if !ok {
			return nil
		}
		tell(fmt.Sprintf("%s is reserved by %s until %s", o.Device, holder, until.UTC().Format(time.RFC3339)))
		wall, _ := g.wall() // a clock that is not set only changes when it is looked at again
		t := time.NewTimer(max(time.Millisecond, until.Sub(wall)))
		select {
		case <-t.C:
		case <-changed:
		case <-ctx.Done():
		}
		t.Stop()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// unreserved is what a gate knows of reservations that was told nothing.
func unreserved(string, string) (string, time.Time, <-chan struct{}, bool) {
	return "", time.Time{}, nil, false
}
