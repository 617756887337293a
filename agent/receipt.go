package agent

import (
	"time"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/receipt"
)

// signed adds a receipt to a terminal status, if the executor has a key. If signing fails, it
// returns the message unchanged: the report matters more than its proof.
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
	if t.plan != nil && t.plan.Command != "" { // an unreadable intent has no plan to sign
		f.Plan, f.Capability = t.plan.Digest(), t.plan.Capability
	}
	s, err := t.a.cfg.Signer.Sign(m, f)
	if err != nil {
		t.a.log.Error("report not signed", "ref", t.ref, "err", err)
		return m
	}
	return s
}

// signedAgain signs a report again after a change of its content.
func (a *Agent) signedAgain(ref string, m mess.Message) mess.Message {
	if a.cfg.Signer == nil {
		return m
	}
	s, err := a.cfg.Signer.Again(m)
	if err != nil { // it had no signature
		a.log.Error("report not signed", "ref", ref, "err", err)
		return m
	}
	return s
}

// clock returns the mark for times of this machine; "" for a set clock.
func (a *Agent) clock() string {
	if a.cfg.Synced != nil && !a.cfg.Synced() {
		return receipt.Unsynchronised
	}
	return ""
}

// utc returns a time in UTC for comparison with other machines.
func utc(at time.Time) mess.Time { return mess.TimeOf(at.UTC()) }
