package exchange

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/messkit/messkit/mess"
)

// ErrSlow says that a follower did not keep up. It can resume after the last
// event that it has seen.
var ErrSlow = errors.New("the events came faster than they were read; resume from the last one")

const (
	keptEvents = 1024    // how many events can be resumed over
	keptBytes  = 4 << 20 // and how much of them, roughly
	backlog    = 256     // how far a follower may fall behind
)

// hub passes events on and remembers the last of them. Publishing never waits.
type hub struct {
	mu    sync.Mutex
	boot  string // tells the events of this run from those of an earlier one
	first uint64 // sequence number of recent[0]
	seq   uint64 // of the last event
	size  int    // bytes of recent, roughly
	// recent holds the last events with those whom they are for.
	recent    []addressed
	followers map[*follower]bool
	here      map[string]int // executors that follow, and how often
}

// addressed is an event with the one actor whom it is for, or "" for all who see
// its thread.
type addressed struct {
	*Event
	to   string
	size int
}

func (a addressed) isFor(who Actor) bool {
	if a.to != "" {
		return who.ID == a.to
	}
	return a.Thread.IsVisibleTo(who)
}

// follower is one who is told. What waits for it takes no memory while nothing
// does: most followers are idle most of the time.
type follower struct {
	who  Actor
	from string        // the id of the last event before it joined
	news chan struct{} // there is something to take; holds one

	queue []*Event // hub.mu
	cut   bool     // it is too far behind; hub.mu
}

func newHub() *hub {
	return &hub{boot: strings.ToLower(rand.Text()[:8]), first: 1, followers: map[*follower]bool{}, here: map[string]int{}}
}

// publish gives e its id and passes it to an actor, or, where to is "", to all who
// see its thread.
func (h *hub) publish(e Event, to string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq++
	e.ID = h.boot + "-" + strconv.FormatUint(h.seq, 10)
	a := addressed{Event: &e, to: to, size: roughSize(e.Message)}
	h.keep(a)
	for f := range h.followers {
		if a.isFor(f.who) {
			h.pass(f, &e)
		}
	}
}

func (h *hub) keep(a addressed) {
	h.recent = append(h.recent, a)
	h.size += a.size
	for len(h.recent) > keptEvents || h.size > keptBytes && len(h.recent) > 1 {
		h.size -= h.recent[0].size
		h.recent[0] = addressed{}
		h.recent = h.recent[1:]
		h.first++
	}
}

// pass gives e to f, or cuts f off if it is too far behind.
func (h *hub) pass(f *follower, e *Event) {
	if len(f.queue) < backlog {
		f.queue = append(f.queue, e)
	} else {
		h.remove(f)
		f.cut = true
	}
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// join makes a follower. What it has missed since the event called after comes
// back as missed; resumed is false if that is not known any more.
func (h *hub) join(who Actor, after string) (f *follower, missed []Event, resumed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f = &follower{who: who, news: make(chan struct{}, 1), from: fmt.Sprintf("%s-%d", h.boot, h.seq)}
	h.followers[f] = true
	if who.Has(ExecutorRole) {
		h.here[who.ID]++
	}
	seq, ok := h.position(after)
	if !ok {
		return f, nil, false
	}
	for _, a := range h.recent[seq+1-h.first:] {
		if a.isFor(who) {
			missed = append(missed, *a.Event)
		}
	}
	return f, missed, true
}

// position is the sequence number of an event that can be resumed after.
func (h *hub) position(id string) (uint64, bool) {
	n, ok := strings.CutPrefix(id, h.boot+"-")
	if !ok {
		return 0, false
	}
	seq, err := strconv.ParseUint(n, 10, 64)
	return seq, err == nil && seq+1 >= h.first && seq <= h.seq
}

func (h *hub) leave(f *follower) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(f)
}

// remove lets go of a follower. h.mu is held.
func (h *hub) remove(f *follower) {
	if !h.followers[f] {
		return
	}
	delete(h.followers, f)
	if f.who.Has(ExecutorRole) {
		if h.here[f.who.ID]--; h.here[f.who.ID] == 0 {
			delete(h.here, f.who.ID)
		}
	}
}

// present reports whether an executor follows just now; one that follows only
// what it has asked for is not there to work.
func (h *hub) present(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.here[id] > 0
}

// take takes what waits for f; the last of it if f has been cut off.
func (h *hub) take(f *follower) (events []*Event, last bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	events, f.queue = f.queue, nil
	return events, f.cut
}

// roughSize estimates the bytes that a message keeps in memory.
func roughSize(m mess.Message) int {
	n := 512
	for _, item := range m.Items {
		switch i := item.(type) {
		case *mess.Response:
			n += entriesSize(i.Content)
		case *mess.Request:
			n += len(i.Intent) + entriesSize(i.Context)
		case *mess.Reply:
			n += entriesSize(i.Context)
		}
	}
	return n
}

func entriesSize(entries []mess.Entry) int {
	n := 0
	for _, e := range entries {
		n += valueSize(e.Value) + valueSize(e.Extra)
	}
	return n
}

func valueSize(v any) int {
	n := 16
	switch v := v.(type) {
	case string:
		n += len(v)
	case mess.Object:
		for _, f := range v {
			n += len(f.Key) + valueSize(f.Value)
		}
	case []any:
		for _, e := range v {
			n += valueSize(e)
		}
	}
	return n
}
