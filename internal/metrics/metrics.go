// Package metrics counts and measures, and writes the results in the text format 0.0.4 of
// Prometheus (https://prometheus.io/docs/instrumenting/exposition_formats/). A count costs one atomic
// addition, and a measurement two and a short search.
package metrics

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Counter is a number that only rises. Its zero value is ready, and it is safe for concurrent use.
type Counter struct{ n atomic.Int64 }

// Inc adds one.
func (c *Counter) Inc() { c.n.Add(1) }

// Value returns the number.
func (c *Counter) Value() int64 { return c.n.Load() }

// Gauge is a number that rises and falls. Its zero value is ready, and it is safe for concurrent use.
type Gauge struct{ n atomic.Int64 }

// Add adds a number, which may be negative.
func (g *Gauge) Add(n int64) { g.n.Add(n) }

// Value returns the number.
func (g *Gauge) Value() int64 { return g.n.Load() }

// Calls are bounds for the duration of a call or of a write to a disk.
var Calls = []time.Duration{
	time.Millisecond / 2, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond,
	5 * time.Second, 10 * time.Second,
}

// Tasks are bounds for the time that a request takes.
var Tasks = []time.Duration{
	5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond,
	500 * time.Millisecond, time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, time.Hour, 24 * time.Hour,
}

// Histogram counts durations by size. It is safe for concurrent use.
type Histogram struct {
	bounds []time.Duration // upper bounds, rising
	counts []atomic.Int64  // of each bound alone, and of what is above the last one
	sum    atomic.Int64    // in ns
}

// NewHistogram makes a histogram. The bounds rise, and do not change any more.
func NewHistogram(bounds []time.Duration) *Histogram {
	return &Histogram{bounds: bounds, counts: make([]atomic.Int64, len(bounds)+1)}
}

// Observe counts a duration. A negative one, after a step of the clock, counts as 0.
func (h *Histogram) Observe(d time.Duration) {
	d = max(d, 0)
	i := 0
	for i < len(h.bounds) && d > h.bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(int64(d))
}

// Set has one counter or histogram for each key. Its users take keys from a small fixed number, because
// a set keeps them all. It is safe for concurrent use.
type Set[K cmp.Ordered, M any] struct {
	make func() *M
	m    sync.Map // K to *M
}

// NewSet makes a set whose members makeOne makes.
func NewSet[K cmp.Ordered, M any](makeOne func() *M) *Set[K, M] { return &Set[K, M]{make: makeOne} }

// Of returns the member of a key, and makes it the first time.
func (s *Set[K, M]) Of(key K) *M {
	if m, ok := s.m.Load(key); ok {
		return m.(*M)
	}
	m, _ := s.m.LoadOrStore(key, s.make())
	return m.(*M)
}

// Each calls fn with each key and member, sorted.
func (s *Set[K, M]) Each(fn func(K, *M)) {
	var keys []K
	s.m.Range(func(k, _ any) bool { keys = append(keys, k.(K)); return true })
	slices.Sort(keys)
	for _, k := range keys {
		fn(k, s.Of(k))
	}
}
