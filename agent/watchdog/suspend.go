package watchdog

import (
	"time"

	"github.com/messkit/messkit/internal/suspend"
)

// UseSuspendTime sets the source of the time that the machine has slept since boot. Call it before Run.
func (g *Watchdog) UseSuspendTime(slept func() time.Duration) {
	g.suspendWatch = suspend.NewWatch(slept)
}

// applySuspend counts the time that the machine has slept as time on.
func (g *Watchdog) applySuspend() {
	d := g.suspendWatch.Resumed()
	if d == 0 {
		return
	}
	g.log.Warn("the machine has slept", "for", d)
	for _, t := range g.devices {
		if !t.due.IsZero() {
			t.due = t.due.Add(-d)
		}
	}
}

// UseSuspendTime sets the source of the time that the machine has slept since boot. Call it before Run.
func (c *Client) UseSuspendTime(slept func() time.Duration) { c.suspended = slept }
