// Package files stores threads in a folder of one node. It writes each step to a write-ahead log
// before it acknowledges the step. The folders of MESSE-AF 2.1 are a projection of the log for
// people and other programs. Soon after a thread has ended, the log drops it, and only its
// folder or an archive has it.
//
//	log/                   the write-ahead log
//	log/ended/             the index data of threads that have ended
//	attachments/           staged files, by SHA-256
//	state=received/ ...    threads, in the layout of MESSE-AF
//	archive/               threads that ended long ago, in a few zips a month
//	set-aside/             unreadable files that blocked a thread
//	tmp/                   incomplete files
//
// The package does not judge steps and does not depend on a channel.
package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/exchange/store/files/blobs"
	"github.com/messkit/messkit/exchange/store/files/cache"
	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/store/files/tree"
	"github.com/messkit/messkit/exchange/store/tail"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/keyed"
	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess/messeaf"
)

// Config of a store.
type Config struct {
	// ArchiveAfter is the time after which a thread that has ended moves from its folder to
	// the archive of its month; 0: never.
	ArchiveAfter time.Duration
	Log          *slog.Logger
	Now          func() time.Time
}

// DefaultConfig returns the configuration of the function Open.
func DefaultConfig() Config {
	return Config{ArchiveAfter: 90 * 24 * time.Hour, Log: slog.New(slog.DiscardHandler), Now: time.Now}
}

// Store keeps threads in a folder. Its methods write durably before they return. All are safe
// for concurrent use.
type Store struct {
	cfg     Config
	dir     string
	root    *os.Root  // dir
	disk    tree.Disk // dir
	index   *index
	recent  cache.Threads
	log     *wal.Log
	blobs   *blobs.Store
	project *projector
	watcher *watcher
	damage  damage
	tail    tail.Tail
	newest  newest // when Open has read the log
	format  int    // of the log; 0: none yet

	listed  map[messeaf.Folder]time.Time // last changes of the state folders before the start listed them
	atCrash func(step string)            // for tests: runs at each step where the program could die

	endedMu    sync.Mutex    // for changes to the log of ended threads
	locks      keyed.Locks   // one step of a thread at a time, one claim of a key, one change of a document
	compactAt  atomic.Int64  // size of the log from which to compact it, in bytes
	compactDue chan struct{} // requests a compaction
}

var (
	_ thread.Store          = (*Store)(nil)
	_ thread.Folders        = (*Store)(nil)
	_ thread.EnvelopeReader = (*Store)(nil)
	_ thread.DocumentReader = (*Store)(nil)
	_ thread.Admitter       = (*Store)(nil)
	_ thread.SubjectReader  = (*Store)(nil)
	_ thread.Recaller       = (*Store)(nil)
	_ tail.Source           = (*Store)(nil)
)

// Open opens the store in a folder with DefaultConfig. It makes the folder if it does not exist.
// It returns ErrInUse if another program has the folder open.
func Open(dir string) (*Store, error) { return DefaultConfig().Open(dir) }

// Open opens the store in a folder with this configuration, like the function Open.
func (c Config) Open(dir string) (*Store, error) {
	b, err := blobs.Open(filepath.Join(dir, "attachments"))
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	s := &Store{cfg: c, dir: dir, root: root, disk: disk, index: newIndex(), blobs: b, watcher: &watcher{}, compactDue: make(chan struct{}, 1)}
	s.project, s.index.ended.say = newProjector(s), c.Log
	s.damage.refs, s.damage.lost = map[string]bool{}, map[string]thread.Thread{}
	o := wal.DefaultOptions()
	o.Damaged = s.damaged
	if err := s.openEnded(); err != nil {
		return nil, errors.Join(err, disk.Close(), root.Close())
	}
	s.log, err = o.OpenPlaces(filepath.Join(dir, "log"), s.replay)
	if err != nil {
		return nil, errors.Join(err, s.index.ended.close(), disk.Close(), root.Close())
	}
	s.index.atLeastEnded()
	if s.damage.gaps() {
		s.index.skip(lostChanges)
		s.newest = newest{before: s.index.last()}
	}
	if err := errors.Join(s.mark(), s.prepareFolders()); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), s.closeLogs(), disk.Close(), root.Close())
	}
	s.tail.Begin(s.index.last())
	return s, nil
}

// lostChanges is the number of changes that Open skips after damage in the log, so that the feed
// uses no number twice.
const lostChanges = 1 << 20

// replay adds a record of the log to the index.
func (s *Store) replay(at wal.Place, data []byte) error {
	if format, ok := logformat.FormatOf(data); ok {
		s.format = max(s.format, format)
		return logformat.TooNew(format)
	}
	r, _, err := logformat.DecodeHead(data)
	if err != nil {
		return fmt.Errorf("cannot read a record of the exchange's log: %w", err)
	}
	before := s.index.last()
	if s.index.skips(r) {
		s.newest.note(r, at, before, s.index.last())
		return nil
	}
	if s.damage.gaps() {
		r = s.afterDamage(r)
	}
	for _, e := range []*logformat.Summary{r.Thread, r.Step} {
		if e != nil && e.Updated.After(s.damage.last) {
			s.damage.last = e.Updated
		}
	}
	if err := s.take(r, at); err != nil {
		return err
	}
	s.newest.note(r, at, before, s.index.last())
	return s.keepEnded(context.Background(), endedLoad)
}

// mark writes the format into a log that lacks it. It does nothing if the log is read-only.
func (s *Store) mark() error {
	if s.format >= logformat.Format || s.log.Err() != nil {
		return nil
	}
	if _, err := s.log.Put(context.Background(), logformat.EncodeFormat(logformat.Format)); err != nil && s.log.Err() == nil {
		return err
	}
	s.format = logformat.Format
	return nil
}

// take adds a record to the index.
func (s *Store) take(r logformat.Record, at wal.Place) error {
	switch {
	case r.Thread != nil:
		s.index.setWhole(*r.Thread, r.Seq, at, r.Binds)
	case r.Step != nil:
		return s.index.step(*r.Step, r.Seq, at, r.Binds)
	case r.Ref != "":
		return s.index.addMessages(r.Ref, at)
	case r.Ended != nil:
		s.index.setEnded(*r.Ended, r.Seq)
	case r.Gone != "":
		s.index.forget(r.Gone, r.Seq)
	case r.Days != nil:
		s.index.setDays(r.Days, r.Seq)
	default:
		s.index.putDoc(r.Kind, r.ID, r.Doc, r.Seq)
	}
	return nil
}

// write writes records to the log and adds them to the index. It returns their size in bytes.
func (s *Store) write(ctx context.Context, all ...logformat.Record) (bytes int, err error) {
	data := make([][]byte, len(all))
	for i, r := range all {
		if data[i], err = r.Encode(); err != nil {
			return 0, err
		}
		bytes += len(data[i])
	}
	return bytes, s.put(ctx, all, data)
}

// put writes encoded records to the log in one operation. It then adds them to the index and
// publishes them in the feed, in the order of the log. A change therefore gets the same number
// when the store reads the log again.
func (s *Store) put(ctx context.Context, all []logformat.Record, data [][]byte) error {
	if err := s.log.Err(); err != nil {
		return err
	}
	var failed error
	_, err := s.log.PutThen(ctx, func(places []wal.Place) {
		for i, r := range all {
			if err := s.take(r, places[i]); err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			s.publish(r)
		}
	}, data...)
	if err != nil && s.log.Err() != nil {
		err = fmt.Errorf("%w: %w", thread.ErrUnknown, err)
	}
	return errors.Join(err, failed)
}

// Put stores a small document, or removes it if doc is nil.
func (s *Store) Put(ctx context.Context, kind, id string, doc []byte, after thread.Rev) (thread.Rev, error) {
	defer s.compactIfDue()
	defer s.locks.Lock(kind + "\x00\x00" + id)()
	if s.index.docRev(kind, id) != after {
		return "", thread.ErrStale
	}
	return s.putDoc(ctx, kind, id, doc)
}

// putAnyRevision is like Put, without a check of the revision.
func (s *Store) putAnyRevision(ctx context.Context, kind, id string, doc []byte) error {
	defer s.locks.Lock(kind + "\x00\x00" + id)()
	_, err := s.putDoc(ctx, kind, id, doc)
	return err
}

func (s *Store) putDoc(ctx context.Context, kind, id string, doc []byte) (thread.Rev, error) {
	_, err := s.write(ctx, logformat.Record{Kind: kind, ID: id, Doc: doc})
	return s.index.docRev(kind, id), err
}

// Read reads a thread.
func (s *Store) Read(_ context.Context, ref string) (thread.Thread, thread.Rev, error) {
	t, err := s.thread(ref)
	return t, revOf(t.Ver), err
}

func (s *Store) thread(ref string) (thread.Thread, error) {
	if t, _, ok := s.recent.Get(ref, s.index.state(ref)); ok {
		return t, nil
	}
	w, ok, err := s.read(ref)
	if err != nil {
		return thread.Thread{}, err
	}
	if !ok {
		return s.readEnded(ref)
	}
	t, err := w.decode()
	if err == nil {
		s.recent.Put(t, w.as, w.bytes)
	}
	return t, err
}

// Envelope reads the envelope of a thread.
func (s *Store) Envelope(_ context.Context, ref string) (thread.Envelope, error) {
	e, err := s.envelope(ref)
	if err == nil && e.Ref == "" {
		err = thread.ErrNoThread
	}
	return e, err
}

// Document returns a document, or nil. The caller must not change it.
func (s *Store) Document(_ context.Context, kind, id string) ([]byte, error) {
	return s.index.docsOf(kind)[id].data, nil
}

// Lookup returns the thread that has claimed a key.
func (s *Store) Lookup(_ context.Context, k thread.Key) (string, error) {
	if ref, ok := s.index.find(k); ok {
		return ref, nil
	}
	return "", thread.ErrNoThread
}

// Stage stores at most most bytes for a later step.
func (s *Store) Stage(_ context.Context, data io.Reader, most int64) (thread.Staged, error) {
	if err := s.log.Err(); err != nil {
		return thread.Staged{}, err
	}
	return s.blobs.Add(data, most)
}

// Blob opens staged bytes.
func (s *Store) Blob(_ context.Context, sum string) (io.ReadSeekCloser, error) {
	f, err := s.blobs.Open(sum)
	if errors.Is(err, os.ErrNotExist) {
		return nil, thread.ErrNoBlob
	}
	return f, err
}

// Attachment opens a file that a thread binds, or that another program has put into its folder.
func (s *Store) Attachment(_ context.Context, ref, name string) (io.ReadSeekCloser, error) {
	k, known := s.index.thread(ref)
	if sum, ok := k.binds[name]; ok {
		if f, err := s.blobs.Open(sum); err == nil {
			return f, nil
		}
	}
	return s.openExternal(ref, name, k, known)
}

// Close waits for writes in progress, updates the folders, and closes the store.
func (s *Store) Close() error {
	return errors.Join(s.project.finish(), s.closeLogs(), s.disk.Close(), s.root.Close())
}

func (s *Store) closeLogs() error { return errors.Join(s.index.ended.close(), s.log.Close()) }

// Err returns the reason why the store can no longer write, or nil.
func (s *Store) Err() error { return s.log.Err() }

// Written returns the size of the log, the bytes written to it since Open, and the bytes written
// today. The figures do not include folders, images and files.
func (s *Store) Written() (size, total, today int64) {
	total, today = s.log.Written()
	size, more, moreToday := s.index.ended.written()
	return s.log.Size() + size, total + more, today + moreToday
}

// WrittenFiles returns the same figures for images and files. It counts each file once, even if
// a folder links it.
func (s *Store) WrittenFiles() (size, total, today int64) { return s.blobs.Written() }

// ErrInUse means that another program has the folder open.
var ErrInUse = wal.ErrInUse

// Damaged reports whether err from Open means that acknowledged records are damaged.
func Damaged(err error) bool {
	_, ok := errors.AsType[*wal.CorruptError](err)
	return ok
}
