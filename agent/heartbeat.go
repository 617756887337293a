package agent

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/messkit/messkit/mess"
)

// heartbeat tells the exchange at intervals what is held here, and hears how it
// sees that.
func (a *Agent) heartbeat(ctx context.Context) error {
	for {
		a.mu.Lock()
		t := time.NewTimer(a.beat)
		a.mu.Unlock()
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-t.C:
		}
		ack, err := a.send(ctx, mess.Message{Items: []mess.Item{
			&mess.Config{Executor: &mess.Executor{ID: a.cfg.ID, Holding: a.holding()}},
		}})
		if err != nil {
			a.log.Debug("heartbeat not heard", "err", err)
			continue
		}
		a.agree(ack.Threads)
	}
}

// holding lists the claims that are believed to be held: of the threads that
// are worked on, and of those whose report is still to be taken.
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
	list := []mess.HeldThread{} // not nil: it says that heartbeats are sent
	for _, ref := range slices.Sorted(maps.Keys(held)) {
		list = append(list, mess.HeldThread{Ref: ref, Epoch: held[ref]})
	}
	return list
}

// agree follows what the exchange says about the claims.
func (a *Agent) agree(threads []mess.HeldThread) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range threads {
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
