package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// heedAll takes the stops and holds in a message from the exchange.
func (a *Agent) heedAll(m mess.Message) {
	for _, item := range m.Items {
		c, ok := item.(*mess.Config)
		if !ok {
			continue
		}
		if c.Stop != nil {
			a.heed([]mess.Stop{*c.Stop})
		}
		a.heedHold(c.Hold, c.Resume, m.From)
	}
}

// heed stops as the exchange says. It does not wait for anything.
func (a *Agent) heed(stops []mess.Stop) {
	for _, s := range stops {
		a.cfg.Stop.Stop(stop.Order{ID: s.ID, Why: s.Why, By: s.By})
	}
}

// stands is how this executor is stopped, and what is closed when that changes.
func (a *Agent) stands() (s *mess.Stopped, changed [2]<-chan struct{}) {
	var why string
	s = &mess.Stopped{}
	why, changed[0] = a.gate.Watch()
	_, s.Orders, changed[1] = a.cfg.Stop.Watch()
	if why == "" {
		return s, changed
	}
	s.Why = why
	for _, d := range a.gate.Safety() {
		s.Devices = append(s.Devices, mess.SafeDevice{
			Device: d.Device, State: string(d.State), Evidence: d.Evidence, Took: mess.DurationOf(d.Took), Err: d.Err,
		})
	}
	return s, changed
}

// standing is how this executor stands, for the exchange.
type standing struct {
	stopped *mess.Stopped
	held    *mess.OnHold
}

// position is how this executor stands, and what is closed when that changes.
func (a *Agent) position() (s standing, changed [3]<-chan struct{}) {
	var c [2]<-chan struct{}
	s.stopped, c = a.stands()
	changed[0], changed[1] = c[0], c[1]
	s.held, changed[2] = a.heldNow()
	return s, changed
}

// runStops ends the work in hand when everything is stopped, and opens the
// devices again when that is cleared, whether or not the exchange is there,
// until the function that it returns is called.
func (a *Agent) runStops(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var g errgroup.Group
	g.Go(func() error {
		was := ""
		for ctx.Err() == nil {
			why, changed := a.gate.Watch()
			switch {
			case why != "" && was == "":
				a.endAll(a.gate.Refused())
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

// endAll ends the work on every thread. What nobody works on yet is declined
// when its turn comes.
func (a *Agent) endAll(why *gate.Refusal) {
	if why == nil {
		return // it was cleared meanwhile
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.tasks {
		if t.cancel != nil {
			t.cancel(why)
		}
	}
}

// stopOf is the stop that ended a context; nil if something else did, or
// nothing.
func stopOf(ctx context.Context) *gate.Refusal {
	no, _ := context.Cause(ctx).(*gate.Refusal)
	return no
}

// stoppedEarly is the end of a thread that a stop found before anything was
// begun, and that has none yet: it must not begin by itself when the stop is
// cleared.
func (t *task) stoppedEarly(ctx context.Context, no *gate.Refusal, err error) error {
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
	case t.tried: // the claim may or may not have arrived
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
