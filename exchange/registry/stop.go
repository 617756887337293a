package registry

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"

	"github.com/messkit/messkit/exchange/documents"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// maxStops limits the unconfirmed stops of one executor; more would say the same. The first one that
// names the executor comes on top.
const maxStops = 16

// StopAll is the last stop of everything, with the number of all. It counts for start permissions
// at once: no earlier thread starts after it. The pending threads end one by one, after a restart
// if necessary.
type StopAll struct {
	Count uint64    `json:"count"`
	Stop  mess.Stop `json:"stop"`
}

// Covers reports whether a thread is older than the stop of everything. A thread of another program
// does not count stops, so its time decides.
func (a StopAll) Covers(e *thread.Envelope) bool {
	if a.Count == 0 {
		return false
	}
	if e.Stops > 0 {
		return e.Stops <= a.Count
	}
	at, err := a.Stop.At.Time()
	return err != nil || !e.Created.After(at)
}

// decodeStopAll decodes the record; nil is none. An unreadable one counts as a stop of all pending
// threads.
func (r *Registry) decodeStopAll(doc []byte) (a StopAll) {
	if doc == nil {
		return StopAll{}
	}
	if err := json.Unmarshal(doc, &a); err != nil {
		r.cfg.Log.Error("the registry cannot read the last stop of everything, and stops all pending threads", "err", err)
		return StopAll{Count: 1 << 62, Stop: mess.Stop{By: thread.Self, Reason: "an unreadable stop", At: mess.TimeOf(r.cfg.Now())}}
	}
	return a
}

func (r *Registry) readStopAll(d *draft) error {
	d.StopAll = r.decodeStopAll(r.docs.Take(stopAllKind)[stopAllID])
	return nil
}

// decodeStops decodes the unconfirmed stops of an executor; nil is none. Of an unreadable document the
// existence is enough.
func (r *Registry) decodeStops(id string, doc []byte) (list []mess.Stop) {
	if doc == nil {
		return nil
	}
	if err := json.Unmarshal(doc, &list); err != nil {
		r.cfg.Log.Error("the registry cannot read a stop, and passes one on", "executor", id, "err", err)
		return []mess.Stop{{ID: "unreadable-" + rand.Text(), By: thread.Self, Reason: "a stop with an unreadable reason", At: mess.TimeOf(r.cfg.Now()), Executors: mess.Refs{id}}}
	}
	return list
}

func (r *Registry) readStops(d *draft) error {
	for id, doc := range r.docs.Take(stopKind) {
		o := d.Orders(id)
		o.Stops = r.decodeStops(id, doc)
		d.setOrders(id, o)
	}
	return nil
}

// Stop orders executors to stop: those in s, or all except people without a claim. A subscribed
// executor gets the stop before the store has it, any other when it comes back. Stop returns the
// ids of all executors with the order, deregistered ones included. The error is a *mess.Error or
// an error of the store. After an error of the store, the stop is in force.
func (r *Registry) Stop(ctx context.Context, s mess.Stop) (ids []string, err error) {
	all := len(s.Executors) == 0
	err = r.change(func(d *draft) error {
		if ids, err = r.toStop(&d.Snapshot, s.Executors); err != nil {
			return err
		}
		if all {
			d.StopAll = StopAll{Count: d.StopAll.Count + 1, Stop: s}
			d.changes.All = true
		}
		for _, id := range ids {
			d.stop(id, s)
		}
		d.news = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	keys := keysOf(stopKind, ids)
	if all {
		keys = append(keys, documents.Key{Kind: stopAllKind, ID: stopAllID})
	}
	return ids, r.save(ctx, keys...)
}

// toStop lists the executors of a stop.
func (r *Registry) toStop(s *Snapshot, names mess.Refs) ([]string, error) {
	for _, id := range names {
		if s.Executor(id) == nil {
			return nil, mess.Errorf(mess.MissingReference, "config.stop.executors: unknown executor %q; leave the list out to stop all", id)
		}
	}
	if len(names) > 0 {
		return names, nil
	}
	isIdlePerson := func(id string) bool { return s.Executor(id).Person && len(r.cfg.Held(id)) == 0 }
	return slices.DeleteFunc(s.ids(), isIdlePerson), nil
}

// stop gives a stop to one executor. The order that it gets names this executor if the stop names
// executors, and never the other ones.
func (d *draft) stop(id string, s mess.Stop) {
	if len(s.Executors) > 0 {
		s.Executors = mess.Refs{id}
	}
	o := d.Orders(id)
	_, named := Named(o.Stops)
	if len(o.Stops) < maxStops || len(s.Executors) > 0 && !named {
		o.Stops = append(slices.Clone(o.Stops), s)
		d.setOrders(id, o)
	}
	d.addEvent(id, stopEvent(s))
}

// Named returns the first of the unconfirmed stops of an executor that names it. Such a stop prevents
// each start of the executor. The others are stops of everything, for which StopAll decides.
func Named(stops []mess.Stop) (mess.Stop, bool) {
	i := slices.IndexFunc(stops, func(s mess.Stop) bool { return len(s.Executors) > 0 })
	if i < 0 {
		return mess.Stop{}, false
	}
	return stops[i], true
}

func stopEvent(s mess.Stop) thread.Event {
	return thread.Event{Kind: thread.EventStop, Message: mess.Message{From: thread.Self, Received: s.At, Items: []mess.Item{&mess.Config{Stop: &s}}}}
}

// Events returns the unconfirmed orders of an executor, stops first.
func (o Orders) Events() (events []thread.Event) {
	for _, s := range o.Stops {
		events = append(events, stopEvent(s))
	}
	if o.Drain != nil {
		events = append(events, o.Drain.event())
	}
	return events
}
