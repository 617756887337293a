package exchange

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sort"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/transition"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/mess"
)

// Run follows the store and watches the time: leases, expiry, silent executors, and deadlines. It
// returns nil after ctx ends, or the error of the store.
func (x *Exchange) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return x.followStore(ctx) })
	if x.cfg.Origin != nil {
		return g.Wait() // it watches the time
	}
	g.Go(func() error { x.watchTime(ctx); return nil })
	g.Go(func() error { x.readSubjects(ctx); return nil })
	g.Go(func() error { x.shareContacts(ctx); return nil })
	g.Go(func() error { return x.keepSnapshot(ctx) })
	return g.Wait()
}

// watchTime checks each thread at its deadline, and the hours of executors every minute.
func (x *Exchange) watchTime(ctx context.Context) {
	minute, sleepCheck := time.NewTicker(time.Minute), time.NewTicker(sleepCheckInterval)
	defer minute.Stop()
	defer sleepCheck.Stop()
	for {
		timer := x.open.due.Timer(x.now())
		select {
		case <-ctx.Done():
			return
		case <-x.open.due.Rescheduled():
		case <-sleepCheck.C: // timers stop while the machine is suspended, so the loop sets a new one
			x.accountForSleep()
		case <-minute.C:
			x.everyMinute()
		case <-timer.C:
			x.checkThreads(ctx, x.open.due.Due(x.now()))
		}
		timer.Stop()
	}
}

// sleepCheckInterval is the interval at which the exchange checks for a suspension of the machine.
const sleepCheckInterval = 5 * time.Second

// accountForSleep counts the time of a suspended machine as time without contact, so that leases
// end that would have ended. It counts one lease at most, because an executor may have slept too,
// and needs time to report.
func (x *Exchange) accountForSleep() {
	d := x.sleeps.Resumed()
	if d == 0 {
		return
	}
	x.log.Warn("the machine was suspended; claims without a heartbeat since then end", "for", d.Round(time.Millisecond))
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	for _, l := range x.open.byRef {
		if e := l.env(); e.Holder() != "" && !e.IsUnreachable() {
			l.lastContact = l.lastContact.Add(-min(d, x.lease(e)))
		}
		x.open.wake(l, x.now())
	}
}

// threadsPerWorker is the number of threads for each goroutine of checkThreads.
const threadsPerWorker = 8

// checkThreads checks what is due: threads at their deadlines, several concurrently, so that they share syncs of
// the disk.
func (x *Exchange) checkThreads(ctx context.Context, due []string) {
	var g errgroup.Group
	g.SetLimit(min(1+len(due)/threadsPerWorker, 64))
	for _, name := range due {
		if id, ok := strings.CutPrefix(name, refillKey); ok {
			x.registry.MarkChanged(id)
			continue
		}
		check := x.checkThread
		ref, retries := strings.CutPrefix(name, retryKey)
		if retries {
			check = x.checkDeps
		}
		g.Go(func() error { check(ctx, ref); return nil })
	}
	_ = g.Wait() // no goroutine returns an error
	x.renewOffers()
}

// checkDeps reads the dependencies of a thread again that the exchange could not read.
func (x *Exchange) checkDeps(ctx context.Context, ref string) {
	defer mistake.Caught(x.log, "ref", ref)
	if l := x.open.find(ref); l != nil {
		x.settleDeps(ctx, l)
	}
}

// checkThread checks one thread at its deadline.
func (x *Exchange) checkThread(ctx context.Context, ref string) {
	defer mistake.Caught(x.log, "ref", ref)
	l, due := x.refresh(ref)
	if !due {
		return
	}
	_, err := x.step(ctx, ref, func(env Envelope) transition.Input { return x.overdueInput(l, env) })
	if err != nil && ctx.Err() == nil { // else the exchange ends; the next start does it
		x.log.Warn("step by the exchange failed", "ref", ref, "err", err)
	}
}

// checkAgain is the time after which the exchange checks a thread again that was overdue: the step
// may have failed, or its executor may have sent something before it.
const checkAgain = time.Second

// refresh updates the offers of a thread at its deadline, and reports whether a step is due.
func (x *Exchange) refresh(ref string) (l *openThread, due bool) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	if l = x.open.byRef[ref]; l == nil {
		return nil, false
	}
	l.deadline = time.Time{}
	e := l.env()
	if now := x.now(); x.overdue(l, now) != nil {
		x.open.wake(l, now.Add(checkAgain))
		return l, true
	}
	x.updateOffers(l, &e, x.now())
	x.open.wake(l, x.dueTime(l, &e))
	return l, false
}

// dueTime returns the next deadline of a thread; zero for none. The caller holds x.open.mu.
func (x *Exchange) dueTime(l *openThread, e *Envelope) time.Time {
	var due time.Time
	at := func(t time.Time) {
		if !t.IsZero() && (due.IsZero() || t.Before(due)) {
			due = t
		}
	}
	s := x.snapshot(x.now())
	if e.Phase == NotStarted && !e.Expires.IsZero() {
		at(e.Expires.Add(time.Nanosecond))
	}
	switch {
	case s.isEndedByStop(e):
		at(s.now)
	case e.Status == mess.Pending:
		if s.now.Before(e.NotBefore) {
			at(e.NotBefore)
		} else if l.coverage.MoreRanks {
			at(l.pending.Add((s.now.Sub(l.pending)/x.cfg.OfferTime + 1) * x.cfg.OfferTime))
		}
		if l.coverage.Wider > 0 {
			at(l.chosen.Add(l.coverage.Wider))
		}
		if len(e.Declined) > 0 {
			at(s.allGoneAt(*e))
		}
	case e.IsUnreachable():
		at(l.lastContact.Add(x.lostAfter(*e)))
	default:
		at(l.lastContact.Add(x.lease(*e)))
	}
	return due
}

// lostAfter returns the silence after which the executor of a started thread counts as lost
// (transition T11).
func (x *Exchange) lostAfter(e Envelope) time.Duration {
	return x.lease(e) + max(x.cfg.LostAfter, 2*e.Estimate)
}

// overdueInput returns the step that is due for a thread.
func (x *Exchange) overdueInput(l *openThread, env Envelope) transition.Input {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	return x.ownInput(env, x.overdue(l, x.now()))
}

// ownInput returns the input of a step by the exchange itself. A nil change changes nothing.
func (x *Exchange) ownInput(env Envelope, change transition.Change) transition.Input {
	in := x.input(Actor{ID: Self}, "", mess.Message{Re: mess.Refs{env.Ref}})
	in.Change = change
	return in
}

// overdue returns the change that is due for a thread, or nil. The caller holds x.open.mu.
func (x *Exchange) overdue(l *openThread, now time.Time) transition.Change {
	e, s := l.env(), x.snapshot(now)
	silent := now.Sub(l.lastContact)
	switch {
	case e.Status.Terminal():
		return nil
	case e.Phase == NotStarted && isExpired(&e, now):
		return transition.Expire(now)
	case e.Status == mess.Pending:
		if s.isEndedByStop(&e) {
			return s.stopChange(e)
		}
		if dep, code := l.failedDep(); dep != "" {
			return transition.FailDependent(dep, code)
		}
		return s.declinedChange(e)
	case e.IsUnreachable() && silent < x.lease(e):
		return transition.EndHold
	case e.IsUnreachable() && silent >= x.lostAfter(e):
		return s.lostChange(e)
	case e.IsUnreachable() || silent < x.lease(e):
		return nil
	case e.Phase == NotStarted:
		return transition.OfferAgain("no heartbeat from "+e.Executor+" before it began", x.cfg.MaxAttempts)
	}
	return transition.Hold
}

// lostChange returns the change after the loss of the executor of a started thread (transition
// T11). The exchange offers the thread again only if a repetition is harmless, the requester has
// not cancelled it, and there is another candidate.
func (s snapshot) lostChange(e Envelope) transition.Change {
	e.Status = mess.Pending // the status after a new offer
	if declined := s.declinedChange(e); declined != nil && e.CancelBy == "" && (e.Effect == "query" || e.Effect == "idempotent") {
		return transition.LoseLastExecutor(declined)
	}
	return transition.LoseExecutor
}

// failedDep returns a dependency that has ended otherwise than completed, and its status; "" if
// there is none.
func (l *openThread) failedDep() (dep string, code mess.Code) {
	for dep, code := range l.deps {
		if code.Terminal() && code != mess.Completed {
			return dep, code
		}
	}
	return "", ""
}

// queue has threads in the order of their keys. A nil queue is empty.
type queue struct {
	parts [][]*openThread // in order, none empty and none above partSize
	n     int
}

const partSize = 256

// find returns where a thread is in the queue, or where it belongs.
func (q *queue) find(l *openThread) (part, at int, found bool) {
	part = sort.Search(len(q.parts)-1, func(i int) bool {
		one := q.parts[i]
		return l.key.compare(one[len(one)-1].key) <= 0
	})
	at, found = slices.BinarySearchFunc(q.parts[part], l.key, func(a *openThread, b queueKey) int { return a.key.compare(b) })
	return part, at, found
}

func (q *queue) add(l *openThread) {
	if q.n == 0 {
		q.parts, q.n = [][]*openThread{{l}}, 1
		return
	}
	part, at, found := q.find(l)
	if found {
		return
	}
	one := slices.Insert(q.parts[part], at, l)
	q.parts[part] = one
	if q.n++; len(one) > partSize {
		half := len(one) / 2
		q.parts[part] = slices.Clone(one[:half])
		q.parts = slices.Insert(q.parts, part+1, slices.Clone(one[half:]))
	}
}

func (q *queue) drop(l *openThread) {
	if q.len() == 0 {
		return
	}
	part, at, found := q.find(l)
	if !found {
		return
	}
	q.n--
	if q.parts[part] = slices.Delete(q.parts[part], at, at+1); len(q.parts[part]) == 0 {
		q.parts = slices.Delete(q.parts, part, part+1)
	}
}

func (q *queue) len() int {
	if q == nil {
		return 0
	}
	return q.n
}

// all returns the threads in order.
func (q *queue) all() iter.Seq[*openThread] {
	return func(yield func(*openThread) bool) {
		if q == nil {
			return
		}
		for _, one := range q.parts {
			for _, l := range one {
				if !yield(l) {
					return
				}
			}
		}
	}
}

// byRef returns the threads, sorted by ref.
func (q *queue) byRef() []*openThread {
	return slices.SortedFunc(q.all(), func(a, b *openThread) int { return strings.Compare(a.key.ref, b.key.ref) })
}

// before returns how many threads of the queue precede one.
func (q *queue) before(l *openThread) int {
	if q.len() == 0 {
		return 0
	}
	part, at, _ := q.find(l)
	for _, one := range q.parts[:part] {
		at += len(one)
	}
	return at
}

// queuePosition returns the position of a thread in the queue of the executor that reaches it
// first; 1 is the next one. It returns 0 for a thread that does not wait: it is the only offer of a
// live executor. The caller holds x.open.mu.
func (x *Exchange) queuePosition(l *openThread) int64 {
	switch {
	case !l.isPending:
		return 0
	case len(l.offered) == 0:
		return int64(x.open.unoffered.before(l)) + 1
	}
	s := x.snapshot(x.now())
	least := len(x.open.byRef)
	for _, id := range l.offered {
		q := x.open.offered[id]
		if e := s.registry.Table.Executor(id); q.len() == 1 && e != nil && s.IsLive(e) {
			return 0
		}
		least = min(least, q.before(l))
	}
	return int64(least) + 1
}

// queueKey is the key by which a queue orders its threads.
type queueKey struct {
	rank    int
	created time.Time
	ref     string
}

func queueKeyOf(e *Envelope) queueKey {
	return queueKey{mess.Rank(e.Priority, e.Needs.Urgency), e.Created, strings.Clone(e.Ref)}
}

// compare compares the priority, then the urgency, then the age.
func (p queueKey) compare(q queueKey) int {
	return cmp.Or(
		q.rank-p.rank,
		p.created.Compare(q.created), len(p.ref)-len(q.ref), strings.Compare(p.ref, q.ref), // a longer serial is a higher one
	)
}
