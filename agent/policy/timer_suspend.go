package policy

import (
	"context"
	"time"
)

// Go's timers and durations stand still while the machine is suspended, but a permission grows
// old and the longest time on passes.

// WithSuspendTime sets the source of the time that the machine has been suspended since boot.
func WithSuspendTime(slept func() time.Duration) Option { return func(g *Policy) { g.slept = slept } }

// glance is the interval at which Run checks for a suspend while a switch-off is pending.
const glance = 500 * time.Millisecond

// moment is a point in time with the suspended time until then.
type moment struct {
	at    time.Time
	slept time.Duration
}

func (g *Policy) moment() moment { return moment{g.now(), g.slept()} }

// since returns the time since a moment; it includes the time that the machine has slept.
func (g *Policy) since(m moment) time.Duration {
	return g.now().Sub(m.at) + max(0, g.slept()-m.slept)
}

// wake subtracts the time that the machine has slept from the times at which devices go off.
// The caller holds Gate.mu.
func (g *Policy) wake() {
	d := g.sleeps.Woke()
	if d == 0 {
		return
	}
	g.log.Warn("the machine was suspended; what is on for a time goes off the earlier", "for", d.Round(time.Millisecond))
	for _, dev := range g.devices {
		if o := dev.off; o != nil && !o.at.IsZero() {
			o.at, o.on = o.at.Add(-d), o.on.Add(-d)
			g.tellGuard(dev)
		}
	}
	g.ring()
}

// askAgain asks for a new permission. The machine may sleep during the request.
func (p *Pass) askAgain(ctx context.Context) error {
	slept := p.g.slept()
	asked, err := p.again(ctx)
	if err == nil {
		p.asked = moment{asked, slept}
	}
	return err
}
