package task

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// slots counts the slots of an executor, which limit its threads in work and its threads that wait
// for an answer, so that one requester cannot take all of them. Tasks.mu guards it.
type slots struct {
	all     int            // threads in work
	working map[string]int // threads in work, by requester
	waiting []*task        // threads with an open or coming question, oldest first
}

// mayBegin reports whether one more thread of a requester may begin, with most slots in total.
// A requester must leave as many slots free as it has, so that another requester finds one.
func (s *slots) mayBegin(by string, most int) bool {
	free := most - s.all
	return free > 0 && (s.working[by] < free || s.working[by] == 0)
}

// takeSlot gives a thread a slot. The caller holds Tasks.mu.
func (ts *Tasks) takeSlot(t *task) {
	if t.hasSlot {
		return
	}
	t.hasSlot = true
	ts.slots.all++
	ts.slots.working[t.by]++
}

// freeSlot frees the slot of a thread. The caller holds Tasks.mu.
func (ts *Tasks) freeSlot(t *task) {
	if !t.hasSlot {
		return
	}
	t.hasSlot = false
	ts.slots.all--
	if ts.slots.working[t.by]--; ts.slots.working[t.by] == 0 {
		delete(ts.slots.working, t.by)
	}
	ts.Wake()
}

// freeSlotWhileIdle frees the slot of a thread while it waits for an answer. The returned
// function gives it a slot again, even if none is free.
func (t *task) freeSlotWhileIdle() (wakes func()) {
	set := func(idle bool, change func(*task)) {
		t.all.mu.Lock()
		defer t.all.mu.Unlock()
		t.idle = idle
		change(t)
	}
	set(true, t.all.freeSlot)
	return func() { set(false, t.all.takeSlot) }
}

// mustAskFirst reports whether a thread has to ask a question before it begins.
func (t *task) mustAskFirst(out capabilities.Outcome) bool {
	confirm := t.decision.Confirm != settings.ConfirmNever && t.decision.Confirm != "" || t.req.ConfirmBefore != nil && *t.req.ConfirmBefore
	return out.Question != nil || out.Plan != nil && confirm
}

// reserveQuestionSlot takes one of the slots of threads that wait for an answer; reason says why it
// cannot. If all are taken, the requester with the most slots gives up its oldest question for a
// requester with at least two fewer.
func (t *task) reserveQuestionSlot() (reason mess.Reason) {
	ts := t.all
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if len(ts.slots.waiting) < ts.Config.MaxThreads {
		ts.slots.waiting = append(ts.slots.waiting, t)
		return reason
	}
	count := map[string]int{}
	most := ""
	for _, w := range ts.slots.waiting {
		if count[w.by]++; most == "" || count[w.by] > count[most] {
			most = w.by
		}
	}
	oldest := slices.IndexFunc(ts.slots.waiting, func(w *task) bool { return w.by == most && w.idle })
	if count[most] <= count[t.by]+1 || oldest < 0 {
		return ts.questionLimitReason(t.by, count[t.by])
	}
	gone := ts.slots.waiting[oldest]
	ts.slots.waiting = append(slices.Delete(ts.slots.waiting, oldest, oldest+1), t)
	gone.cancel(notDone("busy", fmt.Sprintf(
		"this executor keeps %d questions open at most; you have %d of them, so it ended your oldest one for another requester without acting; answer the others, then ask again", ts.Config.MaxThreads, count[most])))
	return reason
}

// questionLimitReason explains why a requester with so many open questions must wait, and until
// when. The caller holds mu.
func (ts *Tasks) questionLimitReason(by string, mine int) mess.Reason {
	when := time.Duration(0)
	for _, w := range ts.slots.waiting {
		if left := w.questionEnds.Sub(ts.Now()); w.by == by && !w.questionEnds.IsZero() && (when == 0 || left < when) {
			when = max(time.Second, left.Round(time.Second))
		}
	}
	reason := mess.Reason{Type: "busy", Effect: mess.EffectNone, Detail: fmt.Sprintf(
		"this executor keeps %d questions open at most, and %d of them are yours; answer or cancel one of yours, then ask again", ts.Config.MaxThreads, mine)}
	if when > 0 {
		reason.Detail += fmt.Sprintf("; one ends in %v", when)
		reason.Extra = mess.Object{{Key: "retry_after", Value: string(mess.DurationOf(when))}}
	}
	return reason
}

// takeQuestionSlot takes a slot for an open question of an earlier run, even if none is free.
func (t *task) takeQuestionSlot() {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	if !slices.Contains(t.all.slots.waiting, t) {
		t.all.slots.waiting = append(t.all.slots.waiting, t)
	}
}

// freeQuestionSlot frees the slot from reserveQuestionSlot.
func (t *task) freeQuestionSlot() {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.all.slots.waiting = slices.DeleteFunc(t.all.slots.waiting, func(w *task) bool { return w == t })
}

// awaitWhileIdle does the same as await for a thread that has not begun, and frees its slot in the
// meantime.
func awaitWhileIdle[T any](ctx context.Context, t *task, take func(mess.Item) (T, bool)) (T, error) {
	defer t.freeSlotWhileIdle()()
	return await(ctx, t, take)
}

// use records that a thread plans to use the devices of a plan. It returns an error if the program
// changes one of them now.
func (t *task) use(p capabilities.Plan) error {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	var uses []string
	for _, step := range p.Each() {
		if t.all.kept[step.Device] {
			return fmt.Errorf("%s: an operator removes or changes it now; ask again in a moment", step.Device)
		}
		uses = append(uses, step.Device)
	}
	t.uses = uses
	return nil
}

// Keep keeps new threads from a device until the caller calls release, so that the program can remove
// it or replace its driver. The error names the thread that uses the device or waits for it.
func (ts *Tasks) Keep(device string) (release func(), err error) {
	open := ts.openAt(device)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, ref := range slices.Sorted(maps.Keys(ts.byRef)) {
		if open == "" && slices.Contains(ts.byRef[ref].uses, device) {
			open = ref
		}
	}
	switch {
	case open != "":
		return nil, fmt.Errorf("%s: the task %s uses it or waits for it; cancel the task, or wait for its end", device, open)
	case ts.watched[device] > 0:
		return nil, fmt.Errorf("%s: it has not answered a command, which may still arrive; wait a minute, and try again", device)
	case ts.kept[device]:
		return nil, fmt.Errorf("%s: another operator changes it now; try again in a moment", device)
	}
	ts.kept[device] = true
	return func() {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		delete(ts.kept, device)
	}, nil
}

// openAt returns the thread of an unfinished plan for a device, "" if there is none.
func (ts *Tasks) openAt(device string) string {
	for _, t := range ts.Journal.Tasks() {
		if ref := DevicesOf(t)[device]; ref != "" && t.Open() {
			return ref
		}
	}
	return ""
}

// watch counts a watch for late acts of a device until the caller calls end.
func (ts *Tasks) watch(device string) (end func()) {
	count := func(n int) {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		if ts.watched[device] += n; ts.watched[device] == 0 {
			delete(ts.watched, device)
		}
	}
	count(1)
	return func() { count(-1) }
}
