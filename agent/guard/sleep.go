package guard

import (
	"time"

	"github.com/messkit/messkit/internal/suspend"
)

// Sleep has the guard take from slept how long the machine was suspended since boot.
func (g *Guard) Sleep(slept func() time.Duration) { g.slept = suspend.NewWatch(slept) }

// wake counts what the machine has slept as time that devices were on.
func (g *Guard) wake() {
	d := g.slept.Woke()
	if d == 0 {
		return
	}
	g.log.Warn("the machine was suspended", "for", d)
	for _, t := range g.things {
		if !t.due.IsZero() {
			t.due = t.due.Add(-d)
		}
	}
}

// Sleep has the client take from slept how long the machine was suspended since boot.
func (c *Client) Sleep(slept func() time.Duration) { c.slept = slept }
