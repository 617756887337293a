package agent

import (
	"slices"

	"github.com/messkit/messkit/mess"
)

// deliver takes one message from the exchange. It does not wait for anything.
func (a *Agent) deliver(m mess.Message) {
	a.reach.heard(true)
	a.heedAll(m)
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(m.Re) == 0 || a.seen.again(m.Ref) {
		return
	}
	ref := m.Re[0]
	for _, item := range m.Items {
		t := a.tasks[ref]
		switch i := item.(type) {
		case *mess.Request:
			a.offer(ref, m.From, i)
		case *mess.Status:
			if t != nil {
				t.told(m, i)
			}
		case *mess.Cancel:
			if t != nil {
				t.end(errCancelled)
			}
		case *mess.Reply, *mess.Answer:
			if t != nil {
				a.put(t, m)
			}
		}
	}
}

// put hands a message to the thread that it is for.
func (a *Agent) put(t *task, m mess.Message) {
	select {
	case t.inbox <- m:
	default:
		a.log.Warn("too many messages for one thread; one is dropped", "ref", t.ref, "message", m.Ref)
	}
}

// offer puts a thread in the queue. An offer that comes twice is the same
// offer, unless the thread is being given up. mu is held.
func (a *Agent) offer(ref, by string, req *mess.Request) {
	if t := a.tasks[ref]; t != nil {
		t.offered = req
		return
	}
	if _, known := a.journal.Task(ref); known {
		a.later[ref] = newTask(a, ref, by, *req)
		return
	}
	a.enqueue(newTask(a, ref, by, *req))
}

// resumeOffer takes up an offer that had to wait.
func (a *Agent) resumeOffer(ref string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.later[ref]
	delete(a.later, ref)
	if t != nil && a.tasks[ref] == nil {
		a.enqueue(t)
	}
}

// enqueue has a thread worked on: what has begun first, then by priority, then in the
// order in which it came. mu is held.
func (a *Agent) enqueue(t *task) {
	a.tasks[t.ref] = t
	i := len(a.queue)
	for i > 0 && a.queue[i-1].fresh() && (!t.fresh() || a.queue[i-1].rank() < t.rank()) {
		i--
	}
	a.queue = slices.Insert(a.queue, i, t)
	ring(a.work)
}

// rank is the place of a request among those that wait.
func (t *task) rank() int {
	var urgency mess.Urgency
	if c := t.req.Constraints; c != nil && c.Timing != nil {
		urgency = c.Timing.Urgency
	}
	return mess.Rank(t.req.Priority, urgency)
}

// told takes what the exchange says about how the thread stands. Agent.mu is
// held.
func (t *task) told(m mess.Message, s *mess.Status) {
	switch {
	case t.epoch == 0: // an offer; withdrawn if another has it, or nobody may
		if s.Code.Terminal() || s.Executor != "" && s.Executor != t.a.cfg.ID {
			t.end(errLost)
		}
	case m.Epoch == 0:
	case m.Epoch > t.epoch:
		t.end(errLost)
	case m.Epoch == t.epoch && (s.Code == mess.Pending || s.Code.Terminal()):
		t.end(errLost)
	}
}

// end ends the work on the thread from outside. Agent.mu is held.
func (t *task) end(why error) {
	if t.cancel == nil && !t.before.IsZero() { // what goes on by itself has to be ended all the same
		t.early = why
		return
	}
	if t.cancel == nil {
		t.over, t.dropped = true, true
		return
	}
	t.cancel(why)
}
