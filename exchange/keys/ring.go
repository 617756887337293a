package keys

import (
	"maps"
	"slices"
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
