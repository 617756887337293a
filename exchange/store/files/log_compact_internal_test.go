package files

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// storeBench is a store, and the data that it has acknowledged.
type storeBench struct {
	t    testing.TB
	s    *Store
	dir  string
	n    int
	want map[string]thread.Envelope
	docs map[string]string
}

func newStoreBench(t testing.TB) *storeBench {
	dir := t.TempDir()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &storeBench{t: t, s: s, dir: dir, want: map[string]thread.Envelope{}, docs: map[string]string{}}
}

// create makes a thread.
func (g *storeBench) create() string {
	g.t.Helper()
	g.n++
	id := fmt.Sprint("x", g.n)
	e := thread.Envelope{
		Ref: messeaf.Ref("2026-02-01", g.n, id), ClientID: id, Requester: "agent", Status: mess.Pending, Ver: 1,
		Created: time.Now(), Updated: time.Now(), Intent: "look",
	}
	m := mess.Message{From: "agent", Ref: e.Ref, Items: []mess.Item{&mess.Request{ID: id, Intent: "look"}}}
	g.append(thread.Step{Keys: []thread.Key{{Owner: "agent", Name: id}}, Envelope: e, Messages: []mess.Message{m}})
	return e.Ref
}

// step stores the next step of a thread.
func (g *storeBench) step(ref string, status mess.Code) {
	g.t.Helper()
	e := g.want[ref]
	e.Ver++
	e.Status, e.Executor, e.Updated = status, "pi", time.Now()
	m := mess.Message{From: "pi", Re: mess.Refs{ref}, Items: []mess.Item{&mess.Status{Code: status, Message: fmt.Sprint("step ", e.Ver)}}}
	g.append(thread.Step{After: revOf(e.Ver - 1), Envelope: e, Messages: []mess.Message{m}})
}

func (g *storeBench) append(step thread.Step) {
	g.t.Helper()
	if _, err := g.s.Append(g.t.Context(), step); err != nil {
		g.t.Fatal(err)
	}
	g.want[step.Envelope.Ref] = step.Envelope
}

func (g *storeBench) put(id, doc string) {
	g.t.Helper()
	if _, err := g.s.Put(g.t.Context(), "executor", id, []byte(doc), g.s.index.docRev("executor", id)); err != nil {
		g.t.Fatal(err)
	}
	g.docs[id] = doc
}

// end ends threads, updates their folders, and releases them.
func (g *storeBench) end(refs ...string) {
	g.t.Helper()
	for _, ref := range refs {
		g.step(ref, mess.Completed)
		if err := g.s.project.updateFolder(g.t.Context(), ref); err != nil && !errors.Is(err, errBusy) {
			g.t.Fatal(err)
		}
	}
	g.s.project.releaseEnded(g.t.Context())
}

// holds fails unless a store has exactly the acknowledged data, with the same numbers of
// changes.
func (g *storeBench) holds(when, dir string) {
	g.t.Helper()
	s, err := Open(dir)
	if err != nil {
		g.t.Fatalf("%s: %v", when, err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			g.t.Errorf("%s: %v", when, err)
		}
	}()
	if got, want := s.index.last(), g.s.index.last(); got != want {
		g.t.Errorf("%s: %d changes, want %d", when, got, want)
	}
	got := map[string]string{}
	for ref, e := range g.want {
		th, rev, err := s.Read(g.t.Context(), ref)
		if err != nil {
			g.t.Fatalf("%s: %s: %v", when, ref, err)
		}
		if rev != revOf(e.Ver) || th.Status != e.Status || len(th.Messages) != int(e.Ver) {
			g.t.Errorf("%s: %s: revision %s, %s, %d messages; want %d, %s", when, ref, rev, th.Status, len(th.Messages), e.Ver, e.Status)
		}
		if found, err := s.Lookup(g.t.Context(), thread.Key{Owner: "agent", Name: e.ClientID}); found != ref {
			g.t.Errorf("%s: Lookup of %s: %s, %v", when, ref, found, err)
		}
	}
	for id, doc := range s.index.docsOf("executor") {
		got[id] = string(doc.data)
	}
	if diff := cmp.Diff(g.docs, got); diff != "" {
		g.t.Errorf("%s: documents (-want +got):\n%s", when, diff)
	}
}

// cut checks a copy of the disk as after a power failure.
func (g *storeBench) cut(when string) {
	g.t.Helper()
	copied := filepath.Join(g.t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(g.dir)); err != nil {
		g.t.Fatal(err)
	}
	g.holds(when, copied)
}

// During a compaction the store takes steps. A power failure at any moment of it loses neither
// these steps nor earlier ones.
func TestPowerCutDuringCompaction(t *testing.T) {
	g := newStoreBench(t)
	var open []string
	for range 6 {
		open = append(open, g.create())
	}
	g.end(g.create(), g.create())
	g.put("pi", "{}")
	for range 2 {
		// meanwhile makes all kinds of changes, to threads that the new log already has and to
		// others.
		meanwhile := func() {
			fresh := g.create()
			g.step(fresh, mess.Claimed)
			g.step(open[g.n%len(open)], mess.InProgress)
			g.end(fresh)
			g.put(fmt.Sprint("executor", g.n%3), fmt.Sprint("{\"n\":", g.n, "}"))
			g.cut("while records are written")
		}
		c := &compaction{s: g.s, stop: func(err error) { t.Error(err) }, lost: map[string]error{}}
		records := func() iter.Seq[[]byte] {
			records := c.cut()
			return func(yield func([]byte) bool) {
				n := 0
				for r := range records {
					if n++; n%4 == 1 {
						meanwhile()
					}
					if !yield(r) {
						return
					}
				}
				meanwhile()
			}
		}
		moved := func(p []wal.Place) {
			g.cut("before the places are known")
			c.moved(p)
			g.cut("when the places are known")
		}
		if err := g.s.log.Repack(t.Context(), records, moved); err != nil {
			t.Fatal(err)
		}
		g.cut("when it is done")
		meanwhile()
	}
	if err := g.s.Close(); err != nil {
		t.Fatal(err)
	}
	g.holds("at the end", g.dir)
}

// BenchmarkCompaction compacts a log with that many ended threads while 16 writers store steps,
// and reports the longest step.
func BenchmarkCompaction(b *testing.B) {
	for _, n := range endedSizes() {
		b.Run(fmt.Sprintf("ended=%d", n), func(b *testing.B) { benchmarkCompaction(b, n) })
	}
}

func benchmarkCompaction(b *testing.B, n int) {
	g := newStoreBench(b)
	manyEnded(b, g.s, n)
	open := make([]string, 64)
	for i := range open {
		open[i] = g.create()
	}
	var alone, beside, took time.Duration
	for b.Loop() {
		alone = max(alone, steps(g, open, func(ctx context.Context) error { <-ctx.Done(); return nil }))
		beside = max(beside, steps(g, open, func(context.Context) error {
			g.s.compactAt.Store(0)
			begun := time.Now()
			defer func() { took = max(took, time.Since(begun)) }()
			return g.s.compact(b.Context())
		}))
	}
	b.ReportMetric(took.Seconds()*1000, "compaction-ms")
	b.ReportMetric(beside.Seconds()*1000, "longest-step-ms")
	b.ReportMetric(alone.Seconds()*1000, "longest-without-ms")
	if err := g.s.Close(); err != nil {
		b.Fatal(err)
	}
}

// steps stores steps until fn returns, or for a second, and returns the longest duration of a
// step.
func steps(g *storeBench, open []string, fn func(context.Context) error) (longest time.Duration) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), time.Second)
	done := make(chan error, 1)
	go func() {
		defer cancel()
		done <- fn(ctx)
	}()
	for n := 0; len(done) == 0; n++ {
		begun := time.Now()
		g.step(open[n%len(open)], mess.InProgress)
		longest = max(longest, time.Since(begun))
	}
	if err := <-done; err != nil {
		g.t.Fatal(err)
	}
	return longest
}

// endedThread returns the nth of many threads that have ended.
func endedThread(n int) logformat.Summary {
	return logformat.Summary{
		Ref: messeaf.Ref(fmt.Sprintf("2026-01-%02d", 1+n/50_000), n%50_000, ""), ClientID: fmt.Sprint("fridge-", n), Requester: fmt.Sprint("agent-", n%100),
		Executor: fmt.Sprint("pi-", n%1000), Status: mess.Completed, Updated: time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC), Ver: 4,
		Requires: []string{fmt.Sprint("capability-", n%10)},
	}
}

// manyEnded adds n ended threads to a store. Their folders are empty.
func manyEnded(tb testing.TB, s *Store, n int) {
	tb.Helper()
	var some []logformat.Record
	for i := range n {
		e := endedThread(i)
		if err := s.root.Mkdir(threadDir(messeaf.Finished, e.Ref), 0o700); err != nil {
			tb.Fatal(err)
		}
		some = append(some, logformat.Record{Ended: &e})
		if len(some) == 4096 || i == n-1 {
			if err := errors.Join(s.store(tb.Context(), some), s.keepEnded(tb.Context(), 1)); err != nil {
				tb.Fatal(err)
			}
			some = nil
		}
	}
}
