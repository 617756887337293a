package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange/store/snapshot"
	"github.com/messkit/messkit/exchange/thread"
)

// snapshotAfter is the number of messages since the last snapshot from which on Snapshot writes. A new
// exchange reads as many in some tenths of a second.
const snapshotAfter = 10_000

// Snapshot adds what has changed to the snapshot from which FeedEnvelopes begins, if that is enough. Its
// manifest is in the stream: who purges the stream, makes it anew or restores an earlier copy of it has no
// snapshot of what the stream does not have. Releases before it ignore the manifest.
func (s *Store) Snapshot(ctx context.Context) (wrote bool, err error) {
	if s.cfg.Domain != "" {
		return false, nil // the exchanges of the site keep theirs, whose positions are not those of the copy
	}
	if _, n := s.Unreadable(); n > 0 {
		return false, nil // whoever reads a snapshot of them would not know of them
	}
	w := snapshot.Writer{Home: snapshotHome{s}, After: s.cfg.snapshotAfter, Check: !s.checkedSnapshot.Load(), Now: time.Now, Log: s.cfg.Log}
	if wrote, err = w.Write(ctx); err != nil {
		return wrote, fmt.Errorf("the snapshot of the store: %w", err)
	}
	s.checkedSnapshot.Store(true)
	return wrote, nil
}

// loadSnapshot gives the changes of the snapshot. Without a snapshot that it can use in full, it gives nothing,
// and the feed gives all. end is the end of the stream.
func (f *feed) loadSnapshot(ctx context.Context, end uint64) error {
	f.fromSnapshot = false
	began := time.Now()
	l, err := snapshot.Load(ctx, snapshotHome{f.s}, began)
	if err == nil && l == nil {
		return nil
	}
	if err == nil && l.Pos > end {
		err = fmt.Errorf("it ends at %d, and the stream at %d", l.Pos, end)
	}
	if err != nil {
		f.s.cfg.Log.Warn("the exchange does not use the snapshot of the store, and reads all steps instead", "err", err)
		return ctx.Err()
	}
	if err := l.Each(func(seq uint64, c thread.Change) error {
		f.at = seq
		return f.give(c)
	}); err != nil {
		return err
	}
	f.at = l.Pos
	f.s.mu.Lock()
	for day, n := range l.Serials {
		f.s.serials[day] = max(f.s.serials[day], n)
	}
	f.s.mu.Unlock()
	f.s.cfg.Log.Info("the exchange has read the snapshot of the store", "entries", l.Entries, "bytes", l.Bytes, "position", l.Pos, "tail", end-l.Pos, "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// snapshotHome is a store as the home of its snapshot.
type snapshotHome struct{ s *Store }

// Stream implements snapshot.Home.
func (h snapshotHome) Stream() string {
	about := h.s.stream.CachedInfo()
	return about.Config.Name + " " + about.Created.UTC().Format(time.RFC3339Nano)
}

// Manifest implements snapshot.Home.
func (h snapshotHome) Manifest(ctx context.Context) ([]byte, uint64, error) {
	m, err := h.s.lastMsg(ctx, h.s.subject("s"))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	return m.Data, m.Sequence, nil
}

// SetManifest implements snapshot.Home.
func (h snapshotHome) SetManifest(ctx context.Context, data []byte, after uint64) (uint64, error) {
	if len(data) > h.s.most {
		return 0, fmt.Errorf("its manifest has %d bytes, and the servers take %d; raise max_payload", len(data), h.s.most)
	}
	w := &write{s: h.s, subject: h.s.subject("s"), after: after, op: rand.Text(), rollup: true, raw: true, body: data}
	return w.settle(ctx, func(ctx context.Context, pending bool) (uint64, error) { return w.judgeDocument(ctx, false, pending) })
}

// PutObject implements snapshot.Home.
func (h snapshotHome) PutObject(ctx context.Context, name string, data []byte) error {
	return h.s.putObject(ctx, name, data)
}

// Object implements snapshot.Home.
func (h snapshotHome) Object(ctx context.Context, name string) ([]byte, error) {
	return h.s.getObject(ctx, name)
}

// DeleteObject implements snapshot.Home. The client library would keep a message for each deleted object.
func (h snapshotHome) DeleteObject(ctx context.Context, name string) error {
	info, err := retryRead(ctx, h.s, func(ctx context.Context) (*jetstream.ObjectInfo, error) { return h.s.blobs.GetInfo(ctx, name) })
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return thread.ErrNoBlob
	}
	if err != nil {
		return err
	}
	return h.s.removeObject(ctx, name, info)
}

// Count implements snapshot.Home.
func (h snapshotHome) Count(ctx context.Context, after uint64) (uint64, error) {
	last, err := h.s.lastSequence(ctx)
	if err != nil || last < after+h.s.cfg.snapshotAfter {
		return last - min(last, after), err // at most
	}
	consumer, err := retryRead(ctx, h.s, func(ctx context.Context) (jetstream.Consumer, error) {
		return h.s.stream.CreateConsumer(ctx, h.s.consumerAfter(after))
	})
	if err != nil {
		return 0, err
	}
	about := consumer.CachedInfo()
	_, err = retryRead(ctx, h.s, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, h.s.stream.DeleteConsumer(ctx, about.Name)
	})
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		err = nil // an earlier try has deleted it
	}
	return about.NumPending, err
}

// Tail implements snapshot.Home.
func (h snapshotHome) Tail(ctx context.Context, after uint64, fn func(snapshot.Entry) error) error {
	f := &feed{s: h.s, envelopes: true}
	f.fn = func(c thread.Change) error {
		if _, n := h.s.Unreadable(); n > 0 {
			return fmt.Errorf("%d records of the stream are unreadable, and each exchange must meet them", n)
		}
		if c.Level {
			return errLevel
		}
		return fn(snapshot.EntryOf(f.at, &c, f.envelope))
	}
	err := h.s.feed(ctx, thread.Pos(revOf(after)), f)
	if errors.Is(err, errLevel) {
		return nil
	}
	return errors.Join(err, ctx.Err())
}
