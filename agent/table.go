package agent

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// deps is what the tasks of an executor work with. It does not change.
type deps struct {
	cfg      Config
	session  *session
	resolver Resolver
	devices  *deviceSet
	activity *activity
	gate     *policy.Policy
	journal  *journal.Journal
	now      func() time.Time
	log      *slog.Logger
	host     host
}

// host is what a task asks of the executor around it.
type host interface {
	// drained reports whether a drain forbids new claims.
	drained() bool
	// waitUndrained waits until no drain forbids new claims, or until ctx ends.
	waitUndrained(ctx context.Context) error
	// journalFailed reports that the journal has rejected a record.
	journalFailed()
}

// table holds the threads of an executor: the offers that wait, and the tasks from the first
// interpretation to the report. Its methods are safe for concurrent use.
type table struct {
	*deps
	work chan struct{} // signals a new offer or an ended task
	mail chan struct{} // signals a new report in the outbox

	mu      sync.Mutex
	tasks   map[string]*task // by thread
	offers  offers           // new offers
	claimed []*task          // claims of an earlier run that wait for work
	shares  shares
	lately  []*task           // threads that ended at the start and whose commands may still arrive
	later   map[string]*offer // offers that wait for the report on an earlier run
	seen    recent            // ids of received messages
	astray  map[string]stray  // threads that the exchange lists and this agent does not know
	untold  map[string]uint64 // threads whose report the exchange rejected permanently, with the epochs of their claims
}

func newTable(d *deps) *table {
	return &table{
		deps: d, work: make(chan struct{}, 1), mail: make(chan struct{}, 1),
		tasks: map[string]*task{}, shares: shares{working: map[string]int{}}, later: map[string]*offer{}, astray: map[string]stray{}, untold: map[string]uint64{},
	}
}

// wake has the offers looked through again.
func (a *table) wake() { wait.Notify(a.work) }

// wakeOutbox has the reports in the outbox sent.
func (a *table) wakeOutbox() { wait.Notify(a.mail) }

// run works on the offers, delivers the reports in the outbox and watches for late acts, until
// ctx ends. unbegun are the claims that recover has returned.
func (a *table) run(ctx context.Context, unbegun []mess.HeldThread) error {
	var g errgroup.Group
	g.Go(func() error { return a.dispatch(ctx) })
	g.Go(func() error { return a.deliverMail(ctx) })
	g.Go(func() error { a.giveBack(ctx, unbegun); return nil })
	for _, t := range a.lately {
		g.Go(func() error { a.watchLate(ctx, t); return nil })
	}
	return g.Wait()
}

// dispatch works on the offers, each in its own goroutine, and waits for all of them at the
// end.
func (a *table) dispatch(ctx context.Context) error {
	var g errgroup.Group
	for ctx.Err() == nil {
		for t := a.next(); t != nil; t = a.next() {
			g.Go(func() error {
				a.workOn(ctx, t)
				a.watchLate(ctx, t)
				return nil
			})
		}
		select {
		case <-ctx.Done():
		case <-a.work:
		}
	}
	return g.Wait()
}

// next returns a waiting thread and gives it a place, nil if there is none. Claims of an
// earlier run come first and need no free place; then come the offers. Under a drain offers
// stay in the queue, except during a stop, which declines them.
func (a *table) next() *task {
	stopped, drained := a.gate.StopRejection() != nil, a.host.drained()
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.claimed) > 0 {
		t := a.claimed[0]
		a.claimed = a.claimed[1:]
		if !t.over {
			a.enters(t)
			return t
		}
		a.forget(t)
	}
	if drained && !stopped {
		return nil
	}
	for {
		o := a.offers.next(func(by string) bool { return a.shares.mayWork(by, a.cfg.MaxThreads) })
		if o == nil {
			return nil
		}
		t, err := o.task(a)
		if err != nil {
			a.log.Error("an offer is left to others", "ref", o.ref, "err", err)
			continue
		}
		a.tasks[t.ref] = t
		a.enters(t)
		return t
	}
}

// workOn works on one thread until its final report is in the outbox.
func (a *table) workOn(ctx context.Context, t *task) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !a.begins(t, cancel) {
		return
	}
	t.run(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.leaves(t)
	a.forget(t)
	a.wakeOutbox()
}

// begins records how to cancel the work on a thread. It returns false if the thread is already
// over.
func (a *table) begins(t *task, cancel context.CancelCauseFunc) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.over {
		a.leaves(t)
		a.forget(t)
		return false
	}
	t.cancel = cancel
	if t.early != nil {
		cancel(t.early)
	}
	return true
}

// forget removes a thread, unless a new offer of it has arrived. The caller holds mu.
func (a *table) forget(t *task) {
	delete(a.tasks, t.ref)
	if t.offered != nil && t.dropped {
		a.await(newOffer(t.ref, t.by, *t.offered))
	}
}

// deliver accepts one message from the exchange. It does not block.
func (a *table) deliver(m mess.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(m.Re) == 0 || a.seen.again(m.Ref) {
		return
	}
	ref := m.Re[0]
	for _, item := range m.Items {
		t := a.tasks[ref]
		switch i := item.(type) {
		case *mess.Request:
			a.offer(ref, m.From, i)
		case *mess.Status:
			if t != nil {
				t.told(m, i)
			} else if a.taken(i) {
				a.offers.drop(ref)
			}
		case *mess.Cancel:
			if t != nil {
				t.end(errCancelled)
			}
			a.offers.drop(ref)
		case *mess.Reply, *mess.Answer:
			if t != nil {
				a.put(t, m)
			}
		}
	}
}

// put passes a message to its thread. A thread without a claim has asked nothing. The caller
// holds a.mu.
func (a *table) put(t *task, m mess.Message) {
	if t.inbox == nil {
		a.log.Debug("said before the claim; nothing was asked", "ref", t.ref, "message", m.Ref)
		return
	}
	select {
	case t.inbox <- m:
	default:
		a.log.Warn("too many messages for one thread; one is dropped", "ref", t.ref, "message", m.Ref)
	}
}

// offer queues the offer of a thread. A duplicate has no effect, unless the agent is giving the
// thread up. The caller holds mu.
func (a *table) offer(ref, by string, req *mess.Request) {
	if t := a.tasks[ref]; t != nil {
		t.offered = req
		return
	}
	o := newOffer(ref, by, *req)
	if _, known := a.journal.Task(ref); known {
		a.later[ref] = o
		return
	}
	a.await(o)
}

// await queues an offer. The caller holds mu.
func (a *table) await(o *offer) {
	a.offers.add(o)
	a.wake()
}

// resumeOffer queues an offer that had to wait for the report on an earlier run.
func (a *table) resumeOffer(ref string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o := a.later[ref]
	delete(a.later, ref)
	if o != nil && a.tasks[ref] == nil {
		a.await(o)
	}
}

// enqueue queues a thread that an earlier run has claimed, before all offers. The caller holds
// mu.
func (a *table) enqueue(t *task) {
	a.tasks[t.ref] = t
	a.claimed = append(a.claimed, t)
	a.wake()
}

// taken reports whether a status withdraws an offer: another executor has the thread, or no
// executor may take it.
func (a *table) taken(s *mess.Status) bool {
	return s.Code.Terminal() || s.Executor != "" && s.Executor != a.cfg.ID
}

// told applies the exchange's report on the status of the thread. The caller holds table.mu.
func (t *task) told(m mess.Message, s *mess.Status) {
	switch {
	case t.epoch == 0:
		if t.table.taken(s) {
			t.end(errLost)
		}
	case m.Epoch == 0:
	case m.Epoch > t.epoch:
		t.end(errLost)
	case m.Epoch == t.epoch && (s.Code == mess.Pending || s.Code.Terminal()):
		t.end(errLost)
	}
}

// end cancels the work on the thread. The caller holds table.mu.
func (t *task) end(why error) {
	if t.cancel == nil && !t.before.IsZero() { // an activity that continues on its own must end as well
		t.early = why
		return
	}
	if t.cancel == nil {
		t.over, t.dropped = true, true
		return
	}
	t.cancel(why)
}

// holding lists the claims that this executor believes to hold: of threads in work, and of
// threads whose report the exchange does not have yet.
func (a *table) holding() []mess.HeldThread {
	held := map[string]uint64{}
	for _, t := range a.journal.Tasks() {
		held[t.Ref] = t.Epoch
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for ref, t := range a.tasks {
		if t.epoch != 0 {
			held[ref] = t.epoch
		}
	}
	list := []mess.HeldThread{} // not nil, to show that this executor sends heartbeats
	for _, ref := range slices.Sorted(maps.Keys(held)) {
		list = append(list, mess.HeldThread{Ref: ref, Epoch: held[ref]})
	}
	return list
}

// agree applies the exchange's view of the claims.
func (a *table) agree(threads []mess.HeldThread) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range threads {
		a.session.keep(h.Lease)
		t := a.tasks[h.Ref]
		switch {
		case t == nil || t.epoch == 0 || h.Epoch != t.epoch:
		case h.Yours != nil && !*h.Yours:
			t.end(errLost)
		case h.Stop != nil && *h.Stop:
			t.end(errCancelled)
		}
	}
}

// endAll cancels the work on every thread. Waiting offers get a decline in their turn.
func (a *table) endAll(why *policy.Rejection) {
	if why == nil {
		return // the stop has been reset since
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.tasks {
		if t.cancel != nil {
			t.cancel(why)
		}
	}
}

// working returns the number of threads in work.
func (a *table) working() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, t := range a.tasks {
		if t.epoch != 0 {
			n++
		}
	}
	return n
}

// recent remembers the most recent strings.
type recent struct {
	known map[string]bool
	order []string
}

// maxRecent is the number of remembered strings; a duplicate message arrives soon after the
// first.
const maxRecent = 1024

// again adds s and reports whether recent contained it.
func (r *recent) again(s string) bool {
	if s == "" {
		return false
	}
	if r.known[s] {
		return true
	}
	if r.known == nil {
		r.known = map[string]bool{}
	}
	if len(r.order) == maxRecent {
		delete(r.known, r.order[0])
		r.order = r.order[1:]
	}
	r.known[s] = true
	r.order = append(r.order, s)
	return false
}

// busy returns the devices of an unfinished task, each with its thread.
func busy(t journal.Task) map[string]string {
	var m memo
	if json.Unmarshal(t.Intent.Plan, &m) != nil {
		return nil // written by another version
	}
	at := map[string]string{}
	for _, step := range m.Plan.Each() {
		at[step.Device] = t.Ref
	}
	return at
}
