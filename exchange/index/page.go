package index

import (
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/messkit/messkit/exchange/thread"
)

// Query selects threads. With Filter.Party it selects the threads whose requester, present holder
// or former holder is the party, and the pending threads that Offers accepts.
type Query struct {
	thread.Filter
	Capabilities []string              // of the party: Offers decides only about pending threads whose first requirement is one of these, or that have none
	Offers       func(ref string) bool // nil accepts no pending thread
}

// scanAtOnce is the number of slots that a scan reads under one lock.
const scanAtOnce = 8192

// Page returns one page of threads, the newest change first, and the cursor of the next page; "" on
// the last. The error is about the cursor.
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

// EndedBefore returns the threads with a terminal status that did not change after a time, the
// earliest change first. It returns at most most of them.
func (x *Index) EndedBefore(t time.Time, most int) (refs []string) {
	limit := nanos(t)
	for from, more := 0, true; more && len(refs) < most; from += scanAtOnce {
		x.mu.RLock()
		all := &x.slots
		end := min(from+scanAtOnce, len(all.slots))
		for at := from; at < end && len(refs) < most; at++ {
			if s := &all.slots[at]; !s.dead() && s.updated < limit && all.codes[s.status()].Terminal() {
				refs = append(refs, string(all.refOf(uint32(at))))
			}
		}
		more = end < len(all.slots)
		x.mu.RUnlock()
	}
	return refs
}

// found is a thread that a query may select.
type found struct {
	ref  string
	seq  uint64
	asks bool // Query.Offers decides
}

// scan reads some slots before a change. It returns at most most threads, and where to continue; 0
// is the end.
func (x *Index) scan(q Query, from uint64, most int) (all []found, next uint64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	t := &x.slots
	end := uint32(sort.Search(len(t.slots), func(i int) bool { return t.slots[i].seq >= from }))
	m := t.merge(q, end)
	since, required, used := nanos(q.Since), descent(t.requires[q.Capability]), descentsOf(t.devicesOf(q.Device))
	for range scanAtOnce {
		at, ok := m.next()
		if !ok || !q.Since.IsZero() && t.newer[at/block] < since {
			return all, 0
		}
		next = t.slots[at].seq
		if !t.matches(at, &q.Filter) || q.Capability != "" && !required.has(at) || q.Device != "" && !used.has(at) {
			continue
		}
		asks := q.Party != "" && !t.isParticipant(at, q.Party)
		if asks && (q.Offers == nil || !t.waits(at)) {
			continue
		}
		if all = append(all, found{string(t.refOf(at)), next, asks}); len(all) == most {
			return all, next
		}
	}
	return all, next
}

// merge returns the shortest lists that contain all slots of a query before a slot.
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
	if q.Requester != "" {
		sets = append(sets, [][]uint32{t.list(t.requested, q.Requester)})
	}
	if q.Executor != "" {
		sets = append(sets, [][]uint32{t.list(t.executes, q.Executor)})
	}
	if q.Capability != "" {
		sets = append(sets, [][]uint32{t.requires[q.Capability]})
	}
	if q.Device != "" {
		sets = append(sets, t.devicesOf(q.Device))
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

// merge yields the slots of several lists, the last first, each once.
type merge struct {
	lists [][]uint32
	all   int // if it is not negative: all slots before this one
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
