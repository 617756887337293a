package registry

import (
	"context"
	"slices"

	"github.com/messkit/messkit/exchange/documents"
	"github.com/messkit/messkit/mess"
)

// Orders is what one executor was ordered, and what it has reported of that.
type Orders struct {
	Stops   []mess.Stop     // that it has not confirmed
	Stopped *mess.StopState // what it last reported of stops
	// Drain is its last order to drain, or the end of one that it has not confirmed; nil if
	// there is none.
	Drain  *Drain
	OnHold *mess.DrainState // what it last reported of drains
}

// Orders returns what an executor was ordered.
func (s *Snapshot) Orders(id string) Orders { return s.orders.get(id) }

// MaxReason is how much of the reason of an order is kept, in bytes.
const MaxReason = 512

// Report takes what an executor reports of its orders, and stores what has changed by it, with
// one sync. It reports whether the executor has confirmed a stop.
func (r *Registry) Report(ctx context.Context, c mess.Executor) (confirmed bool, err error) {
	if c.Stopped == nil && c.Held == nil {
		return false, nil
	}
	var keys []documents.Key
	err = r.change(func(d *draft) error {
		if c.Stopped != nil && d.confirm(c) {
			keys = append(keys, documents.Key{Kind: stopKind, ID: c.ID})
		}
		if c.Held != nil && r.reportsDrain(d, c) {
			keys = append(keys, documents.Key{Kind: drainKind, ID: c.ID})
		}
		return nil
	})
	if err != nil || len(keys) == 0 {
		return false, err
	}
	if confirmed = keys[0].Kind == stopKind; confirmed {
		r.cfg.Log.Info("stop confirmed", "executor", c.ID)
	}
	return confirmed, r.save(ctx, keys...)
}

// confirm takes the stops that an executor has confirmed off its list, and reports whether
// there were any.
func (d *draft) confirm(c mess.Executor) bool {
	o := d.Orders(c.ID)
	o.Stopped, d.news = c.Stopped, true
	left := slices.DeleteFunc(slices.Clone(o.Stops), func(s mess.Stop) bool { return slices.Contains(c.Stopped.Orders, s.ID) })
	confirmed := len(left) < len(o.Stops)
	o.Stops = left
	d.setOrders(c.ID, o)
	return confirmed
}
