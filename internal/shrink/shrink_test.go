package shrink_test

import (
	"reflect"
	"runtime"
	"testing"

	"github.com/messkit/messkit/internal/shrink"
)

// filled returns a map with n entries.
func filled(n int) map[int][4]int {
	m := map[int][4]int{}
	for i := range n {
		m[i] = [4]int{i}
	}
	return m
}

// A map that has lost its entries gives their memory back, and keeps those that it still has.
func TestFitReturnsMemory(t *testing.T) {
	const most, left = 100_000, 10
	heap := func() uint64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	before := heap()
	m := filled(most)
	full := heap() - before
	var p shrink.Peak
	for i := left; i < most; i++ {
		delete(m, i)
		m = shrink.Fit(m, &p)
	}
	if kept := int64(heap() - before); kept > int64(full)/20 {
		t.Errorf("%d bytes after the deletes, %d with all entries", kept, full)
	}
	for i := range left {
		if m[i] != [4]int{i} {
			t.Errorf("entry %d is %v", i, m[i])
		}
	}
	if len(m) != left {
		t.Errorf("%d entries, want %d", len(m), left)
	}
}

// A small map, and a map that still has many entries, stay as they are.
func TestFitCopiesSeldom(t *testing.T) {
	for _, c := range []struct{ most, left int }{{1000, 0}, {100_000, 20_000}} {
		m := filled(c.most)
		was := reflect.ValueOf(m).Pointer()
		var p shrink.Peak
		for i := c.left; i < c.most; i++ {
			delete(m, i)
			m = shrink.Fit(m, &p)
		}
		if reflect.ValueOf(m).Pointer() != was {
			t.Errorf("a map of %d entries of once %d is a copy", c.left, c.most)
		}
	}
}
