package jetstream_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	upstream "github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/test/natsserver"
	"github.com/messkit/messkit/mess"
)

// claim returns the step that claims a thread.
func claim(e thread.Envelope, executor string) thread.Step {
	e.Ver, e.Status, e.Executor = e.Ver+1, mess.Claimed, executor
	return thread.Step{After: e.Rev, Envelope: e, Messages: []mess.Message{{From: executor, Items: []mess.Item{&mess.Status{Code: mess.Claimed}}}}}
}

func ref(n int) string { return fmt.Sprintf("2026-03-01-%03d", n) }

// Of the claims of two exchanges for one thread, the store takes exactly one.
func TestTwoNodesRaceForOneThread(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	c := config(1, server)
	nodes := []*jetstream.Store{opened(t, c), opened(t, c)}
	for n := range 40 {
		step := storetest.Step(ref(n+1), "agent", fmt.Sprint("id", n), storetest.Start)
		rev, err := nodes[n%2].Append(t.Context(), step)
		if err != nil {
			t.Fatal(err)
		}
		step.Envelope.Rev = rev
		var won atomic.Value
		var wins atomic.Int32
		var g sync.WaitGroup
		for i, node := range nodes {
			g.Go(func() {
				who := fmt.Sprint("executor", i)
				_, err := node.Append(t.Context(), claim(step.Envelope, who))
				switch {
				case err == nil:
					wins.Add(1)
					won.Store(who)
				case !errors.Is(err, thread.ErrStale):
					t.Errorf("%s: %v, want ErrStale", who, err)
				}
			})
		}
		g.Wait()
		if wins.Load() != 1 {
			t.Fatalf("%d of 2 claims have succeeded", wins.Load())
		}
		for i, node := range nodes {
			if th, _, err := node.Read(t.Context(), step.Envelope.Ref); err != nil || th.Executor != won.Load() || len(th.Messages) != 2 {
				t.Errorf("node %d reads the claim of %q, and %d messages, %v; want %v", i, th.Executor, len(th.Messages), err, won.Load())
			}
		}
	}
}

// Of two threads with one client id at two nodes, the store takes exactly one.
func TestTwoNodesRaceForOneClientID(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	c := config(1, server)
	nodes := []*jetstream.Store{opened(t, c), opened(t, c)}
	for n := range 20 {
		id := fmt.Sprint("id", n)
		made, taken := make(chan string, 2), make(chan string, 2)
		var g sync.WaitGroup
		for i, node := range nodes {
			g.Go(func() {
				step := storetest.Step(ref(2*n+i+1), "agent", id, storetest.Start)
				_, err := node.Append(t.Context(), step)
				e, isTaken := errors.AsType[*thread.TakenError](err)
				switch {
				case err == nil:
					made <- step.Envelope.Ref
				case isTaken:
					taken <- e.Ref
				default:
					t.Errorf("Append: %v", err)
				}
			})
		}
		g.Wait()
		if len(made) != 1 || len(taken) != 1 {
			t.Fatalf("%d threads made, %d refused", len(made), len(taken))
		}
		if a, b := <-made, <-taken; a != b {
			t.Errorf("%s was made, and the other node names %s", a, b)
		}
	}
}

// A step that is larger than a message reads the same, at another node and in the feed.
func TestLargeStep(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	c := config(1, server)
	s, other := opened(t, c), opened(t, c)
	step := storetest.Step(ref(1), "agent", "large", storetest.Start)
	step.Messages[0].Items = append(step.Messages[0].Items, &mess.Response{Content: []mess.Entry{mess.TextEntry(strings.Repeat("word ", 600_000))}})
	if _, err := s.Append(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	th, _, err := other.Read(t.Context(), step.Envelope.Ref)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(step.Messages, th.Messages); diff != "" {
		t.Errorf("messages (-want +got):\n%.500s", diff)
	}
	err = thread.ReadAll(t.Context(), other, "", func(c thread.Change) error {
		if !c.Level && !cmp.Equal(step.Messages, c.Messages) {
			t.Errorf("the feed has other messages of %s", c.Envelope.Ref)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A full stream refuses steps at once, as a full disk does, and takes them again when it has room.
func TestFullStream(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	c := config(1, server)
	s := opened(t, c)
	nc, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := upstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	limit := func(bytes int64) {
		stream, err := js.Stream(t.Context(), "mess_"+c.Site)
		if err != nil {
			t.Fatal(err)
		}
		cfg := stream.CachedInfo().Config
		cfg.MaxBytes = bytes
		if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	limit(4000)
	var full error
	n := 0
	for ; full == nil && n < 50; n++ {
		_, full = s.Append(t.Context(), storetest.Step(ref(n+1), "agent", "", storetest.Start))
	}
	if !errors.Is(full, syscall.ENOSPC) || errors.Is(full, thread.ErrUnknown) || s.Err() == nil {
		t.Errorf("a full stream: %v, and the store says %v; want ENOSPC", full, s.Err())
	}
	limit(-1)
	if _, err := s.Append(t.Context(), storetest.Step(ref(n), "agent", "", storetest.Start)); err != nil || s.Err() != nil {
		t.Errorf("with room: %v, and the store says %v", err, s.Err())
	}
}

// An expired context before any attempt is no unknown outcome.
func TestEndedContext(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	s := opened(t, config(1, server))
	server.Kill()
	ctx, cancel := contextFor(t, 500*time.Millisecond)
	defer cancel()
	_, err := s.Append(ctx, storetest.Step(ref(1), "agent", "", storetest.Start))
	if err == nil || s.Err() == nil {
		t.Errorf("without a server: %v, and the store says %v", err, s.Err())
	}
	server.Restart()
	if _, err := s.Append(t.Context(), storetest.Step(ref(1), "agent", "", storetest.Start)); err != nil && !errors.Is(err, thread.ErrStale) {
		t.Errorf("with a server again: %v", err)
	}
}
