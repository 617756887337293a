package exchange

import (
	"container/heap"
	"sync"
	"time"
)

// alarm remembers when threads are due. It may ring for one that is not due
// any more; who is rung looks for himself.
type alarm struct {
	mu    sync.Mutex
	rings rings
	byRef map[string]*ring
	early chan struct{} // has an entry when the first ring was moved forward
}

// ring is when one thread is due; each thread has one at most.
type ring struct {
	at    time.Time
	ref   string
	place int // in the heap
}

func newAlarm() *alarm { return &alarm{byRef: map[string]*ring{}, early: make(chan struct{}, 1)} }

// set has ref ring at t, and not when it was set before.
func (a *alarm) set(ref string, t time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.byRef[ref]; r != nil {
		r.at = t
		heap.Fix(&a.rings, r.place)
	} else {
		r = &ring{at: t, ref: ref}
		a.byRef[ref] = r
		heap.Push(&a.rings, r)
	}
	if a.rings[0].ref == ref {
		select {
		case a.early <- struct{}{}:
		default:
		}
	}
}

// drop has ref not ring any more.
func (a *alarm) drop(ref string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.byRef[ref]; r != nil {
		heap.Remove(&a.rings, r.place)
		delete(a.byRef, ref)
	}
}

// never is how long a timer runs that nothing is due for.
const never = 24 * time.Hour

// timer returns a timer that ends when the first thread is due.
func (a *alarm) timer(now time.Time) *time.Timer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.rings) == 0 {
		return time.NewTimer(never)
	}
	return time.NewTimer(max(0, a.rings[0].at.Sub(now)))
}

// rung takes out all that is due.
func (a *alarm) rung(now time.Time) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var refs []string
	for len(a.rings) > 0 && !a.rings[0].at.After(now) {
		ref := heap.Pop(&a.rings).(*ring).ref
		delete(a.byRef, ref)
		refs = append(refs, ref)
	}
	return refs
}

// rings is a heap, the earliest first.
type rings []*ring

func (r rings) Len() int           { return len(r) }
func (r rings) Less(i, j int) bool { return r[i].at.Before(r[j].at) }

func (r rings) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].place, r[j].place = i, j
}

func (r *rings) Push(v any) {
	one := v.(*ring)
	one.place = len(*r)
	*r = append(*r, one)
}

func (r *rings) Pop() any {
	last := (*r)[len(*r)-1]
	(*r)[len(*r)-1] = nil
	*r = (*r)[:len(*r)-1]
	return last
}
