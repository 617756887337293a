package index

import (
	"slices"
	"sort"
	"strconv"

	"github.com/messkit/messkit/exchange/thread"
)

// Query selects threads. With Filter.Party it selects those that the party has requested,
// holds or has held, and those that wait for a claim and that Offers reports.
type Query struct {
	thread.Filter
	Capabilities []string              // of the party: a thread that waits is asked for only if one of these is its first need, or if it needs none
	Offers       func(ref string) bool // nil: no thread that waits
}

// scanAtOnce is how many slots are looked at while nobody can change the index.
const scanAtOnce = 8192

// Page selects threads, newest change first. The cursor is "" on the last page.
func (x *Index) Page(q Query) (refs []string, cursor string, err error) {
	from, err := q.From()
	if err != nil {
		return nil, "", err
	}
	var last uint64
	for {
		found, next := x.scan(q, from, q.Max()+1-len(refs))
		for _, f := range found {
			if f.asks && !q.Offers(f.ref) {
				continue
			}
			if len(refs) == q.Max() {
				return refs, strconv.FormatUint(last, 10), nil
			}
			refs, last = append(refs, f.ref), f.seq
		}
		if next == 0 {
			return refs, "", nil
		}
		from = next
	}
}

// found is a thread that a query may select.
type found struct {
	ref  string
	seq  uint64
	asks bool // Query.Offers decides
}

// scan looks at some slots from before a change on. It returns at most that many threads,
// and from where to go on; 0 is the end.
func (x *Index) scan(q Query, from uint64, most int) (all []found, next uint64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	t := &x.slots
	end := uint32(sort.Search(len(t.slots), func(i int) bool { return t.slots[i].seq >= from }))
	m := t.merge(q, end)
	since := nanos(q.Since)
	for range scanAtOnce {
		at, ok := m.next()
		if !ok || !q.Since.IsZero() && t.newer[at/block] < since {
			return all, 0
		}
		next = t.slots[at].seq
		if !t.matches(at, &q.Filter) {
			continue
		}
		asks := q.Party != "" && !t.party(at, q.Party)
		if asks && (q.Offers == nil || !t.waits(at)) {
			continue
		}
		if all = append(all, found{string(t.refOf(at)), next, asks}); len(all) == most {
			return all, next
		}
	}
	return all, next
}

// merge is the shortest set of lists that has all that a query selects, before a slot.
func (t *table) merge(q Query, end uint32) *merge {
	var sets [][][]uint32
	if q.Party != "" {
		lists := [][]uint32{t.list(t.requested, q.Party), t.list(t.executes, q.Party), t.list(t.held, q.Party)}
		if q.Offers != nil {
			lists = append(lists, t.waiting[""])
			for _, c := range q.Capabilities {
				lists = append(lists, t.waiting[c])
			}
		}
		sets = append(sets, lists)
	}
	if q.Requestor != "" {
		sets = append(sets, [][]uint32{t.list(t.requested, q.Requestor)})
	}
	if q.Executor != "" {
		sets = append(sets, [][]uint32{t.list(t.executes, q.Executor)})
	}
	if len(q.Status) > 0 {
		var lists [][]uint32
		for _, c := range q.Status {
			lists = append(lists, t.statusList(c))
		}
		sets = append(sets, lists)
	}
	if len(sets) == 0 {
		return &merge{all: int(end)}
	}
	best := slices.MinFunc(sets, func(a, b [][]uint32) int { return total(a) - total(b) })
	m := &merge{all: -1}
	for _, list := range best {
		n, _ := slices.BinarySearch(list, end)
		if n > 0 {
			m.lists = append(m.lists, list[:n])
		}
	}
	return m
}

func total(lists [][]uint32) int {
	n := 0
	for _, list := range lists {
		n += len(list)
	}
	return n
}

// merge gives the slots of lists, the last first, each once.
type merge struct {
	lists [][]uint32
	all   int // or, if it is not negative, all slots before this one
}

func (m *merge) next() (at uint32, ok bool) {
	if m.all >= 0 {
		m.all--
		return uint32(m.all), m.all >= 0
	}
	for _, list := range m.lists {
		if n := len(list); n > 0 && (!ok || list[n-1] > at) {
			at, ok = list[n-1], true
		}
	}
	for i, list := range m.lists {
		if n := len(list); n > 0 && list[n-1] == at {
			m.lists[i] = list[:n-1]
		}
	}
	return at, ok
}
