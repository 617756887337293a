package snapshot_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/store/snapshot"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// home is a stream with its changes, a manifest and objects.
type home struct {
	mu       sync.Mutex
	changes  []thread.Change
	seqs     []uint64
	manifest []byte
	rev      uint64
	objects  map[string][]byte
	writes   int  // so far
	limit    int  // of writes, after which all calls fail; 0 for none
	half     bool // the write at the limit is stored
}

// write reports whether a write is stored, and its error. The caller holds h.mu.
func (h *home) write() (stored bool, err error) {
	h.writes++
	if h.limit == 0 || h.writes < h.limit {
		return true, nil
	}
	return h.writes == h.limit && h.half, errKilled
}

func (h *home) Stream() string { return "home 1" }

func (h *home) Manifest(context.Context) ([]byte, uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.manifest, h.rev, nil
}

func (h *home) SetManifest(_ context.Context, data []byte, after uint64) (uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if after != h.rev {
		return 0, thread.ErrStale
	}
	stored, err := h.write()
	if stored {
		h.manifest = data
		h.rev++
	}
	return h.rev, err
}

func (h *home) PutObject(_ context.Context, name string, data []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	stored, err := h.write()
	if _, is := h.objects[name]; is {
		return fmt.Errorf("there is an object %s", name)
	}
	if stored {
		h.objects[name] = data
	}
	return err
}

func (h *home) Object(_ context.Context, name string) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	data, ok := h.objects[name]
	if !ok {
		return nil, thread.ErrNoBlob
	}
	return data, nil
}

func (h *home) DeleteObject(_ context.Context, name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.objects[name]; !ok {
		return thread.ErrNoBlob
	}
	stored, err := h.write()
	if stored {
		delete(h.objects, name)
	}
	return err
}

func (h *home) Count(_ context.Context, after uint64) (n uint64, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, seq := range h.seqs {
		if seq > after {
			n++
		}
	}
	return n, nil
}

func (h *home) Tail(_ context.Context, after uint64, fn func(snapshot.Entry) error) error {
	h.mu.Lock()
	seqs, changes := slices.Clone(h.seqs), slices.Clone(h.changes)
	h.mu.Unlock()
	for i, seq := range seqs {
		if seq <= after {
			continue
		}
		envelope, err := json.Marshal(changes[i].Envelope)
		if err != nil {
			return err
		}
		if err := fn(snapshot.EntryOf(seq, &changes[i], envelope)); err != nil {
			return err
		}
	}
	return nil
}

func (h *home) add(r *rand.Rand, c thread.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	seq := uint64(1 + r.IntN(3)) // the stream has other messages too
	if n := len(h.seqs); n > 0 {
		seq += h.seqs[n-1]
	}
	if !c.Removed && (c.Kind == "" || c.Doc != nil) {
		c.Rev = thread.Rev(fmt.Sprint(seq))
	}
	h.seqs, h.changes = append(h.seqs, seq), append(h.changes, c)
}

// grow adds random changes of threads and documents. vers has the versions of the threads; 0 for a removed
// one.
func (h *home) grow(r *rand.Rand, n int, states map[int]thread.Envelope) {
	for range n {
		i := 1 + r.IntN(40)
		e, known := states[i]
		switch kind := r.IntN(10); {
		case kind < 2:
			c := thread.Change{Kind: []string{"executor", "state"}[r.IntN(2)], ID: fmt.Sprint("pi-", r.IntN(5))}
			if r.IntN(3) > 0 {
				c.Doc = []byte(strings.Repeat("x", r.IntN(4)))
			}
			h.add(r, c)
			continue
		case kind == 2 && e.Status.Terminal():
			delete(states, i)
			h.add(r, thread.Change{Envelope: thread.Envelope{Ref: e.Ref}, Removed: true})
			continue
		case !known:
			e = thread.Envelope{Ref: fmt.Sprintf("2026-02-%02d-%03d", 1+i%3, i), ClientID: "c", Requester: fmt.Sprint("agent-", i%3), Status: mess.Pending, Created: start}
			e.Needs.Requires = []mess.Capability{{ID: "look", Meta: mess.Object{{Key: "devices", Value: []any{"lamp"}}}}, {ID: "switch"}}[:1+r.IntN(2)]
		case !e.Status.Terminal():
			e.Status = []mess.Code{mess.Pending, mess.Claimed, mess.Completed, mess.Failed}[r.IntN(4)]
			e.Executor = fmt.Sprint("pi-", r.IntN(3))
			e.History = append(slices.Clip(e.History), thread.HistoryEntry{Action: "claimed", By: e.Executor, At: e.Updated})
		}
		e.Ver++
		e.Updated = start.Add(time.Duration(len(h.seqs)) * time.Second)
		states[i] = e
		h.add(r, thread.Change{Envelope: e})
	}
}

// state is what an exchange keeps of a feed.
type state struct {
	open    map[string]thread.Change
	docs    map[string]thread.Change
	ended   []string // in order of their last changes
	serials map[string]int
}

func newState() *state {
	return &state{open: map[string]thread.Change{}, docs: map[string]thread.Change{}, serials: map[string]int{}}
}

func (s *state) take(c thread.Change) {
	ref := c.Envelope.Ref
	if c.Kind != "" {
		delete(s.docs, c.Kind+" "+c.ID)
		if c.Doc != nil {
			s.docs[c.Kind+" "+c.ID] = c
		}
		return
	}
	s.ended = slices.DeleteFunc(s.ended, func(line string) bool { return strings.HasPrefix(line, ref+" ") })
	delete(s.open, ref)
	e := &c.Envelope
	switch {
	case c.Removed:
	case c.Outline || e.Status.Terminal():
		devices := c.Devices
		if !c.Outline {
			devices = e.Devices()
		}
		ids := []string{}
		for _, one := range e.Needs.Requires {
			ids = append(ids, one.ID)
		}
		holders := map[string]bool{}
		for id := range e.Holders() {
			holders[id] = true
		}
		delete(holders, e.Executor)
		s.ended = append(s.ended, fmt.Sprintln(ref, e.Requester, e.Executor, e.Status, e.Ver, e.Updated.UnixNano(), devices, ids, slices.Sorted(maps.Keys(holders))))
	default:
		s.open[ref] = c
	}
}

// check compares the state after the snapshot and the later changes with that after all changes.
func (h *home) check(t *testing.T) (entries int) {
	t.Helper()
	want, got := newState(), newState()
	pos := uint64(0)
	l, err := snapshot.Load(t.Context(), h, start)
	if err != nil {
		t.Fatal(err)
	}
	if l != nil {
		pos, entries = l.Pos, l.Entries
		maps.Copy(got.serials, l.Serials)
		last := uint64(0)
		if err := l.Each(func(seq uint64, c thread.Change) error {
			if seq <= last || seq > pos {
				t.Errorf("position %d after %d, up to %d", seq, last, pos)
			}
			last = seq
			got.take(c)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range h.changes {
		want.take(c)
		if h.seqs[i] > pos {
			got.take(c)
		}
		for _, s := range []*state{want, got} {
			if ref := c.Envelope.Ref; ref != "" && (s == want || h.seqs[i] > pos) {
				var n int
				fmt.Sscanf(ref[11:], "%d", &n)
				s.serials[ref[:10]] = max(s.serials[ref[:10]], n)
			}
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(state{})); diff != "" {
		t.Fatalf("all changes (-), the snapshot to %d and the later ones (+):\n%s", pos, diff)
	}
	return entries
}
