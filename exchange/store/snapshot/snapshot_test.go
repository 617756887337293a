package snapshot_test

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/store/snapshot"
	"github.com/messkit/messkit/exchange/thread"
)

var start = time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)

// errKilled is the error of a home whose writer is killed.
var errKilled = errors.New("killed")

// writer returns a writer with small segments, at a time.
func (h *home) writer(tail int, now time.Time) *snapshot.Writer {
	return &snapshot.Writer{Home: h, Tail: tail, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
}

// checkObjects has a writer remove what nobody needs, and checks that no more objects are left than the
// manifest names.
func (h *home) checkObjects(t *testing.T, r *rand.Rand, states map[int]thread.Envelope) {
	t.Helper()
	for n := range 3 {
		h.grow(r, 1, states)
		if wrote, err := h.writer(5, start.Add(time.Duration(n+1)*2*time.Hour)).Write(t.Context()); err != nil || !wrote {
			t.Fatalf("a later write: %v, %v", wrote, err)
		}
	}
	for name := range h.objects {
		if !bytes.Contains(h.manifest, []byte(name)) {
			t.Errorf("nobody knows the object %s", name)
		}
	}
}

// A snapshot and the changes after it give the same state as all changes, after random histories.
func TestSnapshotEqualsFeed(t *testing.T) {
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 1))
		h, states := &home{objects: map[string][]byte{}}, map[int]thread.Envelope{}
		for range 25 {
			h.grow(r, r.IntN(60), states)
			if r.IntN(3) > 0 {
				if _, err := h.writer(1+r.IntN(30), start).Write(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if n := h.check(t); n > 500 {
				t.Errorf("the snapshot has %d entries for 40 threads and 10 documents", n)
			}
		}
		h.checkObjects(t, r, states)
		h.check(t)
	}
}

// A writer that is killed at any of its writes leaves a snapshot that is whole. The next one goes on, and
// removes its objects later.
func TestKilledWriter(t *testing.T) {
	for _, half := range []bool{false, true} {
		for limit := 1; ; limit++ {
			r := rand.New(rand.NewPCG(uint64(limit), 2))
			h, states := &home{objects: map[string][]byte{}}, map[int]thread.Envelope{}
			h.grow(r, 150, states)
			if _, err := h.writer(20, start).Write(t.Context()); err != nil {
				t.Fatal(err)
			}
			h.grow(r, 100, states)
			h.limit, h.half, h.writes = limit, half, 0
			_, err := h.writer(20, start.Add(15*time.Minute)).Write(t.Context())
			wrote := h.writes
			h.limit = 0
			if err != nil && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			h.check(t)
			h.checkObjects(t, r, states)
			h.check(t)
			if err == nil {
				if wrote < 10 {
					t.Errorf("a writer makes %d writes; the test wants more", wrote)
				}
				break
			}
		}
	}
}

// Several writers at the same time leave one snapshot that is whole.
func TestWritersTogether(t *testing.T) {
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 3))
		h, states := &home{objects: map[string][]byte{}}, map[int]thread.Envelope{}
		for range 5 {
			h.grow(r, 120, states)
			var g sync.WaitGroup
			for n := range 3 {
				g.Go(func() {
					if _, err := h.writer(10+10*n, start).Write(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			g.Wait()
			h.check(t)
		}
		h.checkObjects(t, r, states)
		h.check(t)
	}
}

// A reader uses no snapshot that is damaged, foreign, or of another release, and a writer replaces it unless a
// later release has written it.
func TestUnusableSnapshots(t *testing.T) {
	for name, harm := range map[string]func(h *home){
		"a manifest that is no JSON": func(h *home) { h.manifest = []byte("{") },
		"an earlier version":         func(h *home) { h.manifest = bytes.Replace(h.manifest, []byte(`"version":1`), []byte(`"version":0`), 1) },
		"a later version": func(h *home) {
			h.manifest = bytes.Replace(h.manifest, []byte(`"version":1`), []byte(`"version":2,"segments":7`), 1)
		},
		"another stream": func(h *home) { h.manifest = bytes.Replace(h.manifest, []byte("home 1"), []byte("home 2"), 1) },
		"an empty segment": func(h *home) {
			h.manifest = []byte(`{"version":1,"stream":"home 1","position":3,"segments":[{"entries":1}]}`)
		},
		"changed bytes": func(h *home) {
			for name, data := range h.objects {
				h.objects[name] = append(bytes.Clone(data[:len(data)-1]), data[len(data)-1]^1)
			}
		},
		"no bytes":   func(h *home) { clear(h.objects) },
		"half of it": func(h *home) { maps.DeleteFunc(h.objects, func(string, []byte) bool { return len(h.objects) > 1 }) },
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 4))
			h, states := &home{objects: map[string][]byte{}}, map[int]thread.Envelope{}
			for range 3 {
				h.grow(r, 200, states)
				if _, err := h.writer(10, start).Write(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			harm(h)
			if l, err := snapshot.Load(t.Context(), h, start); l != nil || err == nil {
				t.Errorf("it is read: %v", err)
			}
			h.grow(r, 300, states)
			w := h.writer(100, start)
			w.Check = true
			wrote, err := w.Write(t.Context())
			if strings.HasPrefix(name, "a later") {
				if wrote || err != nil {
					t.Errorf("a writer has replaced it: %v", err)
				}
				return
			}
			if err != nil || !wrote {
				t.Fatalf("it is not written anew: %v, %v", wrote, err)
			}
			h.check(t)
		})
	}
}

// A writer waits until enough has changed.
func TestWriterWaits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	h, states := &home{objects: map[string][]byte{}}, map[int]thread.Envelope{}
	h.grow(r, 99, states)
	w := h.writer(0, start)
	w.After = 100
	for _, want := range []bool{false, true, false} {
		if wrote, err := w.Write(t.Context()); err != nil || wrote != want {
			t.Errorf("after %d changes: %v, %v", len(h.changes), wrote, err)
		}
		h.grow(r, 1, states)
	}
	if h.writes != 3 {
		t.Errorf("it has made %d writes, want the object between two of the manifest", h.writes)
	}
}

// A snapshot is renewed every day although little has changed, and an old one is not read.
func TestOldSnapshot(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 6))
	h, states := &home{objects: map[string][]byte{}}, map[int]thread.Envelope{}
	h.grow(r, 100, states)
	if wrote, err := h.writer(0, start).Write(t.Context()); err != nil || !wrote {
		t.Fatal(wrote, err)
	}
	h.grow(r, 1, states)
	for age, want := range map[time.Duration]bool{7 * 24 * time.Hour: true, 7*24*time.Hour + time.Second: false} {
		if l, err := snapshot.Load(t.Context(), h, start.Add(age)); (l != nil) != want || (err == nil) != want {
			t.Errorf("after %v: %v", age, err)
		}
	}
	for _, one := range []struct {
		age  time.Duration
		want bool
	}{{23 * time.Hour, false}, {25 * time.Hour, true}} {
		w := h.writer(0, start.Add(one.age))
		w.After = 100
		if wrote, err := w.Write(t.Context()); err != nil || wrote != one.want {
			t.Errorf("after %v: %v, %v", one.age, wrote, err)
		}
	}
}

// A thread leaves the stream, which later forgets that too. A snapshot from before, and one that a writer could
// only extend in part meanwhile, do not bring the thread back.
func TestWriterLeavesOldSnapshot(t *testing.T) {
	const day = 24 * time.Hour
	for name, killed := range map[string]bool{"nobody wrote": false, "a writer was killed half way": true} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 7))
			h, states := &home{objects: map[string][]byte{}}, map[int]thread.Envelope{}
			left := thread.Envelope{Ref: "2026-01-01-001", Requester: "agent", Status: "pending", Ver: 1, Created: start, Updated: start}
			h.add(r, thread.Change{Envelope: left})
			h.grow(r, 10, states)
			if wrote, err := h.writer(0, start).Write(t.Context()); err != nil || !wrote {
				t.Fatal(wrote, err)
			}
			h.changes, h.seqs = h.changes[1:], h.seqs[1:]
			h.grow(r, 100, states)
			if killed { // 6 days later, after it has published a part
				h.limit, h.writes = 5, 0
				if _, err := h.writer(10, start.Add(6*day)).Write(t.Context()); !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				h.limit = 0
			}
			now := start.Add(12 * day)
			if l, err := snapshot.Load(t.Context(), h, now); l != nil || err == nil {
				t.Errorf("the old snapshot is read: %v", err)
			}
			if wrote, err := h.writer(0, now).Write(t.Context()); err != nil || !wrote {
				t.Fatal(wrote, err)
			}
			l, err := snapshot.Load(t.Context(), h, now)
			if err != nil || l == nil {
				t.Fatal(l, err)
			}
			if err := l.Each(func(_ uint64, c thread.Change) error {
				if c.Envelope.Ref == left.Ref {
					t.Errorf("the thread that has left is %s again", c.Envelope.Status)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}
