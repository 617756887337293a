package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// shares are the places of an executor: of threads that it works on, and of threads that
// wait for an answer. One requester must not take them all. Agent.mu guards them.
type shares struct {
	all     int            // that are worked on
	working map[string]int // the same, by requester
	waiting []*task        // that have asked something or will, the first to ask first
}

// mayWork reports whether one more thread of a requester may be worked on, of so many at
// most: a requester leaves as many places free as it has, so there is one for another.
func (s *shares) mayWork(by string, most int) bool {
	free := most - s.all
	return free > 0 && (s.working[by] < free || s.working[by] == 0)
}

// enters gives a thread a place. mu is held.
func (a *Agent) enters(t *task) {
	if t.placed {
		return
	}
	t.placed = true
	a.shares.all++
	a.shares.working[t.by]++
}

// leaves takes the place of a thread. mu is held.
func (a *Agent) leaves(t *task) {
	if !t.placed {
		return
	}
	t.placed = false
	a.shares.all--
	if a.shares.working[t.by]--; a.shares.working[t.by] == 0 {
		delete(a.shares.working, t.by)
	}
	wait.Notify(a.work)
}

// rests takes the place of a thread while it waits for an answer. The returned function
// gives it a place again, even where none is free.
func (t *task) rests() (wakes func()) {
	set := func(idle bool, change func(*task)) {
		t.a.mu.Lock()
		defer t.a.mu.Unlock()
		t.idle = idle
		change(t)
	}
	set(true, t.a.leaves)
	return func() { set(false, t.a.enters) }
}

// asksFirst reports whether a thread has to ask something before it begins.
func (t *task) asksFirst(out capabilities.Outcome) bool {
	confirm := t.verdict.Confirm != gate.Nobody && t.verdict.Confirm != "" || t.req.ConfirmBefore != nil && *t.req.ConfirmBefore
	return out.Question != nil || out.Plan != nil && confirm
}

// mayWait takes one of the places of threads that wait for an answer, and is why it cannot
// where there is none. Where all are taken, the requester that has the most gives one up
// for a requester that has less: its oldest question ends.
func (t *task) mayWait() (why mess.Reason) {
	a := t.a
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.shares.waiting) < a.cfg.MaxThreads {
		a.shares.waiting = append(a.shares.waiting, t)
		return why
	}
	count := map[string]int{}
	most := ""
	for _, w := range a.shares.waiting {
		if count[w.by]++; most == "" || count[w.by] > count[most] {
			most = w.by
		}
	}
	oldest := slices.IndexFunc(a.shares.waiting, func(w *task) bool { return w.by == most && w.idle })
	if count[most] <= count[t.by]+1 || oldest < 0 {
		return a.busy(t.by, count[t.by])
	}
	gone := a.shares.waiting[oldest]
	a.shares.waiting = append(slices.Delete(a.shares.waiting, oldest, oldest+1), t)
	gone.cancel(notDone("busy", fmt.Sprintf(
		"this executor keeps %d questions open at most, and another requester needs a place; %d of them are yours, so the oldest of yours has ended, and nothing was done; answer the others, then ask again", a.cfg.MaxThreads, count[most])))
	return why
}

// busy says why a requester with so many open questions must wait, and until when. mu is
// held.
func (a *Agent) busy(by string, mine int) mess.Reason {
	when := time.Duration(0)
	for _, w := range a.shares.waiting {
		if left := w.until.Sub(a.now()); w.by == by && !w.until.IsZero() && (when == 0 || left < when) {
			when = max(time.Second, left.Round(time.Second))
		}
	}
	why := mess.Reason{Type: "busy", Effect: mess.EffectNone, Detail: fmt.Sprintf(
		"this executor keeps %d questions open at most, and %d of them are yours; answer or cancel one of yours, then ask again", a.cfg.MaxThreads, mine)}
	if when > 0 {
		why.Detail += fmt.Sprintf("; one ends by itself in %v", when)
		why.Extra = mess.Object{{Key: "retry_after", Value: string(mess.DurationOf(when))}}
	}
	return why
}

// waits takes a place of threads that wait for an answer though none may be free: an
// earlier run has asked.
func (t *task) waits() {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	if !slices.Contains(t.a.shares.waiting, t) {
		t.a.shares.waiting = append(t.a.shares.waiting, t)
	}
}

// waitsNoMore gives back what mayWait has taken.
func (t *task) waitsNoMore() {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	t.a.shares.waiting = slices.DeleteFunc(t.a.shares.waiting, func(w *task) bool { return w == t })
}

// hearIdle is hear for a thread that has not begun: it holds no place meanwhile.
func hearIdle[T any](ctx context.Context, t *task, take func(mess.Item) (T, bool)) (T, error) {
	defer t.rests()()
	return hear(ctx, t, take)
}
