package agent

import (
	"cmp"
	"context"
	"slices"

	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// onHold is what came of holds: while an executor is on hold it takes no thread that it has not
// claimed. What it has claimed goes on.
type onHold struct {
	why     string // "" if it is not on hold
	orders  []string
	changed chan struct{} // closed when why or orders change
}

// maxHolds is how many orders are remembered; the same one comes twice soon.
const maxHolds = 16

// heedHold takes a hold, or its end. It does not wait for anything. from is who has
// sent it where the order does not say by whom it is.
func (a *Agent) heedHold(hold, resume *mess.Hold, from string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, o := range []*mess.Hold{hold, resume} {
		if o == nil || o.ID != "" && slices.Contains(a.hold.orders, o.ID) {
			continue
		}
		why := ""
		if o == hold {
			why = cmp.Or(o.Why, "no reason given")
			if by := cmp.Or(o.By, from); by != "" {
				why += ", by " + by
			}
		}
		if o.ID != "" {
			a.hold.orders = append(slices.Clone(a.hold.orders), o.ID)
			a.hold.orders = a.hold.orders[max(0, len(a.hold.orders)-maxHolds):]
		}
		a.hold.why = why
		close(a.hold.changed)
		a.hold.changed = make(chan struct{})
		wait.Notify(a.work)
		if why != "" {
			a.log.Warn("on hold: nothing new is taken", "err", why)
		} else {
			a.log.Info("not on hold any more")
		}
	}
}

// heldNow is what the exchange is told of holds, and what is closed when that
// changes.
func (a *Agent) heldNow() (*mess.OnHold, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &mess.OnHold{Orders: a.hold.orders, Why: a.hold.why}, a.hold.changed
}

// unheld waits while nothing new is to be taken.
func (a *Agent) unheld(ctx context.Context) error {
	for {
		h, changed := a.heldNow()
		if h.Why == "" {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
