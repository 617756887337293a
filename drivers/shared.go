package drivers

import "sync"

// Shared contains resources that several devices of one program use. The zero value is
// ready for use. It is safe for concurrent use.
type Shared struct {
	mu        sync.Mutex
	resources map[string]any
}

// Get returns the resource with this key. The first call creates it with make. If make
// fails, Get returns its error, and the next call tries again.
func (s *Shared) Get(key string, make func() (any, error)) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.resources[key]; ok {
		return t, nil
	}
	t, err := make()
	if err != nil {
		return nil, err
	}
	if s.resources == nil {
		s.resources = map[string]any{}
	}
	s.resources[key] = t
	return t, nil
}
