package policy

import (
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/suspend"
)

// Order is a plan with the data that the safety policy needs about its request.
type Order struct {
	capabilities.Plan
	By        string // the requester; "" if unknown
	Confirmed string // digest of the confirmed plan; "" for none
	// Began is the time at which an earlier run may have carried it out; zero: none has.
	Began time.Time
}

// Option sets an optional dependency of a gate.
type Option func(*Gate)

// WithWall sets the source of the time of day. If it returns an error, the clock may not be
// set, and quiet hours apply. Without this option the gate uses the now of New and trusts it.
func WithWall(wall func() (time.Time, error)) Option { return func(g *Gate) { g.wall = wall } }

// WithLocal sets the source of the local operator's lockouts and disarmed classes. The gate
// reads it for every plan and before every act.
func WithLocal(local func() Local) Option { return func(g *Gate) { g.local = local } }

// WithGuard sets the watchdog that covers devices while they are on.
func WithGuard(w Guard) Option { return func(g *Gate) { g.guard = w } }

// prepare applies the options and fills in defaults.
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
