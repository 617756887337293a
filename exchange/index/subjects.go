package index

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/thread"
)

// addSubjects adds required capabilities and devices to threads that have slots.
func (t *table) addSubjects(of map[string]thread.Subjects) {
	requires, devices := map[string][]uint32{}, map[string][]uint32{}
	for ref, s := range of {
		if at, ok := t.find(ref); ok {
			for _, id := range s.Capabilities {
				requires[id] = append(requires[id], at)
			}
			for _, id := range s.Devices {
				devices[id] = append(devices[id], at)
			}
		}
	}
	addTo(&t.requires, requires)
	addTo(&t.devices, devices)
}

// addTo adds slots to lists.
func addTo(lists *map[string][]uint32, more map[string][]uint32) {
	for id, some := range more {
		list := (*lists)[id]
		slices.Sort(some)
		some = slices.DeleteFunc(slices.Compact(some), func(at uint32) bool {
			_, known := slices.BinarySearch(list, at)
			return known
		})
		put(lists, id, insert(list, some))
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

// devicesOf returns the lists of a device: one of its own, and one of the threads that name it while
// no executor has claimed them.
func (t *table) devicesOf(id string) [][]uint32 {
	return [][]uint32{t.devices[id], t.devices[thread.DeviceID("", id[strings.LastIndex(id, ":")+1:])]}
}

// descents reads several ascending lists from their ends.
type descents []descent

func descentsOf(lists [][]uint32) descents {
	all := make(descents, len(lists))
	for i, list := range lists {
		all[i] = list
	}
	return all
}

// has reports whether a slot is in one of the lists. Each call needs an earlier slot than the call
// before.
func (d descents) has(at uint32) bool {
	found := false
	for i := range d {
		found = d[i].has(at) || found
	}
	return found
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
