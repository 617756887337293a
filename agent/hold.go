package agent

import (
	"cmp"
	"context"
	"slices"

	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// onHold is the drain state: a drained executor claims no new threads and continues its claimed
// ones.
type onHold struct {
	why     string // "" if there is no drain
	orders  []string
	changed chan struct{} // closed at a change of why or orders
}

// maxHolds limits the remembered orders; a duplicate arrives soon after the first.
const maxHolds = 16

// heedHold applies a drain or a resume. It does not block. from is the sender if the order does
// not name one.
func (a *Agent) heedHold(hold, resume *mess.DrainOrder, from string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, o := range []*mess.DrainOrder{hold, resume} {
		if o == nil || o.ID != "" && slices.Contains(a.hold.orders, o.ID) {
			continue
		}
		why := ""
		if o == hold {
			why = cmp.Or(o.Reason, "no reason given")
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

// heldNow returns the drain state for the exchange, and a channel that closes when it changes.
func (a *Agent) heldNow() (*mess.DrainState, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &mess.DrainState{Orders: a.hold.orders, Reason: a.hold.why}, a.hold.changed
}

// unheld waits until the drain ends.
func (a *Agent) unheld(ctx context.Context) error {
	for {
		h, changed := a.heldNow()
		if h.Reason == "" {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
