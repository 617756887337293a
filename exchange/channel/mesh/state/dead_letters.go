package state

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// DeadLetter is a dead letter: a message that the agent could not deliver (MESH 1.0 section 8, "Dead
// Letter Queue").
type DeadLetter struct {
	ID         string          `json:"id"`
	Timestamp  time.Time       `json:"timestamp"` // time of the failure
	To         string          `json:"to"`
	FailReason string          `json:"failReason"`
	Attempts   int             `json:"attempts"`
	Envelope   json.RawMessage `json:"envelope"`

	// Text is the signed form of the envelope. Other tools may format Envelope anew.
	Text string `json:"text,omitempty"`
	// URL and Token are the address and the token for an answer; "": those of the peer.
	URL     string `json:"url,omitempty"`
	Token   string `json:"token,omitempty"`
	Session string `json:"sessionKey,omitempty"`
}

// Final reports whether the peer has rejected the message. It would reject the message again.
func (l DeadLetter) Final() bool { return strings.HasPrefix(l.FailReason, "client_error_") }

type deadLetters struct {
	Messages []DeadLetter `json:"messages"`
}

// maxDeadLetters limits the dead letters. The store drops the oldest.
const maxDeadLetters = 1000

// AddDeadLetter stores a dead letter. It replaces an earlier one with the same id, and returns
// those that the limit drops.
func (s *Store) AddDeadLetter(l DeadLetter) (dropped []DeadLetter, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.Timestamp = *stamped(s.now())
	list := slices.Clone(s.deadLetters.Messages)
	if i := slices.IndexFunc(list, l.same); i >= 0 {
		list[i] = l
	} else {
		list = append(list, l)
	}
	if n := len(list) - maxDeadLetters; n > 0 {
		dropped, list = list[:n], list[n:]
	}
	if err := s.write(deadLettersFile, deadLetters{list}); err != nil {
		return nil, err
	}
	s.deadLetters.Messages = list
	return dropped, nil
}

func (l DeadLetter) same(o DeadLetter) bool { return l.ID == o.ID && l.To == o.To }

// RemoveDeadLetter removes a dead letter, and reports whether it existed.
func (s *Store) RemoveDeadLetter(id, to string) (DeadLetter, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.deadLetters.Messages, DeadLetter{ID: id, To: to}.same)
	if i < 0 {
		return DeadLetter{}, false, nil
	}
	l := s.deadLetters.Messages[i]
	list := slices.Delete(slices.Clone(s.deadLetters.Messages), i, i+1)
	if err := s.write(deadLettersFile, deadLetters{list}); err != nil {
		return DeadLetter{}, false, err
	}
	s.deadLetters.Messages = list
	return l, true, nil
}

// DeadLetters returns the dead letters, the oldest first.
func (s *Store) DeadLetters() []DeadLetter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.deadLetters.Messages)
}
