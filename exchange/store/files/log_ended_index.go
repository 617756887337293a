package files

import (
	"cmp"
	"errors"
	"hash/maphash"
	"log/slog"
	"slices"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wal"
)

// endedIndex finds the threads in the log of ended threads. It needs about 18 bytes of memory
// for each: hashes, and the place of the thread in that log. index.mu guards it, apart from log and
// record.
type endedIndex struct {
	log        *wal.Log
	record     func(wal.Place) ([]byte, error) // log.Record; a test makes it block
	blocks     []block
	refs       hashIndex
	keys       hashIndex
	seed       maphash.Seed
	removed    []string // forgotten threads that the log still has
	live       int      // entries
	dead       int
	fullHashes []uint64 // at the start: all 64 bits of the hashes of refs, by place; 0: there is no entry
	loading    bool     // the store fills whole
	say        *slog.Logger
}

// block is a record of the log of ended threads.
type block struct {
	at       wal.Place
	min, max uint64 // numbers of the changes in it
	dead     uint64 // dead entries, a bit each
	lacks    uint64 // entries whose subjects the log lacks, a bit each
	oldest   int64  // time of the end of its oldest thread, in seconds since 1970; 0: it has no thread
}

// place identifies an entry: its block, and its index in the block.
type place uint32

func (p place) block() int   { return int(p / logformat.BlockEntries) }
func (p place) entry() int   { return int(p % logformat.BlockEntries) }
func (p place) mask() uint64 { return 1 << p.entry() }

// hashIndex finds places by a hash of 32 bits. Several threads can have the same hash.
type hashIndex struct{ old, fresh []uint64 } // hash and place, sorted; fresh has few

// add adds places.
func (l *hashIndex) add(some []uint64) {
	slices.Sort(some)
	if l.fresh = merged(l.fresh, some); len(l.fresh) > 4096+len(l.old)/16 {
		l.old, l.fresh = merged(l.old, l.fresh), nil
	}
}

// merged merges two sorted lists.
func merged(a, b []uint64) []uint64 {
	all := make([]uint64, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] <= b[0] {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// find returns the places of a hash.
func (l *hashIndex) find(hash uint64) (all []place) {
	hash = hash >> 32 << 32
	for _, list := range [][]uint64{l.old, l.fresh} {
		i, _ := slices.BinarySearch(list, hash)
		for ; i < len(list) && list[i]>>32 == hash>>32; i++ {
			all = append(all, place(list[i]))
		}
	}
	return all
}

// move renumbers the places; noPlace removes one.
func (l *hashIndex) move(to []place) {
	all := slices.DeleteFunc(merged(l.old, l.fresh), func(v uint64) bool { return to[place(v)] == noPlace })
	for i, v := range all {
		all[i] = v>>32<<32 | uint64(to[place(v)])
	}
	l.old, l.fresh = slices.Clone(all), nil // without the memory of the places that are gone
}

const noPlace = ^place(0)

func packed(hash uint64, p place) uint64 { return hash>>32<<32 | uint64(p) }

func (d *endedIndex) ofRef(ref string) uint64   { return maphash.String(d.seed, ref) }
func (d *endedIndex) ofKey(k thread.Key) uint64 { return maphash.Comparable(d.seed, k) }
func (d *endedIndex) isDead(p place) bool       { return d.blocks[p.block()].dead&p.mask() != 0 }

func (d *endedIndex) close() error {
	if d.log == nil {
		return nil
	}
	return d.log.Close()
}

func (d *endedIndex) written() (size, total, today int64) {
	if d.log == nil {
		return 0, 0, 0
	}
	total, today = d.log.Written()
	return d.log.Size(), total, today
}

// markDead marks an entry as dead.
func (d *endedIndex) markDead(p place) {
	if !d.isDead(p) {
		d.blocks[p.block()].dead |= p.mask()
		d.live--
		d.dead++
	}
}

// blockOf returns a block for entries, without its place.
func blockOf(all []logformat.Entry) block {
	b := block{min: all[0].Seq}
	for i, e := range all {
		b.min, b.max = min(b.min, e.Seq), max(b.max, e.Seq)
		if e.LacksSubjects() {
			b.lacks |= place(i).mask()
		}
		if at := max(1, e.Updated.Unix()); e.Status != "" && (b.oldest == 0 || at < b.oldest) {
			b.oldest = at
		}
	}
	return b
}

// add adds a block of the log, and returns the hashes of its refs and keys.
func (d *endedIndex) add(at wal.Place, all []logformat.Entry) (refs, keys []uint64) {
	b := blockOf(all)
	b.at = at
	if d.loading {
		d.fullHashes = append(d.fullHashes, make([]uint64, len(d.blocks)*logformat.BlockEntries-len(d.fullHashes))...)
	}
	for i, e := range all {
		if d.loading {
			d.fullHashes = append(d.fullHashes, d.ofRef(e.Ref))
		}
		p := place(len(d.blocks)*logformat.BlockEntries + i)
		refs = append(refs, packed(d.ofRef(e.Ref), p))
		for _, k := range e.AllKeys() {
			keys = append(keys, packed(d.ofKey(k), p))
		}
	}
	d.blocks = append(d.blocks, b)
	d.live += len(all)
	return refs, keys
}

// read reads a block. It returns no entries for a damaged block: the next start reads the
// threads from their folders.
func (d *endedIndex) read(b block, name func(string) string) (all []logformat.Entry, err error) {
	data, err := d.record(b.at)
	if err == nil {
		all, err = logformat.DecodeBlock(data, name)
	}
	return all, d.readable(err)
}

// candidate is an entry that may be the one that a reader looks for.
type candidate struct {
	place
	at wal.Place // of its block
}

// candidates returns the live entries at some places.
func (d *endedIndex) candidates(some []place) (all []candidate) {
	for _, p := range some {
		if !d.isDead(p) {
			all = append(all, candidate{p, d.blocks[p.block()].at})
		}
	}
	return all
}

// withRef returns the entries that may be a thread.
func (d *endedIndex) withRef(ref string) []candidate { return d.candidates(d.refs.find(d.ofRef(ref))) }

// withKey returns the entries that may have a key.
func (d *endedIndex) withKey(k thread.Key) []candidate { return d.candidates(d.keys.find(d.ofKey(k))) }

// entry reads an entry. It returns an empty entry for a damaged block.
func (d *endedIndex) entry(p place) (logformat.Entry, error) {
	return d.entryAt(candidate{p, d.blocks[p.block()].at})
}

// entryAt is like entry. It needs no lock.
func (d *endedIndex) entryAt(c candidate) (e logformat.Entry, err error) {
	data, err := d.record(c.at)
	if err == nil {
		e, err = logformat.DecodeEntry(data, c.entry())
	}
	return e, d.readable(err)
}

// readable logs the error of a damaged block and returns nil. It returns other errors unchanged.
func (d *endedIndex) readable(err error) error {
	if _, damaged := errors.AsType[*wal.CorruptError](err); damaged || errors.Is(err, logformat.ErrBlock) {
		d.say.Error("damage in the exchange's log of ended threads; restart messkit, which then reads these threads from their folders", "err", err)
		return nil
	}
	return err
}

// match returns the first candidate that fn selects. It needs no lock. moved is true if a compaction
// has moved a candidate, and the caller needs new ones.
func (d *endedIndex) match(all []candidate, fn func(logformat.Entry) bool) (_ logformat.Entry, _ place, ok, moved bool) {
	for _, c := range all {
		e, err := d.entryAt(c)
		if errors.Is(err, wal.ErrMoved) {
			return logformat.Entry{}, 0, false, true
		}
		if err != nil {
			d.say.Error("cannot find an ended thread now", "err", err)
		}
		if e.Ref != "" && fn(e) {
			return e, c.place, true, false
		}
	}
	return logformat.Entry{}, 0, false, false
}

// thread returns the entry of a thread. The lock of its caller keeps the entries where they are.
func (d *endedIndex) thread(ref string) (logformat.Entry, place, bool) {
	e, p, ok, _ := d.match(d.withRef(ref), func(e logformat.Entry) bool { return e.Ref == ref })
	return e, p, ok
}

// atStart returns the hashes of the threads with a live entry, sorted. Only scanFolders may call
// it, before it drops the hashes.
func (d *endedIndex) atStart() (all []uint64) {
	for p, hash := range d.fullHashes {
		if hash != 0 && !d.isDead(place(p)) {
			all = append(all, hash)
		}
	}
	slices.Sort(all)
	return all
}

// settle sorts the hashes of the start for searches. Of several entries of a thread it keeps the
// newest one.
func (d *endedIndex) settle(refs, keys []uint64) {
	slices.Sort(refs)
	slices.Sort(keys)
	d.refs.old, d.keys.old = refs, keys
	for i := 0; i < len(refs); {
		n := i + 1
		for n < len(refs) && refs[n]>>32 == refs[i]>>32 {
			n++
		}
		if n > i+1 {
			d.supersede(refs[i:n])
		}
		i = n
	}
}

// supersede keeps the newest entry of each thread among entries with the same hash.
func (d *endedIndex) supersede(some []uint64) {
	later := map[string]bool{}
	for _, v := range slices.Backward(some) {
		e, err := d.entry(place(v))
		if err != nil || e.Ref == "" {
			continue
		}
		if later[e.Ref] {
			d.markDead(place(v))
		}
		later[e.Ref] = true
	}
}

// inMemory is like has, for the threads in memory only.
func (x *index) inMemory(ref string) (known, inLog bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	k := x.threads[ref]
	return k != nil, k != nil && k.inLog()
}

// skips reports whether a record of the log is older than the entry of its thread in the log of
// ended threads. It counts the record's change.
func (x *index) skips(r logformat.Record) bool {
	e := cmp.Or(r.Thread, r.Step, r.Ended)
	ref := r.Ref
	if e != nil {
		ref = e.Ref
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if ref == "" || x.threads[ref] != nil {
		return false
	}
	was, _, ok := x.ended.thread(ref)
	if !ok || e != nil && e.Ver > was.Ver {
		return false
	}
	if e != nil {
		x.next(r.Seq)
		x.given(ref)
	}
	return true
}
