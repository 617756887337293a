package exchange

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
)

// Forget takes an executor that is gone for good off all lists. Only operators do
// that. One that is heard of, or holds a thread, may still act, and is not forgotten.
// What was ordered of it stays: should it speak again, it is listed again, and hears of
// each stop that it has not confirmed, and of those that were given meanwhile. The
// number of stops that it has not confirmed is returned.
func (x *Exchange) Forget(ctx context.Context, who Actor, id string) (stops int, err error) {
	if !who.Has(Operator) {
		return 0, mess.Refuse(mess.Forbidden, "%q is not an operator, and only operators forget executors", who.ID)
	}
	done, err := x.writing(ctx, executorKind, id)
	if err != nil {
		return 0, err
	}
	defer done()
	x.mu.Lock()
	e := x.executors[id]
	if err = x.mayForget(e, id); err == nil {
		x.show(e, true)
		stops = len(x.stops[id])
	}
	x.mu.Unlock()
	if err != nil {
		return 0, err
	}
	x.renew()
	if err := x.keepExecutor(ctx, id); err != nil {
		x.mu.Lock()
		x.show(x.executors[id], false)
		x.mu.Unlock()
		x.renew()
		return 0, err
	}
	x.log.Warn("executor forgotten", "executor", id, "actor", who.ID, "stops", stops)
	return stops, nil
}

// mayForget is why an executor has to stay on the lists, nil if it need not. x.mu is
// held.
func (x *Exchange) mayForget(e *executor, id string) error {
	if e == nil || e.forgotten {
		return mess.Refuse(mess.Unknown, "%.60q is no executor here; messkit status tells who is", id)
	}
	now := x.now()
	switch {
	case x.events.Present(id):
		return mess.Refuse(mess.NotReady, "%s is connected, and may act; end it, or its key with messkit keys revoke %[1]s, and then forget it", id)
	case x.live(e, now):
		ago := now.Sub(e.seen)
		left := x.patience(e, x.cfg.Unreachable) - ago + time.Second
		return mess.Refuse(mess.NotReady, "%s was heard of %v ago, and may act; if it is gone, forget it in %v", id, ago.Round(time.Second), left.Round(time.Second))
	case now.Sub(x.opened) <= x.cfg.Unreachable: // who is there has not had the time to say so
		return mess.Refuse(mess.NotReady, "the exchange was started %v ago, and %s may not have spoken yet; if it is gone, forget it in %v",
			now.Sub(x.opened).Round(time.Second), id, (x.cfg.Unreachable - now.Sub(x.opened) + time.Second).Round(time.Second))
	}
	if refs := slices.Sorted(maps.Keys(x.by.held[id])); len(refs) > 0 {
		return mess.Refuse(mess.NotReady, "%s has tasks that have not ended (%s), and may be at them; each ends by itself when it is not heard of for long, and then forget it", id, strings.Join(refs, ", "))
	}
	return nil
}

// show puts an executor on the lists again, or takes it off them. Renew follows when
// x.mu is free. x.mu is held.
func (x *Exchange) show(e *executor, forgotten bool) {
	c := *e
	c.forgotten = forgotten
	delete(x.states, e.ID) // whoever is here says it again
	x.list(&c)
}

// keepExecutor writes down an executor as it stands. The caller holds its slot.
func (x *Exchange) keepExecutor(ctx context.Context, id string) error {
	x.mu.Lock()
	e := x.executors[id]
	doc, err := json.Marshal(executorDoc{Executor: e.Executor.Executor, Created: e.created, Seen: e.seen, Beats: e.beats, Forgotten: e.forgotten})
	x.mu.Unlock()
	if err != nil {
		return fmt.Errorf("executor %s: %w", id, err)
	}
	if err := x.docs.Put(ctx, executorKind, id, doc); err != nil {
		return x.broken(err)
	}
	return nil
}

// recall puts an executor on the lists again that was forgotten and speaks. That it is
// there counts at once, whether or not the disk takes it.
func (x *Exchange) recall(ctx context.Context, who Actor) {
	x.Seen(who)
	x.mu.Lock()
	e := x.executors[who.ID]
	if e == nil || !e.forgotten || !who.Has(ExecutorRole) {
		x.mu.Unlock()
		return
	}
	c := *e
	c.seen, c.returns = x.now(), true
	x.show(&c, false)
	x.mu.Unlock()
	x.renew()
	x.log.Warn("an executor that was forgotten speaks, and is there again", "executor", who.ID)
	done, err := x.writing(ctx, executorKind, who.ID)
	if err != nil {
		return // it speaks again, and after a restart it is recalled anew
	}
	defer done()
	_ = x.keepExecutor(ctx, who.ID) // that it failed is logged; so it is with this
}

// Forgotten lists the executors that were forgotten and have not spoken since, by id.
func (x *Exchange) Forgotten() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(x.executors)) {
		if x.executors[id].forgotten {
			ids = append(ids, id)
		}
	}
	return ids
}
