package keys

import (
	"maps"
	"slices"
	"sync"
)

// ring is the keys at one moment.
type ring struct {
	holders map[string]holder   // by the hex of the key's SHA-256
	of      map[string][]string // actor to the hashes of its keys; a list is never changed
}

func newRing(holders map[string]holder) ring {
	r := ring{map[string]holder{}, map[string][]string{}}
	for sum, h := range holders {
		r.put(sum, h)
	}
	return r
}

func (r ring) clone() ring { return ring{maps.Clone(r.holders), maps.Clone(r.of)} }

// current finds the key of an actor that has no end.
func (r ring) current(actor string) (sum string, ok bool) {
	for _, sum := range r.of[actor] {
		if r.holders[sum].Ends == nil {
			return sum, true
		}
	}
	return "", false
}

// put adds a key, or replaces what is known of it.
func (r ring) put(sum string, h holder) {
	if _, known := r.holders[sum]; !known {
		r.of[h.Actor] = append(slices.Clip(r.of[h.Actor]), sum)
	}
	r.holders[sum] = h
}

// drop removes all keys of an actor.
func (r ring) drop(actor string) {
	for _, sum := range r.of[actor] {
		delete(r.holders, sum)
	}
	delete(r.of, actor)
}

// tidy removes the keys whose time is over.
func (r ring) tidy() {
	for sum, h := range r.holders {
		if !h.ended() {
			continue
		}
		delete(r.holders, sum)
		r.of[h.Actor] = slices.DeleteFunc(slices.Clone(r.of[h.Actor]), func(one string) bool { return one == sum })
		if len(r.of[h.Actor]) == 0 {
			delete(r.of, h.Actor)
		}
	}
}

// queue is changes of the keys that wait for the disk.
type queue struct {
	mu   sync.Mutex
	list []*change
}

// change is one change of the keys. Keys.change guards done and err.
type change struct {
	do   func(next ring) error // returns an error before it changes next
	done bool
	err  error
}

// update changes the keys, on disk first. Changes that come while an earlier one is written
// share one write: the file has all keys.
func (k *Keys) update(do func(next ring) error) error {
	c := &change{do: do}
	k.queued.mu.Lock()
	k.queued.list = append(k.queued.list, c)
	k.queued.mu.Unlock()
	k.change.Lock()
	defer k.change.Unlock()
	if c.done {
		return c.err
	}
	k.queued.mu.Lock()
	list := k.queued.list
	k.queued.list = nil
	k.queued.mu.Unlock()
	next, written := k.ring.clone(), false
	for _, one := range list {
		one.err = one.do(next)
		one.done = true
		written = written || one.err == nil
	}
	if !written {
		return c.err
	}
	if err := k.save(next); err != nil {
		for _, one := range list {
			if one.err == nil {
				one.err = err
			}
		}
	}
	return c.err
}
