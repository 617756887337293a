// Package eventbus delivers events to their audience, and remembers deadlines. It does not
// interpret the content of an event.
package eventbus

import (
	"crypto/rand"
	"slices"
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
	works   bool     // its actor is present while it subscribes
	start   Entry[E] // the last event before it joined, without its content
	wake    func()

	pos, tag uint64 // the position up to which it got the steps at another bus; Bus.mu
	had      []*had // and later ones; Bus.mu

	queue []Entry[E] // Bus.mu
	awake bool       // wake was called, and Take has found something since; Bus.mu
	cut   bool       // too many events waited for it; Bus.mu
}

// Options has the options of a subscriber.
type Options struct {
	Actor   string
	SeesAll bool   // it gets the events of an Audience with All, too
	Works   bool   // its actor counts as present
	After   string // id of its last event, at this bus or at one of another process on the same store
	// The bus calls Wake when there is an event to take, and then not again until Take has found
	// none. Wake must not block, and must not call the bus.
	Wake func()
}

// Entry is an event with its number.
type Entry[E any] struct {
	Number uint64
	Event  *E
	at     *place // after the event
}

// kept is an event that a subscriber can resume over.
type kept[E any] struct {
	event *E
	to    Audience
	size  int
	at    *place // after the event
	step  *step  // nil for an event that is none of a step
	index int    // among the events of the step, from 1 on
}

func (k *kept[E]) entry(number uint64) Entry[E] { return Entry[E]{number, k.event, k.at} }

// isFor reports whether the audience includes a subscriber.
func (k *kept[E]) isFor(s *Subscriber[E]) bool {
	return k.to.All && s.seesAll || slices.Contains(k.to.Actors, s.actor)
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

	marks    []mark             // steps that the feed of the store has delivered, in its order
	lost     uint64             // position up to which the bus does not have all events
	ahead    map[string][]*step // by thread: steps that the feed has yet to deliver
	parts    []part             // their events; places share the list, so nobody changes its elements
	place    *place             // after the last event
	awaited  map[uint64][]*had  // by tag: the parts that subscribers have of steps that the feed has yet to deliver
	passed   chan struct{}      // closes at the next mark; nil: nobody waits
	isLive   bool
	liveFrom uint64 // number of the last event that comes from the store
}

// New makes a bus.
func New[E any]() *Bus[E] {
	return &Bus[E]{
		run: strings.ToLower(rand.Text()[:8]), first: 1,
		byActor: map[string][]*Subscriber[E]{}, seeAll: map[*Subscriber[E]]bool{}, present: map[string]int{},
		ahead: map[string][]*step{}, place: &place{}, awaited: map[uint64][]*had{},
	}
}

// Publish passes an event that is none of a step to its audience. Size is the memory that it takes.
func (b *Bus[E]) Publish(e *E, to Audience, size int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.publish(kept[E]{event: e, to: to, size: size})
}

func (b *Bus[E]) publish(k kept[E]) {
	b.last++
	k.at = b.place
	b.keep(k)
	to := k.to
	for i, id := range to.Actors {
		if slices.Contains(to.Actors[:i], id) {
			continue
		}
		// give may take a subscriber out of this list, so the loop runs from its end.
		for _, s := range slices.Backward(b.byActor[id]) {
			if !to.All || !s.seesAll {
				b.give(s, &k)
			}
		}
	}
	if to.All {
		for s := range b.seeAll {
			b.give(s, &k)
		}
	}
}

func (b *Bus[E]) keep(k kept[E]) {
	b.recent = append(b.recent, k)
	b.size += k.size
	for len(b.recent) > KeptEvents || b.size > keptBytes && len(b.recent) > 1 {
		b.size -= b.recent[0].size
		if of := b.recent[0].step; of != nil {
			of.dropped = true
			b.lost = max(b.lost, of.pos)
		}
		b.recent[0] = kept[E]{}
		b.recent = b.recent[1:]
		b.first++
	}
}

// give gives an event to a subscriber that does not have it, or cuts the subscriber off if too many
// events wait for it.
func (b *Bus[E]) give(s *Subscriber[E], k *kept[E]) {
	if s.has(k) {
		return
	}
	if len(s.queue) < backlog {
		s.queue = append(s.queue, k.entry(b.last))
	} else {
		b.remove(s)
		s.cut = true
	}
	if !s.awake {
		s.awake = true
		s.wake()
	}
}

// Start is how the events of a subscriber begin.
type Start[E any] struct {
	Resumed   bool       // after the event that the options name; else the bus does not know all later ones
	Elsewhere bool       // that event is one of another process
	Missed    []Entry[E] // the events for the subscriber after that event
}

// Subscribe makes a subscriber. One that resumes after an event of another process misses no event of a
// step, and gets none again. If it works, it also gets the other events for it since then, and perhaps
// earlier ones again; without them it does not resume.
func (b *Bus[E]) Subscribe(o Options) (*Subscriber[E], Start[E]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &Subscriber[E]{actor: o.Actor, seesAll: o.SeesAll, works: o.Works, start: Entry[E]{Number: b.last, at: b.place}, wake: o.Wake}
	b.byActor[o.Actor] = append(b.byActor[o.Actor], s)
	if o.SeesAll {
		b.seeAll[s] = true
	}
	if o.Works {
		b.present[o.Actor]++
	}
	after, elsewhere, ok := b.resume(s, o.After)
	switch {
	case !ok:
		return s, Start[E]{}
	case elsewhere:
		return s, Start[E]{Resumed: true, Elsewhere: true, Missed: b.missed(s, after)}
	}
	var missed []Entry[E]
	for i, k := range b.recent[after+1-b.first:] {
		if k.isFor(s) && !s.has(&k) {
			missed = append(missed, k.entry(after+1+uint64(i)))
		}
	}
	return s, Start[E]{Resumed: true, Missed: missed}
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
	b.forget(s)
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
