package agent

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/messkit/messkit/mess"
)

// drain is the drain state: a drained executor claims no new threads and continues its claimed
// ones. It is safe for concurrent use.
type drain struct {
	log  *slog.Logger
	wake func() // called after a change

	mu      sync.Mutex
	reason  string // "" if there is no drain
	orders  []string
	changed chan struct{} // closed at a change of reason or orders
}

// maxOrders limits the remembered orders; a duplicate arrives soon after the first.
const maxOrders = 16

// apply applies a drain or a resume. It does not block. from is the sender if the order does not
// name one.
func (d *drain) apply(drain, resume *mess.DrainOrder, from string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range []*mess.DrainOrder{drain, resume} {
		if o == nil || o.ID != "" && slices.Contains(d.orders, o.ID) {
			continue
		}
		reason := ""
		if o == drain {
			reason = cmp.Or(o.Reason, "no reason given")
			if by := cmp.Or(o.By, from); by != "" {
				reason += ", by " + by
			}
		}
		if o.ID != "" {
			d.orders = append(slices.Clone(d.orders), o.ID)
			d.orders = d.orders[max(0, len(d.orders)-maxOrders):]
		}
		d.reason = reason
		close(d.changed)
		d.changed = make(chan struct{})
		d.wake()
		if reason != "" {
			d.log.Warn("drained: the executor claims no new threads", "err", reason)
		} else {
			d.log.Info("the drain has ended")
		}
	}
}

// state returns the drain state for the exchange, and a channel that closes when it changes.
func (d *drain) state() (*mess.DrainState, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &mess.DrainState{Orders: d.orders, Reason: d.reason}, d.changed
}

// IsDrained implements task.Host.
func (d *drain) IsDrained() bool {
	is, _ := d.state()
	return is.Reason != ""
}

// WaitUndrained implements task.Host.
func (d *drain) WaitUndrained(ctx context.Context) error {
	for {
		is, changed := d.state()
		if is.Reason == "" {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
