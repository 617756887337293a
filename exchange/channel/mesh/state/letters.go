package state

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Letter is a dead letter: a message that the agent could not deliver (MESH 1.0 section 8, "Dead
// Letter Queue").
type Letter struct {
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

// Final reports whether the peer has rejected the letter. It would reject the letter again.
func (l Letter) Final() bool { return strings.HasPrefix(l.FailReason, "client_error_") }

type letters struct {
	Messages []Letter `json:"messages"`
}

// maxLetters limits the letters. The store drops the oldest.
const maxLetters = 1000

// Bury stores a letter. It replaces an earlier letter with the same id, and returns the letters
// that the limit drops.
func (s *Store) Bury(l Letter) (dropped []Letter, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.Timestamp = *stamped(s.now())
	list := slices.Clone(s.letters.Messages)
	if i := slices.IndexFunc(list, l.same); i >= 0 {
		list[i] = l
	} else {
		list = append(list, l)
	}
	if n := len(list) - maxLetters; n > 0 {
		dropped, list = list[:n], list[n:]
	}
	if err := s.write(lettersFile, letters{list}); err != nil {
		return nil, err
	}
	s.letters.Messages = list
	return dropped, nil
}

func (l Letter) same(o Letter) bool { return l.ID == o.ID && l.To == o.To }

// Unbury removes a letter, and reports whether it existed.
func (s *Store) Unbury(id, to string) (Letter, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.letters.Messages, Letter{ID: id, To: to}.same)
	if i < 0 {
		return Letter{}, false, nil
	}
	l := s.letters.Messages[i]
	list := slices.Delete(slices.Clone(s.letters.Messages), i, i+1)
	if err := s.write(lettersFile, letters{list}); err != nil {
		return Letter{}, false, err
	}
	s.letters.Messages = list
	return l, true, nil
}

// Letters returns the dead letters, the oldest first.
func (s *Store) Letters() []Letter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.letters.Messages)
}
