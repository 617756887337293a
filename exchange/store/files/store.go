// Package files is the store of one board. What is acknowledged is in a
// write-ahead log first; the folders of MESSE-AF 2.1 are its projection, for
// people and for other programs, and are where a thread that has ended lies.
//
//	log/                   the write-ahead log
//	log/ended/             what is known of the threads that have ended
//	attachments/           staged files, by SHA-256
//	state=received/ ...    threads, as MESSE-AF has them
//	archive/               threads that ended long ago, in a few zips a month
//	set-aside/             what could not be read, and was in the way
//	tmp/                   what is not whole yet
//
// It judges no step and knows no door.
package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

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

// DefaultConfig is what Open uses.
func DefaultConfig() Config {
	return Config{ArchiveAfter: 90 * 24 * time.Hour, Log: slog.New(slog.DiscardHandler), Now: time.Now}
}

// Store keeps threads in a folder. Every method is durable when it returns.
type Store struct {
	cfg     Config
	dir     string
	root    *os.Root // dir
	disk    disk     // dir
	index   *index
	recent  threadCache
	log     *wal.Log
	blobs   *blobs
	project *projector
	watcher *watcher
	damage  damage
	tail    tail.Tail
	format  int // of the log; 0: it has none yet

	listed  map[messeaf.Folder]time.Time // when state folders were changed last before the start listed them
	atCrash func(step string)            // in tests: what happens where the program could die

	endedMu    sync.Mutex    // held by whoever changes the log of ended threads
	locks      keyed.Locks   // one step of a thread at a time, one claim of a key, one change of a document
	compactAt  atomic.Int64  // size of the log, in bytes, at which it is made anew
	compactDue chan struct{} // has it made anew
}

var (
	_ thread.Store          = (*Store)(nil)
	_ thread.Folders        = (*Store)(nil)
	_ thread.EnvelopeReader = (*Store)(nil)
	_ tail.Source           = (*Store)(nil)
)

// Open opens the store in a folder, which is made if it is not there. A folder
// that another program has open is refused.
func Open(dir string) (*Store, error) { return DefaultConfig().Open(dir) }

// Open is the package's Open with settings.
func (c Config) Open(dir string) (*Store, error) {
	b, err := openBlobs(filepath.Join(dir, "attachments"))
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	disk, err := openDisk(dir)
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
	}
	if err := errors.Join(s.mark(), s.prepareFolders()); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), s.closeLogs(), disk.Close(), root.Close())
	}
	s.tail.Begin(s.index.last())
	return s, nil
}

// lostChanges is how many changes are counted for damage in the log, so that the feed gives
// no number twice.
const lostChanges = 1 << 20

// replay takes a record of the log into memory.
func (s *Store) replay(at wal.Place, data []byte) error {
	if format, ok := formatOf(data); ok {
		s.format = max(s.format, format)
		return tooNew(format)
	}
	r, _, err := decodeHead(data)
	if err != nil {
		return fmt.Errorf("a record of the exchange's log cannot be read: %w", err)
	}
	if s.index.skips(r) {
		return nil
	}
	if s.damage.gaps() {
		r = s.afterDamage(r)
	}
	for _, e := range []*summary{r.Thread, r.Step} {
		if e != nil && e.Updated.After(s.damage.last) {
			s.damage.last = e.Updated
		}
	}
	if err := s.take(r, at); err != nil {
		return err
	}
	return s.keepEnded(context.Background(), endedLoad)
}

// take takes what is in the log into memory.
func (s *Store) take(r record, at wal.Place) error {
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

// write logs records and then takes them into memory, and says how many bytes they
// take.
func (s *Store) write(ctx context.Context, all ...record) (bytes int, err error) {
	data := make([][]byte, len(all))
	for i, r := range all {
		if data[i], err = r.encode(); err != nil {
			return 0, err
		}
		bytes += len(data[i])
	}
	return bytes, s.put(ctx, all, data)
}

// put logs records as they are encoded, at once, and then takes them into memory and tells
// those who follow the feed: in the order of the log, so that a change has the same number
// when the log is read again.
func (s *Store) put(ctx context.Context, all []record, data [][]byte) error {
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

// Append adds one step to a thread.
func (s *Store) Append(ctx context.Context, step thread.Step) (thread.Rev, error) {
	defer s.project.waitForFolders(ctx)
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
		s.recent.step(step, was, is, bytes)
	} else {
		if is.ver == step.Envelope.Ver && is.records == 1 {
			s.recent.put(thread.Thread{Envelope: step.Envelope, Messages: step.Messages}, is, bytes)
		}
		s.index.noteFolder(ref, folder{fresh: true})
	}
	s.project.mark(ref)
	return revOf(step.Envelope.Ver), nil
}

// stepRecord is a step as a record, if it may be stored.
func (s *Store) stepRecord(ref string, step thread.Step) (record, error) {
	k, ok := s.index.thread(ref)
	switch {
	case !ok && step.After != "":
		return record{}, thread.ErrNoThread
	case step.After == "" && (ok || !s.isFree(ref)):
		return record{}, thread.ErrStale
	case step.After != "" && k.inLog() && (step.After != revOf(k.Ver) || step.Envelope.Ver != k.Ver+1):
		return record{}, thread.ErrStale
	}
	for _, key := range step.Keys {
		if taken, ok := s.index.find(key); ok && taken != ref {
			return record{}, &thread.TakenError{Key: key, Ref: taken}
		}
	}
	for _, b := range step.Binds {
		if !s.blobs.has(b.SHA256) {
			return record{}, thread.ErrNoBlob
		}
	}
	if step.After != "" && !k.inLog() {
		return s.returnToLog(ref, step)
	}
	return stepRecord(step)
}

// returnToLog is a step of a thread that lies in its folder, as a record of the whole
// thread: the log knows only that it ended.
func (s *Store) returnToLog(ref string, step thread.Step) (record, error) {
	t, err := s.readEnded(ref)
	switch {
	case err != nil:
		return record{}, err
	case step.After != revOf(t.Ver) || step.Envelope.Ver != t.Ver+1:
		return record{}, thread.ErrStale
	}
	r, err := threadRecord(thread.Thread{Envelope: step.Envelope, Messages: append(t.Messages, step.Messages...)})
	r.Thread.Keys = extraKeys(step)
	r.Binds, r.step = step.Binds, &step
	return r, err
}

// revOf is the revision of a thread by its version.
func revOf(ver uint64) thread.Rev { return thread.Rev(strconv.FormatUint(ver, 10)) }

// Put stores or removes a small document.
func (s *Store) Put(ctx context.Context, kind, id string, doc []byte, after thread.Rev) (thread.Rev, error) {
	defer s.compactIfDue()
	defer s.locks.Lock(kind + "\x00\x00" + id)()
	if s.index.docRev(kind, id) != after {
		return "", thread.ErrStale
	}
	return s.putDoc(ctx, kind, id, doc)
}

// putAnyRevision is Put for whatever revision.
func (s *Store) putAnyRevision(ctx context.Context, kind, id string, doc []byte) error {
	defer s.locks.Lock(kind + "\x00\x00" + id)()
	_, err := s.putDoc(ctx, kind, id, doc)
	return err
}

func (s *Store) putDoc(ctx context.Context, kind, id string, doc []byte) (thread.Rev, error) {
	_, err := s.write(ctx, record{Kind: kind, ID: id, Doc: doc})
	return s.index.docRev(kind, id), err
}

// Read reads a thread.
func (s *Store) Read(_ context.Context, ref string) (thread.Thread, thread.Rev, error) {
	t, err := s.thread(ref)
	return t, revOf(t.Ver), err
}

func (s *Store) thread(ref string) (thread.Thread, error) {
	if t, _, ok := s.recent.get(ref, s.index.state(ref)); ok {
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
		s.recent.put(t, w.as, w.bytes)
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

// Lookup returns the thread that has claimed a key.
func (s *Store) Lookup(_ context.Context, k thread.Key) (string, error) {
	if ref, ok := s.index.find(k); ok {
		return ref, nil
	}
	return "", thread.ErrNoThread
}

// Stage keeps bytes for a later step.
func (s *Store) Stage(_ context.Context, data io.Reader, most int64) (thread.Staged, error) {
	if err := s.log.Err(); err != nil {
		return thread.Staged{}, err
	}
	return s.blobs.add(data, most)
}

// Blob opens staged bytes.
func (s *Store) Blob(_ context.Context, sum string) (io.ReadSeekCloser, error) {
	f, err := s.blobs.open(sum)
	if errors.Is(err, os.ErrNotExist) {
		return nil, thread.ErrNoBlob
	}
	return f, err
}

// Attachment opens a file that is bound to a thread, or that another program has put beside
// it.
func (s *Store) Attachment(_ context.Context, ref, name string) (io.ReadSeekCloser, error) {
	k, known := s.index.thread(ref)
	if sum, ok := k.binds[name]; ok {
		if f, err := s.blobs.open(sum); err == nil {
			return f, nil
		}
	}
	return s.openExternal(ref, name, k, known)
}

// Close waits for what is being written, and brings the folders up to date.
func (s *Store) Close() error {
	return errors.Join(s.project.finish(), s.closeLogs(), s.disk.Close(), s.root.Close())
}

func (s *Store) closeLogs() error { return errors.Join(s.index.ended.close(), s.log.Close()) }

// Err tells why nothing can be stored any more, or nil.
func (s *Store) Err() error { return s.log.Err() }

// Written is how long the log is now, how much was written to it since the store
// was opened, and how much of that today, in bytes. The folders are not in it, nor
// are pictures and files.
func (s *Store) Written() (size, total, today int64) {
	total, today = s.log.Written()
	size, more, moreToday := s.index.ended.written()
	return s.log.Size() + size, total + more, today + moreToday
}

// WrittenFiles is the same of pictures and files; each is there once, also where
// folders show it.
func (s *Store) WrittenFiles() (size, total, today int64) { return s.blobs.written() }
