// Package task works on the threads of an executor: it takes an offer, makes a plan, asks what is
// open, acts by the safety policy, and reports. It also ends the threads that an earlier run of
// the program has left, and holds the reports until the exchange has them.
//
// The package knows neither heartbeats nor drains nor the state of the journal: the executor
// around it implements Host.
package task

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/agent/session"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// Tasks holds the threads of an executor: the offers that wait, and the tasks from the first
// interpretation to the report. Its methods are safe for concurrent use.
type Tasks struct {
	*Deps
	work    chan struct{} // signals a new offer or an ended task
	reports chan struct{} // signals a new report in the outbox

	mu              sync.Mutex
	byRef           map[string]*task // by thread
	offers          offers           // new offers
	claimed         []*task          // claims of an earlier run that wait for work
	slots           slots
	endedEarlier    []*task                 // threads that ended at the start and whose commands may still arrive
	deferredOffers  map[string]*offer       // offers that wait for the report on an earlier run
	seen            recent                  // ids of received messages
	unknownClaims   map[string]unknownClaim // threads that the exchange lists and this agent does not know
	kept            map[string]bool         // devices that the program changes, so that no thread uses them
	watched         map[string]int          // number of watches for late acts, by device
	rejectedReports map[string]uint64       // threads whose report the exchange rejected permanently, with the epochs of their claims
}

// New returns the tasks of an executor, without a thread.
func New(d *Deps) *Tasks {
	return &Tasks{
		Deps: d, work: make(chan struct{}, 1), reports: make(chan struct{}, 1),
		byRef: map[string]*task{}, slots: slots{working: map[string]int{}}, deferredOffers: map[string]*offer{}, unknownClaims: map[string]unknownClaim{}, kept: map[string]bool{}, watched: map[string]int{}, rejectedReports: map[string]uint64{},
	}
}

// Wake makes Run check the offers again.
func (ts *Tasks) Wake() { wait.Notify(ts.work) }

// WakeOutbox makes Run send the reports in the outbox.
func (ts *Tasks) WakeOutbox() { wait.Notify(ts.reports) }

// Run works on the offers, delivers the reports in the outbox and watches for late acts, until
// ctx ends. notStarted are the claims that Recover has returned.
func (ts *Tasks) Run(ctx context.Context, notStarted []mess.HeldThread) error {
	var g errgroup.Group
	g.Go(func() error { return ts.dispatch(ctx) })
	g.Go(func() error { return ts.deliverReports(ctx) })
	g.Go(func() error { ts.returnUnstarted(ctx, notStarted); return nil })
	for _, t := range ts.endedEarlier {
		g.Go(func() error { ts.watchLateActs(ctx, t); return nil })
	}
	return g.Wait()
}

// dispatch works on the offers, each in its own goroutine, and waits for all of them at the
// end.
func (ts *Tasks) dispatch(ctx context.Context) error {
	var g errgroup.Group
	for ctx.Err() == nil {
		for t := ts.next(); t != nil; t = ts.next() {
			g.Go(func() error {
				ts.workOn(ctx, t)
				ts.watchLateActs(ctx, t)
				return nil
			})
		}
		select {
		case <-ctx.Done():
		case <-ts.work:
		}
	}
	return g.Wait()
}

// next returns a waiting thread and gives it a slot, nil if there is none. Claims of an
// earlier run come first and need no free slot; then come the offers. During a drain
// offers stay in the queue. A stop takes them from it, so that the agent declines them.
func (ts *Tasks) next() *task {
	stopped, drained := ts.Gate.StopRejection() != nil, ts.Host.IsDrained()
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for len(ts.claimed) > 0 {
		t := ts.claimed[0]
		ts.claimed = ts.claimed[1:]
		if !t.withdrawn {
			ts.takeSlot(t)
			return t
		}
		ts.forget(t)
	}
	if drained && !stopped {
		return nil
	}
	for {
		o := ts.offers.next(func(by string) bool { return ts.slots.mayBegin(by, ts.Config.MaxThreads) })
		if o == nil {
			return nil
		}
		t, err := o.task(ts)
		if err != nil {
			ts.Log.Error("the agent skips an offer", "ref", o.ref, "err", err)
			continue
		}
		ts.byRef[t.ref] = t
		ts.takeSlot(t)
		return t
	}
}

// workOn works on one thread until its final report is in the outbox.
func (ts *Tasks) workOn(ctx context.Context, t *task) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !ts.startWork(t, cancel) {
		return
	}
	t.run(ctx)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.freeSlot(t)
	ts.forget(t)
	ts.WakeOutbox()
}

// startWork records how to cancel the work on a thread. It returns false if the thread is already
// over.
func (ts *Tasks) startWork(t *task, cancel context.CancelCauseFunc) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t.withdrawn {
		ts.freeSlot(t)
		ts.forget(t)
		return false
	}
	t.cancel = cancel
	if t.earlyCancel != nil {
		cancel(t.earlyCancel)
	}
	return true
}

// forget removes a thread. If the agent has abandoned it and the exchange has offered it anew, forget
// queues the new offer. The caller holds Tasks.mu.
func (ts *Tasks) forget(t *task) {
	delete(ts.byRef, t.ref)
	if t.newOffer != nil && t.abandoned {
		ts.addOffer(newOffer(t.ref, t.by, t.trace, *t.newOffer))
	}
}

// Holding lists the claims that this executor believes to hold: of threads in work, and of
// threads whose report the exchange does not have yet.
func (ts *Tasks) Holding() []mess.HeldThread {
	held := map[string]uint64{}
	for _, t := range ts.Journal.Tasks() {
		held[t.Ref] = t.Epoch
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for ref, t := range ts.byRef {
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

// ApplyHeartbeatAnswer renews the leases of the claims that the answer to a heartbeat lists, and
// cancels the work on the claims that the exchange reports as lost or cancelled.
func (ts *Tasks) ApplyHeartbeatAnswer(threads []mess.HeldThread) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, h := range threads {
		ts.Session.KeepLease(h.Lease)
		t := ts.byRef[h.Ref]
		switch {
		case t == nil || t.epoch == 0 || h.Epoch != t.epoch:
		case h.Yours != nil && !*h.Yours:
			t.cancelWork(runtime.ErrLost)
		case h.Stop != nil && *h.Stop:
			t.cancelWork(runtime.ErrCancelled)
		}
	}
}

// EndAll cancels the work on every thread. Waiting offers get a decline in their turn.
func (ts *Tasks) EndAll(cause *policy.Rejection) {
	if cause == nil {
		return // the stop has been reset since
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.byRef {
		if t.cancel != nil {
			t.cancel(cause)
		}
	}
}

// Working returns the number of threads in work.
func (ts *Tasks) Working() int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	n := 0
	for _, t := range ts.byRef {
		if t.epoch != 0 {
			n++
		}
	}
	return n
}

// DevicesOf returns the devices of the plan of an unfinished task, each with the thread of the task;
// nil if it has no plan yet, or if another version wrote the plan.
func DevicesOf(t journal.Task) map[string]string {
	var m intentRecord
	if t.Intent == nil || json.Unmarshal(t.Intent.Plan, &m) != nil {
		return nil
	}
	at := map[string]string{}
	for _, step := range m.Plan.Each() {
		at[step.Device] = t.Ref
	}
	return at
}

// Deps is what the tasks of an executor work with. It does not change.
type Deps struct {
	Config   runtime.Config
	Session  *session.Session
	Resolver runtime.Resolver
	Devices  *device.Set
	Activity *device.Activity
	Gate     *policy.Policy
	Journal  *journal.Journal
	Now      func() time.Time
	Log      *slog.Logger
	Host     Host
}

// Host is what a task asks of the executor around it.
type Host interface {
	// IsDrained reports whether a drain forbids new claims.
	IsDrained() bool
	// WaitUndrained waits until no drain forbids new claims, or until ctx ends.
	WaitUndrained(ctx context.Context) error
	// JournalFailed reports that the journal has rejected a record.
	JournalFailed()
}
