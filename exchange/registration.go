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

// ExecutorInfo is a registered executor.
type ExecutorInfo struct {
	mess.Executor
	Created  time.Time
	LastSeen time.Time
	Live     bool // heard of within the time after which it counts as unreachable
	// UnconfirmedStops are the stops that it has not confirmed yet.
	UnconfirmedStops []mess.Stop
	// Drain is the hold of it that was given here, Resume the end of one that it has
	// not confirmed; nil if there is none.
	Drain, Resume *mess.DrainOrder
	DrainReason   string // why it is offered nothing, by its hold or by its own word; "" if it is offered what it can do
	Claims        int    // threads that it has claimed
}

// register takes a config.executor: a registration, an update, or a heartbeat.
func (x *Exchange) register(ctx context.Context, who Actor, c mess.Executor) (mess.Ack, error) {
	if !who.Has(ExecutorRole) && !who.Has(Operator) {
		return mess.Ack{}, mess.Errorf(mess.Forbidden, "config.executor: %q may not work for others here (role executor is missing); an operator gives it", who.ID)
	}
	if who.ID != c.ID && !who.Has(Operator) {
		return mess.Ack{}, mess.Errorf(mess.Forbidden, "config.executor.id: %q can only register itself", who.ID)
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
	if !registry.IsHeartbeat(c) || !x.takeHeartbeat(c) {
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
		}
	}
	orders := x.registry.Snapshot().Orders(c.ID)
	ack.Threads, ack.Stops = x.reconcileClaims(c), orders.Stops
	ack.Drain, ack.Resume = orders.Unheard(c)
	return ack, nil
}

// takeHeartbeat takes a heartbeat. It returns false for an executor that is not registered, and for
// the first heartbeat of one, which is stored.
func (x *Exchange) takeHeartbeat(c mess.Executor) bool {
	e := x.registry.Seen(c.ID)
	return e != nil && (c.Holding == nil || e.Beats)
}

// releaseClaims offers again what an earlier process of an executor has claimed and not
// begun: the new one does not know of it. While the earlier one may be alive, its
// leases tell.
func (x *Exchange) releaseClaims(ctx context.Context, c mess.Executor) {
	for _, ref := range x.claimsUnknownTo(c) {
		_, err := x.step(ctx, ref, func(env Envelope) transition.Input {
			if env.Holder() != c.ID || env.Phase != NotStarted || env.Instance == c.Instance {
				return x.ownInput(env, nil)
			}
			return x.ownInput(env, transition.OfferAgain(c.ID+" was started anew before it began", x.cfg.MaxAttempts))
		})
		if err != nil {
			x.log.Warn("a claim of an earlier process stays until its lease is over", "ref", ref, "err", err)
		}
	}
}

// claimsUnknownTo lists the claims of an earlier process of an executor that have not
// begun.
func (x *Exchange) claimsUnknownTo(c mess.Executor) []string {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	var refs []string
	for ref, l := range x.open.held[c.ID] {
		knows := slices.ContainsFunc(c.Holding, func(h mess.HeldThread) bool { return h.Ref == ref && h.Epoch == l.env.Epoch })
		if l.env.Phase == NotStarted && l.env.HasOtherInstance(c.Instance) && !knows && !x.hasOtherProcess(l, c, x.now()) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// reconcileClaims renews the leases of what an executor holds, and tells it how the
// exchange sees each thread that either of the two believes it to hold. What
// another process of its name holds that is still there is not its own.
func (x *Exchange) reconcileClaims(c mess.Executor) []mess.HeldThread {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	now := x.now()
	said := map[string]bool{}
	var threads []mess.HeldThread
	for _, h := range c.Holding {
		said[h.Ref] = true
		threads = append(threads, x.reconcileClaim(c.ID, h, now))
	}
	for _, l := range x.open.held[c.ID].inOrder() {
		if !said[l.env.Ref] && !x.hasOtherProcess(l, c, now) {
			threads = append(threads, heldThread(l.env, true, 0))
		}
	}
	return threads
}

// hasOtherProcess reports whether another process than the one that speaks has claimed a thread
// and is still there: somebody follows under its name, and a heartbeat that names the
// claim is not overdue. Who follows may be the process that speaks, so a follower alone
// proves nothing. x.open.mu is held.
func (x *Exchange) hasOtherProcess(l *openThread, c mess.Executor, now time.Time) bool {
	return c.Instance != "" && l.env.HasOtherInstance(c.Instance) && x.events.Present(c.ID) && now.Sub(l.heard) <= x.lease(l.env)/2
}

// reconcileClaim answers for one thread that an executor says it holds.
func (x *Exchange) reconcileClaim(id string, h mess.HeldThread, now time.Time) mess.HeldThread {
	l := x.open.byRef[h.Ref]
	if l == nil || l.env.Holder() != id || l.env.Epoch != h.Epoch {
		no := mess.HeldThread{Ref: h.Ref, Epoch: h.Epoch, Yours: new(false)}
		if l != nil {
			no.Status = l.env.Status
		}
		return no
	}
	l.heard = now
	if l.env.IsUnreachable() {
		x.open.wake(l, now)
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

// Executors lists what is registered and not deregistered, by id.
func (x *Exchange) Executors() []ExecutorInfo {
	s, now := x.registry.Snapshot(), x.now()
	list := make([]ExecutorInfo, 0, s.Table.Len())
	for e := range s.All() {
		list = append(list, x.info(s, e, now))
	}
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	for i := range list {
		list[i].Claims = len(x.open.held[list[i].ID])
	}
	return list
}

// NotifiableExecutors lists the executors that say where to notify them, by id.
func (x *Exchange) NotifiableExecutors() (list []ExecutorInfo) {
	s, now := x.registry.Snapshot(), x.now()
	for _, e := range s.Table.Notified() {
		list = append(list, x.info(s, s.Executor(e.ID), now))
	}
	return list
}

// Executor returns one that is registered and not deregistered.
func (x *Exchange) Executor(id string) (_ ExecutorInfo, ok bool) {
	s := x.registry.Snapshot()
	e := s.Executor(id)
	if e == nil || e.Deregistered {
		return ExecutorInfo{}, false
	}
	info := x.info(s, e, x.now())
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	info.Claims = len(x.open.held[id])
	return info, true
}

// info is an executor but for how many threads it holds.
func (x *Exchange) info(s *registry.Snapshot, e *registry.Executor, now time.Time) ExecutorInfo {
	o := s.Orders(e.ID)
	i := ExecutorInfo{Executor: e.Executor.Executor, Created: e.Created, LastSeen: e.Seen(), Live: x.registry.IsLive(e, now), UnconfirmedStops: o.Stops, DrainReason: o.WhyDrained()}
	i.Stopped, i.Held, i.States = o.Stopped, o.OnHold, e.States()
	i.Drain, i.Resume = o.Drain.Words()
	return i
}

// lease is how long the claim of e lasts without a sign of life.
func (x *Exchange) lease(e Envelope) time.Duration {
	d := x.cfg.Unreachable
	if e.Phase == NotStarted {
		d = x.cfg.Lease
	}
	by := x.registry.Snapshot().Executor(e.Executor)
	if d = x.registry.Patience(by, d); by != nil && by.Person {
		d = max(d, 2*e.Estimate) // she has said how long she needs, and may be without a network
	}
	return d
}

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
		return 0, x.storeError(err)
	}
	x.log.Warn("executor forgotten", "executor", id, "actor", who.ID, "stops", stops)
	return stops, nil
}

// Deregistered lists the executors that were deregistered and have not spoken since, by id.
func (x *Exchange) Deregistered() []string { return x.registry.Snapshot().Deregistered() }

// MarkAlive notes that an executor is there. Every authenticated call says so, whatever it asks
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

// checkGrant refuses capabilities beyond those that the code of an executor granted: with
// others it would be offered what is none of its business.
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

// pinReceiptKey holds an executor to the receipt key that it first registered with. With
// another it may work still, since it has proven who it is, but its receipts do
// not count until somebody at the machine says so.
func (x *Exchange) pinReceiptKey(c *mess.Executor) error {
	v, ok := c.Extra.Get(receipt.KeyField)
	if !ok {
		return nil
	}
	key, _ := v.(string) // CheckProfile has looked at it
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

// IsRegistered reports whether an executor is registered, forgotten or not.
func (x *Exchange) IsRegistered(id string) bool {
	return x.registry.Snapshot().Executor(id) != nil
}

// ExecutorsChanged is closed when an executor has registered, has told what it does about an order
// or how its devices are, or is to be stopped. Ask for it before Executors. Silence closes
// nothing.
func (x *Exchange) ExecutorsChanged() <-chan struct{} { return x.registry.News() }
