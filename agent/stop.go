package agent

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/mess"
)

// applyOrders applies the stops and drains in a message from the exchange.
func (a *Agent) applyOrders(m mess.Message) {
	for _, item := range m.Items {
		c, ok := item.(*mess.Config)
		if !ok {
			continue
		}
		if c.Stop != nil {
			a.applyStops([]mess.Stop{*c.Stop})
		}
		a.drain.apply(c.Drain, c.Resume, m.From)
	}
}

// applyStops applies stops from the exchange. It does not block.
func (a *Agent) applyStops(stops []mess.Stop) {
	for _, s := range stops {
		a.cfg.Stop.Stop(stop.Order{ID: s.ID, Reason: s.Reason, By: s.By})
	}
}

// stopState returns the stop state of this executor, and channels that close when it changes.
func (a *Agent) stopState() (s *mess.StopState, changed [2]<-chan struct{}) {
	var reason string
	s = &mess.StopState{}
	reason, changed[0] = a.gate.Watch()
	_, s.Orders, changed[1] = a.cfg.Stop.Watch()
	if reason == "" {
		return s, changed
	}
	s.Reason = reason
	for _, d := range a.gate.SafeResults() {
		s.Devices = append(s.Devices, mess.SafeDevice{
			Device: d.Device, State: string(d.State), Evidence: d.Evidence, Took: mess.DurationOf(d.Took), Err: d.Err,
		})
	}
	return s, changed
}

// restrictions is the stop and drain state for the exchange.
type restrictions struct {
	stopped *mess.StopState
	drained *mess.DrainState
}

// restrictions returns the stop and drain state, and channels that close when it changes.
func (a *Agent) restrictions() (s restrictions, changed [3]<-chan struct{}) {
	var c [2]<-chan struct{}
	s.stopped, c = a.stopState()
	changed[0], changed[1] = c[0], c[1]
	s.drained, changed[2] = a.drain.state()
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
			reason, changed := a.gate.Watch()
			switch {
			case reason != "" && was == "":
				a.tasks.EndAll(a.gate.StopRejection())
				a.tasks.Wake()
			case reason == "" && was != "":
				a.devices.StartAll(ctx)
			}
			was = reason
			a.states.ReadAllSoon()
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
