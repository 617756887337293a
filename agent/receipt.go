package agent

import (
	"time"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/receipt"
)

// signed is the last word on a thread with a receipt in it, where the executor
// has a key. A report that cannot be signed goes out as it is: that it is told
// matters more than that it is proven.
func (t *task) signed(m mess.Message) mess.Message {
	if t.a.cfg.Signer == nil {
		return m
	}
	ended := t.ended
	if ended.IsZero() {
		ended = t.a.now()
	}
	f := receipt.Facts{
		Thread: t.ref, Epoch: m.Epoch, Executor: t.a.cfg.ID, Started: utc(t.began), Ended: utc(ended), Clock: t.a.clock(),
	}
	if t.plan != nil && t.plan.Command != "" { // of what an intent could not be read for, nothing is known
		f.Plan, f.Capability = t.plan.Digest(), t.plan.Capability
	}
	s, err := t.a.cfg.Signer.Sign(m, f)
	if err != nil {
		t.a.log.Error("report not signed", "ref", t.ref, "err", err)
		return m
	}
	return s
}

// signedAgain is a report whose content was changed after it was signed.
func (a *Agent) signedAgain(ref string, m mess.Message) mess.Message {
	if a.cfg.Signer == nil {
		return m
	}
	s, err := a.cfg.Signer.Again(m)
	if err != nil { // it never was
		a.log.Error("report not signed", "ref", ref, "err", err)
		return m
	}
	return s
}

// clock is how the times of this machine are marked.
func (a *Agent) clock() string {
	if a.cfg.Synced != nil && !a.cfg.Synced() {
		return receipt.Unsynchronised
	}
	return ""
}

// utc is a time as others can compare it.
func utc(at time.Time) mess.Time { return mess.TimeOf(at.UTC()) }
