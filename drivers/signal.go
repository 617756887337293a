package drivers

import (
	"context"
	"sync"
)

// Notifier is a device that notices possible changes of its state, from an edge of a line
// or from a message. A caller need not poll it.
type Notifier interface {
	// Changes returns a channel that closes at the next change, or nil if the device does
	// not notice changes. It does not block. The channel misses no change after the call.
	Changes() <-chan struct{}
}

// Worker is a device that works autonomously for some time.
type Worker interface {
	// Working reports whether the device works. A task that is paused or waits for a person
	// counts as work.
	Working(ctx context.Context) (bool, error)
}

// Signal implements Notifier. The zero value is ready for use. It is safe for concurrent use.
type Signal struct {
	mu   sync.Mutex
	next chan struct{}
}

// Notify closes the channels that Changes has returned. It does not block.
func (s *Signal) Notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		close(s.next)
		s.next = nil
	}
}

// Changes implements Notifier.
func (s *Signal) Changes() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = make(chan struct{})
	}
	return s.next
}
