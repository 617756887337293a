package gate

import (
	"context"
	"time"
)

// Go's timers and durations stand still while the machine is suspended. A permission grows
// old meanwhile, and the longest time on passes.

// WithSleep has the gate take from slept how long the machine was suspended since boot.
func WithSleep(slept func() time.Duration) Option { return func(g *Gate) { g.slept = slept } }

// glance is how long Run waits at most until it looks whether the machine was suspended,
// while something is to be switched off.
const glance = 500 * time.Millisecond

// moment is a point in time since which the machine may have slept.
type moment struct {
	at    time.Time
	slept time.Duration
}

func (g *Gate) moment() moment { return moment{g.now(), g.slept()} }

// since returns the time since a moment; it includes the time that the machine has slept.
func (g *Gate) since(m moment) time.Duration {
	return g.now().Sub(m.at) + max(0, g.slept()-m.slept)
}

// wake subtracts the time that the machine has slept from the times at which devices go
// off. mu is held.
func (g *Gate) wake() {
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

// askAgain asks for a new permission. The machine may be suspended meanwhile.
func (p *Pass) askAgain(ctx context.Context) error {
	slept := p.g.slept()
	asked, err := p.again(ctx)
	if err == nil {
		p.asked = moment{asked, slept}
	}
	return err
}
