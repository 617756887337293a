package eventbus

import (
	"sync"
	"time"

	"github.com/messkit/messkit/internal/shrink"
	"github.com/messkit/messkit/internal/timequeue"
	"github.com/messkit/messkit/internal/wait"
)

// Deadlines has the times at which names are due. A name may come due without need; the caller
// checks that.
type Deadlines struct {
	mu          sync.Mutex
	queue       timequeue.Queue[string]
	byName      map[string]*timequeue.Entry[string] // one for each name at most
	peak        shrink.Peak                         // of byName
	rescheduled chan struct{}                       // has an entry when the first deadline was moved forward
}

// NewDeadlines makes an empty one.
func NewDeadlines() *Deadlines {
	return &Deadlines{byName: map[string]*timequeue.Entry[string]{}, rescheduled: make(chan struct{}, 1)}
}

// Set makes a name due at t, and not when it was due before.
func (d *Deadlines) Set(name string, t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.byName[name]
	if one == nil {
		one = &timequeue.Entry[string]{Value: name}
		d.byName[name] = one
	}
	d.queue.Set(one, t)
	if first, _ := d.queue.Next(); first == one {
		wait.Notify(d.rescheduled)
	}
}

// Drop forgets a name.
func (d *Deadlines) Drop(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one := d.byName[name]; one != nil {
		d.queue.Remove(one)
		d.forget(name)
	}
}

// forget removes a name that is in no queue. The caller holds d.mu.
func (d *Deadlines) forget(name string) {
	delete(d.byName, name)
	d.byName = shrink.Fit(d.byName, &d.peak)
}

// Len is how many names are due at some time.
func (d *Deadlines) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.queue.Len()
}

// Never is how long a timer runs if no name is due.
const Never = 24 * time.Hour

// Timer returns a timer that ends when the first name is due.
func (d *Deadlines) Timer(now time.Time) *time.Timer {
	d.mu.Lock()
	defer d.mu.Unlock()
	first, at := d.queue.Next()
	if first == nil {
		return time.NewTimer(Never)
	}
	return time.NewTimer(max(0, at.Sub(now)))
}

// Rescheduled gets an entry when a new Timer would end earlier than the last one.
func (d *Deadlines) Rescheduled() <-chan struct{} { return d.rescheduled }

// Due takes out all names that are due, the earliest first.
func (d *Deadlines) Due(now time.Time) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for one := d.queue.Due(now); one != nil; one = d.queue.Due(now) {
		d.forget(one.Value)
		names = append(names, one.Value)
	}
	return names
}
