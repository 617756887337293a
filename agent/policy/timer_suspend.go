package policy

import (
	"context"
	"time"
)

// Go's timers and durations stand still while the machine is suspended, but a permission grows
// old and the longest time on passes.

// WithSuspendTime sets the source of the time that the machine has been suspended since boot.
func WithSuspendTime(slept func() time.Duration) Option {
	return func(g *Policy) { g.suspended = slept }
}

// suspendCheckInterval is the interval at which Run checks for a suspend while a switch-off is pending.
const suspendCheckInterval = 500 * time.Millisecond

// moment is a point in time with the suspended time until then.
type moment struct {
	at        time.Time
	suspended time.Duration
}

func (g *Policy) moment() moment { return moment{g.now(), g.suspended()} }

// since returns the time since a moment; it includes the time that the machine has slept.
func (g *Policy) since(m moment) time.Duration {
	return g.now().Sub(m.at) + max(0, g.suspended()-m.suspended)
}

// applySuspend subtracts the time that the machine has slept from the times at which devices go off.
// The caller holds Policy.mu.
func (g *Policy) applySuspend() {
	d := g.suspendWatch.Resumed()
	if d == 0 {
		return
	}
	g.log.Warn("the machine slept; devices that are on for a time go off earlier", "for", d.Round(time.Millisecond))
	for _, dev := range g.devices {
		if o := dev.pending; o != nil && !o.at.IsZero() {
			o.at, o.onSince = o.at.Add(-d), o.onSince.Add(-d)
			g.updateWatchdog(dev)
		}
	}
	g.notifyTimers()
}

// renewPermission asks for a new permission. The machine may sleep during the request.
func (p *Pass) renewPermission(ctx context.Context) error {
	slept := p.g.suspended()
	asked, err := p.renew(ctx)
	if err == nil {
		p.permissionAsked = moment{asked, slept}
	}
	return err
}
