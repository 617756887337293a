package exchange

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/routing"
	"github.com/messkit/messkit/exchange/transition"
	"github.com/messkit/messkit/mess"
)

// ExecutorInfo is a registered executor.
type ExecutorInfo struct {
	mess.Executor
	Created  time.Time
	LastSeen time.Time
	Live     bool // heard of within the time after which it counts as unreachable
	// Stopping are the stops that it has not confirmed yet.
	Stopping []mess.Stop
	// Hold is the hold of it that was given here, Resume the end of one that it has
	// not confirmed; nil if there is none.
	Hold, Resume *mess.Hold
	OnHold       string // why it is offered nothing, by its hold or by its own word; "" if it is offered what it can do
	Holds        int    // threads that it has claimed
}

// executor is a registered executor. Exchange.mu guards it. A new registration replaces
// the part that routing reads.
type executor struct {
	*routing.Executor
	created, seen time.Time
	beats         bool // has sent heartbeats that name what it holds
	forgotten     bool // is on no list until it speaks again
	returns       bool // it was forgotten until it spoke: of what it was then only what it says again counts
}

// executorDoc is an executor as it is stored.
type executorDoc struct {
	Executor  mess.Executor `json:"executor"`
	Created   time.Time     `json:"created"`
	Seen      time.Time     `json:"seen"`
	Beats     bool          `json:"beats"`
	Forgotten bool          `json:"forgotten,omitempty"`
}

const executorKind = "executor"

func (x *Exchange) readExecutors(ctx context.Context) error {
	docs, err := x.docs.Docs(ctx, executorKind)
	if err != nil {
		return err
	}
	var table []*routing.Executor
	for id, doc := range docs {
		var d executorDoc
		if err := json.Unmarshal(doc, &d); err != nil {
			return fmt.Errorf("registered executor %q: %w; remove its record and register it again", id, err)
		}
		e := &executor{created: d.Created, seen: d.Seen, beats: d.Beats, forgotten: d.Forgotten}
		if e.Executor, err = routing.NewExecutor(d.Executor); err != nil {
			return fmt.Errorf("registered executor %q: %w", id, err)
		}
		if x.executors[id] = e; !e.forgotten {
			table = append(table, e.Executor)
		}
	}
	x.table = routing.NewTable(table...).WithRules(x.cfg.Routing.Rules...)
	return nil
}

// register takes a config.executor: a registration, an update, or a heartbeat.
func (x *Exchange) register(ctx context.Context, who Actor, c mess.Executor) (mess.Ack, error) {
	if !who.Has(ExecutorRole) && !who.Has(Operator) {
		return mess.Ack{}, mess.Refuse(mess.Forbidden, "config.executor: %q may not work for others here (role executor is missing); an operator gives it", who.ID)
	}
	if who.ID != c.ID && !who.Has(Operator) {
		return mess.Ack{}, mess.Refuse(mess.Forbidden, "config.executor.id: %q can only register itself", who.ID)
	}
	if !mess.ValidID(c.ID) {
		return mess.Ack{}, mess.Refuse(mess.Invalid, "config.executor.id: %q cannot name an executor; use letters, digits, - and _, at most 64", c.ID)
	}
	if err := CheckProfile(c); err != nil {
		return mess.Ack{}, err
	}
	if err := x.granted(c); err != nil {
		return mess.Ack{}, err
	}
	ack := mess.Ack{Re: mess.Refs{c.ID}, ReceivedAt: mess.TimeOf(x.now())}
	if c.Instance != "" {
		x.letGo(ctx, c)
	}
	if !isHeartbeat(c) || !x.heard(c) {
		if err := x.pin(&c); err != nil {
			return mess.Ack{}, err
		}
		if err := x.enter(ctx, c); err != nil {
			return mess.Ack{}, err
		}
	}
	if err := x.stands(ctx, c); err != nil {
		return mess.Ack{}, err
	}
	if x.cfg.States {
		ack.States = new(true)
		x.tells(c)
	}
	if err := x.standsHeld(ctx, c); err != nil {
		return mess.Ack{}, err
	}
	ack.Threads, ack.Stops = x.holdings(c), x.unconfirmed(c.ID)
	ack.Hold, ack.Resume = x.unheard(c)
	return ack, nil
}

// letGo offers again what an earlier process of an executor has claimed and not
// begun: the new one does not know of it. While the earlier one may be alive, its
// leases tell.
func (x *Exchange) letGo(ctx context.Context, c mess.Executor) {
	for _, ref := range x.unknownTo(c) {
		_, err := x.step(ctx, ref, func(env Envelope) transition.Input {
			if env.Holder() != c.ID || env.Phase != Before || env.Instance == c.Instance {
				return x.ownStep(env, nil)
			}
			return x.ownStep(env, x.offerAgain(c.ID+" was started anew before it began"))
		})
		if err != nil {
			x.log.Warn("a claim of an earlier process stays until its lease is over", "ref", ref, "err", err)
		}
	}
}

// unknownTo lists the claims of an earlier process of an executor that have not
// begun.
func (x *Exchange) unknownTo(c mess.Executor) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var refs []string
	for ref, l := range x.by.held[c.ID] {
		knows := slices.ContainsFunc(c.Holding, func(h mess.HeldThread) bool { return h.Ref == ref && h.Epoch == l.env.Epoch })
		if l.env.Phase == Before && l.env.HasOtherInstance(c.Instance) && !knows && !x.twin(l, c, x.now()) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// isHeartbeat reports whether c says nothing about what the executor is.
func isHeartbeat(c mess.Executor) bool {
	return c.Name == "" && c.Capabilities == nil && c.Availability == "" && c.Schedule == "" && c.Versions == nil && len(c.Extra) == 0
}

// heard notes a sign of life. It returns false for an executor that is not
// registered, and for the first heartbeat of one, which is stored.
func (x *Exchange) heard(c mess.Executor) bool {
	x.mu.Lock()
	e := x.executors[c.ID]
	if e == nil || e.forgotten || c.Holding != nil && !e.beats {
		x.mu.Unlock()
		return false
	}
	x.seeAndUnlock(e)
	return true
}

// Seen notes that an executor is there. Every authenticated call says so, whatever it
// asks for: an executor that polls or reports is alive without heartbeats.
func (x *Exchange) Seen(who Actor) {
	x.mu.Lock()
	if e := x.executors[who.ID]; e != nil && !e.forgotten && who.Has(ExecutorRole) {
		x.seeAndUnlock(e)
		return
	}
	x.mu.Unlock()
}

// seeAndUnlock notes a sign of life. The caller holds x.mu, and seeAndUnlock frees it.
func (x *Exchange) seeAndUnlock(e *executor) {
	was := e.seen
	e.seen = x.now()
	back := e.seen.Sub(was) > x.patience(e, x.cfg.Unreachable)
	if back {
		x.changedExecutor(e.ID)
	}
	x.mu.Unlock()
	if back {
		x.renew()
	}
}

// enter stores a registration or an update of one. One that says nothing new is a sign
// of life.
func (x *Exchange) enter(ctx context.Context, c mess.Executor) error {
	done, err := x.writing(ctx, executorKind, c.ID)
	if err != nil {
		return err
	}
	defer done()
	now := x.now()
	e := &executor{created: now, seen: now, beats: c.Holding != nil}
	x.mu.Lock()
	old := x.executors[c.ID]
	if old != nil {
		e.created, e.beats, e.returns = old.created, e.beats || old.beats, old.returns
		if e.returns = e.returns || old.forgotten; e.returns && c.Capabilities != nil {
			e.returns = false
		} else {
			c = merge(old.Executor.Executor, c)
		}
	}
	x.mu.Unlock()
	c.Holding, c.Instance, c.Stopped, c.Held, c.States = nil, "", nil, nil, nil
	if old != nil && !old.forgotten && old.returns == e.returns && old.beats == e.beats && sameProfile(old.Executor.Executor, c) {
		x.Seen(Actor{ID: c.ID, Roles: ExecutorRole})
		x.mu.Lock()
		defer x.mu.Unlock()
		x.turned()
		return nil
	}
	if e.Executor, err = routing.NewExecutor(c); err != nil {
		return mess.Refuse(mess.Invalid, "config.executor.schedule: %v", err)
	}
	doc, err := json.Marshal(executorDoc{Executor: c, Created: e.created, Seen: now, Beats: e.beats})
	if err != nil {
		return err
	}
	if err := x.docs.Put(ctx, executorKind, c.ID, doc); err != nil {
		return x.broken(err)
	}
	x.mu.Lock()
	x.list(e)
	x.mu.Unlock()
	x.renew()
	return nil
}

// sameProfile reports whether an executor says the same of itself.
func sameProfile(a, b mess.Executor) bool {
	was, err1 := json.Marshal(a)
	is, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(was, is)
}

// list replaces an executor, on the lists or off them. The caller holds x.mu, and calls
// renew when it has freed it.
func (x *Exchange) list(e *executor) {
	was := x.table
	if x.executors[e.ID] = e; e.forgotten {
		x.table = was.Without(e.ID)
	} else {
		x.table = was.With(e.Executor)
	}
	x.stale.places = x.stale.places || !was.SamePlaces(x.table)
	x.changedExecutor(e.ID)
	x.turned()
}

// merge is old with all that c says.
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

// holdings renews the leases of what an executor holds, and tells it how the
// exchange sees each thread that either of the two believes it to hold. What
// another process of its name holds that is still there is not its own.
func (x *Exchange) holdings(c mess.Executor) []mess.HeldThread {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := x.now()
	said := map[string]bool{}
	var threads []mess.HeldThread
	for _, h := range c.Holding {
		said[h.Ref] = true
		threads = append(threads, x.holding(c.ID, h, now))
	}
	for _, l := range x.by.held[c.ID].inOrder() {
		if !said[l.env.Ref] && !x.twin(l, c, now) {
			threads = append(threads, heldThread(l.env, true, 0))
		}
	}
	return threads
}

// twin reports whether another process than the one that speaks has claimed a thread
// and is still there: somebody follows under its name, and a heartbeat that names the
// claim is not overdue. Who follows may be the process that speaks, so a follower alone
// proves nothing. x.mu is held.
func (x *Exchange) twin(l *live, c mess.Executor, now time.Time) bool {
	return c.Instance != "" && l.env.HasOtherInstance(c.Instance) && x.events.Present(c.ID) && now.Sub(l.heard) <= x.lease(l.env)/2
}

// holding answers for one thread that an executor says it holds.
func (x *Exchange) holding(id string, h mess.HeldThread, now time.Time) mess.HeldThread {
	l := x.open[h.Ref]
	if l == nil || l.env.Holder() != id || l.env.Epoch != h.Epoch {
		no := mess.HeldThread{Ref: h.Ref, Epoch: h.Epoch, Yours: new(false)}
		if l != nil {
			no.Status = l.env.Status
		}
		return no
	}
	l.heard = now
	if l.env.IsUnreachable() {
		x.wake(l, now)
	}
	return heldThread(l.env, true, x.lease(l.env))
}

func heldThread(e Envelope, yours bool, lease time.Duration) mess.HeldThread {
	h := mess.HeldThread{Ref: e.Ref, Epoch: e.Epoch, Status: e.Status, Yours: &yours, Instance: e.Instance}
	if e.CancelBy != "" {
		h.Stop = new(true)
	}
	if lease > 0 {
		h.Lease = mess.Duration(lease.String())
	}
	return h
}

// Executors lists what is registered and not forgotten, by id.
func (x *Exchange) Executors() []ExecutorInfo {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := x.now()
	var list []ExecutorInfo
	for _, one := range x.table.All() {
		e, id := x.executors[one.ID], one.ID
		info := ExecutorInfo{Executor: one.Executor, Created: e.created, LastSeen: e.seen, Live: x.live(e, now), Stopping: x.stops[id], Holds: len(x.by.held[id])}
		info.OnHold = x.held(id)
		info.Stopped, info.Held, info.States = x.stopped[id], x.onHold[id], x.states[id]
		if o, ok := x.holds[id]; ok {
			info.Hold, info.Resume = o.words()
		}
		list = append(list, info)
	}
	return list
}

// live reports whether an executor has been heard of lately, or follows now.
func (x *Exchange) live(e *executor, now time.Time) bool {
	return now.Sub(e.seen) <= x.patience(e, x.cfg.Unreachable) || x.events.Present(e.ID)
}

// patience is how long to wait for a sign of life: d for an executor that
// sends heartbeats, and the quiet lease for one that does not.
func (x *Exchange) patience(e *executor, d time.Duration) time.Duration {
	if e != nil && e.beats {
		return d
	}
	return max(d, x.cfg.QuietLease)
}

// lease is how long the claim of e lasts without a sign of life.
func (x *Exchange) lease(e Envelope) time.Duration {
	d := x.cfg.Unreachable
	if e.Phase == Before {
		d = x.cfg.Lease
	}
	by := x.executors[e.Executor]
	if d = x.patience(by, d); by != nil && by.Person {
		d = max(d, 2*e.Estimate) // she has said how long she needs, and may be without a network
	}
	return d
}
