package jetstream

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
)

const (
	// unusedFor is the age from which the store removes bytes that nothing in the stream names.
	unusedFor = 7 * 24 * time.Hour
	// freshFor is the age up to which bytes that are staged again are not written again. It is much
	// shorter than unusedFor, so that staged bytes stay until a step names them.
	freshFor = 24 * time.Hour
)

// Clean removes bytes from the object store that are older than a week, and that no thread, document or
// archive in the stream names. It reads the whole stream for that, and returns the number of objects that it
// has removed. It removes nothing if it cannot read a record.
func (s *Store) Clean(ctx context.Context) (removed int, err error) {
	if s.cfg.Domain != "" {
		return 0, ErrCopy
	}
	unused, err := s.oldObjects(ctx)
	if err != nil || len(unused) == 0 {
		return 0, err
	}
	if err := s.eachRecord(ctx, func(h nats.Header, r logformat.Record) error {
		delete(unused, h.Get(bodyHeader))
		return dropUsed(unused, r)
	}); err != nil {
		return 0, err
	}
	for sum, o := range unused {
		if err := s.removeObject(ctx, sum, o); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// oldObjects returns the objects that are old enough to go, by name.
func (s *Store) oldObjects(ctx context.Context) (map[string]*jetstream.ObjectInfo, error) {
	list, err := s.blobs.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	old := map[string]*jetstream.ObjectInfo{}
	for _, o := range list {
		if isSum(o.Name) && time.Since(o.ModTime) > s.unusedFor {
			old[o.Name] = o
		}
	}
	return old, nil
}

// dropUsed removes from a set what a record names.
func dropUsed(unused map[string]*jetstream.ObjectInfo, r logformat.Record) error {
	switch {
	case r.Kind == archiveKind:
		x, err := parseIndex(r.Doc)
		if err != nil {
			return err
		}
		for _, p := range x.Parts {
			delete(unused, p.Sum)
		}
	case r.HasEnvelope():
		_, messages, err := decodeStep(r)
		if err != nil {
			return err
		}
		for _, b := range r.Binds {
			delete(unused, b.SHA256)
		}
		for _, a := range (thread.Thread{Messages: messages}).Attachments() {
			delete(unused, a.SHA256)
		}
	}
	return nil
}

// eachRecord calls fn with each thread step, document and index in the stream.
func (s *Store) eachRecord(ctx context.Context, fn func(nats.Header, logformat.Record) error) error {
	f := &feed{s: s, fn: func(c thread.Change) error {
		if c.Level {
			return errLevel
		}
		return nil
	}}
	f.raw = func(kind string, m jetstream.Msg) error {
		if kind != "t" && kind != "d" && kind != "a" {
			return nil
		}
		r, err := s.record(ctx, m.Headers(), m.Data())
		if err == nil {
			err = fn(m.Headers(), r)
		}
		if isUnreadable(err) {
			err = fmt.Errorf("store: subject %s: %w", m.Subject(), err)
			f.failed = err
		}
		return err
	}
	err := s.feed(ctx, "", f)
	if errors.Is(err, errLevel) {
		return nil
	}
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// errLevel ends a feed at the present.
var errLevel = errors.New("the feed has reached the present")

// removeObject removes an object, unless somebody has stored it again since. The bytes go first, so
// that a later call removes the rest if this program is killed.
func (s *Store) removeObject(ctx context.Context, name string, o *jetstream.ObjectInfo) error {
	prefix := "$O." + s.bucket() + "."
	meta := prefix + "M." + base64.URLEncoding.EncodeToString([]byte(name))
	m, err := retryRead(ctx, s, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return s.objects.GetLastMsgForSubject(ctx, meta)
	})
	if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && !strings.Contains(string(m.Data), `"`+o.NUID+`"`) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.purgeAll(ctx, prefix+"C."+o.NUID); err != nil {
		return err
	}
	return s.purge(ctx, s.objects, meta, m.Sequence)
}

// purgeAll removes the bytes of an object.
func (s *Store) purgeAll(ctx context.Context, subject string) error {
	_, err := retryRead(ctx, s, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.objects.Purge(ctx, jetstream.WithPurgeSubject(subject))
	})
	return err
}
