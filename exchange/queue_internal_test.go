package exchange

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A queue has the order and the places that a sorted list has.
func TestQueue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	byPlace := func(a, b *openThread) int { return a.key.compare(b.key) }
	var all []*openThread
	for i := range 3000 {
		all = append(all, &openThread{key: queueKey{rank: r.IntN(4), created: start.Add(time.Duration(r.IntN(500))), ref: fmt.Sprint("2026-03-01-", i)}})
	}
	var q queue
	var model []*openThread
	check := func() {
		t.Helper()
		if got := slices.Collect(q.all()); !slices.Equal(got, model) || q.len() != len(model) {
			t.Fatalf("%d threads, want %d, or their order differs", len(got), len(model))
		}
		for range 50 {
			l := all[r.IntN(len(all))]
			if want, _ := slices.BinarySearchFunc(model, l, byPlace); q.before(l) != want {
				t.Fatalf("%d are before it, want %d", q.before(l), want)
			}
		}
	}
	for round := range 12 {
		for range 1500 {
			l := all[r.IntN(len(all))]
			at, found := slices.BinarySearchFunc(model, l, byPlace)
			if add := r.IntN(12) > round; add {
				if q.add(l); !found {
					model = slices.Insert(model, at, l)
				}
			} else if q.drop(l); found {
				model = slices.Delete(model, at, at+1)
			}
		}
		check()
	}
	for _, l := range all {
		q.drop(l)
	}
	model = nil
	check()
}
