package keyed

import (
	"sync"
	"time"
)

// Queues hold entries by name. The entries of one name are worked on one after the other, in
// their order; those of different names at the same time. The zero value is empty and closed.
type Queues[T any] struct {
	Runner Runner // it is open while entries are worked on

	mu      sync.Mutex
	entries map[string][]T
	waiting int
}

// Add adds an entry at the end of a queue.
func (q *Queues[T]) Add(name string, entry T) {
	q.mu.Lock()
	if q.entries == nil {
		q.entries = map[string][]T{}
	}
	q.entries[name] = append(q.entries[name], entry)
	q.waiting++
	q.mu.Unlock()
	q.Runner.Wake(name)
}

// Waiting is how many entries there are, with those that are worked on.
func (q *Queues[T]) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}

// Work does one piece of work for Runner: it calls do with the first entry of a queue. If do
// returns Idle, the entry is done; otherwise it comes again after that time.
func (q *Queues[T]) Work(name string, do func(entry T) (again time.Duration)) time.Duration {
	q.mu.Lock()
	first := q.entries[name]
	q.mu.Unlock()
	if len(first) == 0 {
		return Idle
	}
	if again := do(first[0]); again != Idle {
		return again
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting--
	if q.entries[name] = q.entries[name][1:]; len(q.entries[name]) == 0 {
		delete(q.entries, name)
	}
	return 0
}
