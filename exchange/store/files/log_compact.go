package files

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/internal/wal"
)

const (
	// firstCompact is the minimum size of a log to compact, in bytes.
	firstCompact = 16 << 20
	// keptDays is the number of days for which a compacted log keeps the highest serial. No
	// client makes a thread for an older day.
	keptDays = 40
	// compactAgain is the delay before another compaction after an error.
	compactAgain = time.Minute
)

// compactIfDue requests a compaction if the log has doubled since the last one. It does not wait
// for it.
func (s *Store) compactIfDue() {
	if s.log.Size() > s.compactAt.Load() {
		wait.Notify(s.compactDue)
	}
}

// compactor compacts the log on request until ctx ends.
func (s *Store) compactor(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.compactDue:
		}
		if err := errors.Join(s.compact(ctx), s.repackEnded(ctx)); err != nil && ctx.Err() == nil && s.log.Err() == nil { // every later step returns an error of the log itself
			s.cfg.Log.Error("the exchange cannot make its log shorter now; it tries again", "in", compactAgain, "err", err)
			wait.For(ctx, compactAgain)
			s.compactIfDue()
		}
	}
}

// compactTries is the maximum number of attempts to compact a log in which threads have lost
// records.
const compactTries = 3

// compact writes a new log from the index while steps continue. The threads that have ended go
// to the log of ended threads. If compact cannot read a record of a thread, it first stores that
// thread anew, as far as the store knows it, and then starts again.
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
		for ref, cause := range c.lost {
			if err := s.restoreUnreadable(context.WithoutCancel(ctx), ref, cause); err != nil {
				return err
			}
		}
	}
	return err
}

// compactAtClose compacts the log when the store closes, if the next start would otherwise read
// many threads that their folders have.
func (s *Store) compactAtClose(ctx context.Context) error {
	s.compactAt.Store(s.index.bytes() + firstCompact/4)
	return s.compact(ctx)
}

// endedBytes is the approximate size of the record of an ended thread in the log.
const endedBytes = 250

// bytes returns the approximate size of a compacted log.
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

// compaction is one compaction of the log.
type compaction struct {
	s       *Store
	threads []*threadState // at the cut, oldest change first; immutable
	gone    []string       // forgotten threads that the log of ended threads still has
	rest    []logformat.Record
	last    uint64 // number of the last change
	n       int    // records
	moves   []move
	lost    map[string]error // threads with an unreadable record
	stop    context.CancelCauseFunc
}

// move is a thread whose records have new places in a compacted log.
type move struct {
	was      *threadState
	from, to int // its records
}

// cut takes a snapshot of the index at the end of the old log, and returns it as records. If it
// cannot make a record, it stops the compaction, and the old log stays.
func (c *compaction) cut() iter.Seq[[]byte] {
	x := c.s.index
	c.threads, c.gone = x.snapshot()
	for _, kind := range x.kinds() {
		for id, doc := range x.docsOf(kind) {
			c.rest = append(c.rest, logformat.Record{Kind: kind, ID: id, Doc: doc.data, Seq: doc.seq})
		}
	}
	c.last = x.last()
	c.rest = append(c.rest, logformat.Record{Days: x.recentDays(c.s.cfg.Now()), Seq: c.last})
	return c.records
}

func (c *compaction) records(yield func([]byte) bool) {
	going := yield(logformat.EncodeFormat(logformat.Format))
	put := func(r logformat.Record) {
		data, err := r.Encode()
		if err != nil {
			c.stop(err)
		}
		going = going && err == nil && yield(data)
		c.n++
	}
	c.n = 1
	for _, ref := range c.gone {
		put(logformat.Record{Gone: ref, Seq: c.last})
	}
	for _, k := range c.threads {
		if !k.inLog() {
			put(logformat.Record{Ended: &k.Summary, Seq: k.seq})
		} else if r, err := c.s.readRaw(k); err != nil {
			c.lost[k.Ref] = err
		} else {
			from := c.n
			r.Binds, r.Seq = k.bound(), k.seq
			r.Parts(logformat.PartBytes, put)
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

// restoreUnreadable stores a thread with an unreadable record anew, from the cache or from its
// folder.
func (s *Store) restoreUnreadable(ctx context.Context, ref string, cause error) error {
	defer s.locks.Lock(ref)()
	k, ok := s.index.thread(ref)
	if _, err := s.readRaw(&k); !ok || !k.inLog() || err == nil {
		return nil // it has changed since
	}
	t, _, ok := s.recent.Get(ref, k.state())
	how := rebuilt
	if !ok {
		r := damagedThread{k: k, certain: true, projected: k.folder.ver == k.Ver}
		if r.folder = s.inFolder(ref); r.folder != nil {
			r.folder.DependsOn = dependsOn(*r.folder, s.index.find)
		}
		if t, how = s.rebuild(r); how == "" {
			t, how = s.endUnknown(thread.Thread{Envelope: k.Envelope()}), unknown
			t.Ver = k.Ver + 1
		}
	}
	s.cfg.Log.Error("a thread had lost records", "ref", ref, "it", how, "status", t.Status, "err", cause)
	records, err := s.wholeRecords(t, k.bound())
	if err != nil {
		return err
	}
	if err := s.store(ctx, records); err != nil {
		return err
	}
	s.project.mark(ref, t.Status.Terminal())
	return nil
}

// moveAtOnce is the number of threads that get new places during one lock of the index.
const moveAtOnce = 1024

// moved stores the new places of the records in the index.
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

// snapshot returns all threads in memory, oldest change first. gone lists the threads that the
// store has forgotten and that the log of ended threads still has.
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

// used returns the sums of the attachments that threads in the log name.
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

// recalled is the number of changes before Open that Recalls knows.
const recalled = 512

// newest has the places of the last changes in the log, without a gap.
type newest struct {
	before uint64 // number of the change before the first one
	places []wal.Place
}

// note notes a record that has changed the index from one number of a change to another one.
func (n *newest) note(r logformat.Record, at wal.Place, before, after uint64) {
	isStep := r.Thread == nil || r.Thread.Ver == 1
	if r.Seq != 0 || after != before+1 || !isStep { // a compacted log has no steps
		n.before, n.places = after, nil
		return
	}
	if n.places = append(n.places, at); len(n.places) > recalled {
		n.before++
		n.places = n.places[1:]
	}
}

// Recalls returns the last steps in the log of the time before Open.
func (s *Store) Recalls() (after thread.Pos, changes iter.Seq2[thread.Change, error]) {
	position := func(n uint64) thread.Pos { return thread.Pos(strconv.FormatUint(n, 10)) }
	if s.newest.before > 0 {
		after = position(s.newest.before)
	}
	return after, func(yield func(thread.Change, error) bool) {
		for i, at := range s.newest.places {
			c, err := s.changeAt(at)
			c.Pos = position(s.newest.before + uint64(i) + 1)
			if !yield(c, err) {
				return
			}
		}
	}
}

// changeAt reads a change from the log.
func (s *Store) changeAt(at wal.Place) (c thread.Change, err error) {
	data, err := s.log.Record(at)
	if err != nil {
		return c, err
	}
	r, err := logformat.Decode(data)
	if err != nil {
		return c, err
	}
	if r.HasEnvelope() {
		t, err := loadedThread{messages: r.Messages}.decode()
		if err == nil {
			err = logformat.Parse(r.Envelope, &c.Envelope)
		}
		c.Messages, c.Rev = t.Messages, revOf(c.Envelope.Ver)
		return c, err
	}
	return s.changeOf(r), nil
}
