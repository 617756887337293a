package index

import (
	"slices"
	"strings"
)

// require adds a slot to the list of a capability. It is the last slot so far.
func (t *table) require(id string, at uint32) {
	list := t.requires[id]
	if n := len(list); n > 0 && list[n-1] == at {
		return // the request names it twice
	}
	t.setRequires(id, append(list, at))
}

func (t *table) setRequires(id string, list []uint32) {
	if t.requires == nil {
		t.requires = map[string][]uint32{}
	}
	if _, known := t.requires[id]; !known {
		id = strings.Clone(id)
	}
	t.requires[id] = list
}

// addCapabilities adds required capabilities to threads that have slots.
func (t *table) addCapabilities(of map[string][]string) {
	more := map[string][]uint32{}
	for ref, ids := range of {
		if at, ok := t.find(ref); ok {
			for _, id := range ids {
				more[id] = append(more[id], at)
			}
		}
	}
	for id, some := range more {
		list := t.requires[id]
		slices.Sort(some)
		some = slices.DeleteFunc(slices.Compact(some), func(at uint32) bool {
			_, known := slices.BinarySearch(list, at)
			return known
		})
		t.setRequires(id, insert(list, some))
	}
}

// insert inserts slots into an ascending list. Both are sorted, and have no slot in common. It
// touches only the end of the list that follows the first new slot.
func insert(list, some []uint32) []uint32 {
	last := len(list) - 1
	list = append(list, some...)
	for to := len(list) - 1; len(some) > 0; to-- {
		if n := len(some) - 1; last < 0 || some[n] > list[last] {
			list[to], some = some[n], some[:n]
		} else {
			list[to] = list[last]
			last--
		}
	}
	return list
}

// copyCapability copies the list of a capability from another table. It leaves out the slots that
// copy has left out, and those that are too new for moved.
func (t *table) copyCapability(from *table, id string, moved []uint32) {
	for _, at := range from.requires[id] {
		if int(at) < len(moved) && moved[at] > 0 {
			t.require(id, moved[at]-1)
		}
	}
}

// descent reads an ascending list from its end.
type descent []uint32

// has reports whether a slot is in the list. Each call needs an earlier slot than the call before.
// It searches near the last position first, so a whole descent costs little more than the list
// has entries.
func (d *descent) has(at uint32) bool {
	list := *d
	low, end := len(list), len(list)
	for step := 1; low > 0 && list[low-1] > at; step *= 2 {
		end = low - 1
		low = max(0, end-step)
	}
	n, found := slices.BinarySearch(list[low:end], at)
	if found {
		n++
	}
	*d = list[:low+n]
	return found || n == 0 && low > 0 && list[low-1] == at
}
