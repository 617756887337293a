package agent

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/session"
	"github.com/messkit/messkit/mess"
)

// Run runs the executor until ctx ends. It starts the devices, registers, reports the unfinished
// threads of an earlier run, and takes offers. When ctx ends, it stops the running work, reports the
// results within Config.EndTime, and takes every device to its safe state. Then it returns nil, or
// an error that names the devices that are not known to be safe.
func (a *Agent) Run(ctx context.Context) (err error) {
	defer func() {
		err = errors.Join(err, a.devices.HaltAll(context.WithoutCancel(ctx)))
	}()
	defer a.runTimers(ctx)()
	defer a.runStops(ctx)()
	if err := a.journal.Run(ctx, a.session.Instance); err != nil {
		a.log.Error("the journal does not take the name of this process; if the process dies at a start, no executor returns that thread", "err", err)
	}
	a.devices.StartAll(ctx)
	a.health.check(ctx)
	ack, err := a.register(ctx)
	if err != nil {
		return nilAtEnd(ctx, err)
	}
	reported, _ := a.restrictions()
	failing := a.devices.Failing()
	a.applyStops(ack.Stops)
	a.drain.apply(ack.Drain, ack.Resume, "")
	a.tasks.ApplyHeartbeatAnswer(ack.Threads)
	notStarted := a.tasks.Recover(ctx, ack.Threads)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.receive(gctx) })
	g.Go(func() error { return a.heartbeat(gctx, reported) })
	g.Go(func() error { return a.tasks.Run(gctx, notStarted) })
	g.Go(func() error { return a.watchJournal(gctx) })
	g.Go(func() error { return a.states.Run(gctx) })
	g.Go(func() error { return a.devices.ReportFailing(gctx, a.session, failing) })
	err = g.Wait()
	a.tasks.DeliverLast(context.WithoutCancel(ctx))
	a.health.check(context.WithoutCancel(ctx)) // the disk may accept the unwritten records now
	return nilAtEnd(ctx, err)
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

// nilAtEnd returns err, or nil if the end of ctx caused it.
func nilAtEnd(ctx context.Context, err error) error {
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
	ack, err := a.session.Say(ctx, m)
	if err == nil {
		a.session.SetAnswered(true)
		a.health.setReported(acts)
		a.states.Apply(ack)
		a.log.Info("registered", "executor", a.cfg.ID)
	}
	return ack, err
}

// receive processes the messages of the exchange. It restores a lost connection and registers
// again.
func (a *Agent) receive(ctx context.Context) error {
	var reconciling errgroup.Group
	defer func() { _ = reconciling.Wait() }() // they return no errors
	pause := a.session.Backoff()
	for {
		began := a.now()
		err := a.session.Receive(ctx, a.deliver)
		if ctx.Err() != nil {
			return nil
		}
		if a.now().Sub(began) >= session.Healthy {
			pause = a.session.Backoff()
		}
		a.session.SetAnswered(false)
		a.log.Warn("connection to the exchange lost", "err", err)
		if !pause.Sleep(ctx) {
			return nil
		}
		sentAt := a.now()
		ack, err := a.register(ctx)
		if err != nil {
			return nilAtEnd(ctx, err)
		}
		a.applyStops(ack.Stops)
		a.drain.apply(ack.Drain, ack.Resume, "")
		a.tasks.ApplyHeartbeatAnswer(ack.Threads)
		a.tasks.ReconcileUnknownClaims(ctx, &reconciling, sentAt, ack.Threads)
	}
}

// ReadFirst reads every readable device without a known state, so that Status is complete
// before the first use. Run it concurrently with Run; it returns after its last attempt, or
// when ctx ends. It never acts, and a device that does not answer does not count as failing.
func (a *Agent) ReadFirst(ctx context.Context) { a.devices.ReadFirst(ctx) }
