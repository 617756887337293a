package agent

import (
	"context"
	"errors"
	"maps"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// Run works until ctx ends. It starts the devices, registers, reports the unfinished threads of
// an earlier run, and takes offers. When ctx ends, it stops the running work, reports the
// results within Config.EndTime, and takes every device to its safe state.
func (a *Agent) Run(ctx context.Context) (err error) {
	defer func() {
		err = errors.Join(err, haltAll(context.WithoutCancel(ctx), a.gate, a.log, maps.Values(a.devices)))
	}()
	defer a.runTimers(ctx)()
	defer a.runStops(ctx)()
	if err := a.journal.Run(ctx, a.boot); err != nil {
		a.log.Error("the name of this process is not written down; if it dies at a start, nobody gives that thread back", "err", err)
	}
	startAll(ctx, a.gate, maps.Values(a.devices), a.log)
	a.look(ctx)
	ack, err := a.register(ctx)
	if err != nil {
		return ended(ctx, err)
	}
	told, _ := a.position()
	failing := a.failing()
	a.heed(ack.Stops)
	a.heedHold(ack.Drain, ack.Resume, "")
	a.agree(ack.Threads)
	unbegun := a.recover(ctx, ack.Threads)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.receive(gctx) })
	g.Go(func() error { return a.heartbeat(gctx, told) })
	g.Go(func() error { return a.dispatch(gctx) })
	g.Go(func() error { return a.deliverMail(gctx) })
	g.Go(func() error { return a.tend(gctx) })
	g.Go(func() error { return a.watchStates(gctx) })
	g.Go(func() error { return a.tellFailing(gctx, failing) })
	g.Go(func() error { a.giveBack(gctx, unbegun); return nil })
	for _, t := range a.lately {
		g.Go(func() error { a.watchLate(gctx, t); return nil })
	}
	err = g.Wait()
	a.lastMail(context.WithoutCancel(ctx))
	a.look(context.WithoutCancel(ctx)) // the disk may accept the unwritten records now
	return ended(ctx, err)
}

// runTimers switches devices off when their time is over, even without the exchange, until the
// caller calls stop.
func (a *Agent) runTimers(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var g errgroup.Group
	g.Go(func() error { return a.gate.Run(ctx) })
	return func() {
		cancel()
		_ = g.Wait() // it returns nil when ctx ends
	}
}

// ended returns err, or nil if the end of ctx caused it.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// versions lists the MESS versions of the agent; confirm_before needs 1.1.
var versions = []string{"1.0.0", "1.1.0"}

// register reports the executor's identity and capabilities to the exchange.
func (a *Agent) register(ctx context.Context) (mess.Ack, error) {
	m, acts := a.registration()
	ack, err := a.say(ctx, m)
	if err == nil {
		a.reach.heard(true)
		a.knows(acts)
		a.wants(ack)
		a.log.Info("registered", "executor", a.cfg.ID)
	}
	return ack, err
}

// receive processes the messages of the exchange. It restores a lost connection and registers
// again.
func (a *Agent) receive(ctx context.Context) error {
	var back errgroup.Group
	defer func() { _ = back.Wait() }() // they return no errors
	pause := a.backoff()
	for {
		began := a.now()
		err := a.x.Receive(ctx, a.deliver)
		if ctx.Err() != nil {
			return nil
		}
		if a.now().Sub(began) >= healthy {
			pause = a.backoff()
		}
		a.reach.heard(false)
		a.log.Warn("connection to the exchange lost", "err", err)
		if !pause.sleep(ctx) {
			return nil
		}
		asked := a.now()
		ack, err := a.register(ctx)
		if err != nil {
			return ended(ctx, err)
		}
		a.heed(ack.Stops)
		a.heedHold(ack.Drain, ack.Resume, "")
		a.agree(ack.Threads)
		a.findStrays(ctx, &back, asked, ack.Threads)
	}
}

// dispatch works on the offers, each in its own goroutine, and waits for all of them at the
// end.
func (a *Agent) dispatch(ctx context.Context) error {
	var g errgroup.Group
	for ctx.Err() == nil {
		for t := a.next(); t != nil; t = a.next() {
			g.Go(func() error {
				a.workOn(ctx, t)
				a.watchLate(ctx, t)
				return nil
			})
		}
		select {
		case <-ctx.Done():
		case <-a.work:
		}
	}
	return g.Wait()
}

// next returns a waiting thread and gives it a place, nil if there is none. Claims of an
// earlier run come first and need no free place; then come the offers. Under a drain offers
// stay in the queue, except during a stop, which declines them.
func (a *Agent) next() *task {
	stopped := a.gate.StopRejection() != nil
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.claimed) > 0 {
		t := a.claimed[0]
		a.claimed = a.claimed[1:]
		if !t.over {
			a.enters(t)
			return t
		}
		a.forget(t)
	}
	if a.hold.why != "" && !stopped {
		return nil
	}
	for {
		o := a.offers.next(func(by string) bool { return a.shares.mayWork(by, a.cfg.MaxThreads) })
		if o == nil {
			return nil
		}
		t, err := o.task(a)
		if err != nil {
			a.log.Error("an offer is left to others", "ref", o.ref, "err", err)
			continue
		}
		a.tasks[t.ref] = t
		a.enters(t)
		return t
	}
}

// workOn works on one thread until its final report is in the outbox.
func (a *Agent) workOn(ctx context.Context, t *task) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !a.begins(t, cancel) {
		return
	}
	t.run(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.leaves(t)
	a.forget(t)
	wait.Notify(a.mail)
}

// begins records how to cancel the work on a thread. It returns false if the thread is already
// over.
func (a *Agent) begins(t *task, cancel context.CancelCauseFunc) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.over {
		a.leaves(t)
		a.forget(t)
		return false
	}
	t.cancel = cancel
	if t.early != nil {
		cancel(t.early)
	}
	return true
}

// forget removes a thread, unless a new offer of it has arrived. The caller holds mu.
func (a *Agent) forget(t *task) {
	delete(a.tasks, t.ref)
	if t.offered != nil && t.dropped {
		a.await(newOffer(t.ref, t.by, *t.offered))
	}
}
