// Package timequeue keeps values in the order of their times.
package timequeue

import (
	"container/heap"
	"time"
)

// Queue is a queue of values, the earliest first. The zero value is empty. A Queue is not safe
// for concurrent use.
type Queue[T any] struct{ entries entries[T] }

// Entry is a value that can be in a Queue.
type Entry[T any] struct {
	Value T
	at    time.Time
	place int // in the queue, from 1 on; 0: it is in none
}

// Queued reports whether an entry is in a queue.
func (e *Entry[T]) Queued() bool { return e.place > 0 }

// Set puts an entry into the queue, or moves it there.
func (q *Queue[T]) Set(e *Entry[T], at time.Time) {
	if e.at = at; e.Queued() {
		heap.Fix(&q.entries, e.place-1)
	} else {
		heap.Push(&q.entries, e)
	}
}

// Remove takes an entry out, if it is in the queue.
func (q *Queue[T]) Remove(e *Entry[T]) {
	if e.Queued() {
		heap.Remove(&q.entries, e.place-1)
	}
}

// Len is how many entries there are.
func (q *Queue[T]) Len() int { return len(q.entries) }

// Next is the first entry and its time, or nil.
func (q *Queue[T]) Next() (*Entry[T], time.Time) {
	if len(q.entries) == 0 {
		return nil, time.Time{}
	}
	return q.entries[0], q.entries[0].at
}

// Due takes out and returns the first entry if its time has come, or returns nil.
func (q *Queue[T]) Due(now time.Time) *Entry[T] {
	if e, at := q.Next(); e != nil && !at.After(now) {
		q.Remove(e)
		return e
	}
	return nil
}

// entries implement heap.Interface.
type entries[T any] []*Entry[T]

func (x entries[T]) Len() int           { return len(x) }
func (x entries[T]) Less(i, j int) bool { return x[i].at.Before(x[j].at) }

func (x entries[T]) Swap(i, j int) {
	x[i], x[j] = x[j], x[i]
	x[i].place, x[j].place = i+1, j+1
}

func (x *entries[T]) Push(v any) {
	e := v.(*Entry[T])
	*x = append(*x, e)
	e.place = len(*x)
}

func (x *entries[T]) Pop() any {
	last := len(*x) - 1
	e := (*x)[last]
	e.place = 0
	(*x)[last] = nil
	*x = (*x)[:last]
	return e
}
