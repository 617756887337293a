package index

import (
	"hash/maphash"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// table has the slots, and lists of them in ascending order.
type table struct {
	slots []slot
	newer []int64 // the newest time in each block of slots and in all earlier ones
	refs  []byte  // the refs of all slots, one after another
	dead  int     // number of dead slots

	names []string          // of actors, by number
	ids   map[string]uint32 // the numbers
	codes []mess.Code       // statuses by number
	byRef []uint32          // hash table of slots plus 1; its size is a power of two
	used  int               // of byRef
	seed  maphash.Seed

	requested, executes, held [][]uint32          // by the number of an actor: its requests, its present or last claims, and its earlier claims
	status                    [][]uint32          // by the number of a status
	waiting                   map[string][]uint32 // pending threads, by their first required capability
	requires                  map[string][]uint32 // by a required capability
	devices                   map[string][]uint32 // by the id of a device
	last                      map[uint32]string   // ref of the newest request, by the number of the requester
}

// slot is a thread after one of its changes.
type slot struct {
	seq       uint64 // of the change
	updated   int64
	ref       uint32 // start in table.refs; the ref ends at the start of the next one
	requester uint32
	executor  uint32
	state     uint32 // version, status in 7 bits, and a bit for dead slots
}

const deadBit = 1

func stateOf(ver uint64, status uint8) uint32 { return uint32(min(ver, maxVer))<<8 | uint32(status)<<1 }

// maxVer is the highest version that counts. No thread has so many steps.
const maxVer = 1<<24 - 1

func (s *slot) ver() uint64   { return uint64(s.state >> 8) }
func (s *slot) status() uint8 { return uint8(s.state) >> 1 }
func (s *slot) dead() bool    { return s.state&deadBit != 0 }

// block is the number of slots that share an entry of newer.
const block = 1024

// grow makes room for n slots.
func (t *table) grow(n int) {
	t.slots, t.newer, t.refs = slices.Grow(t.slots, n), slices.Grow(t.newer, n/block+1), slices.Grow(t.refs, 24*n)
	t.rehash(tableSize(n))
}

// tableSize returns the size of byRef for n threads, with room for half as many more.
func tableSize(n int) int {
	size := 64
	for size < 2*n {
		size *= 2
	}
	return size
}

// refOf returns the ref of a slot. The bytes are valid while the caller holds the lock of the
// index.
func (t *table) refOf(at uint32) []byte {
	end := uint32(len(t.refs))
	if int(at)+1 < len(t.slots) {
		end = t.slots[at+1].ref
	}
	return t.refs[t.slots[at].ref:end]
}

// find returns the slot of a thread. ok is false for an unknown one.
func (t *table) find(ref string) (uint32, bool) {
	if len(t.byRef) == 0 {
		return 0, false
	}
	at := t.byRef[t.insertPosition(ref)]
	if at == 0 || t.slots[at-1].dead() {
		return 0, false
	}
	return at - 1, true
}

// insertPosition returns the place of a ref in byRef, or the place where it belongs.
func (t *table) insertPosition(ref string) int {
	mask := len(t.byRef) - 1
	for i := int(maphash.String(t.seed, ref)) & mask; ; i = (i + 1) & mask {
		if at := t.byRef[i]; at == 0 || string(t.refOf(at-1)) == ref {
			return i
		}
	}
}

// rehash makes byRef anew with a size, without dead slots.
func (t *table) rehash(size int) {
	t.byRef, t.used, t.seed = make([]uint32, size), 0, maphash.MakeSeed()
	for i := range t.slots {
		if !t.slots[i].dead() {
			t.file(string(t.refOf(uint32(i))), uint32(i))
		}
	}
}

// file puts a slot into byRef.
func (t *table) file(ref string, at uint32) {
	i := t.insertPosition(ref)
	if t.byRef[i] == 0 {
		t.used++
	}
	t.byRef[i] = at + 1
}

// name returns the number of an actor.
func (t *table) name(id string) uint32 {
	if n, ok := t.ids[id]; ok {
		return n
	}
	if t.ids == nil {
		t.ids = map[string]uint32{}
	}
	n := uint32(len(t.names))
	id = strings.Clone(id)
	t.ids[id] = n
	t.names = append(t.names, id)
	t.requested, t.executes, t.held = append(t.requested, nil), append(t.executes, nil), append(t.held, nil)
	return n
}

// code returns the number of a status.
func (t *table) code(c mess.Code) uint8 {
	if i := slices.Index(t.codes, c); i >= 0 {
		return uint8(i)
	}
	t.codes, t.status = append(t.codes, c), append(t.status, nil)
	return uint8(len(t.codes) - 1)
}

// apply makes a change.
func (t *table) apply(c change) {
	if c.subjects != nil {
		t.addSubjects(c.subjects)
		return
	}
	t.kill(c.ref)
	if c.env == nil {
		t.forget(c.ref)
	}
	if c.env == nil || c.ref == "" || len(c.ref) > 255 {
		return
	}
	e, at := c.env, uint32(len(t.slots))
	t.add(slot{
		seq: c.seq, updated: nanos(e.Updated), requester: t.name(e.Requester), executor: t.name(e.Executor),
		state: stateOf(e.Ver, t.code(e.Status)),
	}, c.ref)
	for id := range e.Holders() {
		if n := t.name(id); id != e.Executor {
			t.held[n] = with(t.held[n], at)
		}
	}
	if e.Status == mess.Pending {
		first := ""
		if len(e.Needs.Requires) > 0 {
			first = e.Needs.Requires[0].ID
		}
		put(&t.waiting, first, with(t.waiting[first], at))
	}
	for _, one := range e.Needs.Requires {
		put(&t.requires, one.ID, with(t.requires[one.ID], at))
	}
	for _, id := range c.devices {
		put(&t.devices, id, with(t.devices[id], at))
	}
}

// with returns a list with the last slot so far. A thread can name the same capability or holder
// twice.
func with(list []uint32, at uint32) []uint32 {
	if n := len(list); n > 0 && list[n-1] == at {
		return list
	}
	return append(list, at)
}

// put sets the list of a capability or a device.
func put(lists *map[string][]uint32, id string, list []uint32) {
	if *lists == nil {
		*lists = map[string][]uint32{}
	}
	if _, known := (*lists)[id]; !known {
		id = strings.Clone(id)
	}
	(*lists)[id] = list
}

// kill marks the slot of a thread dead.
func (t *table) kill(ref string) {
	at, ok := t.find(ref)
	if !ok {
		return
	}
	s := &t.slots[at]
	s.state |= deadBit
	t.dead++
}

// forget makes sure that a removed thread is no newest request.
func (t *table) forget(ref string) {
	for requester, last := range t.last {
		if last == ref {
			delete(t.last, requester)
			for _, at := range t.requested[requester] {
				if !t.slots[at].dead() {
					t.requests(requester, string(t.refOf(at)))
				}
			}
		}
	}
}

// add adds a slot.
func (t *table) add(s slot, ref string) {
	if live := len(t.slots) - t.dead + 1; 4*(t.used+1) > 3*len(t.byRef) {
		t.rehash(tableSize(live))
	}
	at := uint32(len(t.slots))
	s.ref = uint32(len(t.refs))
	t.refs = append(t.refs, ref...)
	t.slots = append(t.slots, s)
	t.file(ref, at)
	if n := len(t.newer) - 1; int(at)/block > n {
		newest := s.updated
		if n >= 0 {
			newest = max(newest, t.newer[n])
		}
		t.newer = append(t.newer, newest)
	} else {
		t.newer[n] = max(t.newer[n], s.updated)
	}
	t.requested[s.requester] = append(t.requested[s.requester], at)
	t.executes[s.executor] = append(t.executes[s.executor], at)
	t.status[s.status()] = append(t.status[s.status()], at)
	t.requests(s.requester, ref)
}

// requests records a request of a requester if it is the newest.
func (t *table) requests(requester uint32, ref string) {
	if t.last == nil {
		t.last = map[uint32]string{}
	}
	if was, ok := t.last[requester]; !ok || isNewer(ref, was) {
		t.last[requester] = strings.Clone(ref)
	}
}

// isNewer reports whether a ref is newer than another.
func isNewer(ref, other string) bool {
	day, serial, _ := messeaf.ParseRef(ref)
	otherDay, otherSerial, _ := messeaf.ParseRef(other)
	return day > otherDay || day == otherDay && serial > otherSerial
}

// newest returns the newest request of a requester.
func (t *table) newest(requester string) string {
	n, ok := t.ids[requester]
	if !ok {
		return ""
	}
	return t.last[n]
}

// copy adds the live slots of another table, without their former holders, capabilities and
// devices. It records the new number of each, plus 1.
func (t *table) copy(from *table, first, end int, moved []uint32) {
	for at := first; at < end; at++ {
		s := from.slots[at]
		if s.dead() {
			continue
		}
		s.requester, s.executor = t.name(from.names[s.requester]), t.name(from.names[s.executor])
		s.state = stateOf(s.ver(), t.code(from.codes[s.status()]))
		t.add(s, string(from.refOf(uint32(at))))
		moved[at] = uint32(len(t.slots))
	}
}

// renumbered returns a list of another table with the new numbers. It leaves out the slots that copy
// has left out, and those that are too new for moved.
func renumbered(list, moved []uint32) (now []uint32) {
	for _, at := range list {
		if int(at) < len(moved) && moved[at] > 0 {
			now = append(now, moved[at]-1)
		}
	}
	return now
}

// Envelopes have few statuses; a filter with another one finds nothing.
func (t *table) statusList(c mess.Code) []uint32 {
	if i := slices.Index(t.codes, c); i >= 0 {
		return t.status[i]
	}
	return nil
}

// list returns the list of an actor.
func (t *table) list(of [][]uint32, id string) []uint32 {
	if n, ok := t.ids[id]; ok {
		return of[n]
	}
	return nil
}

// matches reports whether a filter selects a slot, apart from the party, the capability and the
// device.
func (t *table) matches(at uint32, f *thread.Filter) bool {
	s := &t.slots[at]
	return !s.dead() && (f.Requester == "" || t.names[s.requester] == f.Requester) &&
		(f.Executor == "" || t.names[s.executor] == f.Executor) &&
		(len(f.Status) == 0 || slices.Contains(f.Status, t.codes[s.status()])) &&
		(f.Since.IsZero() || s.updated >= nanos(f.Since))
}

// isParticipant reports whether an actor is the requester or a present or former holder.
func (t *table) isParticipant(at uint32, id string) bool {
	s := &t.slots[at]
	n, ok := t.ids[id]
	if !ok || s.requester == n || s.executor == n {
		return ok
	}
	_, ok = slices.BinarySearch(t.held[n], at)
	return ok
}

// waits reports whether a thread is pending.
func (t *table) waits(at uint32) bool { return t.codes[t.slots[at].status()] == mess.Pending }
