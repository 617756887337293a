package files

import (
	"context"
	"fmt"
	"time"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/internal/wal"
)

// requiresAtOnce is the number of blocks whose threads ReadCapabilities reads before it writes
// what it has learned.
const requiresAtOnce = 8

// LacksCapabilities reports whether the feed lacks the required capabilities of some threads,
// which ended under an earlier release.
func (s *Store) LacksCapabilities() bool {
	refs := s.index.refs((*threadState).LacksRequires)
	return len(refs) > 0 || len(s.index.lackingBlocks(1)) > 0
}

// ReadCapabilities reads the required capabilities that the feed lacks from the folders, and calls
// fn with them, by ref. It saves them in the log of ended threads. If it cannot save them, it
// reads the others, and returns the error at the end. A thread without a readable folder has none;
// the next start reads it again.
func (s *Store) ReadCapabilities(ctx context.Context, fn func(of map[string][]string)) error {
	r := capabilityReading{s: s, fn: fn}
	for _, ref := range s.index.refs((*threadState).LacksRequires) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if ids, ok := r.read(ref); ok {
			s.index.setRequires(ref, ids)
			fn(map[string][]string{ref: ids})
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
		s.cfg.Log.Warn("cannot read the capabilities of threads that have ended; lists by capability lack them until messkit can read their folders at a start", "threads", r.unread, "ref", r.ref, "err", r.err)
	}
	return r.failed
}

// capabilityReading is one run of ReadCapabilities.
type capabilityReading struct {
	s      *Store
	fn     func(of map[string][]string)
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

// some reads the capabilities for some blocks. more is false if there were none. It holds
// s.endedMu, so the blocks keep their numbers.
func (r *capabilityReading) some(ctx context.Context) (more bool) {
	s := r.s
	s.endedMu.Lock()
	defer s.endedMu.Unlock()
	learned := map[string][]string{}
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

// block reads the capabilities that a block lacks. It returns no entries if it has learned none.
func (r *capabilityReading) block(n int, b block, entries []logformat.Entry, learned map[string][]string) relearned {
	one, news := relearned{}, false
	for i, e := range entries {
		p := place(n*logformat.BlockEntries + i)
		if b.dead&p.mask() != 0 {
			continue
		}
		if e.LacksRequires() {
			if ids, ok := r.read(e.Ref); ok {
				e.Requires, learned[e.Ref], news = ids, ids, true
			}
		}
		one.from, one.entries = append(one.from, p), append(one.entries, e)
	}
	if !news {
		return relearned{}
	}
	return one
}

// read reads the required capabilities of a thread.
func (r *capabilityReading) read(ref string) (ids []string, ok bool) {
	t, err := r.s.thread(ref)
	if err != nil {
		if r.unread++; r.unread == 1 {
			r.ref, r.err = ref, err
		}
		return nil, false
	}
	return logformat.CapabilitiesOf(t.Envelope), true
}

// lackingBlocks returns at most most blocks with threads whose required capabilities the log
// lacks, by number.
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

// replaceBlocks replaces blocks by others with the required capabilities of their threads. The
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

// setRequires sets the required capabilities of a thread in memory that has ended.
func (x *index) setRequires(ref string, ids []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.threads[ref]
	if k == nil || !k.LacksRequires() {
		return
	}
	one := *k // other goroutines may still read the ended thread
	one.Requires = ids
	one.element.Value = &one
	x.threads[ref] = &one
	if x.endedInMemory[ref] == k {
		x.endedInMemory[ref] = &one
	}
}
