package task

import (
	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/traceparent"
)

// Deliver accepts one message from the exchange. It does not block.
func (ts *Tasks) Deliver(m mess.Message) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if len(m.Re) == 0 || ts.seen.isRepeated(m.Ref) {
		return
	}
	ref := m.Re[0]
	for _, item := range m.Items {
		t := ts.byRef[ref]
		switch i := item.(type) {
		case *mess.Request:
			ts.queueOffer(ref, m.From, traceparent.Of(m), i)
		case *mess.Status:
			if t != nil {
				t.applyStatus(m, i)
			} else if ts.isTaken(i) {
				ts.offers.drop(ref)
			}
		case *mess.Cancel:
			if t != nil {
				t.cancelWork(runtime.ErrCancelled)
			}
			ts.offers.drop(ref)
		case *mess.Reply, *mess.Answer:
			if t != nil {
				ts.passMessage(t, m)
			}
		}
	}
}

// passMessage passes a message to its thread. A thread without a claim has asked nothing. The
// caller holds Tasks.mu.
func (ts *Tasks) passMessage(t *task, m mess.Message) {
	if t.inbox == nil {
		ts.Log.Debug("a message came before the claim; the agent has asked nothing", "ref", t.ref, "message", m.Ref)
		return
	}
	select {
	case t.inbox <- m:
	default:
		ts.Log.Warn("dropped a message: too many messages for one thread", "ref", t.ref, "message", m.Ref)
	}
}

// queueOffer queues the offer of a thread. A duplicate has no effect, unless the agent is giving
// the thread up. The caller holds Tasks.mu.
func (ts *Tasks) queueOffer(ref, by, trace string, req *mess.Request) {
	if t := ts.byRef[ref]; t != nil {
		t.newOffer = req
		return
	}
	o := newOffer(ref, by, trace, *req)
	if _, known := ts.Journal.Task(ref); known {
		ts.deferredOffers[ref] = o
		return
	}
	ts.addOffer(o)
}

// addOffer queues an offer. The caller holds Tasks.mu.
func (ts *Tasks) addOffer(o *offer) {
	ts.offers.add(o)
	ts.Wake()
}

// addDeferredOffer queues an offer that had to wait for the report on an earlier run.
func (ts *Tasks) addDeferredOffer(ref string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	o := ts.deferredOffers[ref]
	delete(ts.deferredOffers, ref)
	if o != nil && ts.byRef[ref] == nil {
		ts.addOffer(o)
	}
}

// addClaimed queues a thread that an earlier run has claimed, before all offers. The caller holds
// mu.
func (ts *Tasks) addClaimed(t *task) {
	ts.byRef[t.ref] = t
	ts.claimed = append(ts.claimed, t)
	ts.Wake()
}

// isTaken reports whether a status withdraws an offer: another executor has the thread, or no
// executor may take it.
func (ts *Tasks) isTaken(s *mess.Status) bool {
	return s.Code.Terminal() || s.Executor != "" && s.Executor != ts.Config.ID
}

// applyStatus applies the exchange's report on the status of the thread. The caller holds Tasks.mu.
func (t *task) applyStatus(m mess.Message, s *mess.Status) {
	switch {
	case t.epoch == 0:
		if t.all.isTaken(s) {
			t.cancelWork(runtime.ErrLost)
		}
	case m.Epoch == 0:
	case m.Epoch > t.epoch:
		t.cancelWork(runtime.ErrLost)
	case m.Epoch == t.epoch && (s.Code == mess.Pending || s.Code.Terminal()):
		t.cancelWork(runtime.ErrLost)
	}
}

// cancelWork cancels the work on the thread. The caller holds Tasks.mu.
func (t *task) cancelWork(cause error) {
	if t.cancel == nil && !t.reattachFrom.IsZero() { // an activity that continues on its own must end as well
		t.earlyCancel = cause
		return
	}
	if t.cancel == nil {
		t.withdrawn, t.abandoned = true, true
		return
	}
	t.cancel(cause)
}

// recent remembers the most recent strings.
type recent struct {
	known map[string]bool
	order []string
}

// maxRecent is the number of remembered strings; a duplicate message arrives soon after the
// first.
const maxRecent = 1024

// isRepeated adds s and reports whether recent contained it.
func (r *recent) isRepeated(s string) bool {
	if s == "" {
		return false
	}
	if r.known[s] {
		return true
	}
	if r.known == nil {
		r.known = map[string]bool{}
	}
	if len(r.order) == maxRecent {
		delete(r.known, r.order[0])
		r.order = r.order[1:]
	}
	r.known[s] = true
	r.order = append(r.order, s)
	return false
}
