package agent

import (
	"context"
	"reflect"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/session"
	"github.com/messkit/messkit/mess"
)

// heartbeat reports the claims of this executor at intervals, and also at a change of a stop or
// a drain, and applies the answer. reported is the state that the exchange has from the
// registration.
func (a *Agent) heartbeat(ctx context.Context, reported restrictions) error {
	var reconciling errgroup.Group
	for {
		if !a.awaitHeartbeat(ctx, reported) {
			return reconciling.Wait()
		}
		current, _ := a.restrictions()
		reported = current // after a failure the next heartbeat repeats it
		sentAt, battery := a.now(), a.battery.change()
		ack, err := a.session.Send(ctx, mess.Message{Items: []mess.Item{
			&mess.Config{Executor: &mess.Executor{ID: a.cfg.ID, Holding: a.tasks.Holding(), Instance: a.session.Instance, Stopped: current.stopped, Drained: current.drained, Extra: battery}},
		}})
		a.session.SetAnswered(!session.IsUnavailable(err))
		if err != nil {
			a.log.Debug("the exchange has not received a heartbeat", "err", err)
			if battery != nil {
				a.battery.lost()
			}
			continue
		}
		a.tasks.ApplyHeartbeatAnswer(ack.Threads)
		a.tasks.ReconcileUnknownClaims(ctx, &reconciling, sentAt, ack.Threads)
		a.applyStops(ack.Stops)
		a.drain.apply(ack.Drain, ack.Resume, "")
		a.states.Apply(ack)
	}
}

// awaitHeartbeat waits until the next heartbeat, or until there is an unreported change; it returns
// false after ctx has ended.
func (a *Agent) awaitHeartbeat(ctx context.Context, reported restrictions) bool {
	t := time.NewTimer(a.session.HeartbeatInterval())
	defer t.Stop()
	for {
		current, changed := a.restrictions()
		if !reflect.DeepEqual(current, reported) {
			return ctx.Err() == nil
		}
		select {
		case <-ctx.Done():
			return false
		case <-t.C:
			return true
		case <-a.session.IntervalShortened:
			t.Reset(a.session.HeartbeatInterval())
		case <-changed[0]:
		case <-changed[1]:
		case <-changed[2]:
		}
	}
}
