package registry

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/documents"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// followDocuments takes the registrations, orders and rules of other exchanges with the same store. The
// difference between two contents of the stops is what another exchange has changed.
func (r *Registry) followDocuments() {
	take := func(kind string, fn func(d *draft, id string, was, doc []byte) error) (string, documents.Follower) {
		return kind, func(id string, was, doc []byte) {
			if err := r.change(func(d *draft) error { return fn(d, id, was, doc) }); err != nil {
				r.cfg.Log.Error("the registry cannot read what another exchange has stored", "kind", kind, "id", id, "err", err)
			}
		}
	}
	r.docs.Follow(take(executorKind, r.takeExecutor))
	r.docs.Follow(take(drainKind, r.takeDrain))
	r.docs.Follow(take(rulesKind, r.takeRules))
	r.docs.Follow(take(reportKind, r.takeReport))
	r.docs.FollowFrom(take(stopKind, r.takeStops))
	r.docs.FollowFrom(take(stopAllKind, r.takeStopAll))
}

func idsOf(stops []mess.Stop) (ids []string) {
	for _, s := range stops {
		ids = append(ids, s.ID)
	}
	return ids
}

func (r *Registry) takeExecutor(d *draft, id string, _, doc []byte) error {
	if doc == nil {
		return nil
	}
	e, err := readExecutor(id, doc)
	if err != nil {
		return err
	}
	if old := d.Executor(id); old != nil {
		if e.Seen().After(old.Seen()) {
			old.seen.Store(new(e.Seen()))
		}
		e.contactState = old.contactState
	}
	d.put(e)
	return nil
}

// takeStops adds the stops that another exchange has ordered, and removes those that the executor has
// confirmed there. A stop that only this exchange knows yet stays.
func (r *Registry) takeStops(d *draft, id string, was, doc []byte) error {
	before, list, err := decode[[]mess.Stop](was, doc)
	if err != nil {
		return err
	}
	had, has := idsOf(before), idsOf(list)
	o := d.Orders(id)
	o.Stops = slices.DeleteFunc(slices.Clone(o.Stops), func(s mess.Stop) bool { return slices.Contains(had, s.ID) && !slices.Contains(has, s.ID) })
	known := idsOf(o.Stops)
	for _, s := range list {
		if !slices.Contains(had, s.ID) && !slices.Contains(known, s.ID) {
			o.Stops = append(o.Stops, s)
			d.addEvent(id, stopEvent(s))
		}
	}
	d.setOrders(id, o)
	d.news = true
	return nil
}

// decode reads two contents of a document; nil is the zero value.
func decode[T any](was, doc []byte) (before, now T, err error) {
	if was != nil {
		if err = json.Unmarshal(was, &before); err != nil {
			return before, now, err
		}
	}
	if doc != nil {
		err = json.Unmarshal(doc, &now)
	}
	return before, now, err
}

// StoredStops has the stops for the starts of one executor, as the store has them.
type StoredStops struct {
	All   StopAll
	Stops []mess.Stop // of the executor, unconfirmed
}

// ReadStops reads the stops for a start of an executor from the store. The snapshot has what the feed has
// brought, and may lack a stop of another exchange. The store may lack a stop that this exchange has yet
// to write, so both count. The error is that of the store.
func (r *Registry) ReadStops(ctx context.Context, store thread.DocumentReader, executor string) (StoredStops, error) {
	var both sync.WaitGroup
	var errAll, errOwn error
	var all, own []byte
	both.Go(func() { all, errAll = store.Document(ctx, stopAllKind, stopAllID) })
	both.Go(func() { own, errOwn = store.Document(ctx, stopKind, executor) })
	both.Wait()
	if err := errors.Join(errAll, errOwn); err != nil {
		return StoredStops{}, err
	}
	return StoredStops{All: r.decodeStopAll(all), Stops: r.decodeStops(executor, own)}, nil
}

// takeStopAll takes a stop of everything. If each of two exchanges has ordered one, both count.
func (r *Registry) takeStopAll(d *draft, _ string, was, doc []byte) error {
	before, now, err := decode[StopAll](was, doc)
	if err != nil {
		return err
	}
	switch {
	case now.Count <= before.Count:
		return nil
	case d.StopAll.Count > before.Count: // the store does not have an own one yet
		d.StopAll.Count += now.Count - before.Count
	default:
		d.StopAll = now
	}
	d.changes.All, d.news = true, true
	return nil
}

func (r *Registry) takeDrain(d *draft, id string, _, doc []byte) error {
	o := d.Orders(id)
	was := o.Drain
	if o.Drain = nil; doc != nil {
		o.Drain = &Drain{}
		if err := json.Unmarshal(doc, o.Drain); err != nil {
			return err
		}
	}
	d.setOrders(id, o)
	d.changes.add(id)
	d.news = true
	if o.Drain != nil && (was == nil || was.Order.ID != o.Drain.Order.ID) {
		d.addEvent(id, o.Drain.event())
	}
	return nil
}

func (r *Registry) takeRules(d *draft, _ string, _, doc []byte) error {
	var rules mess.Routing
	if doc != nil {
		if err := json.Unmarshal(doc, &rules); err != nil {
			return err
		}
	}
	r.rule(d, rules)
	d.changes.All = true
	return nil
}

// Contact is the last contact of an executor.
type Contact struct {
	Executor string
	Ago      time.Duration
}

// OwnContacts lists the executors that have had a contact to this exchange within d, or subscribe to it.
func (r *Registry) OwnContacts(d time.Duration) (list []Contact) {
	now := r.cfg.Now()
	for id, e := range r.Snapshot().executors.all() {
		if e.Deregistered {
			continue
		}
		own := e.own.Load()
		switch {
		case r.cfg.IsPresent(id):
			list = append(list, Contact{id, 0})
		case own != nil && now.Sub(*own) <= d:
			list = append(list, Contact{id, max(0, now.Sub(*own))})
		}
	}
	return list
}

// SeenElsewhere records the contact of an executor to another exchange with the same store.
func (r *Registry) SeenElsewhere(c Contact) {
	r.mu.Lock()
	e, at := r.Snapshot().Executor(c.Executor), r.cfg.Now().Add(-c.Ago)
	if e == nil || e.Deregistered || !at.After(e.Seen()) {
		r.mu.Unlock()
		return
	}
	was := e.seen.Swap(&at)
	back := at.Sub(*was) > r.ContactTimeout(e, r.cfg.Unreachable)
	if back {
		r.changes.add(c.Executor)
	}
	r.mu.Unlock()
	if back {
		r.cfg.Changed()
	}
}

// reportDoc is the stored form of the last report of an executor. Only a shared store has it.
type reportDoc struct {
	States  []mess.DeviceState `json:"states,omitempty"`
	Stopped *mess.StopState    `json:"stopped,omitempty"`
	Drained *mess.DrainState   `json:"drained,omitempty"`
}

// report returns the document of the last report of an executor.
func (s *Snapshot) report(id string) ([]byte, error) {
	o, e := s.Orders(id), s.Executor(id)
	doc := reportDoc{Stopped: o.Stopped, Drained: o.DrainReport}
	if e != nil {
		doc.States = e.States()
	}
	return json.Marshal(doc)
}

// shareTimesAfter is the time after which other exchanges get states of which only the times of readings
// have changed.
const shareTimesAfter = time.Minute

// markReport records that other exchanges need the last report of an executor. The caller holds r.mu.
func (r *Registry) markReport(id string, changed bool) {
	if r.reports != nil && (changed || r.cfg.Now().Sub(r.shared[id]) >= shareTimesAfter) {
		r.reports[id] = true
	}
}

// ShareReports stores the reports that other exchanges with the same store need.
func (r *Registry) ShareReports(ctx context.Context) error {
	r.mu.Lock()
	var keys []documents.Key
	for id := range r.reports {
		delete(r.reports, id)
		r.shared[id] = r.cfg.Now()
		if doc, err := r.Snapshot().report(id); err == nil && !r.docs.Has(documents.Key{Kind: reportKind, ID: id}, doc) {
			keys = append(keys, documents.Key{Kind: reportKind, ID: id})
		}
	}
	r.mu.Unlock()
	if len(keys) == 0 {
		return nil
	}
	return r.save(ctx, keys...)
}

func (r *Registry) takeReport(d *draft, id string, _, doc []byte) error {
	_, now, err := decode[reportDoc](nil, doc)
	if err != nil {
		return err
	}
	o := d.Orders(id)
	o.Stopped, o.DrainReport = now.Stopped, now.Drained
	d.setOrders(id, o)
	d.changes.add(id)
	d.news = true
	if e := d.Executor(id); e != nil && now.States != nil {
		e.states.Store(&now.States)
		if r.cfg.Reported != nil {
			r.cfg.Reported(id, now.States)
		}
	}
	return nil
}

// readReports reads the reports that executors have made to other exchanges.
func (r *Registry) readReports(d *draft) error {
	for id, doc := range r.docs.Read(reportKind) {
		if r.reports == nil {
			break
		}
		if err := r.takeReport(d, id, nil, doc); err != nil {
			r.cfg.Log.Warn("the registry cannot read a report, and waits for the next one", "executor", id, "err", err)
		}
	}
	d.changes = Changes{}
	return nil
}
