package state

import (
	"cmp"
	"maps"
	"time"
)

// Breaker is the circuit breaker of one peer (MESH 1.0 section 8).
type Breaker struct {
	State       string     `json:"state"`
	Failures    int        `json:"failures"` // failed attempts in a row
	LastFailure *time.Time `json:"lastFailure"`
	OpenUntil   *time.Time `json:"openUntil"`

	probing bool // a message tests whether the peer is back
}

// The states of a breaker.
const (
	Closed   = "closed"
	Opened   = "open"
	HalfOpen = "half-open"
)

const (
	maxFailures = 3
	openFor     = time.Minute
)

// Enter reports whether the caller may send a message. For the message that tests whether the peer
// is back, probe is true. The caller then calls Succeeded, Failed or Leave.
func (s *Store) Enter(peer string) (ok, probe bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.breakers[peer]
	switch {
	case b.State != Opened && b.State != HalfOpen:
		return true, false
	case b.probing || b.waits(s.now()):
		return false, false
	}
	b.State, b.probing = HalfOpen, true
	s.breakers[peer] = b
	s.saveBreakers()
	return true, true
}

// waits reports whether the breaker blocks all messages. It ignores a time that is further off
// than the longest wait, because a wrong clock has written it.
func (b Breaker) waits(now time.Time) bool {
	return b.OpenUntil != nil && now.Before(*b.OpenUntil) && b.OpenUntil.Sub(now) <= openFor
}

// Leave ends a probe without a result.
func (s *Store) Leave(peer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.breakers[peer]; ok && b.probing {
		b.probing = false
		s.breakers[peer] = b
	}
}

// Succeeded records that a peer has answered.
func (s *Store) Succeeded(peer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.breakers[peer]; b.State == "" || b.State == Closed && b.Failures == 0 {
		return
	}
	s.breakers[peer] = Breaker{State: Closed}
	s.saveBreakers()
}

// Failed records that an attempt has failed.
func (s *Store) Failed(peer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.breakers[peer]
	b.Failures++
	b.LastFailure = stamped(s.now())
	b.State = cmp.Or(b.State, Closed)
	if b.Failures >= maxFailures || b.State == HalfOpen {
		b.State, b.OpenUntil, b.probing = Opened, stamped(s.now().Add(openFor)), false
	}
	s.breakers[peer] = b
	s.saveBreakers()
}

// Breakers returns the breakers of all peers that have failed once.
func (s *Store) Breakers() map[string]Breaker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.breakers)
}

// saveBreakers stores the breakers. An error does not stop a message. The caller holds s.mu.
func (s *Store) saveBreakers() {
	if err := s.write(breakersFile, s.breakers); err != nil {
		s.log.Warn("mesh: cannot store a circuit breaker", "err", err)
	}
}
