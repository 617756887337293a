package exchange

import (
	"context"
	"sync"
)

// manyWrites is how many documents the exchange writes at the same time.
const manyWrites = 64

// documents lets one write a document at a time. Who writes different ones does not
// wait, so that they share a sync of the disk.
type documents struct {
	mu      sync.Mutex
	writing map[document]*slot
}

type document struct{ kind, id string }

// slot is a document that somebody writes. Its channel has room for one.
type slot struct {
	busy  chan struct{}
	wants int // who writes it, or waits for that
}

// writing waits until nobody else writes a document. Who says what stands only
// then writes the newest, in whatever order they come.
func (x *Exchange) writing(ctx context.Context, kind, id string) (done func(), err error) {
	d, key := &x.documents, document{kind, id}
	d.mu.Lock()
	s := d.writing[key]
	if s == nil {
		if d.writing == nil {
			d.writing = map[document]*slot{}
		}
		s = &slot{busy: make(chan struct{}, 1)}
		d.writing[key] = s
	}
	s.wants++
	d.mu.Unlock()
	leave := func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if s.wants--; s.wants == 0 {
			delete(d.writing, key)
		}
	}
	done = func() { <-s.busy; leave() }
	select {
	case s.busy <- struct{}{}:
		return done, nil
	default:
	}
	select {
	case s.busy <- struct{}{}:
		return done, nil
	case <-ctx.Done():
		leave()
		return nil, x.broken(ctx.Err())
	}
}
