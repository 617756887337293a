package exchange

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/registry"
	"github.com/messkit/messkit/exchange/transition"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/receipt"
)

// ExecutorInfo describes a registered executor.
type ExecutorInfo struct {
	mess.Executor
	Created  time.Time
	LastSeen time.Time
	Live     bool // it subscribes now, or its last contact is recent
	// UnconfirmedStops has the stops that it has not confirmed.
	UnconfirmedStops []mess.Stop
	// Drain is its drain order, and Resume the end of one that it has not confirmed; nil for none.
	Drain, Resume *mess.DrainOrder
	DrainReason   string // reason for which it gets no offers, from an order or its own report; "" if it gets offers
	Claims        int    // number of threads that it holds
}

// register applies a config.executor: a registration, an update, or a heartbeat (MESS 1.0 section
// 7.4).
func (x *Exchange) register(ctx context.Context, actor Actor, c mess.Executor) (mess.Ack, error) {
	if !actor.Has(ExecutorRole) && !actor.Has(Operator) {
		return mess.Ack{}, mess.Errorf(mess.Forbidden, "config.executor: %q may not work for others here (role executor is missing); an operator gives it", actor.ID)
	}
	if actor.ID != c.ID && !actor.Has(Operator) {
		return mess.Ack{}, mess.Errorf(mess.Forbidden, "config.executor.id: %q can only register itself", actor.ID)
	}
	if !mess.ValidID(c.ID) {
		return mess.Ack{}, mess.Errorf(mess.Invalid, "config.executor.id: %q cannot name an executor; use letters, digits, - and _, at most 64", c.ID)
	}
	if err := ValidateExecutor(c); err != nil {
		return mess.Ack{}, err
	}
	if err := x.checkGrant(c); err != nil {
		return mess.Ack{}, err
	}
	ack := mess.Ack{Re: mess.Refs{c.ID}, ReceivedAt: mess.TimeOf(x.now())}
	if c.Instance != "" {
		x.releaseClaims(ctx, c)
	}
	if !registry.IsHeartbeat(c) || !x.recordHeartbeat(c) {
		if err := x.pinReceiptKey(&c); err != nil {
			return mess.Ack{}, err
		}
		if err := x.registry.Register(ctx, c); err != nil {
			return mess.Ack{}, x.storeError(err)
		}
	}
	stopped, err := x.registry.Report(ctx, c)
	if err != nil {
		return mess.Ack{}, x.storeError(err)
	}
	if stopped {
		if err := x.reportPersonStopped(ctx, c.ID); err != nil {
			return mess.Ack{}, err
		}
	}
	if x.cfg.States {
		ack.States = new(true)
		if c.States != nil {
			x.registry.SetStates(c.ID, c.States)
			if x.cfg.StatesReported != nil {
				x.cfg.StatesReported(c.ID, c.States)
			}
		}
	}
	orders := x.registry.Snapshot().Orders(c.ID)
	ack.Threads, ack.Stops = x.reconcileClaims(c), orders.Stops
	ack.Drain, ack.Resume = orders.UnconfirmedDrain(c)
	return ack, nil
}

// recordHeartbeat records a heartbeat. It returns false if the executor is not registered, or sends
// its first heartbeat; the registry stores that one.
func (x *Exchange) recordHeartbeat(c mess.Executor) bool {
	e := x.registry.Seen(c.ID)
	return e != nil && (c.Holding == nil || e.Beats)
}

// releaseClaims offers the threads again that an earlier process of an executor has claimed and not
// started, because the new process does not know them. If the earlier process may still live, its
// leases decide.
func (x *Exchange) releaseClaims(ctx context.Context, c mess.Executor) {
	for _, ref := range x.claimsUnknownTo(c) {
		_, err := x.step(ctx, ref, func(env Envelope) transition.Input {
			if env.Holder() != c.ID || env.Phase != NotStarted || env.Instance == c.Instance {
				return x.ownInput(env, nil)
			}
			return x.ownInput(env, transition.OfferAgain(c.ID+" restarted before it began", x.cfg.MaxAttempts))
		})
		if err != nil {
			x.log.Warn("a claim of an earlier process stays until its lease is over", "ref", ref, "err", err)
		}
	}
}

// claimsUnknownTo lists the claims of an earlier process of an executor that have not started.
func (x *Exchange) claimsUnknownTo(c mess.Executor) []string {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	var refs []string
	for l := range x.open.held[c.ID].all() {
		e := l.env()
		knows := slices.ContainsFunc(c.Holding, func(h mess.HeldThread) bool { return h.Ref == e.Ref && h.Epoch == e.Epoch })
		if e.Phase == NotStarted && e.HasOtherInstance(c.Instance) && !knows && !x.hasOtherProcess(l, e, c, x.now()) {
			refs = append(refs, e.Ref)
		}
	}
	return refs
}

// reconcileClaims renews the leases of the threads that an executor reports as its own. It returns
// the view of the exchange on each thread that either of them counts as claimed. The claims of
// another live process of the same executor are not among them.
func (x *Exchange) reconcileClaims(c mess.Executor) []mess.HeldThread {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	now := x.now()
	reported := map[string]bool{}
	var threads []mess.HeldThread
	for _, h := range c.Holding {
		reported[h.Ref] = true
		threads = append(threads, x.reconcileClaim(c.ID, h, now))
	}
	for _, l := range x.open.held[c.ID].byRef() {
		if e := l.env(); !reported[e.Ref] && !x.hasOtherProcess(l, e, c, now) {
			threads = append(threads, heldThread(e, true, 0))
		}
	}
	return threads
}

// hasOtherProcess reports whether another live process of the executor has claimed a thread. Such a
// process has a subscription under the same name, and its last heartbeat is recent. The
// subscription alone proves nothing, because it may be that of the sender. The caller holds
// x.open.mu.
func (x *Exchange) hasOtherProcess(l *openThread, e Envelope, c mess.Executor, now time.Time) bool {
	return c.Instance != "" && e.HasOtherInstance(c.Instance) && x.events.Present(c.ID) && now.Sub(l.lastContact) <= x.lease(e)/2
}

// reconcileClaim returns the view of the exchange on one claim of an executor.
func (x *Exchange) reconcileClaim(id string, h mess.HeldThread, now time.Time) mess.HeldThread {
	no := mess.HeldThread{Ref: h.Ref, Epoch: h.Epoch, Yours: new(false)}
	l := x.open.byRef[h.Ref]
	if l == nil {
		return no
	}
	e := l.env()
	if e.Holder() != id || e.Epoch != h.Epoch {
		no.Status = e.Status
		return no
	}
	l.lastContact, l.renewed = now, now
	if e.IsUnreachable() {
		x.open.wake(l, now)
	}
	return heldThread(e, true, x.lease(e))
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

// Executors lists the registered executors, sorted by id, without deregistered ones.
func (x *Exchange) Executors() []ExecutorInfo {
	s, now := x.registry.Snapshot(), x.now()
	list := make([]ExecutorInfo, 0, s.Table.Len())
	for e := range s.All() {
		list = append(list, x.info(s, e, now))
	}
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	for i := range list {
		list[i].Claims = x.open.held[list[i].ID].len()
	}
	return list
}

// NotifiableExecutors lists the executors with addresses for notifications, sorted by id.
func (x *Exchange) NotifiableExecutors() (list []ExecutorInfo) {
	s, now := x.registry.Snapshot(), x.now()
	for _, e := range s.Table.Notified() {
		list = append(list, x.info(s, s.Executor(e.ID), now))
	}
	return list
}

// Executor returns a registered executor. ok is false for an unknown or deregistered one.
func (x *Exchange) Executor(id string) (_ ExecutorInfo, ok bool) {
	s := x.registry.Snapshot()
	e := s.Executor(id)
	if e == nil || e.Deregistered {
		return ExecutorInfo{}, false
	}
	info := x.info(s, e, x.now())
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	info.Claims = x.open.held[id].len()
	return info, true
}

// info returns an ExecutorInfo without its claims.
func (x *Exchange) info(s *registry.Snapshot, e *registry.Executor, now time.Time) ExecutorInfo {
	o := s.Orders(e.ID)
	i := ExecutorInfo{Executor: e.Executor.Executor, Created: e.Created, LastSeen: e.Seen(), Live: x.registry.IsLive(e, now), UnconfirmedStops: o.Stops, DrainReason: o.DrainReason()}
	i.Stopped, i.Drained, i.States = o.Stopped, o.DrainReport, e.States()
	i.Drain, i.Resume = o.Drain.Orders()
	return i
}

// lease returns how long the claim of a thread lasts without contact to its executor.
func (x *Exchange) lease(e Envelope) time.Duration {
	d := x.cfg.Unreachable
	if e.Phase == NotStarted {
		d = x.cfg.Lease
	}
	by := x.registry.Snapshot().Executor(e.Executor)
	if d = x.registry.ContactTimeout(by, d); by != nil && by.Person {
		d = max(d, 2*e.Estimate) // people may work without a network for as long as they have estimated
	}
	return d
}

// Deregister removes a permanently lost executor from all lists. Only an operator may do
// that. An executor that is live, or holds a thread, may still act, and the error says so. Its
// orders stay: if it registers again, it gets each stop that it has not confirmed, and those of the
// meantime. stops is the number of unconfirmed stops. The error is a *mess.Error.
func (x *Exchange) Deregister(ctx context.Context, actor Actor, id string) (stops int, err error) {
	if !actor.Has(Operator) {
		return 0, mess.Errorf(mess.Forbidden, "%q is not an operator, and only operators deregister executors", actor.ID)
	}
	if stops, err = x.registry.Deregister(ctx, id); err != nil {
		return 0, x.storeError(err)
	}
	x.log.Warn("executor deregistered", "executor", id, "actor", actor.ID, "stops", stops)
	return stops, nil
}

// Deregistered lists the deregistered executors that have sent nothing since, sorted by id.
func (x *Exchange) Deregistered() []string { return x.registry.Snapshot().Deregistered() }

// MarkAlive records a contact of an executor. Channels call it for every authenticated call,
// so an executor that polls or reports is live without heartbeats.
func (x *Exchange) MarkAlive(actor Actor) {
	if actor.Has(ExecutorRole) {
		x.registry.Seen(actor.ID)
	}
}

// markAlive works like MarkAlive, and also lists a deregistered executor again.
func (x *Exchange) markAlive(ctx context.Context, actor Actor) {
	if actor.Has(ExecutorRole) && x.registry.Seen(actor.ID) == nil {
		x.registry.Recall(ctx, actor.ID)
	}
}

// checkGrant rejects capabilities that the enrollment code of an executor did not grant.
func (x *Exchange) checkGrant(c mess.Executor) error {
	if x.cfg.Granted == nil {
		return nil
	}
	all := x.cfg.Granted(c.ID)
	if all == nil {
		return nil
	}
	for _, one := range c.Capabilities {
		if !slices.Contains(all, one.ID) {
			return mess.Errorf(mess.Forbidden, "capabilities: the code of %s granted %s, and not %.60q; an operator revokes its key and makes a code that grants it", c.ID, strings.Join(all, ", "), one.ID)
		}
	}
	return nil
}

// pinReceiptKey replaces the receipt key of c by the first one that the executor has registered.
// With another key the executor may still work, because it has authenticated itself, but its
// receipts do not count until a local operator accepts the key.
func (x *Exchange) pinReceiptKey(c *mess.Executor) error {
	v, ok := c.Extra.Get(receipt.KeyField)
	if !ok {
		return nil
	}
	key, _ := v.(string) // ValidateExecutor has checked it
	if x.cfg.Pin == nil {
		return nil
	}
	first, err := x.cfg.Pin(c.ID, key)
	if err != nil {
		return x.storeError(err)
	}
	if first != key {
		x.log.Warn("an executor has changed the key that it signs receipts with; the first one counts", "executor", c.ID, "first", first, "now", key)
	}
	c.Extra = slices.Clone(c.Extra).Set(receipt.KeyField, first)
	return nil
}

// IsRegistered reports whether the registry knows an executor, even a deregistered one.
func (x *Exchange) IsRegistered(id string) bool {
	return x.registry.Snapshot().Executor(id) != nil
}

// ExecutorsChanged returns a channel that closes at the next registration, report about an order or
// about device states, or stop. Call it before Executors. An executor that falls silent does not
// close it, and neither do states of which only the times of readings have changed.
func (x *Exchange) ExecutorsChanged() <-chan struct{} { return x.registry.Changed() }
