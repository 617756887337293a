package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/internal/wal"
)

const (
	// endedAtOnce is the number of ended threads in memory from which they move to their own
	// log.
	endedAtOnce = 512
	// endedLoad is the same number while the store reads the log.
	endedLoad = 8192
	// endedSegment is the size of a segment of that log, in bytes.
	endedSegment = 1 << 20
	// endedDead is the number of dead entries from which the store compacts that log.
	endedDead = 16 << 10
)

// openEnded reads the log of the threads that have ended.
func (s *Store) openEnded() (err error) {
	d := &s.index.ended
	o := wal.DefaultOptions()
	o.SegmentBytes = endedSegment
	o.Damaged = func(found wal.Damage) error {
		s.cfg.Log.Error("damage in the exchange's log of ended threads; messkit reads these threads from their folders; check the disk", "copy", found.Copy, "err", found)
		return nil
	}
	var refs, keys []uint64
	var gone []place
	names := map[string]string{}
	d.loading = true
	d.log, err = o.OpenPlaces(filepath.Join(s.dir, "log", "ended"), func(at wal.Place, data []byte) error {
		all, err := logformat.DecodeBlock(data, func(name string) string {
			one, ok := names[name]
			if !ok {
				names[name], one = name, name
			}
			return one
		})
		if err != nil || len(all) == 0 {
			return errors.Join(err, logformat.ErrBlock)
		}
		first := len(d.blocks) * logformat.BlockEntries
		for i, e := range all {
			s.index.given(e.Ref)
			if e.Status == "" {
				gone = append(gone, place(first+i))
			}
		}
		some, more := d.add(at, all)
		refs, keys = append(refs, some...), append(keys, more...)
		return nil
	})
	if names, _ := filepath.Glob(filepath.Join(s.dir, "log", "ended", "*.wal")); err != nil && len(names) == 0 && takesNothing(err) {
		d.log = nil // ended threads stay in memory
		return nil
	}
	if err != nil {
		return err
	}
	d.record = d.log.Record
	d.settle(refs, keys)
	for _, p := range gone {
		d.markDead(p)
	}
	return nil
}

// takesNothing reports whether an error means that the disk takes no more data.
func takesNothing(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
}

// keepEnded moves the threads that have ended, and that their folders have, to the log of ended
// threads, if there are at least so many. They then leave memory.
func (s *Store) keepEnded(ctx context.Context, least int) error {
	if !s.endedMu.TryLock() {
		return nil // the next call does it
	}
	defer s.endedMu.Unlock()
	x := s.index
	threads, gone := x.releasable()
	if len(threads)+len(gone) < max(1, least) || x.ended.log == nil || x.ended.log.Err() != nil {
		return nil
	}
	var old, ended []logformat.Entry
	for _, ref := range gone {
		old = append(old, logformat.Entry{Summary: logformat.Summary{Ref: ref}})
	}
	for _, k := range threads {
		ended = append(ended, logformat.Entry{Seq: k.seq, Summary: k.Summary})
	}
	var data [][]byte
	for _, all := range [][]logformat.Entry{old, ended} { // old first: a later thread can have the name of a removed one
		for some := range slices.Chunk(all, logformat.BlockEntries) {
			data = append(data, logformat.EncodeBlock(some))
		}
	}
	places, err := x.ended.log.Put(ctx, data...)
	if err != nil {
		return fmt.Errorf("log of ended threads: %w", err)
	}
	x.release(threads, old, ended, places)
	return nil
}

// releasable returns the threads that can leave memory, oldest change first. gone lists the
// threads that the store has forgotten and that the log of ended threads still has.
func (x *index) releasable() (threads []*threadState, gone []string) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	threads = slices.SortedFunc(maps.Values(x.endedInMemory), func(a, b *threadState) int { return cmp.Compare(a.seq, b.seq) })
	return threads, slices.Clip(x.ended.removed)
}

// release removes threads from memory that the log of ended threads has. A thread that has
// changed since stays.
func (x *index) release(threads []*threadState, gone, all []logformat.Entry, places []wal.Place) {
	x.mu.Lock()
	defer x.mu.Unlock()
	d := &x.ended
	d.removed = slices.Clone(d.removed[len(gone):])
	for some := range slices.Chunk(gone, logformat.BlockEntries) {
		first := place(len(d.blocks) * logformat.BlockEntries)
		d.add(places[0], some)
		places = places[1:]
		for i := range some {
			d.markDead(first + place(i))
		}
	}
	var refs, keys []uint64
	first := place(len(d.blocks) * logformat.BlockEntries)
	for some := range slices.Chunk(all, logformat.BlockEntries) {
		more, moreKeys := d.add(places[0], some)
		places = places[1:]
		refs, keys = append(refs, more...), append(keys, moreKeys...)
	}
	for i, k := range threads {
		if x.threads[k.Ref] == k {
			x.remove(k)
		} else {
			d.markDead(first + place(i))
		}
	}
	d.refs.add(refs)
	d.keys.add(keys)
}

// restingBefore reports whether a thread in memory has ended before t.
func (x *index) restingBefore(t time.Time) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, k := range x.endedInMemory {
		if k.Updated.Before(t) {
			return true
		}
	}
	return false
}

// dueBlocks returns the blocks with threads that ended before t.
func (x *index) dueBlocks(t time.Time) (due []block) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, b := range x.ended.blocks {
		if b.oldest > 0 && b.oldest <= t.Unix() && b.dead != ^uint64(0) {
			due = append(due, b)
		}
	}
	return due
}

// each calls fn with the live entries of blocks.
func (d *endedIndex) each(blocks []block, fn func(place, logformat.Entry)) error {
	for n, b := range blocks {
		if b.dead == ^uint64(0) {
			continue
		}
		all, err := d.read(b, logformat.UnchangedName)
		if err != nil {
			return err
		}
		for i, e := range all {
			if p := place(n*logformat.BlockEntries + i); b.dead&p.mask() == 0 {
				fn(p, e)
			}
		}
	}
	return nil
}

// atLeastEnded continues the numbers of changes after those of the ended threads.
func (x *index) atLeastEnded() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, b := range x.ended.blocks {
		x.seq = max(x.seq, b.max)
	}
}

// repackEnded compacts the log of ended threads if it has many dead entries.
func (s *Store) repackEnded(ctx context.Context) error {
	if !s.index.endedDue() {
		return nil
	}
	return s.endedAnew(ctx)
}

// endedDue reports whether the log of ended threads has many dead entries.
func (x *index) endedDue() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.ended.dead > endedDead && x.ended.dead > x.ended.live/2
}

func (s *Store) endedAnew(ctx context.Context) error {
	x := s.index
	s.endedMu.Lock()
	defer s.endedMu.Unlock()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := repacking{d: &x.ended, stop: stop}
	err := x.ended.log.Repack(ctx, func() iter.Seq[[]byte] {
		x.mu.RLock()
		defer x.mu.RUnlock()
		r.was = slices.Clone(x.ended.blocks)
		return r.records
	}, func(places []wal.Place) {
		x.mu.Lock()
		defer x.mu.Unlock()
		r.moved(places)
	})
	if err != nil {
		return fmt.Errorf("log of ended threads: %w", err)
	}
	return nil
}

// repacking is one compaction of the log of ended threads.
type repacking struct {
	d    *endedIndex
	was  []block
	now  []block
	to   []place // of each old place
	from []place // of each new place
	stop context.CancelCauseFunc
}

func (r *repacking) records(yield func([]byte) bool) {
	r.to = slices.Repeat([]place{noPlace}, len(r.was)*logformat.BlockEntries)
	var some []logformat.Entry
	going := true
	put := func() {
		r.now = append(r.now, blockOf(some))
		going = going && yield(logformat.EncodeBlock(some))
		some = some[:0]
	}
	err := r.d.each(r.was, func(p place, e logformat.Entry) {
		r.to[p] = place(len(r.from))
		r.from = append(r.from, p)
		if some = append(some, e); len(some) == logformat.BlockEntries {
			put()
		}
	})
	if err != nil {
		r.stop(err)
	} else if len(some) > 0 {
		put()
	}
}

// moved installs the new blocks. The caller holds index.mu.
func (r *repacking) moved(places []wal.Place) {
	d := r.d
	was := d.blocks
	d.blocks, d.live, d.dead = r.now, len(r.from), 0
	for i := range d.blocks {
		d.blocks[i].at = places[i]
	}
	for i, p := range r.from {
		if was[p.block()].dead&p.mask() != 0 { // since the cut
			d.markDead(place(i))
		}
	}
	d.refs.move(r.to)
	d.keys.move(r.to)
}

// noteEnded notes a thread that has ended and that its folder has.
func (p *projector) noteEnded(w loadedThread) {
	if !w.env.Status.Terminal() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.endedThreads) == 0 {
		p.since = time.Now()
	}
	p.endedThreads[w.env.Ref] = w.env.Ver
	if n := len(p.endedThreads); n == 1 || n == releaseMany {
		wait.Notify(p.noted)
	}
}

// runReleases releases the threads that have ended, until ctx ends. It does not run in the loop
// that writes the folders, because a sync takes seconds on a slow disk.
func (p *projector) runReleases(ctx context.Context) error {
	for ctx.Err() == nil {
		p.mu.Lock()
		rest := p.releaseIn(time.Now())
		p.mu.Unlock()
		if rest <= 0 {
			p.releaseEnded(ctx)
			continue
		}
		wait.ForSignal(ctx, rest, p.noted)
	}
	return nil
}

// releaseIn returns the time until the next release of the threads that have ended. The caller
// holds p.mu.
func (p *projector) releaseIn(now time.Time) time.Duration {
	switch n := len(p.endedThreads); {
	case n == 0:
		return time.Hour // noted ends the wait
	case n >= releaseMany:
		return 0
	}
	waited := now.Sub(p.since)
	return min(releaseLate-waited, max(releaseAfter-waited, p.sinceLull(now)))
}

// releaseEnded syncs the folders, and then releases the threads that have ended: the log no
// longer needs them.
func (p *projector) releaseEnded(ctx context.Context) {
	p.mu.Lock()
	resting := p.endedThreads
	p.endedThreads = map[string]uint64{}
	p.mu.Unlock()
	if err := p.s.disk.Flush(); err != nil {
		p.logOnce("all", fmt.Errorf("sync: %w; messkit writes the folders of all threads in the log anew", err))
		p.s.rewriteAll(ctx)
		return
	}
	for ref, ver := range resting {
		if p.s.release(ref, ver) {
			p.s.recent.Forget(ref)
			p.mu.Lock()
			delete(p.judged, ref)
			p.mu.Unlock()
		}
	}
	if err := p.s.keepEnded(ctx, endedAtOnce); err != nil {
		p.logOnce("all", err)
	}
	p.s.noteSynced(ctx)
	p.s.compactIfDue()
}

// release releases the records of a thread that its folder has. The index can still find the
// thread.
func (s *Store) release(ref string, ver uint64) bool {
	defer s.locks.Lock(ref)()
	return s.index.tryRelease(ref, ver)
}
