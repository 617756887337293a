package drivers

import "sync"

// Shared holds things that several devices of one program have in common. The
// zero value is ready for use.
type Shared struct {
	mu     sync.Mutex
	things map[string]any
}

// Get returns the thing called key, made by make the first time it is asked
// for. An error is returned to every caller until make succeeds.
func (s *Shared) Get(key string, make func() (any, error)) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.things[key]; ok {
		return t, nil
	}
	t, err := make()
	if err != nil {
		return nil, err
	}
	if s.things == nil {
		s.things = map[string]any{}
	}
	s.things[key] = t
	return t, nil
}
