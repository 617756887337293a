package exchange

import (
	"context"

	"github.com/messkit/messkit/mess"
)

// Deregister takes an executor that is gone for good off all lists. Only operators do
// that. One that is heard of, or holds a thread, may still act, and is not deregistered.
// What was ordered of it stays: should it speak again, it is listed again, and hears of
// each stop that it has not confirmed, and of those that were given meanwhile. The
// number of stops that it has not confirmed is returned.
func (x *Exchange) Deregister(ctx context.Context, who Actor, id string) (stops int, err error) {
	if !who.Has(Operator) {
		return 0, mess.Errorf(mess.Forbidden, "%q is not an operator, and only operators forget executors", who.ID)
	}
	if stops, err = x.registry.Deregister(ctx, id); err != nil {
		return 0, x.broken(err)
	}
	x.log.Warn("executor forgotten", "executor", id, "actor", who.ID, "stops", stops)
	return stops, nil
}

// Deregistered lists the executors that were deregistered and have not spoken since, by id.
func (x *Exchange) Deregistered() []string { return x.registry.Snapshot().Deregistered() }

// ProcessedMessage notes that an executor is there. Every authenticated call says so, whatever it asks
// for: an executor that polls or reports is alive without heartbeats.
func (x *Exchange) MarkAlive(who Actor) {
	if who.Has(ExecutorRole) {
		x.registry.Seen(who.ID)
	}
}

// markAlive is Seen, and puts an executor on the lists again that was deregistered.
func (x *Exchange) markAlive(ctx context.Context, who Actor) {
	if who.Has(ExecutorRole) && x.registry.Seen(who.ID) == nil {
		x.registry.Recall(ctx, who.ID)
	}
}
