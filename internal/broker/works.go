package broker

import (
	"sync"
	"time"
)

// works counts the calls that still use a connection, which may be dead.
type works struct {
	mu     sync.Mutex
	n      int           // under way
	closed chan struct{} // nil before wait; closed with the last call
}

// start runs f in a new goroutine. It returns false if the link has ended.
func (w *works) start(f func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed != nil {
		return false
	}
	w.n++
	go func() {
		defer w.end()
		f()
	}()
	return true
}

func (w *works) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n--; w.n == 0 && w.closed != nil {
		close(w.closed)
	}
}

// wait waits for the calls, for at most farewell. A call on a dead connection changes nothing any
// more, and returns after writeTime.
func (w *works) wait() {
	w.mu.Lock()
	w.closed = make(chan struct{})
	if w.n == 0 {
		close(w.closed)
	}
	w.mu.Unlock()
	t := time.NewTimer(closeTimeout)
	defer t.Stop()
	select {
	case <-w.closed:
	case <-t.C:
	}
}
