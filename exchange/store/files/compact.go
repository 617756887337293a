package files

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/thread"
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

// grown makes the log anew where it has doubled since the last time.
func (s *Store) grown(ctx context.Context) {
	s.step.RLock()
	due := s.log.Size() > s.next && !s.cfg.Now().Before(s.not)
	s.step.RUnlock()
	if !due {
		return
	}
	err := s.compact(context.WithoutCancel(ctx))
	if err == nil || s.log.Err() != nil {
		return // what has broken the log every later step says
	}
	s.cfg.Log.Error("the exchange cannot make its log shorter now; it tries again", "in", compactAgain, "err", err)
	s.step.Lock()
	s.not = s.cfg.Now().Add(compactAgain)
	s.step.Unlock()
}

// compact makes the log anew from what the index knows. A thread that has ended
// and is in its folder, and on the disk, is there as a line of the index alone.
// A thread of which a record cannot be read any more is there as far as it is known.
func (s *Store) compact(ctx context.Context) error {
	changed, err := s.repack(ctx)
	for _, e := range changed {
		s.project.mark(e.Ref)
	}
	return err
}

// repack is compact, and returns the envelopes of threads that had lost records.
func (s *Store) repack(ctx context.Context) (changed []thread.Envelope, err error) {
	s.step.Lock()
	defer s.step.Unlock()
	if s.log.Size() <= s.next {
		return nil, nil // it is short enough, or somebody was quicker
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := &compaction{s: s, stop: stop}
	places, err := s.log.Repack(ctx, c.records())
	if places == nil {
		return nil, err
	}
	s.moved(c, places)
	s.next = 2*s.log.Size() + firstCompact
	return c.rescued, err
}

// shorten makes the log anew at the end, where the next start would read much
// that is in its folder meanwhile.
func (s *Store) shorten(ctx context.Context) error {
	s.step.Lock()
	s.next = s.index.bytes() + firstCompact/4
	s.step.Unlock()
	return s.compact(ctx)
}

// endedBytes is about what a line of a thread that has ended takes in the log.
const endedBytes = 250

// bytes is about how long a log is that is made anew.
func (x *index) bytes() int64 {
	n := int64(0)
	x.each(func(k *kept) bool {
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
	refs    []string // of the thread that each record is of; "" for others
	rescued []thread.Envelope
	late    []record // of those that had lost records: their newest change is this one
	stop    context.CancelCauseFunc
}

// records are all that the index knows. Where one cannot be written there are no
// more, and the log stays as it is.
func (c *compaction) records() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		going := true
		put := func(ref string, r record) {
			if !going {
				return
			}
			data, err := r.encode()
			if err != nil {
				c.stop(err)
				going = false
				return
			}
			c.refs = append(c.refs, ref)
			going = yield(data)
		}
		put("", formatRecord())
		c.s.index.each(func(k *kept) bool {
			if !k.inLog() {
				put("", record{Ended: &k.summary, Seq: k.seq})
				return going
			}
			r, err := c.s.readRaw(k)
			r.Seq = k.seq
			if err != nil {
				r, err = c.rescue(k, err)
			}
			if err != nil {
				c.stop(err)
				return false
			}
			if r.Binds = k.bound(); r.Seq == 0 {
				c.late = append(c.late, r)
				return true
			}
			r.parts(func(r record) { put(k.Ref, r) })
			return going
		})
		for _, kind := range c.s.index.kinds() {
			for id, doc := range c.s.index.docsOf(kind) {
				put("", record{Kind: kind, ID: id, Doc: doc.data, Seq: doc.seq})
			}
		}
		put("", record{Days: c.s.index.recentDays(c.s.cfg.Now()), Seq: c.s.index.last()})
		for _, r := range c.late {
			r.parts(func(one record) { put(r.Thread.Ref, one) })
		}
	}
}

// rescue is a thread of which a record cannot be read: as it was read last, or from its
// folder.
func (c *compaction) rescue(k *kept, why error) (record, error) {
	t, _, ok := c.s.recent.get(k.Ref, k.state())
	how := rebuilt
	if !ok {
		r := rescue{k: *k, certain: true, projected: k.folder.ver == k.Ver}
		if r.folder = c.s.inFolder(k.Ref); r.folder != nil {
			r.folder.DependsOn = dependsOn(*r.folder, c.s.index.findHeld)
		}
		if t, how = c.s.rescued(r); how == "" {
			t, how = c.s.endUnknown(thread.Thread{Envelope: k.envelope()}), unknown
			t.Ver = k.Ver + 1
		}
	}
	c.s.cfg.Log.Error("a thread had lost records", "ref", k.Ref, "it", how, "status", t.Status, "err", why)
	c.rescued = append(c.rescued, t.Envelope)
	return threadRecord(t)
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

// moved takes the places where the records of threads lie now, and the envelopes of those
// that had lost records.
func (s *Store) moved(c *compaction, places []wal.Place) {
	for _, e := range c.rescued {
		s.index.rescued(summaryOf(e))
		s.tail.Add(s.index.last(), thread.Change{Envelope: e, Rev: revOf(e.Ver)})
	}
	s.index.moved(c.refs, places)
}

func (x *index) rescued(e summary) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.put(e, 0)
}

func (x *index) moved(refs []string, places []wal.Place) {
	x.mu.Lock()
	defer x.mu.Unlock()
	last := ""
	for i, ref := range refs {
		k := x.threads[ref]
		if k == nil {
			continue // no thread, or forgotten meanwhile
		}
		if ref != last {
			k.records, k.newest = nil, 0
		}
		k.records = append(k.records, places[i])
		last = ref
	}
}

func (k *kept) bound() []thread.Bind {
	var binds []thread.Bind
	for name, sum := range k.binds {
		binds = append(binds, thread.Bind{Name: name, SHA256: sum})
	}
	return binds
}

// used are the attachments that threads in the log name.
func (s *Store) used() map[string]bool {
	used := map[string]bool{}
	s.index.each(func(k *kept) bool {
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

func (x *index) kinds() []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Sorted(maps.Keys(x.docs))
}
