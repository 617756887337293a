package index_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/index"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

var start = time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)

func envelope(i int, requester, executor string, status mess.Code) thread.Envelope {
	return thread.Envelope{
		Ref: fmt.Sprintf("2026-02-01-%03d", i), Requester: requester, Executor: executor, Status: status,
		Updated: start.Add(time.Duration(i) * time.Second), Ver: 1,
	}
}

// model is an index that walks everything.
type model struct {
	threads []thread.Envelope // oldest change first
}

func (m *model) set(e thread.Envelope) {
	m.remove(e.Ref)
	m.threads = append(m.threads, e)
}

func (m *model) remove(ref string) {
	m.threads = slices.DeleteFunc(m.threads, func(e thread.Envelope) bool { return e.Ref == ref })
}

func (m *model) find(q index.Query) (refs []string) {
	for _, e := range slices.Backward(m.threads) {
		mine := q.Party == "" || e.Requester == q.Party || e.Executor == q.Party || e.HasHeld(q.Party)
		offered := q.Offers != nil && e.Status == mess.Pending && q.Offers(e.Ref)
		if matches(q.Filter, e) && (mine || offered) {
			refs = append(refs, e.Ref)
		}
	}
	return refs
}

// matches reports whether a filter selects a thread, apart from the party.
func matches(f thread.Filter, e thread.Envelope) bool {
	return (len(f.Status) == 0 || slices.Contains(f.Status, e.Status)) &&
		(f.Executor == "" || f.Executor == e.Executor) &&
		(f.Requester == "" || f.Requester == e.Requester) &&
		(f.Capability == "" || e.Needs.HasCapability(f.Capability)) &&
		(f.Device == "" || usesDevice(e, f.Device)) &&
		!e.Updated.Before(f.Since)
}

// usesDevice reports whether a thread belongs to a device. One that no executor has claimed belongs to
// the devices of all executors with the name.
func usesDevice(e thread.Envelope, id string) bool {
	all := e.Devices()
	_, name, _ := strings.Cut(id, ":")
	return slices.Contains(all, id) || slices.Contains(all, ":"+name)
}

func (m *model) last(requester string) string {
	var mine []string
	for _, e := range m.threads {
		if e.Requester == requester {
			mine = append(mine, e.Ref)
		}
	}
	if len(mine) == 0 {
		return ""
	}
	return slices.MaxFunc(mine, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
}

// pages reads all pages of a query.
func pages(t *testing.T, x *index.Index, q index.Query) (refs []string) {
	t.Helper()
	for range 10_000 {
		some, cursor, err := x.Page(q)
		if err != nil {
			t.Fatal(err)
		}
		if len(some) > q.Max() || cursor != "" && len(some) < q.Max() {
			t.Fatalf("a page of %d, cursor %q; want %d", len(some), cursor, q.Max())
		}
		refs = append(refs, some...)
		if q.Cursor = cursor; cursor == "" {
			return refs
		}
	}
	t.Fatal("the pages do not end")
	return nil
}

// After random changes, the index finds the same threads as a search of all threads.
func TestIndexMatchesModel(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		pick := func(of ...string) string { return of[r.IntN(len(of))] }
		var x index.Index
		var m model
		vers, needs := map[string]uint64{}, map[string]string{}
		codes := []mess.Code{mess.Pending, mess.Claimed, mess.Completed, mess.Failed}
		for range 6000 {
			i := 1 + r.IntN(1+int(seed)*90)
			e := envelope(i, []string{"a", "b", "c"}[i%3], pick("", "p", "q", "a"), codes[r.IntN(len(codes))])
			if r.IntN(20) == 0 {
				x.Remove(e.Ref)
				m.remove(e.Ref)
				delete(vers, e.Ref)
				continue
			}
			vers[e.Ref]++
			e.Ver = vers[e.Ref]
			if needs[e.Ref] = pick("", "x", "y"); needs[e.Ref] != "" {
				e.Needs.Requires = []mess.Capability{{ID: needs[e.Ref]}}
				if r.IntN(3) == 0 {
					e.Needs.Requires[0].Meta = mess.Object{{Key: "devices", Value: []any{pick("lamp", "gate"), "door"}}}
				}
			}
			if e.Executor != "" && r.IntN(2) == 0 {
				e.Uses = []thread.Use{{Device: pick("lamp", "gate", "door"), Capability: "x"}}
			}
			if r.IntN(5) == 0 && needs[e.Ref] != "" {
				e.Needs.Requires = append(e.Needs.Requires, mess.Capability{ID: pick("x", "z")})
			}
			for range r.IntN(3) {
				e.History = append(e.History, thread.HistoryEntry{Action: "claimed", By: pick("p", "q", "r")})
			}
			late := e
			if r.IntN(4) == 0 { // the index learns the capability and the devices later
				e.Needs, e.Uses = thread.Needs{}, nil
			}
			x.Set(e)
			m.set(late)
			if len(late.Needs.Requires)+len(late.Uses) > 0 && (r.IntN(2) == 0 || len(e.Needs.Requires)+len(e.Uses) == 0) {
				add := map[string]thread.Subjects{"none": {Capabilities: []string{"x"}, Devices: []string{"p:lamp"}}}
				for n := range 1 + r.IntN(20) {
					one := late
					if n > 0 {
						one = m.threads[r.IntN(len(m.threads))]
					}
					of := thread.Subjects{Devices: one.Devices()}
					for _, c := range one.Needs.Requires {
						of.Capabilities = append(of.Capabilities, c.ID)
					}
					add[one.Ref] = of
				}
				x.AddSubjects(add)
			}
			e.Ver-- // an older version changes nothing
			e.Requester = "nobody"
			x.Set(e)
		}
		x.Wait()
		for range 200 {
			q := index.Query{Filter: thread.Filter{Limit: 1 + r.IntN(30)}}
			if r.IntN(2) == 0 {
				q.Party = pick("a", "p", "r", "z")
			}
			if r.IntN(3) == 0 {
				able := pick("x", "y", "z")
				q.Offers = func(ref string) bool { return ref[len(ref)-1]%2 == 0 && (needs[ref] == "" || needs[ref] == able) }
				q.Capabilities = []string{able}
			}
			q.Requester, q.Executor = pick("", "", "a", "z"), pick("", "", "p", "z")
			q.Capability = pick("", "", "x", "y", "z")
			q.Device = pick("", "", "p:lamp", "q:gate", "a:door", "z:lamp", "p:none")
			for range r.IntN(3) {
				q.Status = append(q.Status, codes[r.IntN(len(codes))])
			}
			if r.IntN(3) == 0 {
				q.Since = start.Add(time.Duration(r.IntN(800)) * time.Second)
			}
			if got, want := pages(t, &x, q), m.find(q); !slices.Equal(got, want) {
				t.Fatalf("seed %d, %+v: %v, want %v", seed, q, got, want)
			}
		}
		for _, id := range []string{"a", "b", "z"} {
			if got, want := x.Last(id), m.last(id); got != want {
				t.Errorf("seed %d: the last of %s is %q, want %q", seed, id, got, want)
			}
		}
		if x.Len() != len(m.threads) || x.Status("2026-02-01-000") != "" {
			t.Errorf("seed %d: %d threads, want %d", seed, x.Len(), len(m.threads))
		}
		for _, e := range m.threads {
			if got := x.Status(e.Ref); got != e.Status {
				t.Errorf("seed %d: the status of %s is %q, want %q", seed, e.Ref, got, e.Status)
			}
		}
	}
}

// A thread with one device takes at most 100 bytes, and lists are quick, however much has ended.
func TestMillionThreadsNeedLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("calculates for some seconds")
	}
	n := 1_000_000
	if testing.Short() {
		n = 100_000
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	capabilities := [][]mess.Capability{{{ID: "take-photo"}}, {{ID: "switch"}}, {{ID: "vacuum-floor"}}}
	uses := make([][]thread.Use, 500)
	for i := range uses {
		uses[i] = []thread.Use{{Device: fmt.Sprint("lamp-", i), Capability: "switch"}}
	}
	var x index.Index
	for i := range n {
		x.Set(thread.Envelope{
			Ref: fmt.Sprintf("2026-02-%02d-%03d", 1+i/50_000, i%50_000), Requester: fmt.Sprint("agent-", i%100), Executor: fmt.Sprint("pi-", i%1000),
			Status: mess.Completed, Updated: start.Add(time.Duration(i) * time.Millisecond), Ver: 4,
			Needs: thread.Needs{Requires: capabilities[i%len(capabilities)]}, Uses: uses[i%len(uses)],
		})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (after.HeapAlloc - before.HeapAlloc) / uint64(n)
	t.Logf("%d bytes a thread", each)
	if each > 100 {
		t.Errorf("a thread that has ended takes %d bytes; at most 100", each)
	}
	var slowest time.Duration
	for _, q := range []index.Query{
		{},
		{Filter: thread.Filter{Party: "agent-7"}},
		{Filter: thread.Filter{Party: "none"}},
		{Filter: thread.Filter{Executor: "pi-7", Requester: "agent-8"}},
		{Filter: thread.Filter{Status: []mess.Code{mess.Pending}}},
		{Filter: thread.Filter{Since: start.Add(time.Hour * 24 * 365)}},
		{Filter: thread.Filter{Status: []mess.Code{mess.Completed}, Requester: "agent-1", Executor: "pi-1"}},
		{Filter: thread.Filter{Capability: "switch"}},
		{Filter: thread.Filter{Capability: "none"}},
		{Filter: thread.Filter{Device: "pi-7:lamp-7"}},
		{Filter: thread.Filter{Device: "pi-7:lamp-7", Status: []mess.Code{mess.Failed}}},
		{Filter: thread.Filter{Device: "pi-7:lamp-8"}},
		{Filter: thread.Filter{Capability: "switch", Executor: "pi-7", Requester: "agent-8"}},
		{Filter: thread.Filter{Capability: "take-photo", Status: []mess.Code{mess.Pending}}},
		{Filter: thread.Filter{Capability: "vacuum-floor", Party: "pi-3", Since: start.Add(time.Minute)}},
	} {
		began := time.Now()
		if _, _, err := x.Page(q); err != nil {
			t.Fatal(err)
		}
		slowest = max(slowest, time.Since(began))
	}
	t.Logf("the slowest page takes %v", slowest)
	if slowest > 500*time.Millisecond {
		t.Errorf("a page takes %v", slowest)
	}
	runtime.KeepAlive(&x)
}

// Lists are whole while others write.
func TestListsAreCompleteDuringWrites(t *testing.T) {
	var x index.Index
	for i := range 100 {
		x.Set(envelope(i, "a", "", mess.Completed))
	}
	stop := make(chan struct{})
	var g sync.WaitGroup
	g.Go(func() {
		for n := uint64(1); ; n++ {
			select {
			case <-stop:
				return
			default:
				e := envelope(1000+int(n%50), "b", "p", mess.Claimed)
				e.Ver = n
				x.Set(e)
			}
		}
	})
	for range 300 {
		if refs := pages(t, &x, index.Query{Filter: thread.Filter{Party: "a", Limit: 7}}); len(refs) != 100 {
			t.Fatalf("%d threads, want 100", len(refs))
		}
	}
	close(stop)
	g.Wait()
	x.Wait()
}

func TestUnknownCursor(t *testing.T) {
	var x index.Index
	for _, cursor := range []string{"x", "-1", "../.."} {
		if _, _, err := x.Page(index.Query{Filter: thread.Filter{Cursor: cursor}}); err == nil {
			t.Errorf("cursor %q is taken", cursor)
		}
	}
}
