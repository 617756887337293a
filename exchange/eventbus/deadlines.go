package eventbus

import (
	"container/heap"
	"sync"
	"time"
)

// Deadlines remembers when names are due. A name may come due that need not be looked
// at any more; the caller checks that.
type Deadlines struct {
	mu     sync.Mutex
	queue  queue
	byName map[string]*deadline
	sooner chan struct{} // has an entry when the first deadline was moved forward
}

// deadline is when one name is due; each name has one at most.
type deadline struct {
	at    time.Time
	name  string
	place int // in the queue
}

// NewDeadlines makes an empty one.
func NewDeadlines() *Deadlines {
	return &Deadlines{byName: map[string]*deadline{}, sooner: make(chan struct{}, 1)}
}

// Set makes a name due at t, and not when it was due before.
func (d *Deadlines) Set(name string, t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one := d.byName[name]; one != nil {
		one.at = t
		heap.Fix(&d.queue, one.place)
	} else {
		one = &deadline{at: t, name: name}
		d.byName[name] = one
		heap.Push(&d.queue, one)
	}
	if d.queue[0].name == name {
		select {
		case d.sooner <- struct{}{}:
		default:
		}
	}
}

// Drop forgets a name.
func (d *Deadlines) Drop(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one := d.byName[name]; one != nil {
		heap.Remove(&d.queue, one.place)
		delete(d.byName, name)
	}
}

// Len is how many names are due at some time.
func (d *Deadlines) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.queue)
}

// Never is how long a timer runs if no name is due.
const Never = 24 * time.Hour

// Timer returns a timer that ends when the first name is due.
func (d *Deadlines) Timer(now time.Time) *time.Timer {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 {
		return time.NewTimer(Never)
	}
	return time.NewTimer(max(0, d.queue[0].at.Sub(now)))
}

// Sooner has an entry when a new Timer would end earlier than the last one.
func (d *Deadlines) Sooner() <-chan struct{} { return d.sooner }

// Due takes out all names that are due, the earliest first.
func (d *Deadlines) Due(now time.Time) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for len(d.queue) > 0 && !d.queue[0].at.After(now) {
		name := heap.Pop(&d.queue).(*deadline).name
		delete(d.byName, name)
		names = append(names, name)
	}
	return names
}

// queue is a heap, the earliest first.
type queue []*deadline

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

func (q *queue) Push(v any) {
	one := v.(*deadline)
	one.place = len(*q)
	*q = append(*q, one)
}

func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	(*q)[len(*q)-1] = nil
	*q = (*q)[:len(*q)-1]
	return last
}
