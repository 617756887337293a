package jetstream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange/store/files/archive"
	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

const (
	// archiveFormat is the first format of a stream with archived threads.
	archiveFormat = 2
	// partBytes is the size from which a part of an archive takes no more threads, before compression.
	partBytes = 4 << 20
	// goneFor is how long the stream has the last message of an archived thread. An exchange that gets no
	// messages for so long does not hear that the thread has gone.
	goneFor = 30 * 24 * time.Hour
)

// Archives reports whether the format of the stream allows archived threads. Before messkit store upgrade
// an exchange of an earlier release may use the stream.
func (s *Store) Archives() bool { return s.Format() >= archiveFormat }

// Archive moves threads that have ended, and that did not change after a time, into archives in the object
// store. The messages of a thread leave the stream when the archive is stored and was read back. Read still
// reads the thread. Archive leaves out threads that are not there, have not ended, or have changed
// since. It returns the number of threads that it has moved, and the problems of the others.
//
// The archives of a home have an index in the stream, one message for each archive. A new index names the
// earlier one, and the last message of a thread names the last step, so several exchanges can do this at
// the same time. If one is killed, a thread is in the stream, in the archive, or in both.
func (s *Store) Archive(ctx context.Context, refs []string, before time.Time) (moved int, err error) {
	if s.cfg.Domain != "" {
		return 0, ErrCopy
	}
	if !s.Archives() {
		return 0, fmt.Errorf("store: the stream has format %d, and an archive needs %d; run messkit store upgrade after the update of all exchanges", s.Format(), archiveFormat)
	}
	if err := s.allowExpiry(ctx); err != nil {
		return 0, err
	}
	byName := map[string][]string{}
	for _, ref := range slices.Compact(slices.Sorted(slices.Values(refs))) {
		byName[archive.Of(ref)] = append(byName[archive.Of(ref)], ref)
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		for rest := byName[name]; len(rest) > 0 && ctx.Err() == nil; {
			p := &packing{s: s, name: name, before: before, builder: archive.NewBuilder()}
			if rest, err = p.collect(ctx, rest); err == nil {
				err = p.move(ctx)
			}
			moved += p.moved
			problems = append(problems, p.problems...)
			if err == nil {
				continue
			}
			problems = append(problems, fmt.Errorf("archive %s: %w", name, err))
			if !isUnreadable(err) { // it can be about the servers
				return moved, errors.Join(problems...)
			}
			break // the other archives do not need this one
		}
	}
	return moved, errors.Join(append(problems, ctx.Err())...)
}

// allowExpiry has the stream take messages with a lifetime. A stream of an earlier release does not.
func (s *Store) allowExpiry(ctx context.Context) error {
	c := s.stream.CachedInfo().Config
	if c.AllowMsgTTL || s.expires.Load() {
		return nil
	}
	c.AllowMsgTTL = true
	_, err := retryRead(ctx, s, func(ctx context.Context) (jetstream.Stream, error) { return s.js.UpdateStream(ctx, c) })
	if err != nil {
		return fmt.Errorf("store: the stream %s does not take messages with a lifetime: %w; turn it on with nats stream edit --allow-msg-ttl", c.Name, err)
	}
	s.expires.Store(true)
	return nil
}

// packing moves the threads of one part of an archive.
type packing struct {
	s      *Store
	name   string // of the archive
	before time.Time

	index    archiveIndex
	rev      thread.Rev // of the index
	builder  *archive.Builder
	replaces int      // number of the part whose threads the new part takes too; -1 for none
	added    []string // refs that the builder has
	leaving  []leaving
	moved    int
	problems []error
}

// leaving is a thread that leaves the stream.
type leaving struct {
	seq  uint64 // of its last step
	env  thread.Envelope
	keys []thread.Key
}

// collect reads threads until the part is full, and returns the others.
func (p *packing) collect(ctx context.Context, refs []string) (rest []string, err error) {
	if p.index, p.rev, err = p.s.readIndex(ctx, p.name); err != nil {
		return nil, err
	}
	p.replaces = -1
	if n := len(p.index.Parts) - 1; n >= 0 && p.index.Parts[n].Size < partBytes/4 {
		err := p.keep(ctx, p.index.Parts[n])
		switch {
		case err == nil:
			p.replaces = n
		case isLost(err): // the threads go into a new part
			p.builder = archive.NewBuilder()
			p.problems = append(p.problems, fmt.Errorf("archive %s: its part %s: %w", p.name, p.index.Parts[n].Sum, err))
		default:
			return nil, err
		}
	}
	for i, ref := range refs {
		if p.builder.Size() >= partBytes {
			return refs[i:], nil
		}
		if err := p.take(ctx, ref); err != nil {
			if !isUnreadable(err) {
				return nil, err
			}
			p.problems = append(p.problems, fmt.Errorf("%s stays in the stream: %w", ref, err))
		}
	}
	return nil, nil
}

// keep has the new part take the threads of an earlier one.
func (p *packing) keep(ctx context.Context, part archivePart) error {
	data, err := p.s.getBlob(ctx, part.Sum)
	if err != nil {
		return err
	}
	return p.builder.Keep(data, part.Threads)
}

// isLost reports whether an error says that the object store lacks a part, or has other bytes.
func isLost(err error) bool {
	return errors.Is(err, thread.ErrNoBlob) || errors.Is(err, errNoPart) || errors.Is(err, errOtherBytes)
}

// take adds a thread to the part, if it can leave the stream.
func (p *packing) take(ctx context.Context, ref string) error {
	var keys []thread.Key
	sums := map[string]string{} // of attachments, by name
	r, err := p.s.readSteps(ctx, ref, readThread{}, func(record logformat.Record) {
		for _, sum := range []*logformat.Summary{record.Thread, record.Step} {
			if sum != nil {
				keys = append(keys, sum.AllKeys()...)
			}
		}
		for _, b := range record.Binds {
			sums[b.Name] = b.SHA256
		}
	})
	e := r.envelope
	switch {
	case err != nil:
		return err
	case r.seq == 0 || r.gone != nil || !e.Status.Terminal() || !e.Updated.Before(p.before):
		return nil
	}
	t := thread.Thread{Envelope: e, Messages: r.messages}
	has, err := p.has(ctx, t)
	if err != nil {
		return err
	}
	if !has {
		for _, a := range t.Attachments() {
			if sums[a.Name] == "" {
				sums[a.Name] = a.SHA256
			}
		}
		files, err := p.s.attachments(ctx, sums)
		if err != nil {
			return err
		}
		if err := p.builder.Add(t, files); err != nil {
			return unreadable(err)
		}
		p.added = append(p.added, ref)
	}
	p.leaving = append(p.leaving, leaving{r.seq, e, distinct(keys)})
	return nil
}

// has reports whether the archive has all of a thread. It returns an error if the archive has more of it:
// then a server has given an old state.
func (p *packing) has(ctx context.Context, t thread.Thread) (bool, error) {
	at := p.index.find(t.Ref)
	if at < 0 {
		return false, nil
	}
	is, _, err := p.s.readPart(ctx, p.index.Parts[at], t.Ref)
	if isLost(err) {
		err = unreadable(err)
	}
	if err != nil {
		return false, err
	}
	if len(is.Messages) > len(t.Messages) {
		return false, unreadable(errors.New("its archive has later messages"))
	}
	return len(is.Messages) == len(t.Messages), nil
}

// attachments reads attachments, whose digests are given by name. It leaves out those that the store does
// not have.
func (s *Store) attachments(ctx context.Context, sums map[string]string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, sum := range sums {
		data, err := s.getBlob(ctx, sum)
		switch {
		case errors.Is(err, thread.ErrNoBlob):
		case err != nil:
			return nil, err
		default:
			files[name] = append([]byte{}, data...)
		}
	}
	return files, nil
}

// move stores the part and the new index. Then the threads leave the stream.
func (p *packing) move(ctx context.Context) error {
	if len(p.added) > 0 {
		if err := p.store(ctx); err != nil {
			return err
		}
	}
	for _, l := range p.leaving {
		switch err := p.s.leave(ctx, l); {
		case errors.Is(err, thread.ErrStale), errors.Is(err, thread.ErrNoThread): // it has changed, or another exchange was first
		case err != nil:
			return err
		default:
			p.moved++
		}
	}
	return nil
}

// store stores the part, reads it back, and stores the index.
func (p *packing) store(ctx context.Context) error {
	data, err := p.builder.Finish()
	if err != nil {
		return err
	}
	sum, err := p.s.putBlob(ctx, data)
	if err != nil {
		return err
	}
	if err := p.s.crash("part stored"); err != nil {
		return err
	}
	if _, err := p.s.getBlob(ctx, sum); err != nil { // it compares the digest
		return err
	}
	doc, err := json.Marshal(p.index.with(archivePart{Sum: sum, Size: len(data), Threads: p.added}, p.replaces))
	if err != nil {
		return err
	}
	after, err := sequence(p.rev)
	if err != nil {
		return err
	}
	w := &write{s: p.s, subject: p.s.archiveSubject(p.name), after: after, op: rand.Text(), rollup: true}
	if err := w.setBody(ctx, logformat.Record{Kind: archiveKind, ID: p.name, Doc: doc}); err != nil {
		return err
	}
	if _, err := w.settle(ctx, func(ctx context.Context, pending bool) (uint64, error) {
		return w.judgeDocument(ctx, after == 0, pending)
	}); err != nil {
		return err
	}
	return p.s.crash("index stored")
}

// leave has a thread leave the stream, with its keys. The last message of the thread replaces its
// steps, and says that it has gone. A key goes before: if this program is killed in between, the thread
// is archived later, and its requester can use the id again a little earlier.
func (s *Store) leave(ctx context.Context, l leaving) error {
	for _, k := range l.keys {
		if err := s.dropKey(ctx, k, l.env.Ref); err != nil {
			return err
		}
		if err := s.crash("key removed"); err != nil {
			return err
		}
	}
	sum := logformat.SummaryOf(l.env)
	w := &write{s: s, subject: s.threadSubject(l.env.Ref), ref: l.env.Ref, after: l.seq, op: rand.Text(), rollup: true, lifetime: s.goneFor}
	if err := w.setBody(ctx, logformat.Record{Gone: l.env.Ref, Ended: &sum}); err != nil {
		return err
	}
	if _, err := w.settle(ctx, w.judgeStep); err != nil {
		return err
	}
	s.recent.drop(l.env.Ref)
	return s.crash("thread removed")
}

// dropKey removes the claim of a key, if the thread has it.
func (s *Store) dropKey(ctx context.Context, k thread.Key, ref string) error {
	m, err := s.lastMsg(ctx, s.keySubject(k))
	if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && string(m.Data) != ref {
		return nil
	}
	if err != nil {
		return err
	}
	return s.purge(ctx, s.stream, s.keySubject(k), m.Sequence)
}

// purge removes the messages of a subject up to a sequence. Later ones stay.
func (s *Store) purge(ctx context.Context, from jetstream.Stream, subject string, last uint64) error {
	_, err := retryRead(ctx, s, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, from.Purge(ctx, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeSequence(last+1))
	})
	return err
}

// distinct returns each key once.
func distinct(keys []thread.Key) (all []thread.Key) {
	for _, k := range keys {
		if !slices.Contains(all, k) {
			all = append(all, k)
		}
	}
	return all
}

// crash is a place where the program could die while it archives.
func (s *Store) crash(step string) error {
	if s.atCrash != nil {
		return s.atCrash(step)
	}
	return nil
}

// outlineOf returns the change for a thread that has left the stream.
func outlineOf(r logformat.Record) thread.Change {
	c := thread.Change{Removed: true, Envelope: thread.Envelope{Ref: r.Gone, Status: mess.Completed}}
	if r.Ended != nil && r.Ended.Ref == r.Gone && r.Ended.Status.Terminal() {
		c.Envelope, c.Devices = r.Ended.Envelope(), r.Ended.Devices
	}
	return c
}
