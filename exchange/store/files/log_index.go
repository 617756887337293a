package files

import (
	"bytes"
	"container/list"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/shrink"
	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess/messeaf"
)

// index has the part of each thread in memory that finds the thread in the log, or, if it has
// ended, in its folder.
type index struct {
	mu            sync.RWMutex
	threads       map[string]*threadState
	keys          map[thread.Key]string // to ref
	serials       map[string]int        // by day, the highest serial so far
	changed       *list.List            // of *threadState, newest change first
	seq           uint64                // of the last change
	docs          map[string]map[string]smallDoc
	names         map[string]string       // shared copies of the ids of actors
	endedInMemory map[string]*threadState // threads that have ended and that their folders have
	peaks         struct{ threads, keys, ended shrink.Peak }
	ended         endedIndex // further threads that have ended
}

// threadState is a thread.
type threadState struct {
	logformat.Summary
	records []wal.Place // of the thread in the log; none if only its folder has it
	newest  int         // index of the record with the newest envelope
	binds   map[string]string
	folder  folder // last known state
	element *list.Element
	seq     uint64 // of its last change
}

// inLog reports whether the log has the whole thread.
func (k *threadState) inLog() bool { return len(k.records) > 0 }

func newIndex() *index {
	return &index{
		threads: map[string]*threadState{}, keys: map[thread.Key]string{}, serials: map[string]int{},
		changed: list.New(), docs: map[string]map[string]smallDoc{}, names: map[string]string{},
		endedInMemory: map[string]*threadState{}, ended: endedIndex{seed: maphash.MakeSeed()},
	}
}

// name returns the shared copy of s. The caller holds x.mu.
func (x *index) name(s string) string {
	if one, ok := x.names[s]; ok {
		return one
	}
	x.names[s] = s
	return s
}

// next returns the number of a change. seq is the number from a compacted log, or 0 for the next
// one. The caller holds x.mu.
func (x *index) next(seq uint64) uint64 {
	if seq == 0 {
		seq = x.seq + 1
	}
	x.seq = max(x.seq, seq)
	return seq
}

// put stores a thread as the newest change. The caller holds x.mu.
func (x *index) put(e logformat.Summary, seq uint64) *threadState {
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
		one := *k // other goroutines may still read the ended thread
		k = &one
		k.element.Value = k
	}
	x.threads[ref] = k
	delete(x.endedInMemory, ref)
	k.seq = x.next(seq)
	x.changed.MoveToFront(k.element)
	e.Requester, e.Executor = x.name(e.Requester), x.name(e.Executor)
	e.Keys = slices.Concat(k.Keys, e.Keys)
	k.Summary = e
	for _, key := range e.AllKeys() {
		x.keys[key] = ref
	}
	x.given(ref)
	return k
}

// given continues the serials of a day after the one in a ref. The caller holds x.mu.
func (x *index) given(ref string) {
	if day, serial, ok := messeaf.ParseRef(ref); ok {
		x.serials[day] = max(x.serials[day], serial)
	}
}

// setWhole replaces a thread with one from the log.
func (x *index) setWhole(e logformat.Summary, seq uint64, at wal.Place, binds []thread.Bind) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.put(e, seq)
	k.records, k.newest, k.binds, k.folder = []wal.Place{at}, 0, nil, folder{}
	k.bind(binds)
}

// setEnded replaces a thread with one that its folder has.
func (x *index) setEnded(e logformat.Summary, seq uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.releaseLocked(x.put(e, seq))
}

// releaseLocked keeps only the fields that find a thread that has ended. The caller holds x.mu.
func (x *index) releaseLocked(k *threadState) {
	k.dropRecords()
	x.endedInMemory[k.Ref] = k
}

// dropRecords clears all fields except those that find the thread.
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

// remove removes a thread from memory. The caller holds x.mu.
func (x *index) remove(k *threadState) {
	x.changed.Remove(k.element)
	delete(x.threads, k.Ref)
	delete(x.endedInMemory, k.Ref)
	for _, key := range k.AllKeys() {
		if x.keys[key] == k.Ref {
			delete(x.keys, key)
		}
	}
	x.threads, x.keys = shrink.Fit(x.threads, &x.peaks.threads), shrink.Fit(x.keys, &x.peaks.keys)
	x.endedInMemory = shrink.Fit(x.endedInMemory, &x.peaks.ended)
}

// step adds a step to a thread in the log.
func (x *index) step(e logformat.Summary, seq uint64, at wal.Place, binds []thread.Bind) error {
	return x.addRecord(e.Ref, at, func(k *threadState) {
		x.put(e, seq)
		k.newest = len(k.records) - 1
		k.bind(binds)
	})
}

// addMessages adds messages to a thread in the log.
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

// bind adds names of attachments in a new map, because other goroutines may still read the old
// one.
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

// thread returns a copy of a thread's state, or false if there is no such thread. It does not hold
// x.mu while it reads the disk.
func (x *index) thread(ref string) (threadState, bool) {
	one, all := x.threadOrCandidates(ref)
	if one.Ref != "" {
		return one, true
	}
	e, _, ok, moved := x.ended.match(all, func(e logformat.Entry) bool { return e.Ref == ref })
	if moved {
		return x.thread(ref)
	}
	return threadState{Summary: e.Summary, seq: e.Seq}, ok
}

// threadOrCandidates returns a thread in memory, or the entries that may be the thread.
func (x *index) threadOrCandidates(ref string) (one threadState, all []candidate) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	k := x.threads[ref]
	if k == nil {
		return threadState{}, x.ended.withRef(ref)
	}
	one = *k
	one.records = slices.Clip(k.records)
	return one, nil
}

// has reports whether the store knows a thread, and whether the log has the whole thread.
func (x *index) has(ref string) (known, inLog bool) {
	k, known := x.thread(ref)
	return known, k.inLog()
}

// find returns the thread that has a key. It does not hold x.mu while it reads the disk.
func (x *index) find(k thread.Key) (string, bool) {
	x.mu.RLock()
	ref, ok := x.keys[k]
	var all []candidate
	if !ok {
		all = x.ended.withKey(k)
	}
	x.mu.RUnlock()
	if ok {
		return ref, true
	}
	e, _, ok, moved := x.ended.match(all, func(e logformat.Entry) bool { return slices.Contains(e.AllKeys(), k) })
	if moved {
		return x.find(k)
	}
	return e.Ref, ok
}

// atLeast continues the serials of a day after a serial from elsewhere.
func (x *index) atLeast(day string, serial int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.serials[day] = max(x.serials[day], serial)
}

// setDays continues the serials of days, and the numbers of changes, after those of a record.
func (x *index) setDays(days map[string]int, seq uint64) {
	for day, serial := range days {
		x.atLeast(day, serial)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.seq = max(x.seq, seq)
}

// skip skips n numbers of changes.
func (x *index) skip(n uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.seq += n
}

// hasDay reports whether the index knows a serial of a day.
func (x *index) hasDay(day string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, ok := x.serials[day]
	return ok
}

// last returns the number of the last change.
func (x *index) last() uint64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.seq
}

// each calls fn with every thread in memory, oldest change first, until it returns false. It
// holds x.mu for reading, so fn must not change the index.
func (x *index) each(fn func(*threadState) bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for e := x.changed.Back(); e != nil; e = e.Prev() {
		if !fn(e.Value.(*threadState)) {
			return
		}
	}
}

// inLog lists the threads that the log has as a whole.
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

// noteFolder stores the state in which the store left a thread's folder.
func (x *index) noteFolder(ref string, f folder) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if k := x.threads[ref]; k != nil && k.inLog() {
		k.folder = f
	}
}

// tryRelease releases the records of a thread if its last version is ver and its folder has that
// version. The index can still find the thread.
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

// smallDoc is a small document, and the number of its last change.
type smallDoc struct {
	data []byte
	seq  uint64
}

// putDoc stores a document, or removes it if doc is nil.
func (x *index) putDoc(kind, id string, doc []byte, seq uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	seq = x.next(seq)
	if doc == nil {
		delete(x.docs[kind], id)
		return
	}
	if x.docs[kind] == nil {
		x.docs[kind] = map[string]smallDoc{}
	}
	x.docs[kind][id] = smallDoc{bytes.Clone(doc), seq}
}

func (x *index) docsOf(kind string) map[string]smallDoc {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return maps.Clone(x.docs[kind])
}

// docRev returns the revision of a document; "" if there is none.
func (x *index) docRev(kind, id string) thread.Rev {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.docs[kind][id].rev()
}

func (d smallDoc) rev() thread.Rev {
	if d.seq == 0 {
		return ""
	}
	return thread.Rev(strconv.FormatUint(d.seq, 10))
}

func (x *index) kinds() []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Sorted(maps.Keys(x.docs))
}
