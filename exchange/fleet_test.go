package exchange_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// worker is the i-th of many executors.
func worker(i int) exchange.Actor {
	return exchange.Actor{ID: fmt.Sprintf("pi-%05d", i), Roles: exchange.ExecutorRole}
}

// workersWithOffer returns the workers among the first n that have an offer of a thread.
func (h *harness) workersWithOffer(ref string, n int) (offered []int) {
	for i := range n {
		if h.x.HasOffer(ref, worker(i).ID) {
			offered = append(offered, i)
		}
	}
	return offered
}

// Many executors can do a request: a few get an offer at first, and all get one soon. Each of them
// may read and claim the thread at once.
func TestFewExecutorsGetFirstOffers(t *testing.T) {
	withHarness(t, func(h *harness) {
		for i := range 40 {
			h.register(worker(i), "clean")
		}
		ref := h.send(agent, "request: {intent: clean, requires: [clean]}").Ref
		first := h.workersWithOffer(ref, 40)
		if len(first) != 16 {
			t.Fatalf("%d have an offer at first", len(first))
		}
		e := h.thread(ref).Envelope
		for i := range 40 {
			if !h.x.MaySee(worker(i), e) {
				t.Errorf("%s does not see it", worker(i).ID)
			}
		}
		h.send(worker(first[0]), "status: {re: "+ref+", code: declined, reason: busy}")
		if n := len(h.workersWithOffer(ref, 40)); n < 31 {
			t.Errorf("%d have an offer after one has declined", n)
		}
		h.advance(3 * time.Second)
		if n := len(h.workersWithOffer(ref, 40)); n != 39 {
			t.Errorf("%d have an offer after three seconds, want all but who has declined", n)
		}

		// An executor without an offer claims the thread.
		ref = h.send(agent, "request: {intent: clean, requires: [clean]}").Ref
		for i := range 40 {
			if !h.x.HasOffer(ref, worker(i).ID) {
				h.send(worker(i), "status: {re: "+ref+", code: claimed}")
				break
			}
		}
		h.wantStatus(ref, mess.Claimed)
		if n := len(h.workersWithOffer(ref, 40)); n != 0 {
			t.Errorf("%d have an offer of what is claimed", n)
		}
	})
}

// The first offers go to live executors that are not drained. An executor that comes back gets
// offers of the pending threads.
func TestLiveExecutorsGetOffers(t *testing.T) {
	withHarness(t, func(h *harness) {
		for i := range 60 {
			h.register(worker(i), "clean")
		}
		h.advance(2 * time.Minute) // all are silent
		for i := range 20 {
			h.send(worker(i), "config: {executor: {id: "+worker(i).ID+", holding: []}}")
		}
		h.send(person, "config: {hold: {executors: ["+worker(0).ID+", "+worker(1).ID+"]}}")
		ref := h.send(agent, "request: {intent: clean, requires: [clean]}").Ref
		offered := h.workersWithOffer(ref, 60)
		if len(offered) != 16 {
			t.Errorf("%v have an offer", offered)
		}
		for _, i := range offered {
			if i < 2 || i >= 20 {
				t.Errorf("%d has an offer: it is drained, or silent", i)
			}
		}
		h.advance(4 * time.Second)
		if n := len(h.workersWithOffer(ref, 20)); n != 18 {
			t.Errorf("%d of those who are there have an offer after a while", n)
		}
		h.send(worker(30), "config: {executor: {id: "+worker(30).ID+", holding: []}}")
		h.send(person, "config: {resume: {executors: ["+worker(0).ID+"]}}")
		h.register(worker(70), "clean")
		for _, i := range []int{0, 30, 70} {
			if !h.x.HasOffer(ref, worker(i).ID) {
				t.Errorf("%d is there now, and has no offer", i)
			}
		}
	})
}

// A person registers while a large fleet of robots has the offers of a thread. She gets an offer
// after the time of the robots.
func TestLateExecutorGetsOffer(t *testing.T) {
	withHarness(t, func(h *harness) {
		const robots = 300
		beat := func() {
			for i := range robots {
				h.send(worker(i), "config: {executor: {id: "+worker(i).ID+", holding: []}}")
			}
		}
		for i := range robots {
			h.register(worker(i), "clean")
		}
		ref := h.send(agent, "request: {intent: clean, requires: [clean]}").Ref
		h.advance(5 * time.Second)
		h.send(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [clean], kind: person}}")
		if h.x.HasOffer(ref, kitchen.ID) {
			t.Error("she has an offer in the time of the robots")
		}
		for range 3 {
			h.advance(25 * time.Second)
			beat()
		}
		if n := len(h.workersWithOffer(ref, robots)); n != robots || !h.x.HasOffer(ref, kitchen.ID) {
			t.Errorf("%d robots have an offer, and she has one: %v", n, h.x.HasOffer(ref, kitchen.ID))
		}
	})
}

// More threads wait than the executors can claim: each executor has at least 64 offers. When
// threads end, the executors get offers of the rest.
func TestOffersAreRefilledAfterEnds(t *testing.T) {
	withHarness(t, func(h *harness) {
		const workers, requests = 20, 120
		var refs []string
		for i := range workers {
			h.register(worker(i), "clean")
		}
		for range requests {
			refs = append(refs, h.send(agent, "request: {intent: clean, requires: [clean]}").Ref)
		}
		h.advance(5 * time.Second)
		has := func(i int) (n int) {
			for _, ref := range refs {
				if h.x.HasOffer(ref, worker(i).ID) {
					n++
				}
			}
			return n
		}
		for i := range workers {
			if n := has(i); n < 64 || n == requests {
				t.Errorf("%d has %d offers, want 64 or some more", i, n)
			}
		}
		for len(refs) > 10 {
			h.send(agent, "cancel: {re: "+refs[0]+"}")
			refs = refs[1:]
		}
		h.advance(time.Second)
		for i := range workers {
			if n := has(i); n != 10 {
				t.Errorf("%d has %d offers of the 10 requests that are left", i, n)
			}
		}
	})
}

// putCounter counts the documents that an exchange writes.
type putCounter struct {
	exchange.Store
	puts int
}

func (c *putCounter) Put(ctx context.Context, kind, id string, doc []byte, after thread.Rev) (thread.Rev, error) {
	c.puts++
	return c.Store.Put(ctx, kind, id, doc, after)
}

// A registration without a change writes no document, and counts as a heartbeat.
func TestUnchangedRegistrationIsNotWritten(t *testing.T) {
	store := &putCounter{Store: memory.New()}
	withHarnessOver(t, store, exchange.DefaultConfig(), func(h *harness) {
		register := "config: {executor: {id: kitchen-pi, capabilities: [{x: {floor: 1}}], areas: [kitchen], latency: 30, holding: []}}"
		h.send(kitchen, register)
		was := store.puts
		h.stop()
		h.open(exchange.DefaultConfig())
		h.advance(time.Minute)
		h.send(kitchen, register)
		if store.puts != was {
			t.Errorf("an unchanged registration wrote %d documents, want 0", store.puts-was)
		}
		if e := h.x.Executors()[0]; !e.Live || !e.LastSeen.Equal(time.Now()) {
			t.Errorf("the registration is no heartbeat: live %v, seen %v", e.Live, e.LastSeen)
		}
		h.send(kitchen, "config: {executor: {id: kitchen-pi, latency: 31, holding: []}}")
		if store.puts != was+1 {
			t.Error("a change is not written")
		}
	})
}

// concurrentPuts is a store whose first writes wait for the third one.
type concurrentPuts struct {
	exchange.Store
	mu      sync.Mutex
	at      map[string]int // number of writers, by document
	n, most int
	met     chan struct{}
}

func (m *concurrentPuts) Put(ctx context.Context, kind, id string, doc []byte, after thread.Rev) (thread.Rev, error) {
	m.mu.Lock()
	m.at[id]++
	m.most = max(m.most, m.at[id])
	if m.n++; m.n == 3 {
		close(m.met)
	}
	m.mu.Unlock()
	<-m.met
	time.Sleep(time.Millisecond) // of the test's own clock: all possible writers have begun
	m.mu.Lock()
	m.at[id]--
	m.mu.Unlock()
	return m.Store.Put(ctx, kind, id, doc, after)
}

func registration(actor exchange.Actor, capability string) string {
	return "config: {executor: {id: " + actor.ID + ", capabilities: [" + capability + "]}}"
}

// The exchange writes several documents concurrently, so that they share a sync of the disk. One
// document has one writer at a time, so that the newest version stays.
func TestConcurrentDocumentsShareSync(t *testing.T) {
	store := &concurrentPuts{Store: memory.New(), at: map[string]int{}, met: make(chan struct{})}
	withHarnessOver(t, store, exchange.DefaultConfig(), func(h *harness) {
		var g sync.WaitGroup
		for i := range 3 {
			g.Go(func() { h.post(worker(i), registration(worker(i), "x")) })
		}
		g.Wait()
		for i := range 10 {
			g.Go(func() { h.post(worker(0), registration(worker(0), fmt.Sprintf("x%d", i))) })
		}
		g.Wait()
		if store.most != 1 {
			t.Errorf("%d write one document at the same time", store.most)
		}
	})
}
