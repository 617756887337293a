package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/test/link"
	"github.com/messkit/messkit/internal/test/natsserver"
)

const (
	rigServers = 3
	rigThreads = 12
	rigWriters = 4                // of each node
	rigFaults  = 8                // in make test
	rigBack    = time.Minute      // within which each node writes again; the machine may be busy
	rigEnd     = 90 * time.Second // within which the feed has everything
)

// rig is three NATS servers with three nodes. A test can kill and freeze the servers, cut them off from
// each other, and cut nodes off from servers.
type rig struct {
	*testing.T
	servers []*natsserver.Server
	routes  routes
	clients [rigServers][rigServers]*link.Link // from a node to a server
	nodes   []*jetstream.Store
	cfg     jetstream.Config // of a client without links

	firsts map[string]thread.Rev // revision of each new thread, by ref

	acked [rigServers]atomic.Int64 // claims that the store has accepted or rejected, by node
	clock atomic.Int64             // counts beginnings and ends of calls
	mu    sync.Mutex
	calls []rigCall
	slow  time.Duration // the longest time until a node wrote again
}

// rigCall is a call of a writer: it claims a thread after a revision, or reads its revision.
type rigCall struct {
	writer     int
	begin, end int64 // on the clock of the rig; an end without a result is the end of time
	ref, op    string
	after      thread.Rev // "": it reads
	rev        thread.Rev // that was read, or that the claim has made
	stored     bool       // the store has the claim
	unknown    bool       // it has ended without a result
}

// routes has the links between servers, by the numbers of the one that connects and of the other one.
type routes map[[2]int]*link.Link

// add returns the option of a cluster that puts a link into each route.
func (r routes) add(t *testing.T) func(from, to int, address string) string {
	return func(from, to int, address string) string {
		l := link.New(t, address)
		r[[2]int{from, to}] = l
		return l.Address()
	}
}

// of returns the links between a server and the others.
func (r routes) of(server int) (links []*link.Link) {
	for ends, l := range r {
		if ends[0] != ends[1] && (ends[0] == server || ends[1] == server) {
			links = append(links, l)
		}
	}
	return links
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, routes: routes{}, firsts: map[string]thread.Rev{}}
	r.servers = natsserver.StartCluster(t, rigServers, natsserver.Options{Sync: "always", Route: r.routes.add(t)})
	r.cfg = config(rigServers, r.servers...)
	for n := range rigServers {
		c := r.cfg
		c.URLs = nil
		for i, s := range r.servers {
			r.clients[n][i] = link.New(t, s.Address())
			c.URLs = append(c.URLs, "nats://"+r.clients[n][i].Address())
		}
		r.nodes = append(r.nodes, opened(t, c))
	}
	return r
}

// write reads and claims threads at a node until ctx ends.
func (r *rig) write(ctx context.Context, node, writer int) {
	for n := 0; ctx.Err() == nil; n++ {
		c := rigCall{writer: writer, ref: ref(1 + rand.IntN(rigThreads)), begin: r.clock.Add(1)}
		th, rev, err := r.nodes[node].Read(context.WithoutCancel(ctx), c.ref)
		if err != nil {
			continue // a read without an answer says nothing
		}
		c.rev, c.end = rev, r.clock.Add(1)
		r.add(c)
		step := claim(th.Envelope, fmt.Sprint("pi-", writer))
		step.After, step.Envelope.Op = rev, fmt.Sprint("w", writer, "-", n)
		c = rigCall{writer: writer, ref: c.ref, op: step.Envelope.Op, after: rev, begin: r.clock.Add(1)}
		c.rev, err = r.nodes[node].Append(context.WithoutCancel(ctx), step)
		c.end, c.stored = r.clock.Add(1), err == nil
		c.unknown = err != nil && !errors.Is(err, thread.ErrStale)
		if !c.unknown {
			r.acked[node].Add(1)
		}
		r.add(c)
	}
}

func (r *rig) add(c rigCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
}

// fault causes one random fault of a server or of a node's connection, and ends it.
func (r *rig) fault() {
	victim, node := rand.IntN(rigServers), rand.IntN(rigServers)
	long := time.Duration(500+rand.IntN(5000)) * time.Millisecond
	switch kind := rand.IntN(6); kind {
	case 0:
		r.servers[victim].Kill()
		r.settle()
		r.servers[victim].Restart()
	case 1:
		r.servers[victim].Freeze()
		<-time.After(long)
		r.servers[victim].Thaw()
	case 2, 3: // a server without the others: cut off, or with routes that stand still
		disturb(r.routes.of(victim), kind == 2, long)
	case 4: // one direction of one route stands still
		route := r.routes[[2]int{victim, (victim + 1) % rigServers}]
		route.Hold(link.Direction(rand.IntN(2)))
		<-time.After(long)
		route.Heal()
	case 5: // a node without one server
		disturb(r.clients[node][victim:victim+1], rand.IntN(2) == 0, long)
	}
	r.settle()
}

// disturb cuts links or has them stand still, for a time.
func disturb(links []*link.Link, cut bool, d time.Duration) {
	for _, l := range links {
		if cut {
			l.Sever()
		} else {
			l.Hold(link.Forth, link.Back)
		}
	}
	<-time.After(d)
	for _, l := range links {
		l.Heal()
	}
}

// settle waits until each node has an answer to a write again.
func (r *rig) settle() {
	r.Helper()
	begin := time.Now()
	for node := range r.nodes {
		want := r.acked[node].Load() + rigWriters + 1 // the answers that were under way do not count
		for ; r.acked[node].Load() < want; <-time.After(10 * time.Millisecond) {
			if time.Since(begin) > rigBack {
				r.Fatalf("node %d has no answer to a write within %v", node, rigBack)
			}
		}
	}
	r.slow = max(r.slow, time.Since(begin))
}

// Servers die, freeze and lose each other while three nodes claim the same threads. The store has each
// acknowledged claim once, the feed of a node brings each once, and the history of each thread is
// linearizable. MESSKIT_CLUSTER is the number of faults.
func TestClusterUnderFaults(t *testing.T) {
	t.Parallel()
	faults := rigFaults
	if text := os.Getenv("MESSKIT_CLUSTER"); text != "" {
		var err error
		if faults, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	r := newRig(t)
	for n := range rigThreads {
		rev, err := r.nodes[0].Append(t.Context(), storetest.Step(ref(n+1), "agent", "", storetest.Start))
		if err != nil {
			t.Fatal(err)
		}
		r.firsts[ref(n+1)] = rev
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	followed := r.follow(ctx)
	var writing sync.WaitGroup
	for w := range rigServers * rigWriters {
		writing.Go(func() { r.write(ctx, w%rigServers, w) })
	}
	r.settle()
	begin := time.Now()
	for range faults {
		r.fault()
	}
	took := time.Since(begin)
	stop()
	writing.Wait()
	r.judge(followed)
	t.Logf("%d faults in %v, %d calls; the longest time until all nodes wrote again: %v", faults, took.Round(time.Second), len(r.calls), r.slow.Round(10*time.Millisecond))
}

// follow follows the feed of a node until it has brought the step with the operation "the end". The
// channel then has the claims, or an error.
func (r *rig) follow(ctx context.Context) <-chan followed {
	done := make(chan followed, 1)
	go func() {
		f := followed{claims: map[string]thread.Rev{}}
		enough := errors.New("enough")
		err := r.nodes[1].Feed(context.WithoutCancel(ctx), "", func(c thread.Change) error {
			if c.Level || !strings.HasPrefix(c.Envelope.Op, "w") {
				if c.Envelope.Op == "the end" {
					return enough
				}
				return nil
			}
			if _, twice := f.claims[c.Envelope.Op]; twice {
				return fmt.Errorf("%s came twice", c.Envelope.Op)
			}
			f.claims[c.Envelope.Op] = c.Rev
			return nil
		})
		if !errors.Is(err, enough) {
			f.err = fmt.Errorf("Feed: %w", err)
		}
		done <- f
	}()
	return done
}

type followed struct {
	claims map[string]thread.Rev // revisions by operation
	err    error
}

// judge compares the acknowledgements with the store and with the feed, and checks the histories.
func (r *rig) judge(feed <-chan followed) {
	end := storetest.Step("2026-03-02-001", "agent", "", storetest.Start)
	end.Envelope.Op = "the end"
	s := opened(r.T, r.cfg)
	if _, err := s.Append(r.Context(), end); err != nil {
		r.Fatal(err)
	}
	stored := map[string]thread.Rev{}
	if err := thread.ReadAll(r.Context(), s, "", func(c thread.Change) error {
		if _, twice := stored[c.Envelope.Op]; twice && strings.HasPrefix(c.Envelope.Op, "w") {
			r.Errorf("%s is stored twice", c.Envelope.Op)
		}
		stored[c.Envelope.Op] = c.Rev
		return nil
	}); err != nil {
		r.Fatal(err)
	}
	history := map[string][]porcupine.Operation{}
	for _, c := range r.calls {
		rev, is := stored[c.op]
		switch {
		case c.unknown && !is:
			continue // it was not done
		case c.unknown:
			c.stored, c.rev, c.end = true, rev, math.MaxInt64
		case c.stored && rev != c.rev:
			r.Errorf("%s was acknowledged as revision %s; the store has %q", c.op, c.rev, rev)
		case c.after != "" && !c.stored && is:
			r.Errorf("%s was rejected, and the store has it", c.op)
		}
		history[c.ref] = append(history[c.ref], porcupine.Operation{ClientId: c.writer, Call: c.begin, Output: c, Return: c.end})
	}
	for ref, one := range history {
		if result := porcupine.CheckOperationsTimeout(claims(r.firsts[ref]), one, time.Minute); result != porcupine.Ok {
			r.Errorf("%s: the history of %d calls is %s", ref, len(one), result)
		}
	}
	select {
	case f := <-feed:
		if f.err != nil {
			r.Fatal(f.err)
		}
		for op, rev := range stored {
			if strings.HasPrefix(op, "w") && f.claims[op] != rev {
				r.Errorf("%s is revision %s, and the feed has brought %q", op, rev, f.claims[op])
			}
		}
	case <-time.After(rigEnd):
		r.Fatal("the feed of a node does not reach the last step")
	}
}

// claims is the model of a thread, whose state is its revision.
func claims(first thread.Rev) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return first },
		Step: func(state, _, output any) (bool, any) {
			rev, c := state.(thread.Rev), output.(rigCall)
			switch {
			case c.after == "":
				return c.rev == rev, rev
			case c.stored:
				return c.after == rev, c.rev
			}
			return c.after != rev, rev
		},
	}
}

// The model accepts claims that follow each other, and nothing else.
func TestModelOfClaims(t *testing.T) {
	read := func(rev thread.Rev, begin, end int64) rigCall { return rigCall{rev: rev, begin: begin, end: end} }
	claimed := func(after, rev thread.Rev, begin, end int64) rigCall {
		return rigCall{after: after, rev: rev, stored: true, begin: begin, end: end}
	}
	rejected := func(after thread.Rev, begin, end int64) rigCall {
		return rigCall{after: after, begin: begin, end: end}
	}
	for name, c := range map[string]struct {
		calls []rigCall
		want  bool
	}{
		"one after the other":         {[]rigCall{read("1", 1, 2), claimed("1", "5", 3, 4), read("5", 5, 6), claimed("5", "7", 7, 8)}, true},
		"a read beside a claim":       {[]rigCall{claimed("1", "5", 1, 4), read("1", 2, 3)}, true},
		"the loser of two":            {[]rigCall{claimed("1", "5", 1, 3), rejected("1", 2, 4)}, true},
		"two claims of one revision":  {[]rigCall{claimed("1", "5", 1, 3), claimed("1", "6", 2, 4)}, false},
		"an old read":                 {[]rigCall{claimed("1", "5", 1, 2), read("1", 3, 4)}, false},
		"a read before its claim":     {[]rigCall{read("5", 1, 2), claimed("1", "5", 3, 4)}, false},
		"a rejection without a cause": {[]rigCall{rejected("1", 1, 2), claimed("1", "5", 3, 4)}, false},
	} {
		var history []porcupine.Operation
		for i, one := range c.calls {
			history = append(history, porcupine.Operation{ClientId: i, Output: one, Call: one.begin, Return: one.end})
		}
		if got := porcupine.CheckOperations(claims("1"), history); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
