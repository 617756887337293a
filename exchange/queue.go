package exchange

import (
	"cmp"
	"iter"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
)

// queue has threads in the order of their keys. A nil queue is empty.
type queue struct {
	parts [][]*openThread // in order, none empty and none above partSize
	n     int
}

const partSize = 256

// find returns where a thread is in the queue, or where it belongs.
func (q *queue) find(l *openThread) (part, at int, found bool) {
	part = sort.Search(len(q.parts)-1, func(i int) bool {
		one := q.parts[i]
		return l.key.compare(one[len(one)-1].key) <= 0
	})
	at, found = slices.BinarySearchFunc(q.parts[part], l.key, func(a *openThread, b queueKey) int { return a.key.compare(b) })
	return part, at, found
}

func (q *queue) add(l *openThread) {
	if q.n == 0 {
		q.parts, q.n = [][]*openThread{{l}}, 1
		return
	}
	part, at, found := q.find(l)
	if found {
		return
	}
	one := slices.Insert(q.parts[part], at, l)
	q.parts[part] = one
	if q.n++; len(one) > partSize {
		half := len(one) / 2
		q.parts[part] = slices.Clone(one[:half])
		q.parts = slices.Insert(q.parts, part+1, slices.Clone(one[half:]))
	}
}

func (q *queue) drop(l *openThread) {
	if q.len() == 0 {
		return
	}
	part, at, found := q.find(l)
	if !found {
		return
	}
	q.n--
	if q.parts[part] = slices.Delete(q.parts[part], at, at+1); len(q.parts[part]) == 0 {
		q.parts = slices.Delete(q.parts, part, part+1)
	}
}

func (q *queue) len() int {
	if q == nil {
		return 0
	}
	return q.n
}

// all returns the threads in order.
func (q *queue) all() iter.Seq[*openThread] {
	return func(yield func(*openThread) bool) {
		if q == nil {
			return
		}
		for _, one := range q.parts {
			for _, l := range one {
				if !yield(l) {
					return
				}
			}
		}
	}
}

// byRef returns the threads, sorted by ref.
func (q *queue) byRef() []*openThread {
	return slices.SortedFunc(q.all(), func(a, b *openThread) int { return strings.Compare(a.key.ref, b.key.ref) })
}

// before returns how many threads of the queue precede one.
func (q *queue) before(l *openThread) int {
	if q.len() == 0 {
		return 0
	}
	part, at, _ := q.find(l)
	for _, one := range q.parts[:part] {
		at += len(one)
	}
	return at
}

// queuePosition returns the position of a thread in the queue of the executor that reaches it
// first; 1 is the next one. It returns 0 for a thread that does not wait: it is the only offer of a
// live executor. The caller holds x.open.mu.
func (x *Exchange) queuePosition(l *openThread) int64 {
	switch {
	case !l.isPending:
		return 0
	case len(l.offered) == 0:
		return int64(x.open.unoffered.before(l)) + 1
	}
	s := x.snapshot(x.now())
	least := len(x.open.byRef)
	for _, id := range l.offered {
		q := x.open.offered[id]
		if e := s.registry.Table.Executor(id); q.len() == 1 && e != nil && s.IsLive(e) {
			return 0
		}
		least = min(least, q.before(l))
	}
	return int64(least) + 1
}

// queueKey is the key by which a queue orders its threads.
type queueKey struct {
	rank    int
	created time.Time
	ref     string
}

func queueKeyOf(e *Envelope) queueKey {
	return queueKey{mess.Rank(e.Priority, e.Needs.Urgency), e.Created, strings.Clone(e.Ref)}
}

// compare compares the priority, then the urgency, then the age.
func (p queueKey) compare(q queueKey) int {
	return cmp.Or(
		q.rank-p.rank,
		p.created.Compare(q.created), len(p.ref)-len(q.ref), strings.Compare(p.ref, q.ref), // a longer serial is a higher one
	)
}
