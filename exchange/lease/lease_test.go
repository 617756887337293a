package lease_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/lease"
)

// documents has the document of several exchanges.
type documents struct {
	mu  sync.Mutex
	doc []byte
}

// node is one exchange, whose link to the store can break.
type node struct {
	*documents
	cut atomic.Bool
}

var errCut = errors.New("no server answers")

func (n *node) ChannelDocument(string, string) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.doc
}

func (n *node) ChangeChannelState(_ context.Context, _, _ string, change func(doc []byte) ([]byte, error)) error {
	if n.cut.Load() {
		return errCut
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	doc, err := change(n.doc)
	if err == nil {
		n.doc = doc
	}
	return err
}

// fixture has several exchanges that want one lease.
type fixture struct {
	t       *testing.T
	nodes   []*node
	stops   []func()
	working atomic.Int32 // exchanges at work now
	holder  atomic.Int32
	term    atomic.Uint64
}

func withNodes(t *testing.T, n int, test func(f *fixture)) {
	synctest.Test(t, func(t *testing.T) {
		f, docs := &fixture{t: t}, &documents{}
		var all sync.WaitGroup
		for i := range n {
			one := &node{documents: docs}
			ctx, stop := context.WithCancel(t.Context())
			f.nodes, f.stops = append(f.nodes, one), append(f.stops, stop)
			l := lease.New(one, "notices", slog.New(slog.DiscardHandler))
			all.Go(func() {
				if err := l.Run(ctx, func(ctx context.Context, term uint64) error { return f.work(ctx, i, term, l) }); err != nil {
					t.Error(err)
				}
			})
		}
		f.settle(2 * time.Second)
		test(f)
		for _, stop := range f.stops {
			stop()
		}
		all.Wait()
	})
}

// work checks that nobody else works, and that terms rise.
func (f *fixture) work(ctx context.Context, node int, term uint64, l *lease.Lease) error {
	if f.working.Add(1) != 1 {
		f.t.Error("two exchanges work")
	}
	defer f.working.Add(-1)
	if was := f.term.Swap(term); was >= term {
		f.t.Errorf("term %d comes after %d", term, was)
	}
	f.holder.Store(int32(node))
	for ctx.Err() == nil {
		if !l.IsHeld() {
			f.t.Error("an exchange works without the lease")
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

func (f *fixture) settle(d time.Duration) { time.Sleep(d); synctest.Wait() }

// One exchange alone has the lease, as long as it can renew it.
func TestOneHolder(t *testing.T) {
	withNodes(t, 3, func(f *fixture) {
		first := f.term.Load()
		for range 60 {
			f.settle(10 * time.Second)
			if f.working.Load() != 1 {
				t.Fatalf("%d exchanges work, want 1", f.working.Load())
			}
		}
		if f.term.Load() != first {
			t.Errorf("the lease has moved from term %d to %d", first, f.term.Load())
		}
	})
}

// An exchange that ends gives the lease back, so that another one works within seconds.
func TestHolderEnds(t *testing.T) {
	withNodes(t, 3, func(f *fixture) {
		was := f.holder.Load()
		f.stops[was]()
		f.settle(3 * time.Second)
		if f.working.Load() != 1 || f.holder.Load() == was {
			t.Errorf("%d exchanges work, and the last one to begin is %d after %d", f.working.Load(), f.holder.Load(), was)
		}
	})
}

// An exchange that does not reach the store stops its work before another one begins. It works again
// when it gets the lease later.
func TestHolderLosesStore(t *testing.T) {
	withNodes(t, 2, func(f *fixture) {
		for range 3 {
			was := f.holder.Load()
			f.nodes[was].cut.Store(true)
			f.settle(16 * time.Second)
			if f.working.Load() != 0 {
				t.Error("an exchange without the store works after 16 s")
			}
			f.settle(10 * time.Second)
			if f.working.Load() != 1 || f.holder.Load() == was {
				t.Fatalf("%d exchanges work; the last one to begin is %d after %d", f.working.Load(), f.holder.Load(), was)
			}
			f.nodes[was].cut.Store(false)
			f.settle(5 * time.Second)
		}
	})
}

// A short loss of the store does not move the lease.
func TestShortLossOfStore(t *testing.T) {
	withNodes(t, 3, func(f *fixture) {
		term := f.term.Load()
		for _, n := range f.nodes {
			n.cut.Store(true)
		}
		f.settle(9 * time.Second)
		for _, n := range f.nodes {
			n.cut.Store(false)
		}
		f.settle(time.Minute)
		if f.term.Load() != term || f.working.Load() != 1 {
			t.Errorf("the lease has term %d after %d, and %d exchanges work", f.term.Load(), term, f.working.Load())
		}
	})
}
