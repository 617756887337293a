package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/wait"
)

// Run simulates the fleet and returns the report. self is the file of the messkit program. Run
// calls progress from time to time with a line of text, and writes the log of an exchange that it
// starts to errs. The caller calls leave after it has printed the report: it ends the exchange and
// removes its folder, or removes the fleet from a running one, which takes minutes after a long run.
// leave is nil after an error.
func Run(ctx context.Context, c Config, self string, progress func(string), errs io.Writer) (r Report, leave func() error, err error) {
	run := newRun()
	actors := map[string]exchange.Role{}
	for i := range c.Executors {
		actors[executorID(run, i)] = exchange.ExecutorRole | exchange.Requester
	}
	for _, p := range c.protocols() {
		for i := range c.requesters() {
			actors[requesterID(run, p, i)] = exchange.Requester
		}
	}
	progress(fmt.Sprintf("making keys for %d actors", len(actors)))
	t, err := open(ctx, c, self, actors, errs)
	if err != nil {
		return r, nil, err
	}
	f := &flight{Config: c, target: t, run: run, ledger: newLedger(), progress: progress}
	if r, err = f.fly(ctx); err != nil {
		return r, nil, errors.Join(err, t.end())
	}
	return r, t.end, nil
}

func open(ctx context.Context, c Config, self string, actors map[string]exchange.Role, errs io.Writer) (*target, error) {
	if len(c.URLs) == 0 {
		return start(ctx, c, self, actors, errs)
	}
	return join(ctx, c, actors)
}

// flight is one run.
type flight struct {
	Config
	*target
	run      string
	ledger   *ledger
	progress func(string)

	workers []*worker
	askers  []*asker
	up      atomic.Int64 // actors connected to the exchange
}

// lineOf is the connection of the actor with a number. Over HTTP, actors use the nodes by turns.
func (f *flight) lineOf(protocol, id string, i int, executor bool) line {
	if protocol == MQTT {
		return newMQTT(f.target.broker, f.id, id, f.keys[id], executor)
	}
	query := "after=now"
	if executor {
		query = "as=executor"
	}
	return &httpLine{web: f.nodes[i%len(f.nodes)], key: f.keys[id], query: query}
}

// fly connects everybody, sends the requests, waits for their ends, and judges.
func (f *flight) fly(ctx context.Context) (r Report, err error) {
	r = Report{Executors: f.Executors, Rate: f.Rate, Seconds: f.For.Seconds(), Protocol: f.Protocol, Lost: []string{}, Doubled: []string{}}
	live, land := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, func() { wait.For(live, grace); land() })() // the exchange forgets no executor that holds a claim
	var g errgroup.Group
	defer g.Wait()
	defer land()
	began := time.Now()
	f.connect(live, &g)
	if err := f.ready(ctx); err != nil {
		return r, err
	}
	r.ReadyIn = time.Since(began).Seconds()
	u := newUsage(f.nodes, f.operator)
	watching, watched := context.WithCancel(live)
	defer watched()
	var w errgroup.Group
	w.Go(func() error { u.watch(watching); return nil })
	g.Go(func() error { beat(live, f.workers, f.Heartbeat, f.ledger); return nil })
	g.Go(func() error { f.printProgress(live); return nil })
	send(ctx, live, f.askers, f.Config, f.run, f.ledger)
	watched()
	_ = w.Wait() // watch returns nil
	if spent := time.Since(began).Seconds() - r.ReadyIn; ctx.Err() != nil {
		r.Seconds = spent
	}
	f.drain(live)
	r.Load = load()
	land()
	_ = g.Wait() // every goroutine ends with live
	stored, err := f.settled(context.WithoutCancel(ctx))
	f.ledger.judge(stored, &r)
	if err != nil {
		r.Lost, r.Unfinished, r.Unread = nil, 0, err.Error()
	}
	u.report(&r)
	return r, nil
}

// connect starts all executors and requesters, a few at a time.
func (f *flight) connect(ctx context.Context, g *errgroup.Group) {
	for _, p := range f.protocols() {
		for i := range f.requesters() {
			id := requesterID(f.run, p, i)
			a := &asker{id: id, line: f.lineOf(p, id, i, false), ledger: f.ledger}
			f.askers = append(f.askers, a)
			g.Go(func() error { return a.follow(ctx, func() { f.up.Add(1) }) })
		}
	}
	for i := range f.Executors {
		id := executorID(f.run, i)
		f.workers = append(f.workers, &worker{id: id, capability: f.capability(i), line: f.lineOf(f.protocolOf(i), id, i/len(f.protocols()), true), ledger: f.ledger, beats: f.Heartbeat > 0})
	}
	places := make(chan struct{}, atOnce)
	g.Go(func() error {
		for _, w := range f.workers {
			select {
			case places <- struct{}{}:
			case <-ctx.Done():
				return nil
			}
			g.Go(func() error { return w.run(ctx, func() { f.up.Add(1); <-places }) })
		}
		return nil
	})
}

// grace is the time that an interrupted run has for the requests that it has sent.
const grace = 15 * time.Second

// atOnce is the number of executors that connect at the same time.
const atOnce = 64

// readyTime is the longest time without a newly ready actor before the run ends.
const readyTime = 2 * time.Minute

// ready waits until all have registered.
func (f *flight) ready(ctx context.Context) error {
	all, last, moved := int64(len(f.workers)+len(f.askers)), int64(0), time.Now()
	for n := f.up.Load(); n < all; n = f.up.Load() {
		if n != last {
			last, moved = n, time.Now()
		}
		if time.Since(moved) > readyTime {
			return fmt.Errorf("%d of %d executors and requesters are ready, and no more in %v; errors: %v", n, all, readyTime, f.ledger.kinds())
		}
		f.progress(fmt.Sprintf("%d of %d executors and requesters are ready", n, all))
		if !wait.For(ctx, 200*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// printProgress prints the progress of the run each second.
func (f *flight) printProgress(ctx context.Context) {
	began := time.Now()
	for wait.For(ctx, time.Second) {
		f.ledger.mu.Lock()
		text := fmt.Sprintf("%s of %s  %d created, %d claimed, %d completed, %d errors",
			min(f.For, time.Since(began)).Round(time.Second), f.For, f.ledger.created, f.ledger.claims, f.ledger.completed, sum(f.ledger.errors))
		f.ledger.mu.Unlock()
		f.progress(text)
	}
}

// A run waits for its open requests until no acknowledgement has arrived for idleTime, at most
// for drainTime.
const (
	idleTime  = 30 * time.Second
	drainTime = 10 * time.Minute
)

// drain waits until all requests have ended, or until no acknowledgement has arrived for
// idleTime.
func (f *flight) drain(ctx context.Context) {
	for end := time.Now().Add(drainTime); time.Now().Before(end); {
		n, since := f.ledger.open()
		if n <= 0 || since > idleTime || !wait.For(ctx, 50*time.Millisecond) {
			return
		}
	}
}

// settleTime is the time that a node has at the end to read what the others have written. It takes
// milliseconds unless the machine is busy.
const settleTime = 10 * time.Second

// settled reads the threads of all requesters, again if a node lacks an end that another one has
// acknowledged.
func (f *flight) settled(ctx context.Context) (map[string]string, error) {
	for end := time.Now().Add(settleTime); ; {
		stored, err := f.all(ctx)
		if err != nil || len(f.nodes) == 1 || !f.ledger.isAhead(stored) || time.Now().After(end) || !wait.For(ctx, 100*time.Millisecond) {
			return stored, err
		}
	}
}

// all reads the threads of all requesters.
func (f *flight) all(ctx context.Context) (map[string]string, error) {
	stored := map[string]string{}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for _, a := range f.askers {
		if err := f.stored(ctx, f.operator, a.id, stored); err != nil {
			return nil, err
		}
	}
	return stored, nil
}
