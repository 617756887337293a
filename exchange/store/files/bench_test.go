package files_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// These benchmarks measure the store through its public methods. scripts/bench-store.sh runs them
// and shows the results next to their targets.

var everyone = []int{1, 16, 64, 256, 512} // concurrent writers

func BenchmarkCreate(b *testing.B) {
	work{ready: (*storeBench).nothing, step: (*storeBench).create}.run(b, everyone...)
}

func BenchmarkClaim(b *testing.B) {
	work{ready: (*storeBench).create, step: (*storeBench).claim}.run(b, everyone...)
}

func BenchmarkAppend(b *testing.B) {
	work{ready: (*storeBench).claimed, step: (*storeBench).progress}.run(b, 1, 16)
}

func BenchmarkImage(b *testing.B) {
	work{ready: (*storeBench).claimed, step: (*storeBench).picture}.run(b, 1, 16)
}

// BenchmarkOpen starts a process that only opens a folder. The kernel's cache has the folder, so
// the figures do not include the time of a slow disk.
func BenchmarkOpen(b *testing.B) {
	for _, threads := range sizes() {
		b.Run(fmt.Sprintf("state=pending/threads=%d", threads), func(b *testing.B) {
			coldStart(b, threads, threads, (*storeBench).create)
		})
		b.Run(fmt.Sprintf("state=finished/threads=%d", threads), func(b *testing.B) {
			coldStart(b, threads, 0, (*storeBench).finished)
		})
	}
}

// sizes returns the numbers of threads in the store before a measurement.
func sizes() []int {
	switch {
	case testing.Short():
		return []int{0, 100}
	case os.Getenv("MESSKIT_BENCH_LARGE") != "":
		return []int{0, 1_000, 10_000, 100_000}
	}
	return []int{0, 1_000, 10_000}
}

// advance stores the next step of a thread.
type advance func(*storeBench, context.Context, thread.Envelope) (thread.Envelope, error)

// work is a step to measure, and a step to prepare it that the figures exclude.
type work struct{ ready, step advance }

// run measures with growing numbers of open threads. Without open threads it also measures where
// a sync costs nothing: the difference is the cost of the disk.
func (w work) run(b *testing.B, writers ...int) {
	for _, open := range sizes() {
		for _, n := range writers {
			b.Run(fmt.Sprintf("open=%d/writers=%d", open, n), func(b *testing.B) {
				w.on(b, "disk", b.TempDir(), open, n)
				if dir := tmpfs(b); open == 0 && dir != "" {
					w.on(b, "tmpfs", dir, open, n)
				}
			})
		}
	}
}

// on makes a store for one measurement. The testing package repeats only the innermost function.
func (w work) on(b *testing.B, where, dir string, open, writers int) {
	g := newStoreBench(b, dir)
	defer g.close(b)
	g.fill(b, open, (*storeBench).create)
	b.Run("on="+where, func(b *testing.B) { w.measure(b, g, writers) })
}

// tmpfs makes a folder in memory, or returns "" on a system without tmpfs.
func tmpfs(b *testing.B) string {
	dir, err := os.MkdirTemp("/dev/shm", "bench-*")
	if err != nil {
		return ""
	}
	b.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			b.Error(err)
		}
	})
	return dir
}

// measure works in rounds, so that its own threads never add much to the open threads.
func (w work) measure(b *testing.B, g *storeBench, writers int) {
	took := make([]time.Duration, b.N)
	var out written
	b.StopTimer()
	b.ResetTimer()
	for rest := took; len(rest) > 0; {
		round := rest[:min(len(rest), max(1024, 32*writers))]
		rest = rest[len(round):]
		out = out.plus(w.round(b, g, writers, round))
	}
	slices.Sort(took)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
	for name, percent := range map[string]int{"p50-ms": 50, "p99-ms": 99, "max-ms": 100} {
		b.ReportMetric(took[(len(took)-1)*percent/100].Seconds()*1000, name)
	}
	b.ReportMetric(float64(out.chars)/float64(b.N), "written-B/op")
	b.ReportMetric(float64(out.disk)/float64(b.N), "disk-B/op")
}

// round prepares threads, measures one step of each, and ends them.
func (w work) round(b *testing.B, g *storeBench, writers int, took []time.Duration) written {
	threads := make([]thread.Envelope, len(took))
	all := func(writers int, step advance) {
		if err := storetest.Each(len(threads), writers, func(i int) (err error) {
			begun := time.Now()
			threads[i], err = step(g, b.Context(), threads[i])
			took[i] = time.Since(begun)
			return err
		}); err != nil {
			b.Fatal(err)
		}
	}
	all(quick, w.ready)
	g.settle(b)
	before := writtenSoFar(b)
	b.StartTimer()
	all(writers, w.step)
	b.StopTimer()
	measured := slices.Clone(took)
	g.settle(b)
	after := writtenSoFar(b)
	all(quick, (*storeBench).finish)
	copy(took, measured)
	return after.minus(before)
}

// quick is the number of writers outside of measurements: they share syncs.
const quick = 256

// storeBench is a store in a folder with its background work.
type storeBench struct {
	thread.Store
	stop func()
	made atomic.Int64 // threads and images, for unique contents
}

func newStoreBench(b *testing.B, dir string) *storeBench {
	b.Helper()
	s, err := files.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	return &storeBench{Store: s, stop: start(b, s)}
}

func (g *storeBench) close(b *testing.B) {
	g.stop()
	if err := g.Close(); err != nil {
		b.Errorf("Close: %v", err)
	}
}

// start runs the background work of the store.
func start(b *testing.B, s *files.Store) (stop func()) {
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, ignoringListener{}) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			b.Errorf("Run: %v", err)
		}
	}
}

// ignoringListener ignores messages: no other program writes to these folders.
type ignoringListener struct{}

func (ignoringListener) PostExternal(context.Context, string, mess.Message) error { return nil }

// settle waits for the writes that the store makes after its answers.
func (g *storeBench) settle(b *testing.B) {
	if s, ok := g.Store.(interface{ Settle(context.Context) error }); ok {
		if err := s.Settle(b.Context()); err != nil {
			b.Fatalf("Settle: %v", err)
		}
	}
}

// fill makes threads, and waits until the disk has them all.
func (g *storeBench) fill(b *testing.B, threads int, step advance) {
	b.Helper()
	err := storetest.Each(threads, quick, func(int) error {
		_, err := step(g, b.Context(), thread.Envelope{})
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	g.settle(b)
}

func (g *storeBench) nothing(_ context.Context, e thread.Envelope) (thread.Envelope, error) {
	return e, nil
}

// create stores a new thread like an exchange does: a request and its ack.
func (g *storeBench) create(ctx context.Context, _ thread.Envelope) (thread.Envelope, error) {
	n, now := g.made.Add(1), time.Now()
	id := fmt.Sprint("fridge-", n)
	t := requested(messeaf.Ref(now.Format(time.DateOnly), int(n), id), id, now)
	_, err := g.Append(ctx, thread.Step{Keys: []thread.Key{{Owner: "agent", Name: id}}, Envelope: t.Envelope, Messages: t.Messages})
	return t.Envelope, err
}

func requested(ref, id string, now time.Time) thread.Thread {
	req := &mess.Request{
		ID: id, Intent: "What's in the fridge? Tell me what is missing for breakfast.",
		Requires:     []mess.Capability{{ID: "take-photo"}},
		Context:      []mess.Entry{mess.TextEntry("There should be milk in the door, and eggs on the second shelf.")},
		ResponseHint: []mess.ResponseHint{{Type: "image"}, {Type: "text"}},
	}
	return thread.Thread{
		Envelope: thread.Envelope{
			Ref: ref, ClientID: id, Requester: "agent", Status: mess.Pending, Created: now, Updated: now,
			Intent: req.Intent, Priority: mess.Normal, Ver: 1, Needs: thread.NeedsOf(*req),
			History: []thread.HistoryEntry{
				{Action: "created", At: now, By: "agent"},
				{Action: "dispatched", At: now, By: thread.Self, Note: "offered to kitchen-pi"},
			},
		},
		Messages: []mess.Message{
			{From: "agent", Received: mess.TimeOf(now), Channel: "http", Items: []mess.Item{req}},
			{From: thread.Self, Received: mess.TimeOf(now), Items: []mess.Item{&mess.Ack{Re: mess.Refs{id}, Ref: ref}}},
		},
	}
}

func (g *storeBench) claim(ctx context.Context, e thread.Envelope) (thread.Envelope, error) {
	e.Executor = "kitchen-pi"
	e.Epoch++
	return g.appendStep(ctx, e, "claim", mess.Claimed, nil, &mess.Status{Code: mess.Claimed, Estimate: "2m"})
}

func (g *storeBench) progress(ctx context.Context, e thread.Envelope) (thread.Envelope, error) {
	e.Phase = thread.Started
	return g.appendStep(ctx, e, "status", mess.InProgress, nil, &mess.Status{Code: mess.InProgress, Message: strings.Repeat("on it. ", 1024/7)})
}

func (g *storeBench) finish(ctx context.Context, e thread.Envelope) (thread.Envelope, error) {
	e.Phase = thread.Finished
	return g.appendStep(ctx, e, "response", mess.Completed, nil, &mess.Response{
		Content: []mess.Entry{mess.TextEntry("There is milk, and there are four eggs. No butter.")},
	}, &mess.Status{Code: mess.Completed})
}

// claimed makes a thread and claims it.
func (g *storeBench) claimed(ctx context.Context, e thread.Envelope) (thread.Envelope, error) {
	e, err := g.create(ctx, e)
	if err != nil {
		return e, err
	}
	return g.claim(ctx, e)
}

// finished makes a thread, claims it and completes it.
func (g *storeBench) finished(ctx context.Context, e thread.Envelope) (thread.Envelope, error) {
	e, err := g.claimed(ctx, e)
	if err != nil {
		return e, err
	}
	return g.finish(ctx, e)
}

// pixels is the content of an image of 300 KB.
var pixels = bytes.Repeat([]byte{0xd7, 0x1e, 0x80}, 100<<10)

// picture stages a unique image and binds it in the step that contains it.
func (g *storeBench) picture(ctx context.Context, e thread.Envelope) (thread.Envelope, error) {
	head := binary.BigEndian.AppendUint64(nil, uint64(g.made.Add(1)))
	staged, err := g.Stage(ctx, io.MultiReader(bytes.NewReader(head), bytes.NewReader(pixels)), 1<<20)
	if err != nil {
		return e, err
	}
	e.Phase = thread.Started
	name := fmt.Sprintf("att-%03d-image-fridge.jpg", e.Serial+1)
	media := mess.Media{File: name, MIME: "image/jpeg", Size: &staged.Size, SHA256: staged.SHA256}
	return g.appendStep(ctx, e, "status", mess.InProgress, []thread.Bind{{Name: name, SHA256: staged.SHA256}},
		&mess.Status{Code: mess.InProgress, Partial: []mess.Entry{mess.MediaEntry("image", media)}})
}

// appendStep stores a step like an exchange does: the executor's message, and the ack.
func (g *storeBench) appendStep(ctx context.Context, e thread.Envelope, kind string, to mess.Code, binds []thread.Bind, items ...mess.Item) (thread.Envelope, error) {
	now := time.Now()
	e.Ver++
	e.Serial++
	ref := fmt.Sprintf("%s/%s-%03d", e.Ref, kind, e.Serial)
	e.Status, e.Updated = to, now
	e.History = append(slices.Clip(e.History), thread.HistoryEntry{Action: string(to), At: now, By: e.Executor, Ref: ref})
	_, err := g.Append(ctx, thread.Step{After: revOf(e.Ver - 1), Envelope: e, Binds: binds, Messages: []mess.Message{
		{From: e.Executor, Received: mess.TimeOf(now), Channel: "http", Re: mess.Refs{e.Ref}, Ref: ref, Epoch: e.Epoch, Items: items},
		{From: thread.Self, Received: mess.TimeOf(now), Items: []mess.Item{&mess.Ack{Ref: ref}}},
	}})
	return e, err
}
