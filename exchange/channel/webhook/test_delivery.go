package webhook

import (
	"context"
	"time"

	"github.com/messkit/messkit/mess"
)

// testEvent is the event of a test notification.
const testEvent = "test"

// testEvery is the least time between two tests of an executor: the address may belong to
// another person.
const testEvery = 5 * time.Second

// SendTest sends a test notification once to each address and each browser of an executor or a
// person, and returns the results. If the last test is too recent, or there is no address, it returns
// a *mess.Error.
func (h *Dispatcher) SendTest(ctx context.Context, executor string) ([]Entry, error) {
	profile, ok := h.profile(executor)
	if !ok {
		return nil, mess.Errorf(mess.NotFound, "%q is not registered", executor)
	}
	targets := h.targets(executor, profile)
	if len(targets) == 0 {
		return nil, mess.Errorf(mess.NotYet, "there is no address; add one first")
	}
	if !h.mayTry(executor) {
		return nil, mess.Errorf(mess.NotYet, "the last test was a moment ago; wait %v", testEvery)
	}
	list := make([]Entry, 0, len(targets))
	for _, t := range targets {
		now := time.Now()
		n := notification{ID: newID(), Executor: executor, URL: t.url, Push: t.push, Event: testEvent, Made: now, Due: now, Tries: 1}
		n.Thread = summary{Priority: mess.Normal, Created: formatTime(now), Updated: formatTime(now)}
		e := h.logTest(n, h.attempt(ctx, n))
		h.storeEntry(ctx, e)
		list = append(list, e)
	}
	return list, nil
}

// mayTry records a test. It returns false if the last one is too recent.
func (h *Dispatcher) mayTry(executor string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if last, ok := h.tries[executor]; ok && now.Sub(last) < testEvery {
		return false
	}
	if h.tries == nil {
		h.tries = map[string]time.Time{}
	}
	for id, last := range h.tries {
		if now.Sub(last) >= testEvery {
			delete(h.tries, id)
		}
	}
	h.tries[executor] = now
	return true
}

// logTest records the result of a test.
func (h *Dispatcher) logTest(n notification, r result) Entry {
	state := Delivered
	switch {
	case r.final:
		state = Rejected
	case r.err != nil:
		state = GivenUp
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.logState(n, state, r)
	return h.recent[len(h.recent)-1] // a new entry is the last
}
