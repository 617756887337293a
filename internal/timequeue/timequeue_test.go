package timequeue_test

import (
	"slices"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/timequeue"
)

// The bytes are operations: on which entry, and what. A slice is the model.
func FuzzQueue(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 10, 1, 5, 2, 7, 0, 1, 1, 255, 3, 254})
	f.Fuzz(func(t *testing.T, ops []byte) {
		start := time.Unix(0, 0)
		var q timequeue.Queue[int]
		entries := make([]timequeue.Entry[int], 16)
		times := map[int]time.Time{}
		for i := range entries {
			entries[i].Value = i
		}
		for len(ops) > 1 {
			e, op := &entries[ops[0]%16], ops[1]
			ops = ops[2:]
			switch op {
			case 255:
				q.Remove(e)
				delete(times, e.Value)
			case 254:
				first := q.Due(start.Add(100))
				var want []time.Time
				for _, at := range times {
					want = append(want, at)
				}
				slices.SortFunc(want, time.Time.Compare)
				if due := len(want) > 0 && !want[0].After(start.Add(100)); (first != nil) != due || due && !times[first.Value].Equal(want[0]) {
					t.Fatalf("due: %v, want %v", first, want)
				}
				if first != nil {
					delete(times, first.Value)
				}
			default:
				times[e.Value] = start.Add(time.Duration(op))
				q.Set(e, times[e.Value])
			}
			if q.Len() != len(times) {
				t.Fatalf("%d entries, want %d", q.Len(), len(times))
			}
			for i := range entries {
				if _, in := times[i]; entries[i].Queued() != in {
					t.Fatalf("entry %d: queued %t", i, entries[i].Queued())
				}
			}
			if e, at := q.Next(); e != nil && !times[e.Value].Equal(at) {
				t.Fatalf("next is at %v, want %v", at, times[e.Value])
			}
		}
	})
}
