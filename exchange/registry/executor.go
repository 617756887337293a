package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/exchange/documents"
	"github.com/messkit/messkit/exchange/routing"
	"github.com/messkit/messkit/mess"
)

// Executor is a registered executor. It is immutable except for its vitals: an update makes a new
// Executor.
type Executor struct {
	*routing.Executor
	Created      time.Time
	Beats        bool // it has sent a heartbeat with its claims
	Deregistered bool // it is on no list until it sends something
	// returns is true for a deregistered executor that has come back and has not registered again.
	// Its next registration replaces the earlier one instead of updating it.
	returns bool
	*contactState
}

// contactState has the fields that change with each contact. All versions of an executor share it.
type contactState struct {
	seen   atomic.Pointer[time.Time]
	own    atomic.Pointer[time.Time] // last contact to this exchange, and not to another one with the same store; nil: none yet
	states atomic.Pointer[[]mess.DeviceState]
}

func newContactState(seen time.Time) *contactState {
	v := &contactState{}
	v.seen.Store(&seen)
	return v
}

// Seen returns the time of the last contact.
func (v *contactState) Seen() time.Time { return *v.seen.Load() }

// States returns the last report of the device states.
func (v *contactState) States() []mess.DeviceState {
	if list := v.states.Load(); list != nil {
		return *list
	}
	return nil
}

// executorDoc is the stored form of an executor.
type executorDoc struct {
	Executor  mess.Executor `json:"executor"`
	Created   time.Time     `json:"created"`
	Seen      time.Time     `json:"seen"`
	Beats     bool          `json:"beats"`
	Forgotten bool          `json:"forgotten,omitempty"`
}

func (r *Registry) readExecutors(d *draft) error {
	var table []*routing.Executor
	for id, doc := range r.docs.Take(executorKind) {
		e, err := readExecutor(id, doc)
		if err != nil {
			return err
		}
		if d.setExecutor(e); !e.Deregistered {
			table = append(table, e.Executor)
		}
	}
	d.Table = routing.NewTable(table...)
	return nil
}

// readExecutor reads the stored form of an executor.
func readExecutor(id string, doc []byte) (*Executor, error) {
	var stored executorDoc
	if err := json.Unmarshal(doc, &stored); err != nil {
		return nil, fmt.Errorf("registered executor %q: %w; remove its record and register it again", id, err)
	}
	one, err := routing.NewExecutor(stored.Executor)
	if err != nil {
		return nil, fmt.Errorf("registered executor %q: %w", id, err)
	}
	return &Executor{Executor: one, Created: stored.Created, Beats: stored.Beats, Deregistered: stored.Forgotten, contactState: newContactState(stored.Seen)}, nil
}

// render returns the present document for a key; nil removes it.
func (r *Registry) render(k documents.Key) ([]byte, error) {
	s := r.Snapshot()
	o := s.Orders(k.ID)
	switch {
	case k.Kind == executorKind:
		return s.Executor(k.ID).document()
	case k.Kind == stopAllKind:
		return json.Marshal(s.StopAll)
	case k.Kind == reportKind:
		return s.report(k.ID)
	case k.Kind == stopKind && len(o.Stops) > 0:
		return json.Marshal(o.Stops)
	case k.Kind == drainKind && o.Drain != nil:
		return json.Marshal(o.Drain)
	}
	return nil, nil
}

func (e *Executor) document() ([]byte, error) {
	return json.Marshal(executorDoc{Executor: e.Executor.Executor, Created: e.Created, Seen: e.Seen(), Beats: e.Beats, Forgotten: e.Deregistered})
}

// Register stores a registration or an update of one. An update without a change counts as contact,
// and writes nothing. The error is a *mess.Error or that of the store.
func (r *Registry) Register(ctx context.Context, c mess.Executor) error {
	w, err := r.docs.Write(ctx, documents.Key{Kind: executorKind, ID: c.ID})
	if err != nil {
		return err
	}
	defer w.Close()
	now := r.cfg.Now()
	e := &Executor{Created: now, Beats: c.Holding != nil, contactState: newContactState(now)}
	old := r.Snapshot().Executor(c.ID)
	if old != nil {
		e.Created, e.Beats, e.returns, e.contactState = old.Created, e.Beats || old.Beats, old.returns, old.contactState
		if e.returns = e.returns || old.Deregistered; e.returns && c.Capabilities != nil {
			e.returns = false
		} else {
			c = merge(old.Executor.Executor, c)
		}
	}
	c.Holding, c.Instance, c.Stopped, c.Drained, c.States = nil, "", nil, nil, nil
	if old != nil && !old.Deregistered && old.returns == e.returns && old.Beats == e.Beats && sameProfile(old.Executor.Executor, c) {
		r.Seen(c.ID)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.notifyReaders()
		return nil
	}
	if e.Executor, err = routing.NewExecutor(c); err != nil {
		return mess.Errorf(mess.Invalid, "config.executor.schedule: %v", err)
	}
	e.seen.Store(&now)
	doc, err := e.document()
	if err != nil {
		return fmt.Errorf("executor %s: %w", c.ID, err)
	}
	if err := w.Put(ctx, doc); err != nil {
		return err
	}
	return r.change(func(d *draft) error { d.put(e); return nil })
}

// sameProfile reports whether two registrations have equal fields.
func sameProfile(a, b mess.Executor) bool {
	was, err1 := json.Marshal(a)
	is, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(was, is)
}

// merge returns old with the fields that c has.
func merge(old, c mess.Executor) mess.Executor {
	m := old
	if c.Name != "" {
		m.Name = c.Name
	}
	if c.Capabilities != nil {
		m.Capabilities = c.Capabilities
	}
	if c.Availability != "" {
		m.Availability, m.Schedule = c.Availability, c.Schedule
	}
	if c.Versions != nil {
		m.Versions = c.Versions
	}
	m.Extra = slices.Clone(old.Extra)
	for _, f := range c.Extra {
		m.Extra = m.Extra.Set(f.Key, f.Value)
	}
	return m
}

// Seen records a contact. It returns the executor, or nil for an unknown or deregistered one.
func (r *Registry) Seen(id string) *Executor {
	r.mu.Lock()
	e := r.Snapshot().Executor(id)
	if e == nil || e.Deregistered {
		r.mu.Unlock()
		return nil
	}
	now := r.cfg.Now()
	was := e.seen.Swap(&now)
	e.own.Store(&now)
	back := now.Sub(*was) > r.ContactTimeout(e, r.cfg.Unreachable)
	if back {
		r.changes.add(id)
	}
	r.mu.Unlock()
	if back {
		r.cfg.Changed()
	}
	return e
}

// maxStates limits the device states of one executor.
const maxStates = 1024

// SetStates takes the device states of an executor, and notifies readers unless only times of
// readings have changed. It does not store the states, because an executor reports them again.
func (r *Registry) SetStates(id string, states []mess.DeviceState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.Snapshot().Executor(id); e != nil {
		states = slices.Clone(states[:min(len(states), maxStates)]) // the rest must not stay in memory
		same := slices.EqualFunc(e.States(), states, equalExceptTimes)
		if e.states.Store(&states); !same {
			r.notifyReaders()
		}
		r.markReport(id, !same)
	}
}

// equalExceptTimes reports whether two states differ at most in the times of their readings.
func equalExceptTimes(a, b mess.DeviceState) bool {
	return reflect.DeepEqual(withoutTimes(a), withoutTimes(b))
}

func withoutTimes(s mess.DeviceState) mess.DeviceState {
	s.AsOf, s.Readings = "", slices.Clone(s.Readings)
	for i := range s.Readings {
		s.Readings[i].AsOf = ""
	}
	return s
}

// IsLive reports whether an executor subscribes now, or has sent something lately.
func (r *Registry) IsLive(e *Executor, now time.Time) bool {
	return now.Sub(e.Seen()) <= r.ContactTimeout(e, r.cfg.Unreachable) || r.cfg.IsPresent(e.ID)
}

// ContactTimeout returns how long to wait for a contact: d for an executor with heartbeats, longer
// for one without and for an unknown one.
func (r *Registry) ContactTimeout(e *Executor, d time.Duration) time.Duration {
	if e != nil && e.Beats {
		return d
	}
	return max(d, r.cfg.LeaseWithoutHeartbeat)
}
