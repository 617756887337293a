// Package keyed has locks and work by name: two goroutines exclude each other only if they
// use the same name.
package keyed

import (
	"context"
	"slices"
	"sync"

	"github.com/messkit/messkit/internal/shrink"
)

// Locks are locks by name. The zero value has none locked.
type Locks struct {
	mu    sync.Mutex
	names map[string]*lock
	peak  shrink.Peak
}

// lock is a name that goroutines hold or wait for.
type lock struct {
	held  chan struct{} // has an entry while a goroutine holds the name
	users int           // goroutines that hold the name or wait for it; Locks.mu guards it
}

// Lock locks names, and returns a function that unlocks them. Goroutines that lock several
// names do not block each other for ever, because Lock takes the names in sorted order.
func (l *Locks) Lock(names ...string) (unlock func()) {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	held := make([]*lock, len(names))
	for i, name := range names {
		held[i] = l.use(name)
		held[i].held <- struct{}{}
	}
	return func() {
		for i, name := range names {
			<-held[i].held
			l.leave(name)
		}
	}
}

// LockContext locks one name, and returns a function that unlocks it. If it must wait for the
// name and ctx ends first, it returns the error of ctx.
func (l *Locks) LockContext(ctx context.Context, name string) (unlock func(), err error) {
	one := l.use(name)
	select {
	case one.held <- struct{}{}:
	default:
		select {
		case one.held <- struct{}{}:
		case <-ctx.Done():
			l.leave(name)
			return nil, ctx.Err()
		}
	}
	return func() {
		<-one.held
		l.leave(name)
	}, nil
}

func (l *Locks) use(name string) *lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.names[name]
	if one == nil {
		one = &lock{held: make(chan struct{}, 1)}
		if l.names == nil {
			l.names = map[string]*lock{}
		}
		l.names[name] = one
	}
	one.users++
	return one
}

func (l *Locks) leave(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.names[name]
	if one.users--; one.users == 0 {
		delete(l.names, name)
		l.names = shrink.Fit(l.names, &l.peak)
	}
}
