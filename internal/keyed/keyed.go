// Package keyed has locks and work by name: two goroutines exclude each other only if they
// use the same name.
package keyed

import (
	"slices"
	"sync"
)

// Locks are locks by name. The zero value has none locked.
type Locks struct {
	mu    sync.Mutex
	names map[string]*lock
}

// lock is a name that goroutines hold or wait for.
type lock struct {
	mu    sync.Mutex
	users int // guarded by Locks.mu
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
		held[i].mu.Lock()
	}
	return func() {
		for i, name := range names {
			held[i].mu.Unlock()
			l.leave(name)
		}
	}
}

func (l *Locks) use(name string) *lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.names[name]
	if one == nil {
		one = &lock{}
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
	}
}
