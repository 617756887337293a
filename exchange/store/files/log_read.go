package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/store/files/cache"
	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess"
)

// LoggedRefs returns the refs of the threads in the log of a data folder, without those that have
// ended and that their folders have. The exchange may not have written the folders of these threads
// yet. LoggedRefs changes nothing, and works while an exchange runs there.
func LoggedRefs(dir string) ([]string, error) {
	refs := map[string]bool{}
	_, err := wal.Read(filepath.Join(dir, "log"), func(one wal.Record) error {
		if format, ok := logformat.FormatOf(one.Data); ok {
			return logformat.TooNew(format)
		}
		r, _, err := logformat.DecodeHead(one.Data)
		switch {
		case err != nil:
			return fmt.Errorf("cannot read a record of the exchange's log: %w", err)
		case r.Gone != "":
			delete(refs, r.Gone)
		case r.Ended != nil:
			delete(refs, r.Ended.Ref)
		case r.ThreadRef() != "":
			refs[r.ThreadRef()] = true
		}
		return nil
	})
	return slices.Sorted(maps.Keys(refs)), err
}

// read reads a thread from the log; false if the log does not have the whole thread.
func (s *Store) read(ref string) (w loadedThread, ok bool, err error) {
	err = s.retryMoved(func() error {
		k, known := s.index.thread(ref)
		if ok = known && k.inLog(); !ok {
			return nil
		}
		w, err = s.readWhole(k)
		return err
	})
	return w, ok, err
}

// retryMoved calls fn again if a compaction has just moved its records, three times at most.
func (s *Store) retryMoved(fn func() error) (err error) {
	for range 3 {
		if err = fn(); !errors.Is(err, wal.ErrMoved) {
			break
		}
	}
	return err
}

// readWhole reads all records of a thread.
func (s *Store) readWhole(k threadState) (loadedThread, error) {
	raw, err := s.readRaw(&k)
	if err != nil {
		return loadedThread{}, err
	}
	w := loadedThread{messages: raw.Messages, binds: k.binds, folder: k.folder, as: k.state()}
	for _, p := range k.records {
		w.bytes += p.Size()
	}
	if err := logformat.Parse(raw.Envelope, &w.env); err != nil {
		return loadedThread{}, fmt.Errorf("%s: envelope: %w", k.Ref, err)
	}
	return w, nil
}

// readRaw reads all records of a thread and joins them into one.
func (s *Store) readRaw(k *threadState) (logformat.Record, error) {
	all := logformat.Record{Thread: &k.Summary}
	for i, p := range k.records {
		r, err := s.readRecord(k.Ref, p)
		if err != nil {
			return logformat.Record{}, err
		}
		if i == k.newest {
			all.Envelope = r.Envelope
		}
		all.Messages = append(all.Messages, r.Messages...)
	}
	return all, nil
}

func (s *Store) readRecord(ref string, p wal.Place) (logformat.Record, error) {
	data, err := s.log.Record(p)
	if err != nil {
		return logformat.Record{}, err
	}
	r, err := logformat.Decode(data)
	if err != nil {
		return logformat.Record{}, fmt.Errorf("%s: a record of it in the log: %w", ref, err)
	}
	return r, nil
}

// envelope returns the envelope of a thread. It is zero if the store does not have the thread.
func (s *Store) envelope(ref string) (e thread.Envelope, err error) {
	err = s.readEnvelope(ref, &e, new([]byte))
	return e, err
}

// readEnvelope reads the envelope of a thread into e, which is zero. It uses and enlarges the buffer.
func (s *Store) readEnvelope(ref string, e *thread.Envelope, buffer *[]byte) error {
	if t, _, ok := s.recent.Get(ref, s.index.state(ref)); ok {
		*e = t.Envelope
		return nil
	}
	var k threadState
	err := s.retryMoved(func() error {
		if k, _ = s.index.thread(ref); !k.inLog() {
			return nil
		}
		data, err := s.log.AppendRecord((*buffer)[:0], k.records[k.newest])
		if err != nil {
			return err
		}
		*buffer = data
		if err := logformat.Parse(logformat.EnvelopeIn(data), e); err != nil {
			return fmt.Errorf("%s: envelope: %w", ref, err)
		}
		return nil
	})
	if err == nil && k.Ref != "" && !k.inLog() {
		*e = s.endedEnvelope(k.Summary)
	}
	return err
}

// loadedThread is a thread from the log with its attachments and folder.
type loadedThread struct {
	env      thread.Envelope
	messages []json.RawMessage
	binds    map[string]string // bound name to SHA-256
	folder   folder            // last known state
	as       cache.State
	bytes    int // size in the log
}

// decode returns the thread with its messages.
func (w loadedThread) decode() (thread.Thread, error) {
	t := thread.Thread{Envelope: w.env, Messages: make([]mess.Message, len(w.messages))}
	for i, m := range w.messages {
		if err := json.Unmarshal(m, &t.Messages[i]); err != nil {
			return thread.Thread{}, fmt.Errorf("%s: message %d: %w", w.env.Ref, i, err)
		}
	}
	return t, nil
}

// state returns the state of a thread. It is zero if memory does not have it.
func (x *index) state(ref string) cache.State {
	x.mu.RLock()
	defer x.mu.RUnlock()
	k := x.threads[ref]
	if k == nil {
		return cache.State{}
	}
	return k.state()
}

func (k *threadState) state() cache.State {
	return cache.State{Seq: k.seq, Ver: k.Ver, Records: len(k.records)}
}

// requiresAtOnce is the number of blocks whose threads ReadSubjects reads before it writes
// what it has learned.
const requiresAtOnce = 8

// LacksSubjects reports whether the feed lacks the required capabilities or the devices of some
// threads, which ended under an earlier release.
func (s *Store) LacksSubjects() bool {
	refs := s.index.refs((*threadState).LacksSubjects)
	return len(refs) > 0 || len(s.index.lackingBlocks(1)) > 0
}

// ReadSubjects reads the subjects that the feed lacks from the folders, and calls fn with them, by
// ref. It saves them in the log of ended threads. If it cannot save them, it
// reads the others, and returns the error at the end. A thread without a readable folder has none;
// the next start reads it again.
func (s *Store) ReadSubjects(ctx context.Context, fn func(of map[string]thread.Subjects)) error {
	r := subjectReading{s: s, fn: fn}
	for _, ref := range s.index.refs((*threadState).LacksSubjects) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if of, ok := r.read(ref); ok {
			s.index.setSubjects(ref, of)
			fn(map[string]thread.Subjects{ref: of})
		}
	}
	for more := true; more; {
		began := time.Now()
		more = r.some(ctx)
		if !wait.For(ctx, time.Since(began)) { // half of the time is for others
			return ctx.Err()
		}
	}
	if r.unread > 0 {
		s.cfg.Log.Warn("cannot read the capabilities and devices of threads that have ended; lists by capability or device lack them until messkit can read their folders at a start", "threads", r.unread, "ref", r.ref, "err", r.err)
	}
	return r.failed
}

// subjectReading is one run of ReadSubjects.
type subjectReading struct {
	s      *Store
	fn     func(of map[string]thread.Subjects)
	failed error // of the log

	unread int    // number of threads that it cannot read
	ref    string // of the first of them
	err    error
}

// relearned has the live entries of a block with what their folders say.
type relearned struct {
	from    []place // of each entry in the block
	entries []logformat.Entry
}

// some reads the subjects for some blocks. more is false if there were none. It holds
// s.endedMu, so the blocks keep their numbers.
func (r *subjectReading) some(ctx context.Context) (more bool) {
	s := r.s
	s.endedMu.Lock()
	defer s.endedMu.Unlock()
	learned := map[string]thread.Subjects{}
	blocks := s.index.lackingBlocks(requiresAtOnce)
	var all []relearned
	var data [][]byte
	for n, b := range blocks {
		entries, err := s.index.ended.read(b, logformat.UnchangedName)
		if err != nil {
			r.failed = err
		}
		if one := r.block(n, b, entries, learned); len(one.entries) > 0 {
			all, data = append(all, one), append(data, logformat.EncodeBlock(one.entries))
		}
	}
	r.fn(learned)
	var places []wal.Place
	if len(data) > 0 {
		var err error
		if places, err = s.index.ended.log.Put(ctx, data...); err != nil {
			r.failed, all = fmt.Errorf("log of ended threads: %w", err), nil
		}
	}
	s.index.replaceBlocks(blocks, all, places)
	return len(blocks) > 0
}

// block reads the subjects that a block lacks. It returns no entries if it has learned none.
func (r *subjectReading) block(n int, b block, entries []logformat.Entry, learned map[string]thread.Subjects) relearned {
	one, news := relearned{}, false
	for i, e := range entries {
		p := place(n*logformat.BlockEntries + i)
		if b.dead&p.mask() != 0 {
			continue
		}
		if e.LacksSubjects() {
			if of, ok := r.read(e.Ref); ok {
				e.Requires, e.Devices, learned[e.Ref], news = of.Capabilities, of.Devices, of, true
			}
		}
		one.from, one.entries = append(one.from, p), append(one.entries, e)
	}
	if !news {
		return relearned{}
	}
	return one
}

// read reads the subjects of a thread.
func (r *subjectReading) read(ref string) (_ thread.Subjects, ok bool) {
	t, err := r.s.thread(ref)
	if err != nil {
		if r.unread++; r.unread == 1 {
			r.ref, r.err = ref, err
		}
		return thread.Subjects{}, false
	}
	return thread.Subjects{Capabilities: logformat.CapabilitiesOf(t.Envelope), Devices: t.Devices()}, true
}

// lackingBlocks returns at most most blocks with threads whose subjects the log lacks, by number.
func (x *index) lackingBlocks(most int) map[int]block {
	x.mu.RLock()
	defer x.mu.RUnlock()
	some := map[int]block{}
	for n, b := range x.ended.blocks {
		if b.lacks&^b.dead != 0 {
			some[n] = b
		}
		if len(some) == most {
			break
		}
	}
	return some
}

// replaceBlocks replaces blocks by others with the subjects of their threads. The
// blocks without a replacement count as read until the next start.
func (x *index) replaceBlocks(blocks map[int]block, all []relearned, places []wal.Place) {
	x.mu.Lock()
	defer x.mu.Unlock()
	d := &x.ended
	for n := range blocks {
		d.blocks[n].lacks = 0
	}
	for i, one := range all {
		first := place(len(d.blocks) * logformat.BlockEntries)
		refs, keys := d.add(places[i], one.entries)
		d.refs.add(refs)
		d.keys.add(keys)
		d.blocks[len(d.blocks)-1].lacks = 0
		for k, was := range one.from {
			if is := first + place(k); d.isDead(was) { // it has changed meanwhile
				d.markDead(is)
			} else {
				d.markDead(was)
			}
		}
	}
}

// setSubjects sets the subjects of a thread in memory that has ended.
func (x *index) setSubjects(ref string, of thread.Subjects) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.threads[ref]
	if k == nil || !k.LacksSubjects() {
		return
	}
	one := *k // other goroutines may still read the ended thread
	one.Requires, one.Devices = of.Capabilities, of.Devices
	one.element.Value = &one
	x.threads[ref] = &one
	if x.endedInMemory[ref] == k {
		x.endedInMemory[ref] = &one
	}
}
