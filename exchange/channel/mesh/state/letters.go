package state

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Letter is a message that was not delivered (MESH 1.0 section 8, "Dead Letter
// Queue").
type Letter struct {
	ID         string          `json:"id"`
	Timestamp  time.Time       `json:"timestamp"` // of the failure
	To         string          `json:"to"`
	FailReason string          `json:"failReason"`
	Attempts   int             `json:"attempts"`
	Envelope   json.RawMessage `json:"envelope"`

	// Text is the envelope as it was signed, since other tools may write Envelope
	// anew.
	Text string `json:"text,omitempty"`
	// URL and Token are where an answer goes; "" for the peer's own.
	URL     string `json:"url,omitempty"`
	Token   string `json:"token,omitempty"`
	Session string `json:"sessionKey,omitempty"`
}

// Final reports whether the peer has refused the letter: it would again.
func (l Letter) Final() bool { return strings.HasPrefix(l.FailReason, "client_error_") }

type letters struct {
	Messages []Letter `json:"messages"`
}

// maxLetters bounds them; the oldest give way.
const maxLetters = 1000

// Bury keeps a letter, in the place of an earlier one with its id, and returns
// those that had to give way.
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

// Unbury takes a letter out, and reports whether it was there.
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

// Letters are the dead letters, the oldest first.
func (s *Store) Letters() []Letter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.letters.Messages)
}
