package keyed_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/messkit/messkit/internal/keyed"
)

// Goroutines with the same name exclude each other, in any order of the names.
func TestSameNameExcludes(t *testing.T) {
	var l keyed.Locks
	var g sync.WaitGroup
	counts := [8]int{}
	for i := range 64 {
		g.Go(func() {
			for n := range 100 {
				a, b := (i+n)%8, (i*n)%8
				unlock := l.Lock(fmt.Sprint(a), fmt.Sprint(b))
				counts[a]++
				if b != a {
					counts[b]++
				}
				unlock()
			}
		})
	}
	g.Wait()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	if want := 64 * 100; sum < want || sum > 2*want {
		t.Errorf("counted %d, want between %d and %d", sum, want, 2*want)
	}
}

// Goroutines with other names do not wait.
func TestOtherNamesDoNotWait(t *testing.T) {
	var l keyed.Locks
	unlock := l.Lock("a")
	l.Lock("b")()
	got := make(chan bool)
	go func() { l.Lock("a")(); got <- true }()
	select {
	case <-got:
		t.Error("two goroutines hold one name")
	default:
	}
	unlock()
	<-got
}

// LockContext returns the error of a context that ends while it waits, and leaves the name to
// others.
func TestLockContext(t *testing.T) {
	var l keyed.Locks
	unlock, err := l.LockContext(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.LockContext(ended, "a"); !errors.Is(err, context.Canceled) {
		t.Fatalf("a locked name gives %v, want %v", err, context.Canceled)
	}
	unlock()
	again, err := l.LockContext(ended, "a")
	if err != nil {
		t.Fatalf("a free name gives %v", err)
	}
	again()
	l.Lock("a")()
}
