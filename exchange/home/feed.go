package home

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/wait"
)

const (
	settle    = 5 * time.Millisecond  // from a change to the build that shows it, for what comes with it
	gather    = 50 * time.Millisecond // between two builds, at least
	rest      = 10                    // a build takes a part of the time of at most 1 in this number
	lookEvery = 5 * time.Second       // for executors that have fallen silent
	maxGone   = 1024                  // devices and executors that are gone, and that a follower may still show
)

// Event is an event for a follower of a home.
type Event struct {
	ID   string // to follow after it
	Name string // home, device, gone or executor
	Data any    // Document, Device, Gone or Executor
}

// Gone names a device or an executor that the home does not have any more.
type Gone struct {
	ID       string `json:"id,omitempty"` // of a device
	Executor string `json:"executor,omitempty"`
}

// feed numbers the changes of a home. One follower at a time waits for changes, and builds the home
// for all of them; without a follower there is no build.
type feed struct {
	home   *Home
	run    string        // distinguishes the numbers of this process from those of an earlier one
	driver chan struct{} // the follower that waits for changes puts an entry into it
	signal chan struct{} // has an entry after a change of a thread

	mu        sync.Mutex
	followers int
	threads   *threadWatch    // nil without followers
	executors <-chan struct{} // closes at a change of an executor since the last build
	changed   chan struct{}   // closes at the next number
	last      uint64          // number of the last change
	first     uint64          // a follower that has a smaller number gets the whole home
	took      time.Duration   // by the last build
	built     time.Time
	cache     *deviceCache
	shown     []Executor
	devices   []string        // ids
	items     map[string]item // by the kind and the id
}

// item is the last known version of a device or an executor.
type item struct {
	number uint64
	plain  []byte // JSON without times that say nothing new
	event  Event  // without its id
	made   *cachedDevice
}

func newFeed(h *Home) *feed {
	return &feed{
		home: h, run: strings.ToLower(rand.Text()[:8]), driver: make(chan struct{}, 1), signal: make(chan struct{}, 1), changed: make(chan struct{}), first: 1, cache: newDeviceCache(), items: map[string]item{},
	}
}

// Follow calls send with the changes of the home that come after the event with the id after. With
// "", and with an id that the home does not know any more, the first event has the whole home. It
// returns nil after ctx has ended, or the error of send or of the store.
func (h *Home) Follow(ctx context.Context, actor exchange.Actor, after string, send func(Event) error) error {
	f := h.feed
	if err := f.join(ctx); err != nil {
		return err
	}
	defer f.leave()
	at, known := f.number(after)
	view := view{actor: actor}
	if actor.IsGuest() {
		known, view.shown = false, map[string]bool{} // the guest may see other areas than before
	}
	for {
		events, changed := f.since(at, !known)
		for _, e := range events {
			if seen, ok := view.of(e); ok {
				if err := send(seen); err != nil {
					return err
				}
			}
			at, _ = f.number(e.ID)
		}
		known = true
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case f.driver <- struct{}{}:
			err := f.drive(ctx)
			<-f.driver
			if err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// view has the rights of one follower.
type view struct {
	actor exchange.Actor
	shown map[string]bool // devices that a guest has seen, by id; nil for all others
}

// of returns an event as the follower may see it. It returns false if the follower may not see it.
func (v view) of(e Event) (Event, bool) {
	switch data := e.Data.(type) {
	case Device:
		if !data.seenBy(v.actor) {
			was := v.shown[data.ID]
			delete(v.shown, data.ID)
			e.Name, e.Data = "gone", Gone{ID: data.ID}
			return e, was
		}
		v.show(data.ID)
		e.Data = data.visibleTo(v.actor)
	case Document:
		data.documentFor(v.actor)
		for i := range data.Devices {
			v.show(data.Devices[i].ID)
		}
		e.Data = data
	case Gone:
		return e, v.shown == nil || v.shown[data.ID]
	case Executor:
		return executorEvent(v.actor, e, data)
	}
	return e, true
}

func (v view) show(id string) {
	if v.shown != nil {
		v.shown[id] = true
	}
}

// join adds a follower. The first one builds the home.
func (f *feed) join(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.followers == 0 {
		if err := f.build(ctx); err != nil {
			f.threads.close()
			f.threads = nil
			return err
		}
	}
	f.followers++
	return nil
}

func (f *feed) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.followers--; f.followers == 0 {
		f.threads.close()
		f.threads = nil
	}
}

// number returns the number in the id of an event. It is false if the home does not know all later
// changes.
func (f *feed) number(id string) (uint64, bool) {
	text, ok := strings.CutPrefix(id, f.run+"-")
	n, err := strconv.ParseUint(text, 10, 64)
	if !ok || err != nil {
		return 0, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return n, n+1 >= f.first && n <= f.last
}

func (f *feed) id(number uint64) string { return f.run + "-" + strconv.FormatUint(number, 10) }

// since returns the changes after a number, or the whole home. changed closes at the next change.
func (f *feed) since(number uint64, whole bool) (events []Event, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if whole || number+1 < f.first {
		return []Event{{f.id(f.last), "home", f.document()}}, f.changed
	}
	if number == f.last {
		return nil, f.changed
	}
	var list []item
	for _, one := range f.items {
		if one.number > number {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b item) int { return cmp.Compare(a.number, b.number) })
	for _, one := range list {
		one.event.ID = f.id(one.number)
		events = append(events, one.event)
	}
	return events, f.changed
}

// document returns the whole home. The caller holds f.mu.
func (f *feed) document() Document {
	d := Document{Exchange: f.home.x.ID(), Now: timeText(f.home.now()), Devices: make([]Device, len(f.devices)), Executors: f.shown}
	for i, id := range f.devices {
		d.Devices[i] = f.items["device "+id].event.Data.(Device)
	}
	d.Areas = areasOf(d.Devices)
	return d
}

// drive waits for a change of an executor or a thread, and builds the home.
func (f *feed) drive(ctx context.Context) error {
	f.mu.Lock()
	executors, next := f.executors, f.built.Add(max(gather, rest*f.took))
	f.mu.Unlock()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for waits := true; waits; {
		select {
		case <-ctx.Done():
			return nil
		case <-executors:
			waits = false
		case <-f.signal:
			waits = false
		case <-look.C:
			waits = !f.hasSilent()
		}
	}
	wait.Notify(f.signal) // the next driver builds if this one leaves now
	if !wait.For(ctx, max(settle, time.Until(next))) {
		return nil
	}
	<-f.signal
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.build(ctx)
	if err != nil {
		wait.Notify(f.signal)
	}
	return err
}

// hasSilent reports whether an executor has fallen silent, or has come back, since the last build.
func (f *feed) hasSilent() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	live := map[string]bool{}
	for _, e := range f.shown {
		live[e.ID] = e.Live
	}
	return slices.ContainsFunc(f.home.x.Executors(), func(e exchange.ExecutorInfo) bool { return live[e.ID] != e.Live })
}

// build builds the home and numbers its changes. The caller holds f.mu.
func (f *feed) build(ctx context.Context) error {
	began := f.home.now()
	if f.threads == nil || f.threads.isBroken() {
		f.threads.close()
		var err error
		if f.threads, err = f.watchThreads(); err != nil {
			return err
		}
	}
	f.executors = f.home.x.ExecutorsChanged()
	before, seen, executors := f.last, map[string]bool{}, f.home.x.Executors()
	tasks, err := f.home.tasks(ctx)
	if err != nil {
		return err
	}
	f.shown, f.devices = make([]Executor, len(executors)), nil
	for i := range executors {
		e := &executors[i]
		f.shown[i] = executorOf(e)
		f.putExecutor(f.shown[i])
		seen["executor "+e.ID] = true
	}
	for i := range executors {
		for _, d := range f.cache.devices(&executors[i]) {
			f.putDevice(ctx, d, tasks)
			f.devices = append(f.devices, d.ID)
			seen[d.key] = true
		}
	}
	slices.Sort(f.devices)
	f.cache.forget(func(id string) bool { return seen["executor "+id] })
	f.remove(seen)
	if f.last != before {
		close(f.changed)
		f.changed = make(chan struct{})
	}
	f.built = time.Now()
	f.took = time.Since(began)
	return nil
}

// withoutTimes returns the device without the times of its readings.
func (d Device) withoutTimes() Device {
	d.AsOf, d.Readings = "", slices.Clone(d.Readings)
	for i := range d.Readings {
		d.Readings[i].AsOf = ""
	}
	if d.Unreachable != nil && !d.Reachable {
		d.Unreachable = &Unreachable{Reason: d.Unreachable.Reason}
	}
	return d
}

// putExecutor stores the version of an executor.
func (f *feed) putExecutor(e Executor) {
	key := "executor " + e.ID
	if was, ok := f.items[key].event.Data.(Executor); ok {
		if was.LastSeen = e.LastSeen; was == e {
			one := f.items[key]
			one.event.Data = e
			f.items[key] = one
			return
		}
	}
	plain := e
	plain.LastSeen = ""
	f.put(key, plain, item{event: Event{Name: "executor", Data: e}})
}

// putDevice stores the version of a device. It costs next to nothing if nothing has changed.
func (f *feed) putDevice(ctx context.Context, made *cachedDevice, tasks taskTable) {
	key, task := made.key, tasks.of(&made.Device)
	if task != nil {
		f.home.await(made.ID, threadOf(task))
	}
	last := f.home.lastResult(ctx, made.ID)
	one := f.items[key]
	if was, ok := one.event.Data.(Device); ok && one.made != nil && one.made.content == made.content && was.Last == last && isSameTask(was.Task, task) {
		if one.made != made { // only times have changed
			d := made.Device
			d.Task, d.Last = was.Task, last
			one.made, one.event.Data = made, d
			f.items[key] = one
		}
		return
	}
	d := made.Device
	d.Task, d.Last = task, last
	f.put(key, d.withoutTimes(), item{event: Event{Name: "device", Data: d}, made: made})
}

// put stores a version, and numbers it if it has changed.
func (f *feed) put(key string, plain any, next item) {
	text, _ := json.Marshal(plain) // cannot fail
	one := f.items[key]
	if next.number, next.plain = one.number, one.plain; !bytes.Equal(one.plain, text) {
		f.last++
		next.number, next.plain = f.last, text
	}
	f.items[key] = next
}

// remove replaces the versions of all other devices and executors by the event that they are gone.
// It forgets the oldest of these events if there are many.
func (f *feed) remove(seen map[string]bool) {
	var gone []string
	for _, key := range slices.Sorted(maps.Keys(f.items)) {
		if seen[key] {
			continue
		}
		gone = append(gone, key)
		if f.items[key].plain == nil {
			continue
		}
		f.last++
		kind, id, _ := strings.Cut(key, " ")
		e := Event{Name: "gone", Data: Gone{ID: id}}
		if kind == "executor" {
			e.Data = Gone{Executor: id}
		}
		f.items[key] = item{number: f.last, event: e}
	}
	slices.SortFunc(gone, func(a, b string) int { return cmp.Compare(f.items[a].number, f.items[b].number) })
	for _, key := range gone[:max(0, len(gone)-maxGone)] {
		f.first = f.items[key].number + 1
		delete(f.items, key)
	}
}
