package files

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/internal/wal"
)

const (
	// firstCompact is the size from which it pays to make the log anew, in bytes.
	firstCompact = 16 << 20
	// chunk bounds the messages of one record of a log made anew, in bytes of
	// JSON, so that no record comes near what the log takes. A single message
	// has at most 10 MB.
	chunk = 1 << 20
	// keptDays is for how long the serials of a day are kept: nobody makes a
	// thread for a day that is long gone.
	keptDays = 40
	// compactAgain is when it is tried again to make the log anew, after an error.
	compactAgain = time.Minute
)

// compactIfDue has the log made anew where it has doubled since the last time. Nobody waits for
// that.
func (s *Store) compactIfDue() {
	if s.log.Size() > s.compactAt.Load() {
		wait.Notify(s.compactDue)
	}
}

// compactor makes the log anew whenever it is due, until ctx ends.
func (s *Store) compactor(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.compactDue:
		}
		if err := errors.Join(s.compact(ctx), s.repackEnded(ctx)); err != nil && ctx.Err() == nil && s.log.Err() == nil { // what has broken the log every later step says
			s.cfg.Log.Error("the exchange cannot make its log shorter now; it tries again", "in", compactAgain, "err", err)
			wait.For(ctx, compactAgain)
			s.compactIfDue()
		}
	}
}

// compactTries is how often the log is made anew where threads have lost records.
const compactTries = 3

// compact makes the log anew from what the index knows, while others go on. The threads
// that have ended leave it for a log of their own. First compact stores each thread anew of
// which it cannot read a record, as far as it knows the thread.
func (s *Store) compact(ctx context.Context) (err error) {
	for range compactTries {
		if s.log.Size() <= s.compactAt.Load() {
			return nil // it is short enough
		}
		ctx, stop := context.WithCancelCause(ctx)
		c := &compaction{s: s, stop: stop, lost: map[string]error{}}
		err = s.log.Repack(ctx, c.cut, c.moved)
		stop(nil)
		if err == nil {
			s.compactAt.Store(2*s.log.Size() + firstCompact)
			return nil
		}
		if len(c.lost) == 0 {
			return err
		}
		for ref, why := range c.lost {
			if err := s.restoreUnreadable(context.WithoutCancel(ctx), ref, why); err != nil {
				return err
			}
		}
	}
	return err
}

// compactAtClose makes the log anew at the end, where the next start would read much
// that is in its folder meanwhile.
func (s *Store) compactAtClose(ctx context.Context) error {
	s.compactAt.Store(s.index.bytes() + firstCompact/4)
	return s.compact(ctx)
}

// endedBytes is about what a line of a thread that has ended takes in the log.
const endedBytes = 250

// bytes is about how long a log is that is made anew.
func (x *index) bytes() int64 {
	n := int64(0)
	x.each(func(k *threadState) bool {
		if !k.inLog() {
			n += endedBytes
		}
		for _, p := range k.records {
			n += int64(p.Size())
		}
		return true
	})
	return n
}

// compaction is one making of the log anew.
type compaction struct {
	s       *Store
	threads []*threadState // at the cut, oldest change first; nobody changes them
	gone    []string       // threads that the log of ended threads has still
	rest    []record
	last    uint64 // number of the last change
	n       int    // records
	moves   []move
	lost    map[string]error // threads of which a record cannot be read
	stop    context.CancelCauseFunc
}

// move is a thread whose records lie elsewhere in a log made anew.
type move struct {
	was      *threadState
	from, to int // its records
}

// cut notes all that the index knows when the old log ends, and returns it as records.
// Where one cannot be made there are no more, and the log stays as it is.
func (c *compaction) cut() iter.Seq[[]byte] {
	x := c.s.index
	c.threads, c.gone = x.snapshot()
	for _, kind := range x.kinds() {
		for id, doc := range x.docsOf(kind) {
			c.rest = append(c.rest, record{Kind: kind, ID: id, Doc: doc.data, Seq: doc.seq})
		}
	}
	c.last = x.last()
	c.rest = append(c.rest, record{Days: x.recentDays(c.s.cfg.Now()), Seq: c.last})
	return c.records
}

func (c *compaction) records(yield func([]byte) bool) {
	going := yield(encodeFormat(format))
	put := func(r record) {
		data, err := r.encode()
		if err != nil {
			c.stop(err)
		}
		going = going && err == nil && yield(data)
		c.n++
	}
	c.n = 1
	for _, ref := range c.gone {
		put(record{Gone: ref, Seq: c.last})
	}
	for _, k := range c.threads {
		if !k.inLog() {
			put(record{Ended: &k.summary, Seq: k.seq})
		} else if r, err := c.s.readRaw(k); err != nil {
			c.lost[k.Ref] = err
		} else {
			from := c.n
			r.Binds, r.Seq = k.bound(), k.seq
			r.parts(put)
			c.moves = append(c.moves, move{k, from, c.n})
		}
		if !going {
			return
		}
	}
	for _, r := range c.rest {
		put(r)
	}
	if len(c.lost) > 0 {
		c.stop(errLost)
	}
}

var errLost = errors.New("threads have lost records")

// restoreUnreadable stores a thread anew of which a record cannot be read: as it was read last, or
// from its folder.
func (s *Store) restoreUnreadable(ctx context.Context, ref string, why error) error {
	defer s.locks.Lock(ref)()
	k, ok := s.index.thread(ref)
	if _, err := s.readRaw(&k); !ok || !k.inLog() || err == nil {
		return nil // it has changed since
	}
	t, _, ok := s.recent.get(ref, k.state())
	how := rebuilt
	if !ok {
		r := damagedThread{k: k, certain: true, projected: k.folder.ver == k.Ver}
		if r.folder = s.inFolder(ref); r.folder != nil {
			r.folder.DependsOn = dependsOn(*r.folder, s.index.find)
		}
		if t, how = s.rebuild(r); how == "" {
			t, how = s.endUnknown(thread.Thread{Envelope: k.envelope()}), unknown
			t.Ver = k.Ver + 1
		}
	}
	s.cfg.Log.Error("a thread had lost records", "ref", ref, "it", how, "status", t.Status, "err", why)
	records, err := s.wholeRecords(t, k.bound())
	if err != nil {
		return err
	}
	if err := s.store(ctx, records); err != nil {
		return err
	}
	s.project.mark(ref)
	return nil
}

// parts is a whole thread in as many records as its messages need.
func (r record) parts(put func(record)) {
	ref, messages, size := r.Thread.Ref, r.messages, 0
	r.messages = nil
	for _, m := range messages {
		if size > 0 && size+len(m) > chunk {
			put(r)
			r, size = record{Ref: ref}, 0
		}
		r.messages, size = append(r.messages, m), size+len(m)
	}
	put(r)
}

// moveAtOnce is how many threads get new places while nobody can use the index.
const moveAtOnce = 1024

// moved takes the places where the records of threads lie now.
func (c *compaction) moved(places []wal.Place) {
	for some := range slices.Chunk(c.moves, moveAtOnce) {
		c.s.index.moved(some, places)
	}
}

func (x *index) moved(moves []move, places []wal.Place) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, m := range moves {
		k, was := x.threads[m.was.Ref], m.was.records
		if k == nil || !k.inLog() || k.records[0] != was[0] {
			continue // it is in the log anew, or not any more
		}
		now := places[m.from:m.to]
		k.records = slices.Concat(now, k.records[len(was):])
		if k.newest -= len(was); k.newest < 0 {
			k.newest = 0
		} else {
			k.newest += len(now)
		}
	}
}

// snapshot is all threads in memory as they are, oldest change first, and those that are
// gone, which the log of ended threads does not say yet.
func (x *index) snapshot() (all []*threadState, gone []string) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for e := x.changed.Back(); e != nil; e = e.Prev() {
		k := e.Value.(*threadState)
		if k.inLog() {
			one := *k
			k = &one
		}
		all = append(all, k)
	}
	return all, slices.Clone(x.ended.removed)
}

func (k *threadState) bound() []thread.Bind {
	var binds []thread.Bind
	for name, sum := range k.binds {
		binds = append(binds, thread.Bind{Name: name, SHA256: sum})
	}
	return binds
}

// used are the attachments that threads in the log name.
func (s *Store) used() map[string]bool {
	used := map[string]bool{}
	s.index.each(func(k *threadState) bool {
		for _, sum := range k.binds {
			used[sum] = true
		}
		return true
	})
	return used
}

func (x *index) recentDays(now time.Time) map[string]int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	days := map[string]int{}
	from := now.AddDate(0, 0, -keptDays).Format(time.DateOnly)
	for day, serial := range x.serials {
		if day >= from {
			days[day] = serial
		}
	}
	return days
}
