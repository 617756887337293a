package exchange

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/registry"
	"github.com/messkit/messkit/exchange/routing"
	"github.com/messkit/messkit/mess"
)

// choose returns the executors that get an offer of a thread now. The caller holds x.open.mu.
func (x *Exchange) choose(l *openThread, e *Envelope, now time.Time) routing.Choice {
	if !l.claimable(e, now) {
		return routing.Choice{}
	}
	s := x.snapshot(now)
	waits := routing.Waiting{Offered: l.offered, For: now.Sub(l.pending), OfferTime: x.cfg.OfferTime}
	return s.request(e).Choose(s, waits)
}

// updateOffers chooses again for a thread with a present envelope, and publishes new and withdrawn
// offers. The caller holds x.open.mu.
func (x *Exchange) updateOffers(l *openThread, e *Envelope, now time.Time) {
	had, choice := l.offered, x.choose(l, e, now)
	l.offered, l.coverage, l.chosen = choice.IDs, choice.Coverage, now
	slices.Sort(l.offered)
	for _, id := range had {
		if _, keeps := slices.BinarySearch(l.offered, id); keeps {
			continue
		}
		x.open.offered.drop(id, l)
		x.refill(id, now)
		if id != e.Holder() {
			x.publish(Event{Kind: EventWithdrawn, Thread: *e, Message: withdrawal(*e)}, id)
		}
	}
	for _, id := range l.offered {
		if _, has := slices.BinarySearch(had, id); !has {
			x.open.offered.add(id, l)
			x.publish(offer(*e, now), id)
		}
	}
	x.open.recordUnoffered(l)
	for _, id := range choice.AtLimit {
		x.open.atLimit[id] = true
	}
}

// refillAt is the number of offers below which a full executor gets more.
const refillAt = 16

// refill schedules renewOffers for an executor that was full and has few offers now. The caller
// holds x.open.mu.
func (x *Exchange) refill(id string, now time.Time) {
	if x.open.atLimit[id] && x.open.offered[id].len() < refillAt {
		delete(x.open.atLimit, id)
		x.open.due.Set(refillKey+id, now)
	}
}

// refillKey precedes an executor id in the deadlines. Refs contain no space, so the two cannot
// collide.
const refillKey = "executor "

// claimable reports whether time and dependencies allow a claim.
func (l *openThread) claimable(e *Envelope, now time.Time) bool {
	return e.Status == mess.Pending && l.waitReason(e, now) == "" && !isExpired(e, now)
}

// waitReason returns the reason why no executor may claim a thread yet, or "".
func (l *openThread) waitReason(e *Envelope, now time.Time) string {
	if now.Before(e.NotBefore) {
		return "not before " + e.NotBefore.Format(time.RFC3339)
	}
	for dep, code := range l.deps {
		if code != mess.Completed {
			if isRef(dep) {
				return "depends on " + dep + ", which has not completed"
			}
			return "depends on " + dep + ", which does not exist yet or has not completed"
		}
	}
	return ""
}

func isExpired(e *Envelope, now time.Time) bool {
	return !e.Expires.IsZero() && now.After(e.Expires)
}

// offer returns the event of an offer, with its expiry and without the request.
func offer(e Envelope, now time.Time) Event {
	m := mess.Message{From: e.Requester, Re: mess.Refs{e.Ref}}
	if !e.Expires.IsZero() {
		m.ExpiresIn = mess.Duration(e.Expires.Sub(now).Round(time.Second).String())
	}
	return Event{Kind: EventOffer, Thread: e, Message: m}
}

// withdrawal returns the message of a withdrawn offer: the present status.
func withdrawal(e Envelope) mess.Message {
	return mess.Message{From: Self, Re: mess.Refs{e.Ref}, Items: []mess.Item{
		&mess.Status{Code: e.Status, Executor: e.Holder()},
	}}
}

// dispatchNote returns the first candidates of a new thread, for its history; "" if there are none.
func (x *Exchange) dispatchNote(env Envelope, now time.Time) string {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	l := &openThread{pending: now, deps: map[string]mess.Code{}}
	for _, dep := range env.DependsOn {
		l.deps[dep] = ""
	}
	names := x.choose(l, &env, now).IDs
	if len(names) == 0 {
		return ""
	}
	return "offered to " + strings.Join(names, ", ")
}

// expectation describes to the requester why a new thread has no offer; "" if it has one. The
// caller holds x.open.mu.
func (x *Exchange) expectation(l *openThread, e *Envelope) string {
	s := x.snapshot(x.now())
	if wait := l.waitReason(e, s.now); wait != "" {
		return "it waits: " + wait
	}
	if len(l.offered) > 0 || e.Status != mess.Pending {
		return ""
	}
	var lacks []string
	for _, c := range e.Needs.Requires {
		if !s.registry.Table.Has(c) {
			lacks = append(lacks, c.ID)
		}
	}
	if len(lacks) > 0 {
		return fmt.Sprintf("it waits: no executor has %s", strings.Join(lacks, ", "))
	}
	if held := s.drainedCandidate(*e); held != "" {
		return "it waits: " + held
	}
	return "it waits: no executor that could take it is present"
}

// threadsAtOnce is the number of threads that renewOffers handles before it releases x.open.mu.
const threadsAtOnce = 16

// renewOffers updates the offers of the threads that changed executors affect, in the order of the
// queue. It releases x.open.mu now and then.
func (x *Exchange) renewOffers() {
	c := x.registry.TakeChanges()
	if c.IsEmpty() {
		return
	}
	x.open.mu.Lock()
	list := x.affected(c)
	x.open.mu.Unlock()
	x.renewOffersOf(list, c)
}

func (x *Exchange) renewOffersOf(list []*openThread, c registry.Changes) {
	slices.SortFunc(list, func(a, b *openThread) int { return a.key.compare(b.key) })
	for few := range slices.Chunk(list, threadsAtOnce) {
		x.renewSome(few, c)
	}
}

func (x *Exchange) renewSome(few []*openThread, c registry.Changes) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	now := x.now()
	for _, l := range few {
		if !l.isPending {
			continue
		}
		if e := l.env(); x.needsChoice(l, &e, c, now) {
			x.updateOffers(l, &e, now)
			x.open.wake(l, x.dueTime(l, &e))
		}
	}
}

// affected returns the threads whose offers may change. The caller holds x.open.mu.
func (x *Exchange) affected(c registry.Changes) (list []*openThread) {
	x.open.round++
	add := func(l *openThread) {
		if l.round != x.open.round {
			l.round = x.open.round
			list = append(list, l)
		}
	}
	for _, set := range x.open.pending {
		if !c.All && !c.Places {
			break
		}
		for l := range set.all() {
			if c.All || l.hasPlace {
				add(l)
			}
		}
	}
	table := x.registry.Snapshot().Table
	for id := range c.Executors {
		for l := range x.open.offered[id].all() {
			add(l)
		}
		e := table.Executor(id)
		if e == nil || c.All {
			continue
		}
		for l := range x.open.pending[""].all() {
			add(l)
		}
		for _, one := range e.Capabilities {
			for l := range x.open.pending[one.ID].all() {
				add(l)
			}
		}
	}
	return list
}

// needsChoice reports whether routing must choose again for a thread. A wide thread has an offer
// for every live executor of its rank; one more executor only joins them. The caller holds
// x.open.mu.
func (x *Exchange) needsChoice(l *openThread, env *Envelope, c registry.Changes, now time.Time) bool {
	if c.All || c.Places || !(l.coverage.Full || l.coverage.Wide) {
		return true
	}
	s := x.snapshot(now)
	r := s.request(env)
	rank := r.Rank()
	for id := range c.Executors {
		e := s.registry.Table.Executor(id)
		if _, has := slices.BinarySearch(l.offered, id); has {
			return true
		}
		if e == nil {
			continue
		}
		if at := rank(e); at < l.coverage.Last || at > l.coverage.Last && l.coverage.Wide && !l.coverage.MoreRanks {
			return true
		}
		if l.coverage.Wide {
			s.addOffer(l, env, e, r)
		}
	}
	return false
}

// addOffer offers a wide thread to one more executor, or records that the executor is full. The
// caller holds x.open.mu.
func (s snapshot) addOffer(l *openThread, env *Envelope, e *routing.Executor, r routing.Request) {
	x, now := s.x, s.now
	joins, could := r.Joins(e, l.coverage.Last, s)
	switch {
	case joins && l.claimable(env, now):
		i, _ := slices.BinarySearch(l.offered, e.ID)
		l.offered = slices.Insert(l.offered, i, e.ID)
		x.open.offered.add(e.ID, l)
		x.open.recordUnoffered(l)
		x.publish(offer(*env, now), e.ID)
	case could:
		x.open.atLimit[e.ID] = true
	}
}

// everyMinute updates the offers that depend on the time. A wide thread depends only on the hours
// of executors.
func (x *Exchange) everyMinute() {
	for _, e := range x.registry.Snapshot().Table.All() {
		if e.HasHours() {
			x.registry.MarkChanged(e.ID)
		}
	}
	x.open.mu.Lock()
	var list []*openThread
	for _, set := range x.open.pending {
		for l := range set.all() {
			if !l.coverage.Wide || l.coverage.MoreRanks {
				list = append(list, l)
			}
		}
	}
	x.uploads.removeLate(func(ref string) bool { return x.open.byRef[ref] != nil }, x.now())
	x.open.mu.Unlock()
	x.renewOffersOf(list, registry.Changes{All: true})
	x.renewOffers()
}

// HasOffer reports whether an executor has an offer of a thread now.
func (x *Exchange) HasOffer(ref, id string) bool {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	l := x.open.byRef[ref]
	return l != nil && slices.Contains(l.offered, id)
}
