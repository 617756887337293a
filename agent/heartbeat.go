package agent

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// heartbeat reports the claims of this executor at intervals, and also at a change of a stop or
// a drain, and applies the answer. told is the state that the registration has reported.
func (a *Agent) heartbeat(ctx context.Context, told standing) error {
	var back errgroup.Group
	for {
		if !a.untilBeat(ctx, told) {
			return back.Wait()
		}
		stands, _ := a.position()
		told = stands // after a failure the next heartbeat repeats it
		asked := a.now()
		ack, err := a.send(ctx, mess.Message{Items: []mess.Item{
			&mess.Config{Executor: &mess.Executor{ID: a.cfg.ID, Holding: a.holding(), Instance: a.boot, Stopped: stands.stopped, Held: stands.held}},
		}})
		a.reach.heard(!unavailable(err))
		if err != nil {
			a.log.Debug("heartbeat not heard", "err", err)
			continue
		}
		a.agree(ack.Threads)
		a.findStrays(ctx, &back, asked, ack.Threads)
		a.heed(ack.Stops)
		a.heedHold(ack.Drain, ack.Resume, "")
		a.wants(ack)
	}
}

// interval returns the heartbeat interval.
func (a *Agent) interval() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.beat
}

// untilBeat waits until the next heartbeat, or until there is an unreported change; it returns
// false after ctx has ended.
func (a *Agent) untilBeat(ctx context.Context, told standing) bool {
	t := time.NewTimer(a.interval())
	defer t.Stop()
	for {
		stands, changed := a.position()
		if !reflect.DeepEqual(stands, told) {
			return ctx.Err() == nil
		}
		select {
		case <-ctx.Done():
			return false
		case <-t.C:
			return true
		case <-a.sooner:
			t.Reset(a.interval())
		case <-changed[0]:
		case <-changed[1]:
		case <-changed[2]:
		}
	}
}

// holding lists the claims that this executor believes to hold: of threads in work, and of
// threads whose report the exchange does not have yet.
func (a *Agent) holding() []mess.HeldThread {
	held := map[string]uint64{}
	for _, t := range a.journal.Tasks() {
		held[t.Ref] = t.Epoch
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for ref, t := range a.tasks {
		if t.epoch != 0 {
			held[ref] = t.epoch
		}
	}
	list := []mess.HeldThread{} // not nil, to show that this executor sends heartbeats
	for _, ref := range slices.Sorted(maps.Keys(held)) {
		list = append(list, mess.HeldThread{Ref: ref, Epoch: held[ref]})
	}
	return list
}

// keep shortens the heartbeat interval for a granted lease if needed. The caller holds a.mu.
func (a *Agent) keep(lease mess.Duration) {
	d, err := lease.Duration()
	if err != nil || d <= 0 {
		return
	}
	if third := max(d/3, time.Second); third < a.beat {
		a.beat = third
		wait.Notify(a.sooner)
	}
}

// agree applies the exchange's view of the claims.
func (a *Agent) agree(threads []mess.HeldThread) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range threads {
		a.keep(h.Lease)
		t := a.tasks[h.Ref]
		switch {
		case t == nil || t.epoch == 0 || h.Epoch != t.epoch:
		case h.Yours != nil && !*h.Yours:
			t.end(errLost)
		case h.Stop != nil && *h.Stop:
			t.end(errCancelled)
		}
	}
}
