package registry

import (
	"context"
	"slices"

	"github.com/messkit/messkit/exchange/documents"
	"github.com/messkit/messkit/mess"
)

// Orders has the orders to one executor, and its reports about them.
type Orders struct {
	Stops   []mess.Stop     // unconfirmed
	Stopped *mess.StopState // its last report about stops
	// Drain is its drain order, or the end of one that it has not confirmed, or nil.
	Drain       *Drain
	DrainReport *mess.DrainState // its last report about drains
}

// Orders returns the orders to an executor.
func (s *Snapshot) Orders(id string) Orders { return s.orders.get(id) }

// MaxReason limits the stored reason of an order, in bytes.
const MaxReason = 512

// Report takes the report of an executor about its orders, and stores the changes with one sync.
// confirmed is true if it has confirmed a stop.
func (r *Registry) Report(ctx context.Context, c mess.Executor) (confirmed bool, err error) {
	if c.Stopped == nil && c.Drained == nil {
		return false, nil
	}
	var keys []documents.Key
	err = r.change(func(d *draft) error {
		defer r.markReport(c.ID, true)
		if c.Stopped != nil && d.confirm(c) {
			keys = append(keys, documents.Key{Kind: stopKind, ID: c.ID})
		}
		if c.Drained != nil && r.reportsDrain(d, c) {
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

// confirm removes the confirmed stops of an executor, and reports whether there were any.
func (d *draft) confirm(c mess.Executor) bool {
	o := d.Orders(c.ID)
	o.Stopped, d.news = c.Stopped, true
	left := slices.DeleteFunc(slices.Clone(o.Stops), func(s mess.Stop) bool { return slices.Contains(c.Stopped.Orders, s.ID) })
	confirmed := len(left) < len(o.Stops)
	o.Stops = left
	d.setOrders(c.ID, o)
	return confirmed
}
