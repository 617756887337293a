package exchange

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/eventbus"
	"github.com/messkit/messkit/exchange/routing"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/shrink"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// openThreads has the threads without a terminal status, and finds them by their holder, offer,
// capability, name and status without a walk over all of them. The caller of a method holds mu,
// unless the method says that it takes the lock.
type openThreads struct {
	mu      sync.Mutex // guards all fields, and those of openThread except openThread.step
	due     *eventbus.Deadlines
	byRef   map[string]*openThread
	peak    shrink.Peak                // of byRef
	loading map[string]*loading        // by ref
	waiting map[string]map[string]bool // waitKey of a thread to the refs of the open threads that depend on it
	atLimit map[string]bool            // executors that have as many offers as they may have
	round   uint64                     // counts the searches that must find each thread once
	ahead   map[string]*readAhead      // by ref: threads with steps that the feed has yet to deliver
	retries map[string]*wait.Backoff   // by ref: threads with a dependency that the exchange could not read

	held      threadSets        // by holder
	pending   threadSets        // by required capability; "" for threads that require none
	named     threadSets        // by client id
	suggested threadSets        // by id of an open suggestion
	count     map[mess.Code]int // by status
	offered   threadSets        // by executor with an offer
	unoffered queue             // pending threads without an offer

	changed chan struct{} // closed at the next change of a thread; nil: no goroutine waits
}

// threadSets has threads by a key. Most keys have one thread, or very many.
type threadSets map[string]*queue

// openThread is an open thread, with state that the exchange does not store. The state lasts until
// the thread ends or the exchange stops.
type openThread struct {
	step sync.Mutex // held during one step of the thread

	// openThreads.mu guards these.
	packed      thread.Packed // its envelope
	isPending   bool
	hasPlace    bool                 // it needs a place with a name
	key         queueKey             // its position in the queues, from its first envelope
	lastContact time.Time            // last contact to the holder
	renewed     time.Time            // last heartbeat to this exchange that names the claim; zero for none
	pending     time.Time            // since when it waits for a claim
	offered     []string             // executors that have an offer, sorted
	coverage    routing.Coverage     // of the choice that led to these offers
	chosen      time.Time            // the time of that choice
	deps        map[string]mess.Code // the threads that it depends on, and their terminal status; "" for an open one; nil for none
	deadline    time.Time            // its next deadline
	round       uint64               // the search of openThreads that has found it last
}

func newOpenThreads() openThreads {
	return openThreads{
		due: eventbus.NewDeadlines(), byRef: map[string]*openThread{}, loading: map[string]*loading{}, waiting: map[string]map[string]bool{}, atLimit: map[string]bool{}, ahead: map[string]*readAhead{}, retries: map[string]*wait.Backoff{},
		held: threadSets{}, pending: threadSets{}, named: threadSets{}, suggested: threadSets{}, count: map[mess.Code]int{}, offered: threadSets{},
	}
}

// await returns a channel that is closed at the next change of a thread, or nil if done reports
// true.
func (o *openThreads) await(done func() bool) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if done() {
		return nil
	}
	if o.changed == nil {
		o.changed = make(chan struct{})
	}
	return o.changed
}

// announce wakes the goroutines that await a change. The caller holds mu.
func (o *openThreads) announce() {
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
}

// env returns the envelope. It unpacks it, so a caller calls env once.
func (l *openThread) env() Envelope { return l.packed.Envelope() }

// set sets the envelope.
func (l *openThread) set(e *Envelope) {
	l.packed, l.isPending = thread.Pack(e), e.Status == mess.Pending
	l.hasPlace = e.Needs.Location != nil && e.Needs.Location.Name != ""
}

// find returns an open thread, or nil. It takes the lock.
func (o *openThreads) find(ref string) *openThread {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.byRef[ref]
}

// envelope returns the present envelope of a thread. It takes the lock.
func (o *openThreads) envelope(l *openThread) Envelope {
	o.mu.Lock()
	defer o.mu.Unlock()
	return l.env()
}

// heldRefs lists the threads of a holder, sorted. It takes the lock.
func (o *openThreads) heldRefs(executor string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var refs []string
	for _, l := range o.held[executor].byRef() {
		refs = append(refs, l.key.ref)
	}
	return refs
}

// heldAs finds a thread of a holder by its client id. It takes the lock.
func (o *openThreads) heldAs(executor, clientID string) (ref string, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for l := range o.named[clientID].all() {
		if l.env().Holder() == executor {
			return l.key.ref, true
		}
	}
	return "", false
}

// pendingAs returns the pending threads with a client id. It takes the lock.
func (o *openThreads) pendingAs(clientID string) (list []Envelope) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for l := range o.named[clientID].all() {
		if l.isPending {
			list = append(list, l.env())
		}
	}
	return list
}

// suggestedAs finds the only thread with an open suggestion of an id that the actor may answer.
// It takes the lock.
func (o *openThreads) suggestedAs(actor Actor, id string) (ref string, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for l := range o.suggested[id].all() {
		if e := l.env(); (e.Requester == actor.ID || actor.Has(Operator)) && e.Suggestion(id) != "" {
			if ref != "" {
				return "", false // two threads have the same id
			}
			ref = e.Ref
		}
	}
	return ref, ref != ""
}

func (r threadSets) add(key string, l *openThread) {
	if r[key] == nil {
		r[strings.Clone(key)] = &queue{}
	}
	r[key].add(l)
}

func (r threadSets) drop(key string, l *openThread) {
	if r[key].drop(l); r[key].len() == 0 {
		delete(r, key)
	}
}

// recordUnoffered records whether a pending thread has no offer.
func (o *openThreads) recordUnoffered(l *openThread) {
	if l.isPending && len(l.offered) == 0 {
		o.unoffered.add(l)
	} else {
		o.unoffered.drop(l)
	}
}

// update moves a thread from the sets of its earlier envelope to those of its new one.
func (o *openThreads) update(l *openThread, before, e *Envelope) {
	if before.Ref != "" && !before.Status.Terminal() {
		o.record(l, before, -1)
	}
	if !e.Status.Terminal() {
		o.record(l, e, 1)
	}
}

// record adds a thread to the sets of an envelope (by is 1), or removes it from them (by is -1).
func (o *openThreads) record(l *openThread, e *Envelope, by int) {
	change := threadSets.add
	if by < 0 {
		change = threadSets.drop
	}
	if o.count[e.Status] += by; o.count[e.Status] == 0 {
		delete(o.count, e.Status)
	}
	if e.ClientID != "" {
		change(o.named, e.ClientID, l)
	}
	for _, p := range e.Proposals {
		change(o.suggested, p.ID, l)
	}
	if id := e.Holder(); id != "" {
		change(o.held, id, l)
	}
	if e.Status != mess.Pending {
		return
	}
	if len(e.Needs.Requires) == 0 {
		change(o.pending, "", l)
	}
	for _, c := range e.Needs.Requires {
		change(o.pending, c.ID, l)
	}
}

// wake sets the next deadline of a thread to t, unless it has an earlier one or t is zero.
func (o *openThreads) wake(l *openThread, t time.Time) {
	if t.IsZero() || !l.deadline.IsZero() && !t.Before(l.deadline) {
		return
	}
	l.deadline = t
	o.due.Set(l.key.ref, t)
}

// close removes a thread that has ended, and gives its status to the threads that depend on it.
func (o *openThreads) close(e Envelope, now time.Time) {
	delete(o.byRef, e.Ref)
	o.byRef = shrink.Fit(o.byRef, &o.peak)
	delete(o.retries, e.Ref)
	o.due.Drop(e.Ref)
	o.due.Drop(retryKey + e.Ref)
	for _, dep := range e.DependsOn {
		o.dropDep(e.Ref, e.Requester, dep)
	}
	for _, dep := range []string{e.Ref, e.ClientID} {
		key := waitKey(e.Requester, dep)
		for _, ref := range slices.Sorted(maps.Keys(o.waiting[key])) {
			if l := o.byRef[ref]; l != nil {
				l.deps[dep] = e.Status
				o.wake(l, now)
			}
		}
		delete(o.waiting, key)
	}
}

// awaitDeps makes a new thread wait for its dependencies.
func (o *openThreads) awaitDeps(l *openThread, e *Envelope) {
	if len(e.DependsOn) > 0 {
		l.deps = map[string]mess.Code{}
	}
	for _, dep := range e.DependsOn {
		l.deps[dep] = ""
		key := waitKey(e.Requester, dep)
		if o.waiting[key] == nil {
			o.waiting[key] = map[string]bool{}
		}
		o.waiting[key][l.key.ref] = true
	}
}

// dropDep ends the wait of a thread for one dependency.
func (o *openThreads) dropDep(ref, requester, dep string) {
	key := waitKey(requester, dep)
	delete(o.waiting[key], ref)
	if len(o.waiting[key]) == 0 {
		delete(o.waiting, key)
	}
}

// waitKey is the key of openThreads.waiting for a dependency: its ref, or for a request that
// the exchange does not have yet its requester and client id.
func waitKey(requester, dep string) string {
	if isRef(dep) {
		return dep
	}
	return requester + " " + dep
}

// closedDeps lists the dependencies of a thread that are not open. It takes the lock.
func (o *openThreads) closedDeps(l *openThread) (closed []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for dep := range l.deps {
		if o.byRef[dep] == nil {
			closed = append(closed, dep)
		}
	}
	return closed
}

// dependsOnItself reports whether a dependency of a new thread waits, directly or through
// others, for the new thread. It takes the lock.
func (o *openThreads) dependsOnItself(env Envelope) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := map[string]bool{}
	for todo := slices.Clone(env.DependsOn); len(todo) > 0; {
		dep := todo[0]
		todo = todo[1:]
		if l := o.byRef[dep]; l != nil && !seen[dep] {
			seen[dep] = true
			e := l.env()
			if e.Requester == env.Requester && slices.Contains(e.DependsOn, env.ClientID) {
				return true
			}
			todo = append(todo, e.DependsOn...)
		}
		if dep == env.ClientID {
			return true
		}
	}
	return false
}

// loading is a new thread that the exchange stores, or one that it reads because openThreads
// does not have it. Other goroutines that name the thread wait for done. So none finds a thread
// in the store that openThreads lacks.
type loading struct {
	ref    string
	done   chan struct{} // closed when loaded and err are set
	loaded *openThread
	err    error
}

// startLoading makes other goroutines that name a thread wait for finishLoading.
func (o *openThreads) startLoading(ref string) *loading {
	c := &loading{ref: ref, done: make(chan struct{})}
	o.loading[ref] = c
	return c
}

// finishLoading passes the thread, or an error, to the goroutines that wait for it.
func (o *openThreads) finishLoading(c *loading, l *openThread, err error) {
	c.loaded, c.err = l, err
	delete(o.loading, c.ref)
	close(c.done)
}

// commitNew adds a stored thread to the open threads, and publishes it.
func (x *Exchange) commitNew(t Thread, c *loading) *openThread {
	l := &openThread{}
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	x.setEnvelope(l, t.Envelope)
	x.publishStep(Step{Envelope: t.Envelope, Messages: t.Messages})
	x.open.finishLoading(c, l, nil) // the feed waits for it, so it has not published the step
	return l
}
