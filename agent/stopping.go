package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// heedAll applies the stops and drains in a message from the exchange.
func (a *Agent) heedAll(m mess.Message) {
	for _, item := range m.Items {
		c, ok := item.(*mess.Config)
		if !ok {
			continue
		}
		if c.Stop != nil {
			a.heed([]mess.Stop{*c.Stop})
		}
		a.heedHold(c.Drain, c.Resume, m.From)
	}
}

// heed applies stops from the exchange. It does not block.
func (a *Agent) heed(stops []mess.Stop) {
	for _, s := range stops {
		a.cfg.Stop.Stop(stop.Order{ID: s.ID, Reason: s.Reason, By: s.By})
	}
}

// stands returns the stop state of this executor, and channels that close when it changes.
func (a *Agent) stands() (s *mess.StopState, changed [2]<-chan struct{}) {
	var why string
	s = &mess.StopState{}
	why, changed[0] = a.gate.Watch()
	_, s.Orders, changed[1] = a.cfg.Stop.Watch()
	if why == "" {
		return s, changed
	}
	s.Reason = why
	for _, d := range a.gate.SafeResults() {
		s.Devices = append(s.Devices, mess.SafeDevice{
			Device: d.Device, State: string(d.State), Evidence: d.Evidence, Took: mess.DurationOf(d.Took), Err: d.Err,
		})
	}
	return s, changed
}

// standing is the stop and drain state for the exchange.
type standing struct {
	stopped *mess.StopState
	held    *mess.DrainState
}

// position returns the stop and drain state, and channels that close when it changes.
func (a *Agent) position() (s standing, changed [3]<-chan struct{}) {
	var c [2]<-chan struct{}
	s.stopped, c = a.stands()
	changed[0], changed[1] = c[0], c[1]
	s.held, changed[2] = a.heldNow()
	return s, changed
}

// runStops cancels the running work at a stop and starts the devices again after its reset,
// even without the exchange, until the caller calls end.
func (a *Agent) runStops(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var g errgroup.Group
	g.Go(func() error {
		was := ""
		for ctx.Err() == nil {
			why, changed := a.gate.Watch()
			switch {
			case why != "" && was == "":
				a.endAll(a.gate.StopRejection())
				wait.Notify(a.work)
			case why == "" && was != "":
				startAll(ctx, a.gate, maps.Values(a.devices), a.log)
			}
			was = why
			a.lookAgain()
			select {
			case <-ctx.Done():
			case <-changed:
			}
		}
		return nil
	})
	return func() {
		cancel()
		_ = g.Wait() // it returns nil
	}
}

// endAll cancels the work on every thread. Waiting offers get a decline in their turn.
func (a *Agent) endAll(why *policy.Rejection) {
	if why == nil {
		return // the stop has been reset since
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.tasks {
		if t.cancel != nil {
			t.cancel(why)
		}
	}
}

// stopOf returns the stop that ended a context; nil for any other cause, or none.
func stopOf(ctx context.Context) *policy.Rejection {
	no, _ := context.Cause(ctx).(*policy.Rejection)
	return no
}

// stoppedEarly ends a thread that a stop caught before its begin. The thread must not begin by
// itself after the reset.
func (t *task) stoppedEarly(ctx context.Context, no *policy.Rejection, err error) error {
	_, ends := errors.AsType[*ending](err)
	switch {
	case err == nil || ends || errors.Is(err, errDeclined):
		return err
	case t.past != nil:
		return &ending{t.watchedNoMore(ctx, no)}
	case t.resumed:
		return &ending{failed("interrupted", fmt.Sprintf("the program died after it had begun; now: %v", no), mess.EffectUnknown, t.planned())}
	case t.claimed() != 0:
		return notDone(no.Rule, no.Error())
	case t.tried: // the claim may have arrived
		t.handBack(ctx, no.Error())
		return errLost
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastMailTime)
	defer cancel()
	return t.declineFor(ctx, mess.Reason{Type: no.Rule, Detail: no.Error()})
}

func (t *task) planned() capabilities.Plan {
	if t.plan == nil {
		return capabilities.Plan{}
	}
	return *t.plan
}
