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

// places counts the places of an executor, for threads in work and for threads that wait for an
// answer, so that one requester cannot take all of them. Tasks.mu guards it.
type places struct {
	all     int            // threads in work
	working map[string]int // threads in work, by requester
	waiting []*task        // threads with an open or coming question, oldest first
}

// mayBegin reports whether one more thread of a requester may begin, with most places in total.
// A requester must leave as many places free as it has, so that another requester finds one.
func (s *places) mayBegin(by string, most int) bool {
	free := most - s.all
	return free > 0 && (s.working[by] < free || s.working[by] == 0)
}

// takePlace gives a thread a place. The caller holds Tasks.mu.
func (ts *Tasks) takePlace(t *task) {
	if t.hasPlace {
		return
	}
	t.hasPlace = true
	ts.places.all++
	ts.places.working[t.by]++
}

// freePlace frees the place of a thread. The caller holds Tasks.mu.
func (ts *Tasks) freePlace(t *task) {
	if !t.hasPlace {
		return
	}
	t.hasPlace = false
	ts.places.all--
	if ts.places.working[t.by]--; ts.places.working[t.by] == 0 {
		delete(ts.places.working, t.by)
	}
	ts.Wake()
}

// freePlaceWhileIdle frees the place of a thread while it waits for an answer. The returned
// function gives it a place again, even if none is free.
func (t *task) freePlaceWhileIdle() (wakes func()) {
	set := func(idle bool, change func(*task)) {
		t.all.mu.Lock()
		defer t.all.mu.Unlock()
		t.idle = idle
		change(t)
	}
	set(true, t.all.freePlace)
	return func() { set(false, t.all.takePlace) }
}

// mustAskFirst reports whether a thread has to ask a question before it begins.
func (t *task) mustAskFirst(out capabilities.Outcome) bool {
	confirm := t.verdict.Confirm != policy.ConfirmNever && t.verdict.Confirm != "" || t.req.ConfirmBefore != nil && *t.req.ConfirmBefore
	return out.Question != nil || out.Plan != nil && confirm
}

// reserveQuestionPlace takes one of the places of threads that wait for an answer; why says why it
// cannot. If all are taken, the requester with the most places gives up its oldest question for a
// requester with at least two fewer.
func (t *task) reserveQuestionPlace() (why mess.Reason) {
	ts := t.all
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if len(ts.places.waiting) < ts.Config.MaxThreads {
		ts.places.waiting = append(ts.places.waiting, t)
		return why
	}
	count := map[string]int{}
	most := ""
	for _, w := range ts.places.waiting {
		if count[w.by]++; most == "" || count[w.by] > count[most] {
			most = w.by
		}
	}
	oldest := slices.IndexFunc(ts.places.waiting, func(w *task) bool { return w.by == most && w.idle })
	if count[most] <= count[t.by]+1 || oldest < 0 {
		return ts.questionLimitReason(t.by, count[t.by])
	}
	gone := ts.places.waiting[oldest]
	ts.places.waiting = append(slices.Delete(ts.places.waiting, oldest, oldest+1), t)
	gone.cancel(notDone("busy", fmt.Sprintf(
		"this executor keeps %d questions open at most; you have %d of them, so it ended your oldest one for another requester without acting; answer the others, then ask again", ts.Config.MaxThreads, count[most])))
	return why
}

// questionLimitReason explains why a requester with so many open questions must wait, and until
// when. The caller holds mu.
func (ts *Tasks) questionLimitReason(by string, mine int) mess.Reason {
	when := time.Duration(0)
	for _, w := range ts.places.waiting {
		if left := w.questionEnds.Sub(ts.Now()); w.by == by && !w.questionEnds.IsZero() && (when == 0 || left < when) {
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

// takeQuestionPlace takes a place for an open question of an earlier run, even if none is free.
func (t *task) takeQuestionPlace() {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	if !slices.Contains(t.all.places.waiting, t) {
		t.all.places.waiting = append(t.all.places.waiting, t)
	}
}

// freeQuestionPlace frees the place from reserveQuestionPlace.
func (t *task) freeQuestionPlace() {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.all.places.waiting = slices.DeleteFunc(t.all.places.waiting, func(w *task) bool { return w == t })
}

// awaitWhileIdle does the same as await for a thread that has not begun, and frees its place in the
// meantime.
func awaitWhileIdle[T any](ctx context.Context, t *task, take func(mess.Item) (T, bool)) (T, error) {
	defer t.freePlaceWhileIdle()()
	return await(ctx, t, take)
}
