package session

import (
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/receipt"
)

// Sign adds a receipt to a message, if the executor has a key. If signing fails, it returns
// the message unchanged: the report matters more than its proof.
func (s *Session) Sign(m mess.Message, f receipt.Facts) mess.Message {
	if s.Config.Signer == nil {
		return m
	}
	signed, err := s.Config.Signer.Sign(m, f)
	if err != nil {
		s.log.Error("report not signed", "ref", f.Thread, "err", err)
		return m
	}
	return signed
}

// SignAgain signs a report again after a change of its content.
func (s *Session) SignAgain(ref string, m mess.Message) mess.Message {
	if s.Config.Signer == nil {
		return m
	}
	signed, err := s.Config.Signer.Again(m)
	if err != nil { // it had no signature
		s.log.Error("report not signed", "ref", ref, "err", err)
		return m
	}
	return signed
}

// ClockMark returns the mark for times of this machine; "" for a set clock.
func (s *Session) ClockMark() string {
	if s.Config.Synced != nil && !s.Config.Synced() {
		return receipt.Unsynchronised
	}
	return ""
}
