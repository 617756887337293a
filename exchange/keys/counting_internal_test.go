package keys

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// Authentication costs one hash of bounded length, for any key and any number of keys.
func TestAuthenticationCostsOneHash(t *testing.T) {
	k, err := Open(t.TempDir(), "home")
	if err != nil {
		t.Fatal(err)
	}
	right, err := k.Issue("phone", exchange.Requester)
	if err != nil {
		t.Fatal(err)
	}
	hashes, longest, real := 0, 0, digest
	t.Cleanup(func() { digest = real })
	digest = func(data []byte) [32]byte {
		hashes, longest = hashes+1, max(longest, len(data))
		return real(data)
	}
	shapes := []string{
		right, "", "x", right[:len(right)-1], right + "0", strings.ToUpper(right), "mess_home_" + strings.Repeat("0", 32),
		"mess_other_" + right[len("mess_home_"):], strings.Repeat("x", 16<<10), "\x00\xff", right + strings.Repeat("0", 1<<10),
	}
	for _, executors := range []int{0, 10_000} {
		more := maps.Clone(k.holders)
		for i := range executors {
			more[hash(fmt.Sprint(i))] = holder{Actor: fmt.Sprintf("pi-%d", i), Roles: []string{"executor"}}
		}
		k.holders = more
		for i, key := range shapes {
			hashes, longest = 0, 0
			_, err := k.Authenticate(key)
			if (err == nil) != (i == 0) || hashes != 1 || longest > maxKey {
				t.Errorf("%d executors, %.20q: %d hashes of up to %d bytes, %v", executors, key, hashes, longest, err)
			}
		}
	}
}

// The disk hangs while another actor gets a key: a valid key still works, because its client may
// send a stop.
func TestHangingDiskDelaysNoValidKey(t *testing.T) {
	k, err := Open(t.TempDir(), "home")
	if err != nil {
		t.Fatal(err)
	}
	key, err := k.Issue("phone", exchange.Requester)
	if err != nil {
		t.Fatal(err)
	}
	at, free, real := make(chan struct{}), make(chan struct{}), replace
	replace = func(name string, data []byte) error {
		close(at)
		<-free
		return real(name, data)
	}
	t.Cleanup(func() { replace = real })
	made := make(chan error, 1)
	go func() {
		_, err := k.Issue("tablet", exchange.Requester)
		made <- err
	}()
	<-at
	if who, err := k.Authenticate(key); err != nil || who.ID != "phone" {
		t.Errorf("%v %v", who, err)
	}
	if k.Has("tablet") {
		t.Error("a key holds that is not on the disk")
	}
	close(free)
	if err := <-made; err != nil || !k.Has("tablet") {
		t.Errorf("%v", err)
	}
}

// New keys during a write share the next write, and an actor gets only one key.
func TestConcurrentKeysShareWrite(t *testing.T) {
	const n = 50
	dir := t.TempDir()
	k, err := Open(dir, "home")
	if err != nil {
		t.Fatal(err)
	}
	at, free, writes, real := make(chan struct{}), make(chan struct{}), 0, replace
	replace = func(name string, data []byte) error {
		if writes++; writes == 1 {
			close(at)
			<-free
		}
		return real(name, data)
	}
	t.Cleanup(func() { replace = real })
	var g sync.WaitGroup
	var made, refused atomic.Int64
	issue := func(actor string) {
		g.Go(func() {
			key, err := k.Issue(actor, exchange.Requester)
			if errors.Is(err, mess.Conflict) {
				refused.Add(1)
			} else if who, authErr := k.Authenticate(key); err == nil && authErr == nil && who.ID == actor {
				made.Add(1)
			}
		})
	}
	issue("first")
	<-at
	for i := range n {
		issue(fmt.Sprint("pi-", i))
	}
	issue("pi-0")
	for waiting := 0; waiting < n+1; runtime.Gosched() {
		k.changes.mu.Lock()
		waiting = len(k.changes.waiting)
		k.changes.mu.Unlock()
	}
	close(free)
	g.Wait()
	if made.Load() != n+1 || refused.Load() != 1 || writes != 2 {
		t.Errorf("%d keys and %d refusals with %d writes; want %d, 1 and 2", made.Load(), refused.Load(), writes, n+1)
	}
	again, err := Open(dir, "home")
	if err != nil || len(again.List()) != n+2 {
		t.Errorf("%d keys on the disk, %v", len(again.List()), err)
	}
}

// A shared write fails: none of its keys is valid.
func TestFailedWriteIssuesNoKey(t *testing.T) {
	k, err := Open(t.TempDir(), "home")
	if err != nil {
		t.Fatal(err)
	}
	full, real := errors.New("disk full"), replace
	replace = func(string, []byte) error { return full }
	t.Cleanup(func() { replace = real })
	if _, err := k.Issue("pi", exchange.ExecutorRole); !errors.Is(err, full) || k.Has("pi") {
		t.Errorf("%v, has a key: %v", err, k.Has("pi"))
	}
	replace = real
	if _, err := k.Issue("pi", exchange.ExecutorRole); err != nil || !k.Has("pi") {
		t.Error(err)
	}
}
