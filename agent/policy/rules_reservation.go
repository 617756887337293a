package policy

import (
	"context"
	"fmt"
	"time"

	"github.com/messkit/messkit/internal/wait"
)

// Reservations returns the holder of a reservation of a device by another requester than by, and
// its end. ok is false if there is none. The source closes changed when that may have changed.
type Reservations func(device, by string) (holder string, until time.Time, changed <-chan struct{}, ok bool)

// WithReservations makes tasks wait while others have a device reserved.
func WithReservations(r Reservations) Option { return func(g *Policy) { g.reservations = r } }

// awaitReservation waits until no other requester has the device reserved. A later reservation does
// not affect a plan that has passed.
func (g *Policy) awaitReservation(ctx context.Context, o Order, notify func(string)) error {
	for {
		holder, until, changed, ok := g.reservations(o.Device, o.By)
		if !ok {
			return nil
		}
		notify(fmt.Sprintf("%s is reserved by %s until %s", o.Device, holder, until.UTC().Format(time.RFC3339)))
		wall, _ := g.wallClock() // an unset clock is only checked again on a change
		if !wait.ForSignal(ctx, max(time.Millisecond, until.Sub(wall)), changed) {
			return context.Cause(ctx)
		}
	}
}

// noReservations is the default Reserved: it knows no reservations.
func noReservations(string, string) (string, time.Time, <-chan struct{}, bool) {
	return "", time.Time{}, nil, false
}
