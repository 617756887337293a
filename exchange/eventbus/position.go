package eventbus

import (
	"hash/fnv"
	"slices"
	"strconv"
)

// Step identifies a step of a thread in the feed of the store.
type Step struct {
	Ref string // of the thread
	Ver uint64 // of the thread after the step
	Op  string // of the operation
}

// tag returns the same number for a step at each process. Steps of two stores have different tags.
func (s Step) tag() uint64 {
	h := fnv.New64a()
	for _, part := range []string{s.Ref, strconv.FormatUint(s.Ver, 10), s.Op} {
		_, _ = h.Write([]byte(part + "\x00")) // never fails
	}
	return h.Sum64()
}

const (
	maxMarks = 2 * KeptEvents
	maxAhead = 128 // steps in the second part of an id; with more, an id has only the first part
)

// step is a step with events.
type step struct {
	Step
	tag     uint64
	events  int    // that the bus has published
	pos     uint64 // in the feed; 0 until the feed has delivered the step
	dropped bool   // the bus does not have all of the events any more
}

// mark is a step that the feed has delivered, so that the bus has published all events up to it.
type mark struct {
	pos, tag uint64
	number   uint64 // of the last event then
}

// part has the first events of a step.
type part struct {
	tag    uint64
	events int
}

// place names the steps in the feed that a subscriber has. Nobody changes it.
type place struct {
	known    bool // the other fields count
	pos, tag uint64
	ahead    []part // of later steps
}

// had is a part that a subscriber got at another bus.
type had struct {
	part
	pos uint64 // in the feed; 0: the feed has yet to deliver the step
}

// Begin says that the bus will get all steps of the feed from its beginning. The name distinguishes the
// store from that of another home.
func (b *Bus[E]) Begin(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mark(0, Step{Ref: name}.tag())
}

// Live says that each later event comes at the time of its cause. Those before come from the store.
func (b *Bus[E]) Live() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.liveFrom = b.last
	b.isLive = true
}

// PublishStep passes the next event of a step to its audience. Size is the memory that it takes.
func (b *Bus[E]) PublishStep(e *E, to Audience, size int, s Step) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.ahead[s.Ref]
	if len(list) == 0 || list[len(list)-1].Step != s {
		list = append(list, &step{Step: s, tag: s.tag()})
		b.ahead[s.Ref] = list
		b.parts = append(b.parts, part{tag: list[len(list)-1].tag, events: 1})
	} else {
		b.countEvent(list[len(list)-1].tag)
	}
	of := list[len(list)-1]
	of.events++
	b.setPlace()
	b.publish(kept[E]{event: e, to: to, size: size, step: of, index: of.events})
}

// countEvent counts a further event of a step that the feed has yet to deliver.
func (b *Bus[E]) countEvent(tag uint64) {
	b.parts = slices.Clone(b.parts)
	i := slices.IndexFunc(b.parts, func(p part) bool { return p.tag == tag })
	b.parts[i].events++
}

// Pass says that the feed has delivered a step and all steps before it. The caller has published its
// events.
// The feed may leave out earlier steps of the same thread.
func (b *Bus[E]) Pass(pos uint64, s Step) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass(pos, s)
}

// Lose is like Pass for a step of which the caller has not published all events.
func (b *Bus[E]) Lose(pos uint64, s Step) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost = max(b.lost, pos)
	b.pass(pos, s)
}

func (b *Bus[E]) pass(pos uint64, s Step) {
	list := slices.DeleteFunc(b.ahead[s.Ref], func(one *step) bool {
		if one.Ver > s.Ver {
			return false
		}
		if one.pos = pos; one.dropped {
			b.lost = max(b.lost, pos)
		}
		b.locate(one.tag, pos)
		b.drop(one.tag)
		return true
	})
	if b.ahead[s.Ref] = list; len(list) == 0 {
		delete(b.ahead, s.Ref)
	}
	b.mark(pos, s.tag())
}

// drop removes a step that the feed has delivered from the parts.
func (b *Bus[E]) drop(tag uint64) {
	i := slices.IndexFunc(b.parts, func(p part) bool { return p.tag == tag })
	if i == 0 {
		b.parts = b.parts[1:]
		return
	}
	b.parts = slices.Delete(slices.Clone(b.parts), i, i+1)
}

func (b *Bus[E]) mark(pos, tag uint64) {
	b.locate(tag, pos)
	if n := len(b.marks); n > 0 && pos <= b.marks[n-1].pos { // the store is an older copy of its former state
		b.lost = max(b.lost, b.marks[n-1].pos)
		b.marks = b.marks[:0]
	}
	b.marks = append(b.marks, mark{pos, tag, b.last})
	if len(b.marks) > maxMarks {
		b.marks = slices.Delete(b.marks, 0, maxMarks/4)
	}
	b.setPlace()
	if b.passed != nil {
		close(b.passed)
		b.passed = nil
	}
}

// setPlace sets the place after the events that the bus has published.
func (b *Bus[E]) setPlace() {
	b.place = &place{}
	if len(b.marks) == 0 || len(b.parts) > maxAhead {
		return
	}
	last := b.marks[len(b.marks)-1]
	*b.place = place{true, last.pos, last.tag, b.parts}
}

// locate gives subscribers the position of a step that they had before this bus.
func (b *Bus[E]) locate(tag, pos uint64) {
	for _, one := range b.awaited[tag] {
		one.pos = pos
	}
	delete(b.awaited, tag)
}

// Behind returns nil if the feed has reached the position in the id of an event, or the id has none. Else
// it returns a channel that closes when the feed has moved on.
func (b *Bus[E]) Behind(id string) <-chan struct{} {
	i, ok := parseID(id)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !ok || i.run == b.run || !i.known || len(b.marks) == 0 || i.pos <= b.marks[len(b.marks)-1].pos {
		return nil
	}
	if b.passed == nil {
		b.passed = make(chan struct{})
	}
	return b.passed
}

// resume sets the steps that a subscriber has. It returns the number of the event after which it misses
// events. ok is false if the bus does not know all of these.
func (b *Bus[E]) resume(s *Subscriber[E], id string) (after uint64, elsewhere, ok bool) {
	i, ok := parseID(id)
	if !ok {
		return 0, false, false
	}
	if elsewhere = i.run != b.run; elsewhere {
		m, known := b.markOf(i.place)
		if !known || s.works && (!b.isLive || m.number <= b.liveFrom || m.number+1 < b.first) {
			return 0, true, false
		}
		after = m.number
	} else if after = i.number; after+1 < b.first || after > b.last {
		return 0, false, false
	}
	if !i.known {
		return after, elsewhere, true
	}
	s.pos, s.tag = i.pos, i.tag
	for _, one := range i.ahead {
		h := &had{part: one}
		if at := slices.IndexFunc(b.marks, func(m mark) bool { return m.tag == one.tag }); at >= 0 {
			h.pos = b.marks[at].pos
		} else {
			b.awaited[one.tag] = append(b.awaited[one.tag], h)
		}
		s.had = append(s.had, h)
	}
	return after, elsewhere, true
}

// markOf returns the mark of a place if the bus has all events of later steps.
func (b *Bus[E]) markOf(p place) (mark, bool) {
	if !p.known || p.pos < b.lost {
		return mark{}, false
	}
	for _, list := range b.ahead {
		if slices.ContainsFunc(list, func(one *step) bool { return one.dropped }) {
			return mark{}, false
		}
	}
	for _, m := range b.marks {
		if m.pos == p.pos {
			return m, m.tag == p.tag
		}
	}
	return mark{}, false
}

// missed returns the events that a subscriber of another bus misses here: those of steps that it does
// not have. If it works, they include the other events for it since then.
func (b *Bus[E]) missed(s *Subscriber[E], after uint64) (list []Entry[E]) {
	from := after
	for i, k := range b.recent {
		number := b.first + uint64(i)
		if number > after || k.step == nil || s.has(&k) {
			continue
		}
		// This process made the step before the feed was there. Its other events precede it.
		for from = number - 1; from >= b.first && b.recent[from-b.first].step == nil; {
			from--
		}
		break
	}
	for i, k := range b.recent {
		number := b.first + uint64(i)
		if k.isFor(s) && (k.step != nil && !s.has(&k) || k.step == nil && s.works && number > from) {
			list = append(list, k.entry(number))
		}
	}
	return list
}

// has reports whether the subscriber got an event at another bus.
func (s *Subscriber[E]) has(k *kept[E]) bool {
	if k.step == nil || s.pos == 0 && s.had == nil {
		return false
	}
	return k.step.pos != 0 && k.step.pos <= s.pos ||
		slices.ContainsFunc(s.had, func(h *had) bool { return h.tag == k.step.tag && k.index <= h.events })
}

// forget ends the wait for positions of steps that a subscriber has had.
func (b *Bus[E]) forget(s *Subscriber[E]) {
	for _, one := range s.had {
		list := slices.DeleteFunc(b.awaited[one.tag], func(h *had) bool { return h == one })
		if b.awaited[one.tag] = list; len(list) == 0 {
			delete(b.awaited, one.tag)
		}
	}
}
