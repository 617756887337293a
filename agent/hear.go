package agent

import (
	"github.com/messkit/messkit/mess"

	"github.com/messkit/messkit/internal/wait"
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
			} else if a.taken(i) {
				a.offers.drop(ref)
			}
		case *mess.Cancel:
			if t != nil {
				t.end(errCancelled)
			}
			a.offers.drop(ref)
		case *mess.Reply, *mess.Answer:
			if t != nil {
				a.put(t, m)
			}
		}
	}
}

// put hands a message to the thread that it is for. Before the claim the thread has asked
// nothing. a.mu is held.
func (a *Agent) put(t *task, m mess.Message) {
	if t.inbox == nil {
		a.log.Debug("said before the claim; nothing was asked", "ref", t.ref, "message", m.Ref)
		return
	}
	select {
	case t.inbox <- m:
	default:
		a.log.Warn("too many messages for one thread; one is dropped", "ref", t.ref, "message", m.Ref)
	}
}

// offer has a thread wait for a place. An offer that comes twice is the same
// offer, unless the thread is being given up. mu is held.
func (a *Agent) offer(ref, by string, req *mess.Request) {
	if t := a.tasks[ref]; t != nil {
		t.offered = req
		return
	}
	o := newOffer(ref, by, *req)
	if _, known := a.journal.Task(ref); known {
		a.later[ref] = o
		return
	}
	a.await(o)
}

// await has an offer wait for a place. mu is held.
func (a *Agent) await(o *offer) {
	a.offers.add(o)
	wait.Notify(a.work)
}

// resumeOffer takes up an offer that had to wait.
func (a *Agent) resumeOffer(ref string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o := a.later[ref]
	delete(a.later, ref)
	if o != nil && a.tasks[ref] == nil {
		a.await(o)
	}
}

// enqueue has a thread worked on that an earlier run has claimed: before all offers.
// mu is held.
func (a *Agent) enqueue(t *task) {
	a.tasks[t.ref] = t
	a.claimed = append(a.claimed, t)
	wait.Notify(a.work)
}

// taken reports whether a status ends an offer: another has the thread, or nobody may
// take it.
func (a *Agent) taken(s *mess.Status) bool {
	return s.Code.Terminal() || s.Executor != "" && s.Executor != a.cfg.ID
}

// told takes what the exchange says about how the thread stands. Agent.mu is
// held.
func (t *task) told(m mess.Message, s *mess.Status) {
	switch {
	case t.epoch == 0:
		if t.a.taken(s) {
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
