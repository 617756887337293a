package agent

import (
	"time"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/receipt"
)

// signed adds a receipt to a terminal status, if the executor has a key.
func (t *task) signed(m mess.Message) mess.Message {
	ended := t.ended
	if ended.IsZero() {
		ended = t.now()
	}
	f := receipt.Facts{
		Thread: t.ref, Epoch: m.Epoch, Executor: t.cfg.ID, Started: utc(t.began), Ended: utc(ended), Clock: t.session.clock(),
	}
	if t.plan != nil && t.plan.Command != "" { // an unreadable intent has no plan to sign
		f.Plan, f.Capability = t.plan.Digest(), t.plan.Capability
	}
	return t.session.signed(m, f)
}

// signed adds a receipt to a message, if the executor has a key. If signing fails, it returns
// the message unchanged: the report matters more than its proof.
func (s *session) signed(m mess.Message, f receipt.Facts) mess.Message {
	if s.cfg.Signer == nil {
		return m
	}
	signed, err := s.cfg.Signer.Sign(m, f)
	if err != nil {
		s.log.Error("report not signed", "ref", f.Thread, "err", err)
		return m
	}
	return signed
}

// signedAgain signs a report again after a change of its content.
func (s *session) signedAgain(ref string, m mess.Message) mess.Message {
	if s.cfg.Signer == nil {
		return m
	}
	signed, err := s.cfg.Signer.Again(m)
	if err != nil { // it had no signature
		s.log.Error("report not signed", "ref", ref, "err", err)
		return m
	}
	return signed
}

// clock returns the mark for times of this machine; "" for a set clock.
func (s *session) clock() string {
	if s.cfg.Synced != nil && !s.cfg.Synced() {
		return receipt.Unsynchronised
	}
	return ""
}

// utc returns a time in UTC for comparison with other machines.
func utc(at time.Time) mess.Time { return mess.TimeOf(at.UTC()) }
