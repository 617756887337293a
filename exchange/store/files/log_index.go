package files

import (
	"container/list"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
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
	mu            sync.RWMutex
	threads       map[string]*threadState
	keys          map[thread.Key]string // to ref
	serials       map[string]int        // by day, the highest that was given
	changed       *list.List            // of *kept, newest change first
	seq           uint64                // of the last change
	docs          map[string]map[string]smallDoc
	names         map[string]string       // each actor's id once, however many threads bear it
	endedInMemory map[string]*threadState // of threads, those that have ended and lie in their folders
	ended         endedIndex              // the others that have
}

// threadState is a thread.
type threadState struct {
	summary
	records []wal.Place // that are the thread in the log; none if it lies in its folder
	newest  int         // which of them has its envelope
	binds   map[string]string
	folder  folder // as it was left
	element *list.Element
	seq     uint64 // of its last change
}

// inLog reports whether the log has the thread whole.
func (k *threadState) inLog() bool { return len(k.records) > 0 }

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

	Keys []thread.Key `json:"keys,omitempty"` // that it has claimed beside the requester's id for it
}

func summaryOf(e thread.Envelope) summary {
	s := summary{Ref: e.Ref, ClientID: e.ClientID, Requestor: e.Requestor, Executor: e.Executor, Status: e.Status, Updated: e.Updated, Ver: e.Ver}
	for id := range e.Holders() {
		if id != e.Executor && !slices.Contains(s.Held, id) {
			s.Held = append(s.Held, id)
		}
	}
	return s
}

// keys are all keys of a thread.
func (e summary) keys() []thread.Key {
	if e.ClientID == "" {
		return e.Keys
	}
	return append([]thread.Key{{Owner: e.Requestor, Name: e.ClientID}}, e.Keys...)
}

// extraKeys are the keys of a step that its summary does not imply.
func extraKeys(s thread.Step) []thread.Key {
	implied := thread.Key{Owner: s.Envelope.Requestor, Name: s.Envelope.ClientID}
	return slices.DeleteFunc(slices.Clone(s.Keys), func(k thread.Key) bool { return k == implied && k.Name != "" })
}

// envelope is as much of the thread's envelope as a filter looks at.
func (e summary) envelope() thread.Envelope {
	env := thread.Envelope{Ref: e.Ref, ClientID: e.ClientID, Requestor: e.Requestor, Executor: e.Executor, Status: e.Status, Updated: e.Updated, Ver: e.Ver}
	if e.Status.Terminal() {
		env.Phase = thread.Finished
	}
	for _, id := range e.Held {
		env.History = append(env.History, thread.HistoryEntry{Action: string(mess.Claimed), By: id})
	}
	return env
}

func newIndex() *index {
	return &index{
		threads: map[string]*threadState{}, keys: map[thread.Key]string{}, serials: map[string]int{},
		changed: list.New(), docs: map[string]map[string]smallDoc{}, names: map[string]string{},
		endedInMemory: map[string]*threadState{}, ended: endedIndex{seed: maphash.MakeSeed()},
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

// next is the number of a change; seq is 0, or the number that a log made anew has for it.
// x.mu is held.
func (x *index) next(seq uint64) uint64 {
	if seq == 0 {
		seq = x.seq + 1
	}
	x.seq = max(x.seq, seq)
	return seq
}

// put makes a thread, as it is now, the newest change. x.mu is held.
func (x *index) put(e summary, seq uint64) *threadState {
	ref := e.Ref
	k := x.threads[ref]
	if k == nil {
		k = &threadState{}
		if was, p, ok := x.ended.thread(ref); ok {
			k.Keys = was.Keys
			x.ended.markDead(p)
		}
		k.element = x.changed.PushFront(k)
	} else if !k.inLog() {
		one := *k // who has it as it had ended keeps that
		k = &one
		k.element.Value = k
	}
	x.threads[ref] = k
	delete(x.endedInMemory, ref)
	k.seq = x.next(seq)
	x.changed.MoveToFront(k.element)
	e.Requestor, e.Executor = x.name(e.Requestor), x.name(e.Executor)
	e.Keys = slices.Concat(k.Keys, e.Keys)
	k.summary = e
	for _, key := range e.keys() {
		x.keys[key] = ref
	}
	x.given(ref)
	return k
}

// given has the serials of a day go on after those of a ref. x.mu is held.
func (x *index) given(ref string) {
	if day, serial, ok := messeaf.ParseRef(ref); ok {
		x.serials[day] = max(x.serials[day], serial)
	}
}

// setWhole puts a thread that is in the log in the place of what was there.
func (x *index) setWhole(e summary, seq uint64, at wal.Place, binds []thread.Bind) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.put(e, seq)
	k.records, k.newest, k.binds, k.folder = []wal.Place{at}, 0, nil, folder{}
	k.bind(binds)
}

// setEnded puts a thread that lies in its folder in the place of what was there.
func (x *index) setEnded(e summary, seq uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.releaseLocked(x.put(e, seq))
}

// releaseLocked lets go of all but what is needed to find a thread that has ended. x.mu is held.
func (x *index) releaseLocked(k *threadState) {
	k.dropRecords()
	x.endedInMemory[k.Ref] = k
}

// dropRecords lets go of all but what is needed to find the thread.
func (k *threadState) dropRecords() { k.records, k.newest, k.binds, k.folder = nil, 0, nil, folder{} }

// forget removes a thread.
func (x *index) forget(ref string, seq uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.next(seq)
	if _, p, ok := x.ended.thread(ref); ok {
		x.ended.markDead(p)
		x.ended.removed = append(x.ended.removed, ref)
	}
	if k := x.threads[ref]; k != nil {
		x.remove(k)
	}
}

// remove takes a thread out of memory. x.mu is held.
func (x *index) remove(k *threadState) {
	x.changed.Remove(k.element)
	delete(x.threads, k.Ref)
	delete(x.endedInMemory, k.Ref)
	for _, key := range k.keys() {
		if x.keys[key] == k.Ref {
			delete(x.keys, key)
		}
	}
}

// step puts a step to a thread of the log.
func (x *index) step(e summary, seq uint64, at wal.Place, binds []thread.Bind) error {
	return x.addRecord(e.Ref, at, func(k *threadState) {
		x.put(e, seq)
		k.newest = len(k.records) - 1
		k.bind(binds)
	})
}

// addMessages puts further messages to a thread of the log.
func (x *index) addMessages(ref string, at wal.Place) error {
	return x.addRecord(ref, at, func(*threadState) {})
}

func (x *index) addRecord(ref string, at wal.Place, change func(*threadState)) error {
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

// bind adds names of attachments. Who has the earlier ones keeps those.
func (k *threadState) bind(binds []thread.Bind) {
	if len(binds) == 0 {
		return
	}
	all := map[string]string{}
	maps.Copy(all, k.binds)
	for _, b := range binds {
		all[b.Name] = b.SHA256
	}
	k.binds = all
}

// thread is what is kept of a thread, as it may be handed out; false if there is
// no such thread.
func (x *index) thread(ref string) (threadState, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	k := x.threads[ref]
	if k == nil {
		e, _, ok := x.ended.thread(ref)
		return threadState{summary: e.summary, seq: e.seq}, ok
	}
	one := *k
	one.records = slices.Clip(k.records)
	return one, true
}

// find returns the thread that has a key.
func (x *index) find(k thread.Key) (string, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.findLocked(k)
}

// findLocked is find for those who hold x.mu.
func (x *index) findLocked(k thread.Key) (string, bool) {
	if ref, ok := x.keys[k]; ok {
		return ref, true
	}
	e, ok := x.ended.key(k)
	return e.Ref, ok
}

// atLeast has the serials of a day go on after one that was seen elsewhere.
func (x *index) atLeast(day string, serial int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.serials[day] = max(x.serials[day], serial)
}

// setDays has the serials of days, and the changes, go on after those that were given.
func (x *index) setDays(days map[string]int, seq uint64) {
	for day, serial := range days {
		x.atLeast(day, serial)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.seq = max(x.seq, seq)
}

// skip leaves out numbers of changes.
func (x *index) skip(n uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.seq += n
}

// hasDay reports whether a day has had a ref.
func (x *index) hasDay(day string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, ok := x.serials[day]
	return ok
}

// last is the number of the last change.
func (x *index) last() uint64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.seq
}

// each calls fn with every thread in memory, oldest change first, until it returns false.
// What it gets is not changed meanwhile: the caller keeps others from it.
func (x *index) each(fn func(*threadState) bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for e := x.changed.Back(); e != nil; e = e.Prev() {
		if !fn(e.Value.(*threadState)) {
			return
		}
	}
}

// inLog lists the threads that the log has whole.
func (x *index) inLog() []string { return x.refs((*threadState).inLog) }

// open lists the threads that have not ended.
func (x *index) open() []string {
	return x.refs(func(k *threadState) bool { return !k.Status.Terminal() })
}

// refs lists the threads that fn selects, oldest change first.
func (x *index) refs(fn func(*threadState) bool) []string {
	var refs []string
	x.each(func(k *threadState) bool {
		if fn(k) {
			refs = append(refs, k.Ref)
		}
		return true
	})
	return refs
}

// noteFolder notes how a thread's folder was left.
func (x *index) noteFolder(ref string, f folder) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if k := x.threads[ref]; k != nil && k.inLog() {
		k.folder = f
	}
}

// tryRelease leaves so much of a thread that it is found, if it has ended with
// version ver and is in its folder.
func (x *index) tryRelease(ref string, ver uint64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.threads[ref]
	if k == nil || !k.inLog() || k.Ver != ver || k.folder.ver != ver {
		return false
	}
	x.releaseLocked(k)
	return true
}

// has reports whether there is a thread, and whether the log has it whole.
func (x *index) has(ref string) (known, inLog bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if k := x.threads[ref]; k != nil {
		return true, k.inLog()
	}
	_, _, known = x.ended.thread(ref)
	return known, false
}
