// Package eventbus delivers events to their audience, and remembers deadlines. It does not
// interpret the content of an event.
package eventbus

import (
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Limits of a bus.
const (
	KeptEvents = 1024    // events over which a subscriber can resume
	keptBytes  = 4 << 20 // bytes of these events, by the estimates of the publishers
	backlog    = 256     // events that may wait for one subscriber
)

// Audience says who gets an event.
type Audience struct {
	Actors []string // ids
	All    bool     // and every subscriber that sees all
}

// Subscriber gets events. An idle one has no queue, because most are idle most of the time.
type Subscriber[E any] struct {
	actor   string
	seesAll bool
	works   bool   // its actor is present while it subscribes
	joined  uint64 // number of the last event before it joined
	wake    func()

	queue []Entry[E] // Bus.mu
	awake bool       // wake was called, and Take has found something since; Bus.mu
	cut   bool       // too many events waited for it; Bus.mu
}

// Options has the options of a subscriber.
type Options struct {
	Actor   string
	SeesAll bool // it gets the events of an Audience with All, too
	Works   bool // its actor counts as present
	After   string
	// The bus calls Wake when there is an event to take, and then not again until Take has found
	// none. Wake must not block, and must not call the bus.
	Wake func()
}

// Entry is an event with its number.
type Entry[E any] struct {
	Number uint64
	Event  *E
}

// kept is an event that a subscriber can resume over.
type kept[E any] struct {
	event *E
	to    Audience
	size  int
}

// Bus passes events on and keeps the last of them. A publisher never waits for a
// subscriber. The cost of an event depends on those whom it is for, and not on how
// many subscribe.
type Bus[E any] struct {
	mu     sync.Mutex
	run    string // distinguishes the events of this run from those of an earlier one
	first  uint64 // number of recent[0]
	last   uint64 // number of the last event
	size   int    // of recent
	recent []kept[E]

	byActor map[string][]*Subscriber[E]
	seeAll  map[*Subscriber[E]]bool
	present map[string]int // how many subscribers of an actor work
}

// New makes a bus.
func New[E any]() *Bus[E] {
	return &Bus[E]{
		run: strings.ToLower(rand.Text()[:8]), first: 1,
		byActor: map[string][]*Subscriber[E]{}, seeAll: map[*Subscriber[E]]bool{}, present: map[string]int{},
	}
}

// ID is where a subscriber resumes after the event with a number.
func (b *Bus[E]) ID(number uint64) string { return b.run + "-" + strconv.FormatUint(number, 10) }

// Publish passes an event to its audience. Size is the memory that it takes.
func (b *Bus[E]) Publish(e *E, to Audience, size int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	b.keep(kept[E]{e, to, size})
	entry := Entry[E]{b.last, e}
	for i, id := range to.Actors {
		if slices.Contains(to.Actors[:i], id) {
			continue
		}
		// pass may take a subscriber out of this list, so the loop runs from its end.
		for _, s := range slices.Backward(b.byActor[id]) {
			if !to.All || !s.seesAll {
				b.pass(s, entry)
			}
		}
	}
	if to.All {
		for s := range b.seeAll {
			b.pass(s, entry)
		}
	}
}

func (b *Bus[E]) keep(k kept[E]) {
	b.recent = append(b.recent, k)
	b.size += k.size
	for len(b.recent) > KeptEvents || b.size > keptBytes && len(b.recent) > 1 {
		b.size -= b.recent[0].size
		b.recent[0] = kept[E]{}
		b.recent = b.recent[1:]
		b.first++
	}
}

// pass gives an event to a subscriber, or cuts it off if too many wait for it.
func (b *Bus[E]) pass(s *Subscriber[E], e Entry[E]) {
	if len(s.queue) < backlog {
		s.queue = append(s.queue, e)
	} else {
		b.remove(s)
		s.cut = true
	}
	if !s.awake {
		s.awake = true
		s.wake()
	}
}

// Subscribe makes a subscriber. Missed are the events for it after the one that the
// options name; resumed is false if the bus does not know that event any more.
func (b *Bus[E]) Subscribe(o Options) (s *Subscriber[E], missed []Entry[E], resumed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s = &Subscriber[E]{actor: o.Actor, seesAll: o.SeesAll, works: o.Works, joined: b.last, wake: o.Wake}
	b.byActor[o.Actor] = append(b.byActor[o.Actor], s)
	if o.SeesAll {
		b.seeAll[s] = true
	}
	if o.Works {
		b.present[o.Actor]++
	}
	after, ok := b.number(o.After)
	if !ok {
		return s, nil, false
	}
	for i, k := range b.recent[after+1-b.first:] {
		if k.to.All && o.SeesAll || slices.Contains(k.to.Actors, o.Actor) {
			missed = append(missed, Entry[E]{after + 1 + uint64(i), k.event})
		}
	}
	return s, missed, true
}

// number is that of an event after which a subscriber can resume.
func (b *Bus[E]) number(id string) (uint64, bool) {
	n, ok := strings.CutPrefix(id, b.run+"-")
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseUint(n, 10, 64)
	return number, err == nil && number+1 >= b.first && number <= b.last
}

// Len returns the number of subscribers.
func (b *Bus[E]) Len() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, list := range b.byActor {
		n += len(list)
	}
	return n
}

// Leave ends a subscription.
func (b *Bus[E]) Leave(s *Subscriber[E]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(s)
}

// remove removes a subscriber, if the bus still has it. The caller holds b.mu.
func (b *Bus[E]) remove(s *Subscriber[E]) {
	list := b.byActor[s.actor]
	i := slices.Index(list, s)
	if i < 0 {
		return
	}
	delete(b.seeAll, s)
	if b.byActor[s.actor] = slices.Delete(list, i, i+1); len(list) == 1 {
		delete(b.byActor, s.actor)
	}
	if !s.works {
		return
	}
	if b.present[s.actor]--; b.present[s.actor] == 0 {
		delete(b.present, s.actor)
	}
}

// Present reports whether a subscriber of an actor works.
func (b *Bus[E]) Present(actor string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.present[actor] > 0
}

// Take returns the events that wait for s. Last is true if the bus has cut s off after that.
func (b *Bus[E]) Take(s *Subscriber[E]) (events []Entry[E], last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	events, s.queue = s.queue, nil
	s.awake = len(events) > 0
	return events, s.cut
}

// Joined is the number of the last event before s subscribed.
func (s *Subscriber[E]) Joined() uint64 { return s.joined }
