package index

import "slices"

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
		put(&t.requires, id, insert(list, some))
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
