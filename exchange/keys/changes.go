package keys

import "sync"

// changes writes the changes of a file with the content T. Changes that arrive during a write share
// the next one, because the file has all of its content.
type changes[T any] struct {
	writing sync.Mutex // held during a write

	mu      sync.Mutex
	waiting []*change[T]
}

// change is one change. changes.writing guards done and err.
type change[T any] struct {
	do   func(next T) error // returns an error before it changes next
	done bool
	err  error
}

// run makes a change. It calls copied for a copy of the content that changes may change, and then
// save with all of them.
func (c *changes[T]) run(do func(next T) error, copied func() (T, error), save func(next T) error) error {
	mine := &change[T]{do: do}
	c.mu.Lock()
	c.waiting = append(c.waiting, mine)
	c.mu.Unlock()
	c.writing.Lock()
	defer c.writing.Unlock()
	if mine.done {
		return mine.err
	}
	c.mu.Lock()
	list := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	next, err := copied()
	written := false
	for _, one := range list {
		if one.err = err; err == nil {
			one.err = one.do(next)
		}
		one.done = true
		written = written || one.err == nil
	}
	if !written {
		return mine.err
	}
	if err := save(next); err != nil {
		for _, one := range list {
			if one.err == nil {
				one.err = err
			}
		}
	}
	return mine.err
}
