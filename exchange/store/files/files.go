// Package files is the store of one board. What is acknowledged is in a
// write-ahead log first; the folders of MESSE-AF 2.1 are its projection, for
// people and for other programs, and are where a thread that has ended lies.
//
//	log/                   the write-ahead log
//	attachments/           staged files, by SHA-256
//	state=received/ ...    threads, as MESSE-AF has them
//	archive/2026-01/       threads that ended long ago, as zips
//	set-aside/             what could not be read, and was in the way
//	tmp/                   what is not whole yet
//
// It judges no step and knows no door.
package files

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wal"
)

// Config of a store.
type Config struct {
	// ArchiveAfter is how long a thread that has ended stays in its folder; 0: for
	// ever.
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
	recent  recent
	log     *wal.Log
	blobs   *blobs
	project *projector
	watcher *watcher
	damage  damage

	// step is held for reading while something is logged and then taken into
	// memory, and for writing while the log is made anew from memory.
	step sync.RWMutex
	keys [64]sync.Mutex // one step of a thread at a time, one create of a requester's id
	seed maphash.Seed
	next int64     // size of the log, in bytes, at which it is made anew; guarded by step
	not  time.Time // until when it is not, after an error; guarded by step
}

var _ thread.Store = (*Store)(nil)

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
	s := &Store{cfg: c, dir: dir, root: root, disk: disk, index: newIndex(), blobs: b, seed: maphash.MakeSeed(), watcher: &watcher{}}
	s.project = newProjector(s)
	s.damage.refs, s.damage.lost = map[string]bool{}, map[string]thread.Thread{}
	o := wal.DefaultOptions()
	o.Damaged = s.damaged
	s.log, err = o.OpenPlaces(filepath.Join(dir, "log"), s.replay)
	if err != nil {
		return nil, errors.Join(err, disk.Close(), root.Close())
	}
	if err := s.settle(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), s.log.Close(), disk.Close(), root.Close())
	}
	return s, nil
}

// replay takes a record of the log into memory.
func (s *Store) replay(at wal.Place, data []byte) error {
	r, _, err := decodeHead(data)
	if err != nil {
		return fmt.Errorf("a record of the exchange's log cannot be read: %w", err)
	}
	if s.damage.gaps() {
		r = s.afterDamage(r)
	}
	for _, e := range []*summary{r.Thread, r.Step} {
		if e != nil && e.Updated.After(s.damage.last) {
			s.damage.last = e.Updated
		}
	}
	return s.take(r, at)
}

// take takes what is in the log into memory.
func (s *Store) take(r record, at wal.Place) error {
	switch {
	case r.Thread != nil:
		s.index.setWhole(*r.Thread, at, r.Binds)
	case r.Step != nil:
		return s.index.step(*r.Step, at, r.Binds)
	case r.Ref != "":
		return s.index.more(r.Ref, at)
	case r.Ended != nil:
		s.index.setEnded(*r.Ended)
	case r.Gone != "":
		s.index.forget(r.Gone)
	case r.Days != nil:
		for day, serial := range r.Days {
			s.index.atLeast(day, serial)
		}
	default:
		s.index.putDoc(r.Kind, r.ID, r.Doc)
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

// put logs records as they are encoded, at once, and then takes them into
// memory.
func (s *Store) put(ctx context.Context, all []record, data [][]byte) error {
	places, err := s.log.Put(ctx, data...)
	if err != nil {
		return err
	}
	for i, r := range all {
		if err := s.take(r, places[i]); err != nil {
			return err
		}
	}
	return nil
}

// lock keeps others from the same key.
func (s *Store) lock(key string) *sync.Mutex {
	m := &s.keys[maphash.String(s.seed, key)%uint64(len(s.keys))]
	m.Lock()
	return m
}

// Create stores a new thread.
func (s *Store) Create(ctx context.Context, c thread.Create) (thread.Thread, error) {
	defer s.project.keepUp(ctx)
	defer s.grown(ctx)
	s.project.steps.Add(1)
	defer s.project.steps.Add(-1)
	s.step.RLock()
	defer s.step.RUnlock()
	if c.ClientID != "" {
		defer s.lock(c.Requestor + "\x00" + c.ClientID).Unlock()
		if ref, ok := s.index.find(c.Requestor, c.ClientID); ok {
			return thread.Thread{}, &thread.ExistsError{Ref: ref}
		}
	}
	binds, err := s.blobs.addAll(c.Files)
	if err != nil {
		return thread.Thread{}, err
	}
	ref, err := s.newRef(c.Day, c.Token)
	if err != nil {
		return thread.Thread{}, err
	}
	t := c.Build(ref)
	r, err := threadRecord(t)
	r.Binds = binds
	if err != nil {
		return thread.Thread{}, err
	}
	bytes, err := s.write(ctx, r)
	if err != nil {
		return thread.Thread{}, err
	}
	if is := s.index.state(ref); is.ver == t.Ver && is.records == 1 {
		s.recent.put(t, is, bytes)
	}
	s.index.left(ref, folder{fresh: true})
	s.project.mark(ref)
	return t, nil
}

// Append stores one step.
func (s *Store) Append(ctx context.Context, step thread.Step) error {
	defer s.project.keepUp(ctx)
	defer s.grown(ctx)
	s.project.steps.Add(1)
	defer s.project.steps.Add(-1)
	s.step.RLock()
	defer s.step.RUnlock()
	ref := step.Envelope.Ref
	defer s.lock(ref).Unlock()
	k, ok := s.index.thread(ref)
	switch {
	case !ok:
		return thread.ErrNoThread
	case k.Ver+1 != step.Envelope.Ver && k.inLog():
		return thread.ErrStale
	}
	for _, b := range step.Binds {
		if !s.blobs.has(b.SHA256) {
			return thread.ErrNoBlob
		}
	}
	r, err := stepRecord(step)
	if err == nil && !k.inLog() {
		r, err = s.back(ref, step)
	}
	if err != nil {
		return err
	}
	bytes, err := s.write(ctx, r)
	if err != nil {
		return err
	}
	s.recent.step(step, k.state(), s.index.state(ref), bytes)
	s.project.mark(ref)
	return nil
}

// back is a step of a thread that lies in its folder, as a record of the whole
// thread: the log knows only that it ended.
func (s *Store) back(ref string, step thread.Step) (record, error) {
	t, err := s.readEnded(ref)
	switch {
	case err != nil:
		return record{}, err
	case t.Ver+1 != step.Envelope.Ver:
		return record{}, thread.ErrStale
	}
	r, err := threadRecord(thread.Thread{Envelope: step.Envelope, Messages: append(t.Messages, step.Messages...)})
	r.Binds = step.Binds
	return r, err
}

// Put stores or removes a small document.
func (s *Store) Put(ctx context.Context, kind, id string, doc []byte) error {
	defer s.grown(ctx)
	s.step.RLock()
	defer s.step.RUnlock()
	defer s.lock(kind + "\x00" + id).Unlock()
	_, err := s.write(ctx, record{Kind: kind, ID: id, Doc: doc})
	return err
}

// Thread reads a thread.
func (s *Store) Thread(_ context.Context, ref string) (thread.Thread, error) {
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

// Find returns the thread that requestor made with the client id.
func (s *Store) Find(_ context.Context, requestor, clientID string) (string, error) {
	if ref, ok := s.index.find(requestor, clientID); ok && clientID != "" {
		return ref, nil
	}
	return "", thread.ErrNoThread
}

// List reads envelopes, newest change first.
func (s *Store) List(_ context.Context, f thread.Filter) (thread.Page, error) {
	refs, cursor, err := s.index.page(f)
	if err != nil {
		return thread.Page{}, err
	}
	page := thread.Page{Cursor: cursor}
	for _, ref := range refs {
		e, err := s.envelope(ref)
		if err != nil {
			return thread.Page{}, err
		}
		if e.Ref != "" { // else somebody has removed it meanwhile
			page.Threads = append(page.Threads, e)
		}
	}
	return page, nil
}

// openAtOnce is how many envelopes are read at the same time.
const openAtOnce = 1024

// Open calls fn with each thread's envelope that has no terminal status.
func (s *Store) Open(_ context.Context, fn func(thread.Envelope) error) error {
	for refs := range slices.Chunk(s.index.open(), openAtOnce) {
		envs, err := s.envelopes(refs)
		if err != nil {
			return err
		}
		for _, e := range envs {
			if e.Ref == "" || e.Status.Terminal() {
				continue // it has ended meanwhile
			}
			if err := fn(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// Docs reads all documents of a kind.
func (s *Store) Docs(_ context.Context, kind string) (map[string][]byte, error) {
	return s.index.docsOf(kind), nil
}

// Stage keeps bytes for a later step.
func (s *Store) Stage(_ context.Context, ref string, data io.Reader, most int64) (thread.Staged, error) {
	if known, _ := s.index.has(ref); !known {
		return thread.Staged{}, thread.ErrNoThread
	}
	if err := s.log.Err(); err != nil {
		return thread.Staged{}, err
	}
	return s.blobs.add(data, most)
}

// Blob opens a bound attachment, or a file that another program has put beside
// the thread.
func (s *Store) Blob(_ context.Context, ref, name string) (io.ReadSeekCloser, error) {
	k, known := s.index.thread(ref)
	if sum, ok := k.binds[name]; ok {
		if f, err := s.blobs.open(sum); err == nil {
			return f, nil
		}
	}
	return s.beside(ref, name, k, known)
}

// Close waits for what is being written, and brings the folders up to date.
func (s *Store) Close() error {
	return errors.Join(s.project.finish(), s.log.Close(), s.disk.Close(), s.root.Close())
}

// Err tells why nothing can be stored any more, or nil.
func (s *Store) Err() error { return s.log.Err() }

// Written is how long the log is now, how much was written to it since the store
// was opened, and how much of that today, in bytes. The folders are not in it, nor
// are pictures and files.
func (s *Store) Written() (size, total, today int64) {
	total, today = s.log.Written()
	return s.log.Size(), total, today
}

// WrittenFiles is the same of pictures and files; each is there once, also where
// folders show it.
func (s *Store) WrittenFiles() (size, total, today int64) { return s.blobs.written() }
