package keyed

import (
	"sync"
	"time"
)

// Queues holds entries by name. It works on the entries of one name in order, one at a time,
// and on those of different names at the same time. The zero value is empty and closed.
type Queues[T any] struct {
	Runner Runner // open it to process entries

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

// Waiting returns the number of entries, including those in work.
func (q *Queues[T]) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}

// Work does one piece of work for Runner: it calls do with the first entry of a queue. If do
// returns Idle, the entry is done; otherwise Runner calls Work again after that time.
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
