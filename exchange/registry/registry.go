// Package registry has the executors of an exchange: their registrations, their last signs of life,
// and their orders. Readers get an immutable snapshot and never wait. The package does not know how
// a thread changes.
package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/exchange/documents"
	"github.com/messkit/messkit/exchange/routing"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// Config of a registry. The registry calls the functions under its lock, so they must not call it
// back. Only Changed may.
type Config struct {
	// Unreachable is the silence after which an executor with heartbeats is not live any more, and
	// LeaseWithoutHeartbeat that for one without.
	Unreachable, LeaseWithoutHeartbeat time.Duration
	Rules                              []mess.Rule // of the configuration; those set at run time come first

	Now       func() time.Time
	Log       *slog.Logger
	Publish   func(e thread.Event, executor string)
	IsPresent func(executor string) bool     // the executor subscribes now
	Held      func(executor string) []string // refs of the open threads that the executor holds
	Changed   func()                         // called after a change; TakeChanges returns it
	// Reported gets the states of devices that an executor has reported to another exchange with the
	// same store; nil for none. It must return soon.
	Reported func(executor string, states []mess.DeviceState)
}

// Registry has the executors of one exchange. It is safe for concurrent use.
type Registry struct {
	cfg    Config
	docs   *documents.Documents
	opened time.Time // no executor counts as silent since before

	// change holds mu while it makes a new snapshot, but never while the store works: a stop must
	// not wait for a disk.
	mu      sync.Mutex
	present atomic.Pointer[Snapshot]
	changes Changes
	news    chan struct{}        // closes when a reader should look again
	reports map[string]bool      // executors whose last report other exchanges do not have; nil: the store is not shared
	shared  map[string]time.Time // when they got the last one
}

// Snapshot is the registry at one moment. It is immutable except for the vitals of its executors.
type Snapshot struct {
	Table     *routing.Table // the listed executors, and the rules
	StopAll   StopAll        // the last stop of everything
	executors dict[*Executor]
	orders    dict[Orders]
}

// Changes has the changes that affect offers.
type Changes struct {
	Executors map[string]bool // ids
	Places    bool            // the served places have changed
	All       bool            // rules or orders for every thread have changed
}

// IsEmpty reports whether nothing has changed.
func (c Changes) IsEmpty() bool { return len(c.Executors) == 0 && !c.Places && !c.All }

func (c *Changes) add(id string) {
	if c.Executors == nil {
		c.Executors = map[string]bool{}
	}
	c.Executors[id] = true
}

// The kinds of documents, and the ids of single ones.
const (
	executorKind = "executor"
	stopKind     = "stop"
	drainKind    = "hold"
	stopAllKind  = "stopped"
	stopAllID    = "all"
	rulesKind    = "routing"
	rulesID      = "rules"
	reportKind   = "report"
)

// Open reads the registry from its documents. The error is about an invalid document.
func Open(cfg Config, docs *documents.Documents) (*Registry, error) {
	r := &Registry{cfg: cfg, docs: docs, opened: cfg.Now(), news: make(chan struct{})}
	r.present.Store(&Snapshot{Table: routing.NewTable(), executors: newDict[*Executor](), orders: newDict[Orders]()})
	if docs.IsShared() {
		r.reports, r.shared = map[string]bool{}, map[string]time.Time{}
	}
	r.followDocuments()
	d := r.draft()
	for _, read := range []func(*draft) error{r.readExecutors, r.readReports, r.readStops, r.readStopAll, r.readDrains, r.readRules} {
		if err := read(d); err != nil {
			return nil, err
		}
	}
	r.present.Store(&d.Snapshot)
	return r, nil
}

// Snapshot returns the present snapshot.
func (r *Registry) Snapshot() *Snapshot { return r.present.Load() }

// Executor returns a registered executor, even a deregistered one, or nil.
func (s *Snapshot) Executor(id string) *Executor { return s.executors.get(id) }

// All yields the listed executors, sorted by id.
func (s *Snapshot) All() iter.Seq[*Executor] {
	return func(yield func(*Executor) bool) {
		for _, e := range s.Table.All() {
			if !yield(s.Executor(e.ID)) {
				return
			}
		}
	}
}

// Deregistered lists the deregistered executors that have sent nothing since, sorted by id.
func (s *Snapshot) Deregistered() []string {
	var ids []string
	for id, e := range s.executors.all() {
		if e.Deregistered {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// ids lists all executors, sorted.
func (s *Snapshot) ids() []string {
	var ids []string
	for id := range s.executors.all() {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// draft is a snapshot in the making.
type draft struct {
	Snapshot
	executorEdit edit[*Executor]
	ordersEdit   edit[Orders]
	changes      Changes
	events       []addressed
	news         bool // notify those who wait for a change
}

// addressed is an event for one executor.
type addressed struct {
	to    string
	event thread.Event
}

func (r *Registry) draft() *draft {
	s := *r.Snapshot()
	return &draft{Snapshot: s, executorEdit: edit[*Executor]{dict: s.executors}, ordersEdit: edit[Orders]{dict: s.orders}}
}

func (d *draft) addEvent(id string, e thread.Event) { d.events = append(d.events, addressed{id, e}) }

// setExecutor replaces an executor outside of the table.
func (d *draft) setExecutor(e *Executor) {
	d.executorEdit.set(e.ID, e)
	d.executors = d.executorEdit.dict
}

// setOrders replaces the orders of an executor.
func (d *draft) setOrders(id string, o Orders) {
	d.ordersEdit.set(id, o)
	d.orders = d.ordersEdit.dict
}

// put replaces an executor, and puts it into the table or removes it.
func (d *draft) put(e *Executor) {
	was := d.Table
	if d.setExecutor(e); e.Deregistered {
		d.Table = was.Without(e.ID)
	} else {
		d.Table = was.With(e.Executor)
	}
	d.changes.Places = d.changes.Places || !was.SamePlaces(d.Table)
	d.changes.add(e.ID)
	d.news = true
}

// change makes a new snapshot. If do returns an error, nothing changes. It publishes the events
// after the snapshot is in force, so that a later subscriber finds them there.
func (r *Registry) change(do func(d *draft) error) error {
	if err := r.lockedChange(do); err != nil {
		return err
	}
	r.cfg.Changed()
	return nil
}

func (r *Registry) lockedChange(do func(d *draft) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.draft()
	if err := do(d); err != nil {
		return err
	}
	r.present.Store(&d.Snapshot)
	for id := range d.changes.Executors {
		r.changes.add(id)
	}
	r.changes.Places = r.changes.Places || d.changes.Places
	r.changes.All = r.changes.All || d.changes.All
	for _, e := range d.events {
		r.cfg.Publish(e.event, e.to)
	}
	if d.news {
		r.notifyReaders()
	}
	return nil
}

// TakeChanges returns the changes since the last call.
func (r *Registry) TakeChanges() Changes {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.changes
	r.changes = Changes{}
	return c
}

// MarkChanged adds executors to the result of TakeChanges.
func (r *Registry) MarkChanged(ids ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		r.changes.add(id)
	}
}

// notifyReaders notifies those who wait for a change. The caller holds r.mu.
func (r *Registry) notifyReaders() {
	close(r.news)
	r.news = make(chan struct{})
}

// Changed returns a channel that closes at the next registration, report about an order or about
// device states, or stop. An executor that falls silent does not close it, and neither do states of
// which only the times of readings have changed.
func (r *Registry) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.news
}

// save stores documents, each with the state at the moment of its write.
func (r *Registry) save(ctx context.Context, keys ...documents.Key) error {
	return r.docs.Save(ctx, r.render, keys...)
}

func keysOf(kind string, ids []string) (keys []documents.Key) {
	for _, id := range ids {
		keys = append(keys, documents.Key{Kind: kind, ID: id})
	}
	return keys
}

// SetRules replaces the rules of an earlier SetRules (MESS 1.0 section 7.4), and stores them.
func (r *Registry) SetRules(ctx context.Context, rules mess.Routing) error {
	w, err := r.docs.Write(ctx, documents.Key{Kind: rulesKind, ID: rulesID})
	if err != nil {
		return err
	}
	defer w.Close()
	doc, err := json.Marshal(rules)
	if err != nil {
		return err
	}
	if err := w.Put(ctx, doc); err != nil {
		return err
	}
	return r.change(func(d *draft) error {
		r.rule(d, rules)
		d.changes.All = true
		return nil
	})
}

// rule puts rules of run time before those of the configuration.
func (r *Registry) rule(d *draft, rules mess.Routing) {
	d.Table = d.Table.WithRules(slices.Concat(rules.Rules, r.cfg.Rules)...)
}

func (r *Registry) readRules(d *draft) error {
	var rules mess.Routing
	if doc := r.docs.Take(rulesKind)[rulesID]; doc != nil {
		if err := json.Unmarshal(doc, &rules); err != nil {
			return fmt.Errorf("stored routing rules: %w; set them again", err)
		}
	}
	r.rule(d, rules)
	return nil
}
