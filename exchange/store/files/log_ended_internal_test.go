package files

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	threads "github.com/messkit/messkit/exchange/index"
	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/store/tail"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// changes returns the changes of ended threads in the feed, in order.
func changes(t *testing.T, s *Store, after uint64) (all []string) {
	t.Helper()
	last := after
	err := s.Since(after, func(c tail.Change) error {
		if c.Seq <= last {
			t.Errorf("change %d comes after %d", c.Seq, last)
		}
		last = c.Seq
		if c.Kind == "" {
			all = append(all, fmt.Sprint(c.Seq, " ", c.Envelope.Ref, " ", c.Envelope.Executor, " ", c.Rev, " ", c.Envelope.Updated.UTC(), logformat.CapabilitiesOf(c.Envelope)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A slow disk delays the readers of an ended thread, and no step of another thread.
func TestSlowReadOfEndedThreadDelaysNoStep(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ended := logformat.Summary{Ref: "2026-01-01-001", ClientID: "a", Requester: "agent", Status: mess.Completed, Updated: time.Unix(1e9, 0), Ver: 1}
	if err := errors.Join(s.store(t.Context(), []logformat.Record{{Ended: &ended}}), s.keepEnded(t.Context(), 1)); err != nil {
		t.Fatal(err)
	}
	read := s.index.ended.record
	begun, disk := make(chan struct{}), make(chan struct{})
	s.index.ended.record = func(p wal.Place) ([]byte, error) {
		begun <- struct{}{}
		<-disk
		return read(p)
	}
	found := make(chan bool)
	go func() { _, ok := s.index.thread(ended.Ref); found <- ok }()
	go func() { _, ok := s.index.find(thread.Key{Owner: "agent", Name: "a"}); found <- ok }()
	<-begun
	<-begun
	stored := make(chan error, 1)
	go func() {
		_, err := s.Append(t.Context(), thread.Step{Envelope: thread.Envelope{Ref: "2026-01-01-002", Requester: "agent", Status: mess.Pending, Ver: 1}})
		stored <- err
	}()
	select {
	case err := <-stored:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("a step waits for the read of an ended thread")
	}
	close(disk)
	for range 2 {
		if !<-found {
			t.Error("an ended thread is not found")
		}
	}
	s.index.ended.record = read
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Threads end, change and disappear in random order, between compactions of the log of ended
// threads and restarts. The store finds every thread by ref and by key, and the feed contains
// each of them once, in order.
func TestEndedThreadsMatchModel(t *testing.T) {
	if testing.Short() {
		t.Skip("it calculates; its long form runs without the race detector")
	}
	dir := t.TempDir()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	type model struct {
		logformat.Summary
		seq uint64
	}
	want := map[string]model{}
	check := func(when string) {
		t.Helper()
		for i := range 700 {
			ref := messeaf.Ref("2026-01-01", i+1, "")
			m, there := want[ref]
			k, ok := s.index.thread(ref)
			if ok != there || ok && (k.Ver != m.Ver || k.seq != m.seq || k.Executor != m.Executor || !k.Updated.Equal(m.Updated) || k.Status != m.Status) {
				t.Fatalf("%s: %s: %+v, want %+v", when, ref, k.Summary, m)
			}
			for _, key := range []thread.Key{{Owner: "agent", Name: ref}, {Owner: "other", Name: "k" + ref}} {
				if got, ok := s.index.find(key); ok != there || ok && got != ref {
					t.Fatalf("%s: %v: %s, %v", when, key, got, ok)
				}
			}
		}
		for _, after := range []uint64{0, s.index.last() / 2, s.index.last()} {
			var all []string
			for _, m := range slices.SortedFunc(maps.Values(want), func(a, b model) int { return cmp.Compare(a.seq, b.seq) }) {
				if m.seq > after {
					all = append(all, fmt.Sprint(m.seq, " ", m.Ref, " ", m.Executor, " ", m.Ver, " ", m.Updated.UTC(), m.Requires))
				}
			}
			if diff := gocmp.Diff(all, changes(t, s, after)); diff != "" {
				t.Fatalf("%s, after %d (-want +got):\n%s", when, after, diff)
			}
		}
	}
	for round := range 4 {
		for range 300 {
			ref := messeaf.Ref("2026-01-01", 1+r.IntN(700), "")
			m, there := want[ref]
			one := logformat.Record{Gone: ref}
			if !there || r.IntN(3) > 0 {
				m.Summary = logformat.Summary{
					Ref: ref, ClientID: ref, Requester: "agent", Executor: fmt.Sprint("pi-", r.IntN(5)), Status: mess.Completed,
					Updated: time.Unix(int64(r.IntN(1e9)), 5).In(time.FixedZone("", 3600)), Ver: m.Ver + 1,
					Requires: [][]string{nil, {}, {"x"}, {"y", "x"}}[r.IntN(4)],
				}
				if !there {
					m.Keys = []thread.Key{{Owner: "other", Name: "k" + ref}}
				}
				one = logformat.Record{Ended: &m.Summary}
			}
			if err := s.store(t.Context(), []logformat.Record{one}); err != nil {
				t.Fatal(err)
			}
			if m.seq = s.index.last(); one.Ended != nil {
				want[ref] = m
			} else {
				delete(want, ref)
			}
			if r.IntN(90) == 0 {
				if err := s.keepEnded(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
			}
		}
		check("changed")
		if round%2 == 1 {
			if err := s.endedAnew(t.Context()); err != nil {
				t.Fatal(err)
			}
			check("made anew")
		}
		for ref := range want {
			if err := s.root.MkdirAll(threadDir(messeaf.Finished, ref), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 700 {
			if ref := messeaf.Ref("2026-01-01", i+1, ""); want[ref].Ref == "" {
				if err := s.root.RemoveAll(threadDir(messeaf.Finished, ref)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if round > 1 { // else it ends as with a kill
			err = s.Close()
		} else {
			err = errors.Join(s.closeLogs(), s.disk.Close(), s.root.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		if s, err = Open(dir); err != nil {
			t.Fatal(err)
		}
		check("opened again")
	}
	if err := s.keepEnded(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if len(s.index.threads) > 0 || s.index.ended.live != len(want) {
		t.Errorf("%d threads are in memory, and %d in the log of ended ones; want all %d there", len(s.index.threads), s.index.ended.live, len(want))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A thread that has ended takes little memory.
func TestMemoryOfEndedThreads(t *testing.T) {
	if testing.Short() {
		t.Skip("it calculates; its long form runs without the race detector")
	}
	const first, n, most = 10_000, 40_000, 24 // the first ones make what does not grow
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var some []logformat.Record
	var before int64
	for i := range first + n {
		if i == first {
			before = inUse()
		}
		e := endedThread(i)
		if some = append(some, logformat.Record{Ended: &e}); len(some) < 1000 {
			continue
		}
		if err := errors.Join(s.store(t.Context(), some), s.keepEnded(t.Context(), 1)); err != nil {
			t.Fatal(err)
		}
		some = nil
	}
	each := (inUse() - before) / n
	t.Logf("%d bytes a thread", each)
	if each > most {
		t.Errorf("a thread that has ended takes %d bytes; at most %d", each, most)
	}
	if err := s.closeLogs(); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkEnded opens a store with that many ended threads, and reads its feed like an exchange
// does.
func BenchmarkEnded(b *testing.B) {
	for _, n := range endedSizes() {
		b.Run(fmt.Sprintf("ended=%d", n), func(b *testing.B) {
			dir := b.TempDir()
			s, err := Open(dir)
			if err != nil {
				b.Fatal(err)
			}
			manyEnded(b, s, n)
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for b.Loop() {
				openEnded(b, dir, n)
			}
		})
	}
}

// endedSizes returns the numbers of ended threads in the store before a measurement.
func endedSizes() []int {
	if os.Getenv("MESSKIT_BENCH_LARGE") != "" {
		return []int{0, 100_000, 1_000_000}
	}
	return []int{0, 10_000, 100_000}
}

func openEnded(b *testing.B, dir string, n int) {
	before := inUse()
	begun := time.Now()
	s, err := Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	opened := time.Since(begun)
	store := inUse() - before
	var x threads.Index
	begun = time.Now()
	count := 0
	if err := s.Since(0, func(c tail.Change) error {
		if c.Kind == "" {
			x.Set(c.Envelope)
			count++
		}
		return nil
	}); err != nil || count != n {
		b.Fatalf("%d threads, want %d: %v", count, n, err)
	}
	read := time.Since(begun)
	all := inUse() - before
	begun = time.Now()
	const tries = 1000
	for i := range min(n, tries) {
		if _, ok := s.index.find(thread.Key{Owner: fmt.Sprint("agent-", i%100), Name: fmt.Sprint("fridge-", i)}); !ok {
			b.Fatalf("the key of thread %d is not found", i)
		}
	}
	lookup := time.Since(begun)
	b.ReportMetric(opened.Seconds(), "open-s")
	b.ReportMetric(read.Seconds(), "feed-s")
	if n > 0 {
		b.ReportMetric(lookup.Seconds()*1e6/float64(min(n, tries)), "lookup-us")
		b.ReportMetric(float64(store)/float64(n), "store-B/each")
		b.ReportMetric(float64(all)/float64(n), "store+index-B/each")
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	runtime.KeepAlive(&x)
}

// inUse returns the memory in use, in bytes.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
