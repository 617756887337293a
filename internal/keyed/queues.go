package keyed

import (
	"slices"
	"sync"
	"time"
)

// Queues holds entries by name. It works on the entries of one name in order, one at a time,
// and on those of different names at the same time. The zero value is empty and closed.
type Queues[T any] struct {
	Runner Runner // open it to process entries
	Limit  int    // of the entries of one name; 0: no limit

	mu      sync.Mutex
	queues  map[string]*queue[T]
	waiting int
}

// queue has the entries of one name, the oldest first.
type queue[T any] struct {
	entries []T
	removed int // number of entries that have left the queue
}

// Add adds an entry at the end of a queue. If the queue is full, Add removes its oldest entry, which
// may be in work, and returns it.
func (q *Queues[T]) Add(name string, entry T) (oldest T, full bool) {
	q.mu.Lock()
	if q.queues == nil {
		q.queues = map[string]*queue[T]{}
	}
	one := q.queues[name]
	if one == nil {
		one = &queue[T]{}
		q.queues[name] = one
	}
	if full = q.Limit > 0 && len(one.entries) >= q.Limit; full {
		oldest = q.removeFirst(one)
	}
	one.entries = append(one.entries, entry)
	q.waiting++
	q.mu.Unlock()
	q.Runner.Wake(name)
	return oldest, full
}

// removeFirst removes the first entry of a queue. The caller holds q.mu.
func (q *Queues[T]) removeFirst(one *queue[T]) (first T) {
	first = one.entries[0]
	one.entries = slices.Delete(one.entries, 0, 1)
	one.removed++
	q.waiting--
	return first
}

// Waiting returns the number of entries, including those in work.
func (q *Queues[T]) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}

// Of returns the entries of a name, including the one in work, the oldest first.
func (q *Queues[T]) Of(name string) []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	if one := q.queues[name]; one != nil {
		return slices.Clone(one.entries)
	}
	return nil
}

// All returns the entries of all names. Those of one name come in order.
func (q *Queues[T]) All() []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := make([]T, 0, q.waiting)
	for _, one := range q.queues {
		all = append(all, one.entries...)
	}
	return all
}

// Work does one piece of work for Runner: it calls do with the first entry of a queue. If do
// returns Idle, the entry is done; otherwise Runner calls Work again after that time.
func (q *Queues[T]) Work(name string, do func(entry T) (again time.Duration)) time.Duration {
	q.mu.Lock()
	one := q.queues[name]
	if one == nil {
		q.mu.Unlock()
		return Idle
	}
	first, removed := one.entries[0], one.removed
	q.mu.Unlock()
	if again := do(first); again != Idle {
		return again
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if one.removed == removed { // Add has not removed it
		q.removeFirst(one)
	}
	if len(one.entries) == 0 {
		delete(q.queues, name)
	}
	return 0
}
