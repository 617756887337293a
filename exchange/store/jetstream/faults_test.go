package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/test/link"
	"github.com/messkit/messkit/internal/test/natsserver"
)

func contextFor(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// load appends steps to threads of its own from several goroutines until stop is closed. acked is
// closed after the first wanted acknowledgements.
type load struct {
	mu    sync.Mutex
	steps map[string]thread.Rev // acknowledged, by operation
	count atomic.Int64
}

// run writes until ctx ends. Each writer makes a thread and claims it, again and again.
func (l *load) run(ctx context.Context, t *testing.T, s *jetstream.Store, first, writers int) {
	var g sync.WaitGroup
	for w := range writers {
		g.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				step := storetest.Step(ref(first+w*1000+n), "agent", fmt.Sprint(first+w, "-", n), storetest.Start)
				for range 2 {
					step.Envelope.Op = fmt.Sprint(step.Envelope.Ref, " ", step.Envelope.Ver)
					rev, err := s.Append(context.WithoutCancel(ctx), step)
					if err != nil {
						t.Errorf("%s: %v", step.Envelope.Op, err)
						return
					}
					l.mu.Lock()
					l.steps[step.Envelope.Op] = rev
					l.mu.Unlock()
					l.count.Add(1)
					step.Envelope.Rev = rev
					step = claim(step.Envelope, "executor")
				}
			}
		})
	}
	g.Wait()
}

// await waits until the load has some more acknowledgements.
func (l *load) await(t *testing.T, more int64) {
	t.Helper()
	want := l.count.Load() + more
	for end := time.Now().Add(time.Minute); l.count.Load() < want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) || t.Failed() {
			t.Fatalf("%d steps are acknowledged, want %d", l.count.Load(), want)
		}
	}
}

// underFaults writes at a store and follows its feed while fault runs, and compares the
// acknowledgements with the feed, with that of a new store, and with its threads.
func underFaults(t *testing.T, c jetstream.Config, fault func(l *load)) {
	s, follower := opened(t, c), opened(t, c)
	l := &load{steps: map[string]thread.Rev{}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	seen := map[string]thread.Rev{}
	enough := errors.New("enough")
	var last atomic.Value // operation after whose step the follower ends
	last.Store("")
	followed := make(chan error, 1)
	go func() {
		followed <- follower.Feed(t.Context(), "", func(c thread.Change) error {
			if c.Level {
				return nil
			}
			if _, twice := seen[c.Envelope.Op]; twice {
				return fmt.Errorf("%s came twice", c.Envelope.Op)
			}
			seen[c.Envelope.Op] = c.Rev
			if c.Envelope.Op == last.Load() {
				return enough
			}
			return nil
		})
	}()
	var writing sync.WaitGroup
	writing.Go(func() { l.run(ctx, t, s, 1, 8) })
	l.await(t, 50)
	fault(l)
	l.await(t, 50)
	stop()
	writing.Wait()
	last.Store("the end")
	end := storetest.Step("2026-03-02-001", "agent", "", storetest.Start)
	end.Envelope.Op = "the end"
	if _, err := s.Append(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	if err := <-followed; !errors.Is(err, enough) {
		t.Fatalf("Feed: %v", err)
	}
	stored := map[string]thread.Rev{}
	c.SyncAlways, c.Monitors = true, nil // a server may be down
	err := thread.ReadAll(t.Context(), opened(t, c), "", func(c thread.Change) error {
		if _, twice := stored[c.Envelope.Op]; twice && !c.Level {
			t.Errorf("%s is stored twice", c.Envelope.Op)
		}
		stored[c.Envelope.Op] = c.Rev
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for op, rev := range l.steps {
		if seen[op] != rev || stored[op] != rev {
			t.Errorf("%s was acknowledged as revision %s; a follower got %q, and the store has %q", op, rev, seen[op], stored[op])
		}
	}
	t.Logf("%d acknowledged steps", len(l.steps))
}

// A killed server that starts again has all acknowledged steps, each once, and the feed goes on.
func TestKilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	underFaults(t, config(1, server), func(l *load) {
		for range 2 {
			server.Kill()
			server.Restart()
			l.await(t, 50)
		}
	})
}

// While one of three servers is killed, the other two go on, with all acknowledged steps.
func TestClusterLosesOneServer(t *testing.T) {
	t.Parallel()
	servers := natsserver.StartCluster(t, 3, natsserver.Options{Sync: "always"})
	c := config(3, servers...)
	c.SyncAlways = false
	for _, s := range servers {
		c.Monitors = append(c.Monitors, s.Monitor())
	}
	s := opened(t, c)
	if p := s.Promise(); !p.Kept || p.Replicas != 3 || p.Source != jetstream.FromServers {
		t.Errorf("promise: %+v", p)
	}
	underFaults(t, c, func(l *load) {
		at := s.Connected()
		for _, one := range servers {
			if one.URL() == at { // the writers may be at this server too, or at another one
				one.Kill()
			}
		}
		l.await(t, 50)
		if p := opened(t, c).Promise(); !p.Kept || len(p.Down) != 1 { // a node can start now
			t.Errorf("promise while a server is down: %+v", p)
		}
	})
}

// A store whose answer is lost after the server has stored a write finds the write again, and does not
// repeat it: a new thread with a key, a step, and a document.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	l := link.New(t, server.Address())
	c := config(1, server)
	direct := opened(t, c)
	c.URLs = []string{"nats://" + l.Address()}
	s := opened(t, c)
	changes := changesOf(t, direct)
	if first := <-changes; !first.Level {
		t.Fatalf("an empty store has a change: %+v", first)
	}
	// lose runs a write whose first answer is lost, and returns its revision.
	lose := func(write func() (thread.Rev, error)) thread.Rev {
		t.Helper()
		l.Hold(link.Back)
		type outcome struct {
			rev thread.Rev
			err error
		}
		done := make(chan outcome, 1)
		go func() {
			rev, err := write()
			done <- outcome{rev, err}
		}()
		stored := <-changes // the server has it
		l.Sever()
		l.Heal()
		o := <-done
		if o.err != nil || o.rev != stored.Rev {
			t.Fatalf("the write has revision %q, %v; want %q", o.rev, o.err, stored.Rev)
		}
		return o.rev
	}
	today := time.Now().Format(time.DateOnly) + "-001" // the store reads before it stores an old one
	step := storetest.Step(today, "agent", "mine", storetest.Start)
	step.Envelope.Rev = lose(func() (thread.Rev, error) { return s.Append(t.Context(), step) })
	claimed := claim(step.Envelope, "executor")
	lose(func() (thread.Rev, error) { return s.Append(t.Context(), claimed) })
	lose(func() (thread.Rev, error) { return s.Put(t.Context(), "executor", "lamp", []byte("{}"), "") })
	if _, err := s.Append(t.Context(), claim(step.Envelope, "other")); !errors.Is(err, thread.ErrStale) {
		t.Errorf("a claim after the lost one: %v, want ErrStale", err)
	}
	th, _, err := s.Read(t.Context(), today)
	if err != nil || len(th.Messages) != 2 || th.Executor != "executor" {
		t.Errorf("the thread has %d messages and the executor %q, %v; want 2", len(th.Messages), th.Executor, err)
	}
	if n := len(changes); n != 0 {
		t.Errorf("the feed has %d more changes", n)
	}
}
