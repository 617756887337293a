package task

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// shares counts the places of an executor, for threads in work and for threads that wait for an
// answer, so that one requester cannot take all of them. Tasks.mu guards it.
type shares struct {
	all     int            // threads in work
	working map[string]int // threads in work, by requester
	waiting []*task        // threads with an open or coming question, oldest first
}

// mayWork reports whether one more thread of a requester may begin, with most places in total.
// A requester must leave as many places free as it has, so that another requester finds one.
func (s *shares) mayWork(by string, most int) bool {
	free := most - s.all
	return free > 0 && (s.working[by] < free || s.working[by] == 0)
}

// enters gives a thread a place. The caller holds Tasks.mu.
func (ts *Tasks) enters(t *task) {
	if t.placed {
		return
	}
	t.placed = true
	ts.shares.all++
	ts.shares.working[t.by]++
}

// leaves frees the place of a thread. The caller holds Tasks.mu.
func (ts *Tasks) leaves(t *task) {
	if !t.placed {
		return
	}
	t.placed = false
	ts.shares.all--
	if ts.shares.working[t.by]--; ts.shares.working[t.by] == 0 {
		delete(ts.shares.working, t.by)
	}
	ts.Wake()
}

// rests frees the place of a thread while it waits for an answer. The returned function gives
// it a place again, even if none is free.
func (t *task) rests() (wakes func()) {
	set := func(idle bool, change func(*task)) {
		t.all.mu.Lock()
		defer t.all.mu.Unlock()
		t.idle = idle
		change(t)
	}
	set(true, t.all.leaves)
	return func() { set(false, t.all.enters) }
}

// asksFirst reports whether a thread has to ask a question before it begins.
func (t *task) asksFirst(out capabilities.Outcome) bool {
	confirm := t.verdict.Confirm != policy.ConfirmNever && t.verdict.Confirm != "" || t.req.ConfirmBefore != nil && *t.req.ConfirmBefore
	return out.Question != nil || out.Plan != nil && confirm
}

// mayWait takes one of the places of threads that wait for an answer; why says why it cannot.
// If all are taken, the requester with the most places gives up its oldest question for a
// requester with fewer.
func (t *task) mayWait() (why mess.Reason) {
	ts := t.all
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if len(ts.shares.waiting) < ts.Config.MaxThreads {
		ts.shares.waiting = append(ts.shares.waiting, t)
		return why
	}
	count := map[string]int{}
	most := ""
	for _, w := range ts.shares.waiting {
		if count[w.by]++; most == "" || count[w.by] > count[most] {
			most = w.by
		}
	}
	oldest := slices.IndexFunc(ts.shares.waiting, func(w *task) bool { return w.by == most && w.idle })
	if count[most] <= count[t.by]+1 || oldest < 0 {
		return ts.busy(t.by, count[t.by])
	}
	gone := ts.shares.waiting[oldest]
	ts.shares.waiting = append(slices.Delete(ts.shares.waiting, oldest, oldest+1), t)
	gone.cancel(notDone("busy", fmt.Sprintf(
		"this executor keeps %d questions open at most, and another requester needs a place; %d of them are yours, so the oldest of yours has ended, and nothing was done; answer the others, then ask again", ts.Config.MaxThreads, count[most])))
	return why
}

// busy explains why a requester with so many open questions must wait, and until when. The
// caller holds mu.
func (ts *Tasks) busy(by string, mine int) mess.Reason {
	when := time.Duration(0)
	for _, w := range ts.shares.waiting {
		if left := w.until.Sub(ts.Now()); w.by == by && !w.until.IsZero() && (when == 0 || left < when) {
			when = max(time.Second, left.Round(time.Second))
		}
	}
	why := mess.Reason{Type: "busy", Effect: mess.EffectNone, Detail: fmt.Sprintf(
		"this executor keeps %d questions open at most, and %d of them are yours; answer or cancel one of yours, then ask again", ts.Config.MaxThreads, mine)}
	if when > 0 {
		why.Detail += fmt.Sprintf("; one ends by itself in %v", when)
		why.Extra = mess.Object{{Key: "retry_after", Value: string(mess.DurationOf(when))}}
	}
	return why
}

// waits takes a place for an open question of an earlier run, even if none is free.
func (t *task) waits() {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	if !slices.Contains(t.all.shares.waiting, t) {
		t.all.shares.waiting = append(t.all.shares.waiting, t)
	}
}

// waitsNoMore frees the place from mayWait.
func (t *task) waitsNoMore() {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.all.shares.waiting = slices.DeleteFunc(t.all.shares.waiting, func(w *task) bool { return w == t })
}

// hearIdle does the same as hear for a thread that has not begun, and frees its place in the
// meantime.
func hearIdle[T any](ctx context.Context, t *task, take func(mess.Item) (T, bool)) (T, error) {
	defer t.rests()()
	return hear(ctx, t, take)
}
