package drivers

import (
	"context"
	"sync"
)

// Notifier is a device that notices of its own accord that it may be otherwise than
// it was: by an edge of a line, or because it is told. Who watches it need not ask
// again and again.
type Notifier interface {
	// Changes is closed with the next change; nil where it notices none. It does not
	// wait, and a change behind the call is never missed.
	Changes() <-chan struct{}
}

// Worker is a device that works at something for a while by itself.
type Worker interface {
	// Working reports whether it is at it: what is paused, or waits for a person, is.
	Working(ctx context.Context) (bool, error)
}

// Bell is rung with every change, for Notifier. The zero value is ready.
type Bell struct {
	mu   sync.Mutex
	next chan struct{}
}

// Ring tells those who have asked for the next change. It does not wait.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// Changes implements Notifier.
func (b *Bell) Changes() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}
