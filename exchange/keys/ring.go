package keys

import (
	"maps"
	"slices"
	"sync"
)

// ring has the keys at one moment.
type ring struct {
	holders map[string]holder   // by the hex form of the SHA-256 of the key
	of      map[string][]string // hashes of the keys, by actor; the lists are immutable
}

func newRing(holders map[string]holder) ring {
	r := ring{map[string]holder{}, map[string][]string{}}
	for sum, h := range holders {
		r.put(sum, h)
	}
	return r
}

func (r ring) clone() ring { return ring{maps.Clone(r.holders), maps.Clone(r.of)} }

// current returns the key of an actor that does not end.
func (r ring) current(actor string) (sum string, ok bool) {
	for _, sum := range r.of[actor] {
		if r.holders[sum].Ends == nil {
			return sum, true
		}
	}
	return "", false
}

// put adds a key, or replaces its record.
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

// tidy removes expired keys.
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

// queue has the changes that wait for the disk.
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

// update changes the keys, on the disk first. Changes that arrive during a write share the next
// one, because the file has all keys.
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
