package registry

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/documents"
	"github.com/messkit/messkit/mess"
)

// Deregister removes a permanently lost executor from the lists. An executor that is live, or
// holds a thread, may still act, and the error says so. Its orders stay: if it registers again, it
// gets the stops that it has not confirmed. Deregister returns their number.
func (r *Registry) Deregister(ctx context.Context, id string) (stops int, err error) {
	w, err := r.docs.Write(ctx, documents.Key{Kind: executorKind, ID: id})
	if err != nil {
		return 0, err
	}
	defer w.Close()
	err = r.change(func(d *draft) error {
		e := d.Executor(id)
		if err := r.checkDeregister(e, id); err != nil {
			return err
		}
		stops = len(d.Orders(id).Stops)
		d.list(e, false)
		return nil
	})
	if err != nil {
		return 0, err
	}
	doc, err := r.Snapshot().Executor(id).document()
	if err == nil {
		err = w.Put(ctx, doc)
	}
	if err != nil {
		back := r.change(func(d *draft) error { d.list(d.Executor(id), true); return nil })
		return 0, errors.Join(err, back)
	}
	return stops, nil
}

// list puts an executor on the lists, or removes it from them.
func (d *draft) list(e *Executor, on bool) *Executor {
	c := *e
	c.Deregistered = !on
	c.states.Store(nil) // the executor reports them again
	d.put(&c)
	return &c
}

// checkDeregister returns why an executor must stay on the lists, or nil. The caller holds r.mu.
func (r *Registry) checkDeregister(e *Executor, id string) error {
	if e == nil || e.Deregistered {
		return mess.Errorf(mess.NotFound, "%.60q is no executor here; messkit status lists the executors", id)
	}
	now := r.cfg.Now()
	switch {
	case r.cfg.IsPresent(id):
		return mess.Errorf(mess.NotYet, "%s has a connection, and may act; end it, or its key with messkit keys revoke %[1]s, and then forget it", id)
	case r.IsLive(e, now):
		ago := now.Sub(e.Seen())
		left := r.ContactTimeout(e, r.cfg.Unreachable) - ago + time.Second
		return mess.Errorf(mess.NotYet, "%s sent its last message %v ago, and may act; if it is gone, forget it in %v", id, ago.Round(time.Second), left.Round(time.Second))
	case now.Sub(r.opened) <= r.cfg.Unreachable: // a live executor may not have sent anything yet
		return mess.Errorf(mess.NotYet, "the exchange started %v ago, and %s may not have sent anything yet; if it is gone, forget it in %v",
			now.Sub(r.opened).Round(time.Second), id, (r.cfg.Unreachable - now.Sub(r.opened) + time.Second).Round(time.Second))
	}
	if refs := r.cfg.Held(id); len(refs) > 0 {
		return mess.Errorf(mess.NotYet, "%s has open tasks (%s), and may work on them; each ends after a long silence; then run forget again", id, strings.Join(refs, ", "))
	}
	return nil
}

// errListed reports that an executor is on the lists.
var errListed = errors.New("is on the lists")

// Recall puts a deregistered executor on the lists again, because it has sent something. That
// counts at once, even if the store fails.
func (r *Registry) Recall(ctx context.Context, id string) {
	err := r.change(func(d *draft) error {
		e := d.Executor(id)
		if e == nil || !e.Deregistered {
			return errListed
		}
		now := r.cfg.Now()
		e.seen.Store(&now)
		d.list(e, true).returns = true
		return nil
	})
	if err != nil {
		return
	}
	r.cfg.Log.Warn("a deregistered executor is back", "executor", id)
	if err := r.save(ctx, documents.Key{Kind: executorKind, ID: id}); err != nil { // after a restart, the next message recalls it again
		r.cfg.Log.Error("the registry could not store that an executor is back", "executor", id, "err", err)
	}
}
