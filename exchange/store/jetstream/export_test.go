package jetstream

import (
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/store/snapshot"
)

// GoneFor is how long the stream has the last message of an archived thread.
const GoneFor = goneFor

// SetNewest sets the newest format that this program knows, and returns the one before.
func SetNewest(n string) (before string) {
	before, newest = newest, n
	return before
}

// SetAges sets how long the last message of an archived thread stays, and the ages of bytes for Clean and
// for a new write.
func (s *Store) SetAges(gone, unused, fresh time.Duration) {
	s.goneFor, s.unusedFor, s.freshFor = gone, unused, fresh
}

// SetCrash has fn called at each place where the program could die while it archives. Its error ends the
// work there.
func (s *Store) SetCrash(fn func(step string) error) { s.atCrash = fn }

// State returns the number of messages and bytes of the stream, and of the objects.
func (s *Store) State(t testing.TB) (messages, bytes, objects uint64) {
	is, err := s.stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	of, err := s.objects.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return is.State.Msgs, is.State.Bytes, of.State.Bytes
}

// Subjects of a thread, of a document and of an archive.
func (s *Store) ThreadSubject(ref string) string        { return s.threadSubject(ref) }
func (s *Store) DocumentSubject(kind, id string) string { return s.documentSubject(kind, id) }
func (s *Store) ArchiveSubject(name string) string      { return s.archiveSubject(name) }

// DecodeStep decodes the body of a step, and reports whether a later unreadable one leaves a thread that
// has ended.
func DecodeStep(data []byte) (ended bool, err error) {
	r, err := logformat.Decode(data)
	if err != nil {
		return false, err
	}
	if goneRecord(r) {
		return outlineOf(r).Envelope.Status.Terminal(), nil
	}
	e, messages, err := decodeStep(r)
	if err != nil {
		return false, err
	}
	t := damaged(readThread{1, e, messages, nil}, 2, time.Unix(0, 0))
	return t.Status.Terminal() && t.Ver == e.Ver+1, nil
}

// ParseIndex decodes the index of an archive, and returns the number of its parts.
func ParseIndex(doc []byte) (int, error) {
	x, err := parseIndex(doc)
	return len(x.Parts), err
}

// Judge returns the finding about a server that has just answered with these settings.
func Judge(t testing.TB, text string) Finding {
	v, err := readVarz([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	a := monitorAnswer{address: "http://127.0.0.1:8222", v: v, clock: clockOf(v.Now, time.Now().Add(-time.Minute), time.Now())}
	return a.judge(Config{}, v.Name, peer{}, false)
}

// WithSnapshotAfter returns a configuration in which Snapshot writes after so few messages.
func WithSnapshotAfter(c Config, n uint64) Config {
	c.snapshotAfter = n
	return c
}

// SnapshotHome returns a store as the home of its snapshot.
func SnapshotHome(s *Store) snapshot.Home { return snapshotHome{s} }
