package files

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/store/files/archive"
	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/store/tail"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wal"
)

// Admit waits a moment if the folders are late, or returns ErrBusy.
func (s *Store) Admit(ctx context.Context) error { return s.project.waitForFolders(ctx, true) }

// Append adds one step to a thread. It waits a moment if the folders of too many threads are behind
// the log.
func (s *Store) Append(ctx context.Context, step thread.Step) (thread.Rev, error) {
	if err := s.project.waitForFolders(ctx, false); err != nil {
		return "", err
	}
	defer s.compactIfDue()
	s.project.steps.Add(1)
	defer s.project.steps.Add(-1)
	ref := step.Envelope.Ref
	names := []string{ref}
	for _, k := range step.Keys {
		names = append(names, k.Owner+"\x00"+k.Name)
	}
	defer s.locks.Lock(names...)()
	r, err := s.stepRecord(ref, step)
	if err != nil {
		return "", err
	}
	was := s.index.state(ref)
	bytes, err := s.write(ctx, r)
	if err != nil {
		return "", err
	}
	if is := s.index.state(ref); step.After != "" {
		s.recent.Step(step, was, is, bytes)
	} else {
		if is.Ver == step.Envelope.Ver && is.Records == 1 {
			s.recent.Put(thread.Thread{Envelope: step.Envelope, Messages: step.Messages}, is, bytes)
		}
		s.index.noteFolder(ref, folder{fresh: true})
	}
	s.project.mark(ref, step.Envelope.Status.Terminal())
	return revOf(step.Envelope.Ver), nil
}

// store writes records. If the log is read-only, it adds the threads to the index as they are in
// their folders.
func (s *Store) store(ctx context.Context, records []logformat.Record) error {
	for len(records) > 0 && s.log.Err() == nil {
		n, err := s.storeSome(ctx, records)
		if err != nil && s.log.Err() == nil {
			return err
		}
		records = records[n:]
	}
	for _, r := range records {
		if r.Ref != "" {
			continue // readers take its messages from its folder
		}
		if r.Thread != nil {
			r.Thread, r.Ended = nil, r.Thread
		}
		if err := s.take(r, wal.Place{}); err != nil {
			return err
		}
	}
	return nil
}

// storeSome writes as many records as the log takes at once, and returns their number.
func (s *Store) storeSome(ctx context.Context, records []logformat.Record) (int, error) {
	var data [][]byte
	bytes := 0
	for _, r := range records {
		one, err := r.Encode()
		if err != nil {
			return 0, err
		}
		if bytes += len(one); bytes > wal.MaxRecord/2 && len(data) > 0 {
			break
		}
		data = append(data, one)
	}
	if err := s.put(ctx, records[:len(data)], data); err != nil {
		return 0, err
	}
	return len(data), nil
}

// stepRecord returns a step as a record, or an error if the store must not take it.
func (s *Store) stepRecord(ref string, step thread.Step) (logformat.Record, error) {
	k, ok := s.index.thread(ref)
	switch {
	case !ok && step.After != "":
		return logformat.Record{}, thread.ErrNoThread
	case step.After == "" && (ok || !s.isFree(ref)):
		return logformat.Record{}, thread.ErrStale
	case step.After != "" && k.inLog() && (step.After != revOf(k.Ver) || step.Envelope.Ver != k.Ver+1):
		return logformat.Record{}, thread.ErrStale
	}
	for _, key := range step.Keys {
		if taken, ok := s.index.find(key); ok && taken != ref {
			return logformat.Record{}, &thread.TakenError{Key: key, Ref: taken}
		}
	}
	for _, b := range step.Binds {
		if !s.blobs.Has(b.SHA256) {
			return logformat.Record{}, thread.ErrNoBlob
		}
	}
	if step.After != "" && !k.inLog() {
		return s.returnToLog(ref, step)
	}
	return logformat.OfStep(step)
}

// returnToLog returns a step of a thread that only its folder has, as a record of the whole
// thread.
func (s *Store) returnToLog(ref string, step thread.Step) (logformat.Record, error) {
	t, err := s.readEnded(ref)
	switch {
	case err != nil:
		return logformat.Record{}, err
	case step.After != revOf(t.Ver) || step.Envelope.Ver != t.Ver+1:
		return logformat.Record{}, thread.ErrStale
	}
	r, err := logformat.OfThread(thread.Thread{Envelope: step.Envelope, Messages: append(t.Messages, step.Messages...)})
	r.Thread.Keys = logformat.ExtraKeys(step)
	r.Binds, r.Change = step.Binds, &step
	return r, err
}

// revOf returns the revision for a version of a thread.
func revOf(ver uint64) thread.Rev { return thread.Rev(strconv.FormatUint(ver, 10)) }

// Feed calls fn with the changes after a position until ctx ends or fn returns an error.
func (s *Store) Feed(ctx context.Context, after thread.Pos, fn func(thread.Change) error) error {
	return s.tail.Follow(ctx, s, after, fn)
}

// publish adds a record to the feed, after the index has it.
func (s *Store) publish(r logformat.Record) {
	c := thread.Change{}
	switch {
	case r.Change != nil:
		c.Envelope, c.Messages, c.Rev = r.Change.Envelope, r.Change.Messages, revOf(r.Change.Envelope.Ver)
	case r.Thread != nil:
		if json.Unmarshal(r.Envelope, &c.Envelope) != nil { // Marshal has made it
			return
		}
		c.Rev = revOf(c.Envelope.Ver)
	default:
		c = s.changeOf(r)
	}
	if c.Envelope.Ref != "" || c.Kind != "" {
		s.tail.Add(s.index.last(), c)
	}
}

// changeOf returns a record without an envelope as a change; the change is zero if the record has none.
func (s *Store) changeOf(r logformat.Record) (c thread.Change) {
	switch {
	case r.Ended != nil:
		c.Envelope, c.Devices, c.Outline, c.Rev = r.Ended.Envelope(), r.Ended.Devices, true, revOf(r.Ended.Ver)
	case r.Gone != "":
		c.Envelope.Ref, c.Removed = r.Gone, true
	case r.Kind != "":
		c.Kind, c.ID, c.Doc, c.Rev = r.Kind, r.ID, r.Doc, s.index.docRev(r.Kind, r.ID)
	}
	return c
}

// feedAtOnce is the number of envelopes that one batch of the feed reads.
const feedAtOnce = 1024

// changed is a change of a thread or of a document, without the data of a thread.
type changed struct {
	seq uint64
	ref string         // "" for a document
	doc *thread.Change // nil for a thread
}

// Since calls fn with the changes after a number, in the current state of their threads and
// documents.
func (s *Store) Since(seq uint64, fn func(tail.Change) error) error {
	all, blocks := s.index.since(seq)
	last := seq
	noteLast := func(c tail.Change) error {
		last = c.Seq
		return fn(c)
	}
	past := pastFeed{d: &s.index.ended, after: seq, blocks: blocks, names: map[string]string{}}
	err := s.give(all, &past, noteLast)
	if errors.Is(err, wal.ErrMoved) { // a compaction has moved the log of ended threads
		return s.Since(last, fn)
	}
	return err
}

// give calls fn with changes in order.
func (s *Store) give(all []changed, past *pastFeed, fn func(tail.Change) error) error {
	var buffer [feedAtOnce]tail.Change
	for some := range slices.Chunk(all, feedAtOnce) {
		changes := buffer[:len(some)]
		if err := s.fill(changes, some); err != nil {
			return err
		}
		for i, c := range changes {
			if err := past.upTo(some[i].seq, fn); err != nil {
				return err
			}
			if c.Seq == 0 {
				continue // it has changed again or left the store
			}
			if err := fn(c); err != nil {
				return err
			}
		}
	}
	return past.upTo(math.MaxUint64, fn)
}

// pastFeed reads the changes of ended threads in order, from blocks that are approximately in
// order.
type pastFeed struct {
	d      *endedIndex
	after  uint64
	blocks []block // by their least number
	ready  []logformat.Entry
	names  map[string]string
}

// upTo calls fn with the changes before a number.
func (p *pastFeed) upTo(seq uint64, fn func(tail.Change) error) error {
	for {
		for len(p.blocks) > 0 && p.blocks[0].min < seq && (len(p.ready) == 0 || p.blocks[0].min < p.ready[0].Seq) {
			if err := p.load(p.blocks[0]); err != nil {
				return err
			}
			p.blocks = p.blocks[1:]
		}
		if len(p.ready) == 0 || p.ready[0].Seq >= seq {
			return nil
		}
		e := p.ready[0]
		p.ready = p.ready[1:]
		if err := fn(tail.Change{Seq: e.Seq, Change: thread.Change{Envelope: e.Envelope(), Devices: e.Devices, Outline: true, Rev: revOf(e.Ver)}}); err != nil {
			return err
		}
	}
}

func (p *pastFeed) load(b block) error {
	all, err := p.d.read(b, p.name)
	for i, e := range all {
		if b.dead&place(i).mask() == 0 && e.Seq > p.after {
			p.ready = append(p.ready, e)
		}
	}
	slices.SortFunc(p.ready, func(a, b logformat.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	return err
}

func (p *pastFeed) name(s string) string {
	one, ok := p.names[s]
	if !ok {
		p.names[s], one = s, s
	}
	return one
}

// fill reads the changes of a list. The number of a change is 0 if its thread has changed again or
// has left the store.
func (s *Store) fill(changes []tail.Change, list []changed) error {
	var g errgroup.Group
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		g.Go(func() (err error) {
			var buffer []byte
			for i := w; i < len(list) && err == nil; i += workers {
				changes[i] = tail.Change{}
				err = s.current(list[i], &changes[i], &buffer)
			}
			return err
		})
	}
	return g.Wait()
}

// current reads a change into c, which is zero. It uses and enlarges the buffer.
func (s *Store) current(from changed, c *tail.Change, buffer *[]byte) error {
	if from.doc != nil {
		c.Seq, c.Change = from.seq, *from.doc
		return nil
	}
	k, _ := s.index.thread(from.ref)
	switch {
	case k.seq != from.seq:
		return nil
	case !k.inLog():
		c.Seq, c.Change = k.seq, thread.Change{Envelope: k.Envelope(), Devices: k.Devices, Outline: true, Rev: revOf(k.Ver)}
		return nil
	}
	if err := s.readEnvelope(from.ref, &c.Envelope, buffer); err != nil || c.Envelope.Ref == "" {
		return err
	}
	c.Seq, c.Rev = k.seq, revOf(c.Envelope.Ver)
	return nil
}

// since lists what has changed after a number, in order, and the blocks of ended threads
// that have such changes.
func (x *index) since(seq uint64) (all []changed, blocks []block) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for e := x.changed.Front(); e != nil; e = e.Next() {
		k := e.Value.(*threadState)
		if k.seq <= seq {
			break
		}
		all = append(all, changed{seq: k.seq, ref: k.Ref})
	}
	for kind, docs := range x.docs {
		for id, d := range docs {
			if d.seq > seq {
				all = append(all, changed{seq: d.seq, doc: &thread.Change{Kind: kind, ID: id, Doc: d.data, Rev: d.rev()}})
			}
		}
	}
	slices.SortFunc(all, func(a, b changed) int { return cmp.Compare(a.seq, b.seq) })
	for _, b := range x.ended.blocks {
		if b.max > seq {
			blocks = append(blocks, b)
		}
	}
	slices.SortFunc(blocks, func(a, b block) int { return cmp.Compare(a.min, b.min) })
	return all, blocks
}

// Serials returns the highest serials by day. It always includes today, for which it also
// searches the archive.
func (s *Store) Serials() map[string]int {
	if day := s.cfg.Now().Format(time.DateOnly); !s.index.hasDay(day) {
		s.index.atLeast(day, archive.HighestSerial(s.root, day))
	}
	s.index.mu.RLock()
	defer s.index.mu.RUnlock()
	return maps.Clone(s.index.serials)
}
