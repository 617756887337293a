package gate

import (
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/suspend"
)

// Order is a plan on its way through the gate.
type Order struct {
	capabilities.Plan
	By        string // who has asked for it; "" where nobody knows
	Confirmed string // digest of the plan that was confirmed; "" for none
	// Began is when an earlier run of the program may have done it already; zero: none has.
	Began time.Time
}

// Option is something that a gate may know beside its configuration.
type Option func(*Gate)

// WithWall gives the gate the time of day. The error is why the clock is not
// known to be set: quiet hours are then taken to be now. Without it the time of
// day is that of New's now, and is believed.
func WithWall(wall func() (time.Time, error)) Option { return func(g *Gate) { g.wall = wall } }

// WithLocal gives the gate what people at the place have locked and disarmed.
// It is asked again for every plan and before every act.
func WithLocal(local func() Local) Option { return func(g *Gate) { g.local = local } }

// WithGuard has a guard watch over what is switched on.
func WithGuard(w Guard) Option { return func(g *Gate) { g.guard = w } }

// prepare fills in what no option has.
func (g *Gate) prepare(opts []Option) {
	for _, o := range opts {
		o(g)
	}
	g.sleeps = suspend.NewWatch(g.slept)
	if g.wall == nil {
		g.wall = func() (time.Time, error) { return g.now(), nil }
	}
	if g.local == nil {
		g.local = func() Local { return Local{} }
	}
	if g.guard == nil {
		g.guard = unguarded{}
	}
	if g.reserved == nil {
		g.reserved = unreserved
	}
}
