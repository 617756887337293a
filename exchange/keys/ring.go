package keys

import (
	"maps"
	"slices"
)

// ring has the keys at one moment.
type ring struct {
	holders map[string]holder   // by the hex form of the SHA-256 of the key
	of      map[string][]string // hashes of the keys, by actor; the lists are immutable

	was map[string]ring // what the changed actors had before a change, by actor; nil unless somebody asks for it
}

func newRing(holders map[string]holder) ring {
	r := ring{holders: map[string]holder{}, of: map[string][]string{}}
	for sum, h := range holders {
		r.put(sum, h)
	}
	return r
}

func (r ring) clone() ring { return ring{holders: maps.Clone(r.holders), of: maps.Clone(r.of)} }

// only returns a ring with the keys of an actor.
func (r ring) only(actor string) ring {
	one := newRing(nil)
	for _, sum := range r.of[actor] {
		one.put(sum, r.holders[sum])
	}
	return one
}

// note keeps what an actor had before its first change.
func (r ring) note(actor string) {
	if _, noted := r.was[actor]; r.was != nil && !noted {
		r.was[actor] = r.only(actor)
	}
}

// set replaces the keys of an actor.
func (r ring) set(actor string, keys ring) {
	r.drop(actor)
	for _, sum := range keys.of[actor] {
		r.put(sum, keys.holders[sum])
	}
}

// try makes a change, takes it back, and returns the keys of the changed actors before and after it.
// So its cost does not grow with the number of keys.
func (r ring) try(do func(next ring) error) (before, after map[string]ring, err error) {
	r.was = map[string]ring{}
	err = do(r)
	before, after = r.was, map[string]ring{}
	r.was = nil
	for actor, keys := range before {
		after[actor] = r.only(actor)
		r.set(actor, keys)
	}
	return before, after, err
}

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
	r.note(h.Actor)
	if _, known := r.holders[sum]; !known {
		r.of[h.Actor] = append(slices.Clip(r.of[h.Actor]), sum)
	}
	r.holders[sum] = h
}

// drop removes all keys of an actor.
func (r ring) drop(actor string) {
	r.note(actor)
	for _, sum := range r.of[actor] {
		delete(r.holders, sum)
	}
	delete(r.of, actor)
}

// removeExpired removes expired keys that newer ones have replaced.
func (r ring) removeExpired() {
	for sum, h := range r.holders {
		if h.Ends == nil || !h.ended() { // a person without access stays in the list
			continue
		}
		delete(r.holders, sum)
		r.of[h.Actor] = slices.DeleteFunc(slices.Clone(r.of[h.Actor]), func(one string) bool { return one == sum })
		if len(r.of[h.Actor]) == 0 {
			delete(r.of, h.Actor)
		}
	}
}

// update changes the keys, on the disk first.
func (k *Keys) update(do func(next ring) error) error {
	if k.docs != nil {
		return k.changeShared(do)
	}
	return k.changes.run(do, func() (ring, error) { return k.ring.clone(), nil }, k.save)
}
