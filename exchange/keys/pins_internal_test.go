package keys

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/messkit/messkit/exchange"
)

func receiptKey(i int) string {
	sum := sha256.Sum256(fmt.Append(nil, i))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// New receipt keys during a write share the next one, and each executor has the first of its keys.
// During a write, known executors and new keys of actors do not wait.
func TestConcurrentPinsShareWrite(t *testing.T) {
	const n = 50
	dir := t.TempDir()
	k, err := Open(dir, "home")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Pin("old", receiptKey(-1)); err != nil {
		t.Fatal(err)
	}
	var writes atomic.Int64
	at, free, real := make(chan struct{}), make(chan struct{}), replace
	replace = func(name string, data []byte) error {
		if writes.Add(1) == 1 {
			close(at)
			<-free
		}
		return real(name, data)
	}
	t.Cleanup(func() { replace = real })
	var g sync.WaitGroup
	got := make([]string, n+2)
	pin := func(i int, executor string) {
		g.Go(func() {
			var err error
			if got[i], err = k.Pin(executor, receiptKey(i)); err != nil {
				t.Error(err)
			}
		})
	}
	pin(0, "first")
	<-at
	for i := 1; i <= n; i++ {
		pin(i, fmt.Sprint("pi-", i))
	}
	pin(n+1, "pi-1")
	for waiting := 0; waiting < n+1; runtime.Gosched() {
		k.pins.changes.mu.Lock()
		waiting = len(k.pins.changes.waiting)
		k.pins.changes.mu.Unlock()
	}
	if first, err := k.Pin("old", receiptKey(0)); err != nil || first != receiptKey(-1) {
		t.Errorf("a known executor: %s, %v", first, err)
	}
	if _, err := k.Issue("phone", exchange.Requester); err != nil {
		t.Error(err)
	}
	close(free)
	g.Wait()
	if w := writes.Load(); w != 3 { // one of them is that of the actor
		t.Errorf("%d writes, want 3", w)
	}
	pins, err := Pins(dir)
	if err != nil || len(pins) != n+2 {
		t.Fatalf("%d pins on the disk, %v; want %d", len(pins), err, n+2)
	}
	if got[1] != got[n+1] || got[1] != pins["pi-1"] || got[1] != receiptKey(1) && got[1] != receiptKey(n+1) {
		t.Errorf("two keys of one executor: %s and %s, on the disk %s", got[1], got[n+1], pins["pi-1"])
	}
	for i := 2; i <= n; i++ {
		if id := fmt.Sprint("pi-", i); got[i] != receiptKey(i) || pins[id] != got[i] {
			t.Errorf("%s: %s, on the disk %s", id, got[i], pins[id])
		}
	}
}

// A shared write fails: none of its receipt keys counts.
func TestFailedWritePinsNoKey(t *testing.T) {
	dir := t.TempDir()
	k, err := Open(dir, "home")
	if err != nil {
		t.Fatal(err)
	}
	full, real := errors.New("disk full"), replace
	replace = func(string, []byte) error { return full }
	t.Cleanup(func() { replace = real })
	if first, err := k.Pin("pi", receiptKey(1)); !errors.Is(err, full) || first != "" {
		t.Errorf("%q, %v", first, err)
	}
	replace = real
	for range 2 {
		if first, err := k.Pin("pi", receiptKey(2)); err != nil || first != receiptKey(2) {
			t.Errorf("%q, %v; want the second key", first, err)
		}
	}
}
