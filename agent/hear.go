package agent

import (
	"github.com/messkit/messkit/mess"

	"github.com/messkit/messkit/internal/wait"
)

// deliver accepts one message from the exchange. It does not block.
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

// put passes a message to its thread. A thread without a claim has asked nothing. The caller
// holds a.mu.
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

// offer queues the offer of a thread. A duplicate has no effect, unless the agent is giving the
// thread up. The caller holds mu.
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

// await queues an offer. The caller holds mu.
func (a *Agent) await(o *offer) {
	a.offers.add(o)
	wait.Notify(a.work)
}

// resumeOffer queues an offer that had to wait for the report on an earlier run.
func (a *Agent) resumeOffer(ref string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o := a.later[ref]
	delete(a.later, ref)
	if o != nil && a.tasks[ref] == nil {
		a.await(o)
	}
}

// enqueue queues a thread that an earlier run has claimed, before all offers. The caller holds
// mu.
func (a *Agent) enqueue(t *task) {
	a.tasks[t.ref] = t
	a.claimed = append(a.claimed, t)
	wait.Notify(a.work)
}

// taken reports whether a status withdraws an offer: another executor has the thread, or no
// executor may take it.
func (a *Agent) taken(s *mess.Status) bool {
	return s.Code.Terminal() || s.Executor != "" && s.Executor != a.cfg.ID
}

// told applies the exchange's report on the status of the thread. The caller holds Agent.mu.
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

// end cancels the work on the thread. The caller holds Agent.mu.
func (t *task) end(why error) {
	if t.cancel == nil && !t.before.IsZero() { // an activity that continues on its own must end as well
		t.early = why
		return
	}
	if t.cancel == nil {
		t.over, t.dropped = true, true
		return
	}
	t.cancel(why)
}
