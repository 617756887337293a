package files

import (
	"bytes"
	"container/list"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// index is what is in memory: of each thread so much that it is found, in the log
// or, if it has ended, in its folder.
type index struct {
	mu      sync.RWMutex
	threads map[string]*kept
	clients map[clientID]string // to ref
	serials map[string]int      // by day, the highest that was given
	changed *list.List          // of *kept, newest change first
	seq     uint64              // of the last change
	docs    map[string]map[string][]byte
	names   map[string]string // each actor's id once, however many threads bear it
}

type clientID struct{ requestor, id string }

// kept is a thread.
type kept struct {
	summary
	records []wal.Place // that are the thread in the log; none if it lies in its folder
	newest  int         // which of them has its envelope
	binds   map[string]string
	folder  folder // as it was left
	place   *list.Element
	seq     uint64 // of its last change
}

// inLog reports whether the log has the thread whole.
func (k *kept) inLog() bool { return len(k.records) > 0 }

// summary is what is kept of every thread.
type summary struct {
	Ref       string    `json:"ref"`
	ClientID  string    `json:"client_id,omitempty"`
	Requestor string    `json:"requestor,omitempty"`
	Executor  string    `json:"executor,omitempty"`
	Held      []string  `json:"held,omitempty"` // executors that have held it before
	Status    mess.Code `json:"status"`
	Updated   time.Time `json:"updated"`
	Ver       uint64    `json:"ver,omitempty"`
}

func summaryOf(e thread.Envelope) summary {
	s := summary{Ref: e.Ref, ClientID: e.ClientID, Requestor: e.Requestor, Executor: e.Executor, Status: e.Status, Updated: e.Updated, Ver: e.Ver}
	for _, h := range e.History {
		if h.Action == string(mess.Claimed) && h.By != e.Executor && !slices.Contains(s.Held, h.By) {
			s.Held = append(s.Held, h.By)
		}
	}
	return s
}

// envelope is as much of the thread's envelope as a filter looks at.
func (e summary) envelope() thread.Envelope {
	env := thread.Envelope{Ref: e.Ref, ClientID: e.ClientID, Requestor: e.Requestor, Executor: e.Executor, Status: e.Status, Updated: e.Updated, Ver: e.Ver}
	if e.Status.Terminal() {
		env.Phase = thread.After
	}
	for _, id := range e.Held {
		env.History = append(env.History, thread.HistoryEntry{Action: string(mess.Claimed), By: id})
	}
	return env
}

func newIndex() *index {
	return &index{
		threads: map[string]*kept{}, clients: map[clientID]string{}, serials: map[string]int{},
		changed: list.New(), docs: map[string]map[string][]byte{}, names: map[string]string{},
	}
}

// name returns s, and always the same copy of it. x.mu is held.
func (x *index) name(s string) string {
	if one, ok := x.names[s]; ok {
		return one
	}
	x.names[s] = s
	return s
}

// put makes a thread, as it is now, the newest change. x.mu is held.
func (x *index) put(e summary) *kept {
	ref := e.Ref
	k := x.threads[ref]
	if k == nil {
		k = &kept{}
		k.place = x.changed.PushFront(k)
		x.threads[ref] = k
	}
	x.seq++
	k.seq = x.seq
	x.changed.MoveToFront(k.place)
	e.Requestor, e.Executor = x.name(e.Requestor), x.name(e.Executor)
	k.summary = e
	if e.ClientID != "" {
		x.clients[clientID{e.Requestor, e.ClientID}] = ref
	}
	if day, serial, ok := messeaf.ParseRef(ref); ok {
		x.serials[day] = max(x.serials[day], serial)
	}
	return k
}

// setWhole puts a thread that is in the log in the place of what was there.
func (x *index) setWhole(e summary, at wal.Place, binds []thread.Bind) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.put(e)
	k.records, k.newest, k.binds, k.folder = []wal.Place{at}, 0, nil, folder{}
	k.bind(binds)
}

// setEnded puts a thread that lies in its folder in the place of what was there.
func (x *index) setEnded(e summary) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.put(e).leaveLog()
}

// leaveLog lets go of all but what is needed to find the thread.
func (k *kept) leaveLog() { k.records, k.newest, k.binds, k.folder = nil, 0, nil, folder{} }

// forget removes a thread.
func (x *index) forget(ref string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.threads[ref]
	if k == nil {
		return
	}
	x.changed.Remove(k.place)
	delete(x.threads, ref)
	if id := (clientID{k.Requestor, k.ClientID}); x.clients[id] == ref {
		delete(x.clients, id)
	}
}

// step puts a step to a thread of the log.
func (x *index) step(e summary, at wal.Place, binds []thread.Bind) error {
	return x.grow(e.Ref, at, func(k *kept) {
		x.put(e)
		k.newest = len(k.records) - 1
		k.bind(binds)
	})
}

// more puts further messages to a thread of the log.
func (x *index) more(ref string, at wal.Place) error { return x.grow(ref, at, func(*kept) {}) }

func (x *index) grow(ref string, at wal.Place, change func(*kept)) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.threads[ref]
	if k == nil || !k.inLog() {
		return fmt.Errorf("more of %s, which is not there", ref)
	}
	k.records = append(k.records, at)
	change(k)
	return nil
}

func (k *kept) bind(binds []thread.Bind) {
	for _, b := range binds {
		if k.binds == nil {
			k.binds = map[string]string{}
		}
		k.binds[b.Name] = b.SHA256
	}
}

// thread is what is kept of a thread, as it may be handed out; false if there is
// no such thread.
func (x *index) thread(ref string) (kept, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	k := x.threads[ref]
	if k == nil {
		return kept{}, false
	}
	one := *k
	one.records = slices.Clip(k.records)
	one.binds = maps.Clone(k.binds)
	return one, true
}

func (x *index) find(requestor, id string) (string, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.findHeld(requestor, id)
}

// findHeld is find for those who hold x.mu.
func (x *index) findHeld(requestor, id string) (string, bool) {
	ref, ok := x.clients[clientID{requestor, id}]
	return ref, ok
}

// reserve gives the next ref of a day, which is not given again.
func (x *index) reserve(day, token string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.serials[day]++
	return messeaf.Ref(day, x.serials[day], token)
}

// atLeast has the serials of a day go on after one that was seen elsewhere.
func (x *index) atLeast(day string, serial int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.serials[day] = max(x.serials[day], serial)
}

// known reports whether a day has had a ref.
func (x *index) known(day string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, ok := x.serials[day]
	return ok
}

// page selects threads, newest change first.
func (x *index) page(f thread.Filter) (refs []string, cursor string, err error) {
	from, err := f.From()
	if err != nil {
		return nil, "", err
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	var last uint64
	for e := x.changed.Front(); e != nil; e = e.Next() {
		k := e.Value.(*kept)
		if k.seq >= from || !f.Match(k.envelope()) {
			continue
		}
		if len(refs) == f.Max() {
			return refs, strconv.FormatUint(last, 10), nil
		}
		refs, last = append(refs, k.Ref), k.seq
	}
	return refs, "", nil
}

// last is the number of the last change.
func (x *index) last() uint64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.seq
}

// each calls fn with every thread, oldest change first, until it returns false.
// What it gets is not changed meanwhile: the caller keeps others from it.
func (x *index) each(fn func(*kept) bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for e := x.changed.Back(); e != nil; e = e.Prev() {
		if !fn(e.Value.(*kept)) {
			return
		}
	}
}

// inLog lists the threads that the log has whole.
func (x *index) inLog() []string { return x.refs((*kept).inLog) }

// open lists the threads that have not ended.
func (x *index) open() []string { return x.refs(func(k *kept) bool { return !k.Status.Terminal() }) }

// refs lists the threads that fn selects, oldest change first.
func (x *index) refs(fn func(*kept) bool) []string {
	var refs []string
	x.each(func(k *kept) bool {
		if fn(k) {
			refs = append(refs, k.Ref)
		}
		return true
	})
	return refs
}

func (x *index) putDoc(kind, id string, doc []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if doc == nil {
		delete(x.docs[kind], id)
		return
	}
	if x.docs[kind] == nil {
		x.docs[kind] = map[string][]byte{}
	}
	x.docs[kind][id] = bytes.Clone(doc)
}

func (x *index) docsOf(kind string) map[string][]byte {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return maps.Clone(x.docs[kind])
}

// left notes how a thread's folder was left.
func (x *index) left(ref string, f folder) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if k := x.threads[ref]; k != nil && k.inLog() {
		k.folder = f
	}
}

// done leaves so much of a thread that it is found, if it has ended with
// version ver and is in its folder.
func (x *index) done(ref string, ver uint64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.threads[ref]
	if k == nil || !k.inLog() || k.Ver != ver || k.folder.ver != ver {
		return false
	}
	k.leaveLog()
	return true
}

// endedBefore lists the threads that have ended before t and lie in their
// folders, oldest change first.
func (x *index) endedBefore(t time.Time) []string {
	return x.refs(func(k *kept) bool { return !k.inLog() && k.Status.Terminal() && k.Updated.Before(t) })
}

// has reports whether there is a thread, and whether the log has it whole.
func (x *index) has(ref string) (known, inLog bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	k := x.threads[ref]
	return k != nil, k != nil && k.inLog()
}
