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
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess"
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
	index   *index
	log     *wal.Log
	blobs   *blobs
	project *projector
	watcher *watcher

	// step is held for reading while something is logged and then taken into
	// memory, and for writing while the log is made anew from memory.
	step sync.RWMutex
	keys [64]sync.Mutex // one step of a thread at a time, one create of a requester's id
	seed maphash.Seed
	next int64 // size of the log, in bytes, at which it is made anew; guarded by step
}

var _ exchange.Store = (*Store)(nil)

// record is one record of the log: a whole thread, a step of one, more messages
// of one, the end of one, or a document.
type record struct {
	Thread   *exchange.Envelope `json:"thread,omitempty"`   // of a whole thread
	Envelope *exchange.Envelope `json:"envelope,omitempty"` // of a step
	Ref      string             `json:"ref,omitempty"`      // of the thread that has more messages
	Messages []json.RawMessage  `json:"messages,omitempty"`
	Binds    []exchange.Bind    `json:"binds,omitempty"`
	Ended    *ended             `json:"ended,omitempty"` // it lies in its folder
	Gone     string             `json:"gone,omitempty"`  // ref of a thread that is not here any more
	Kind     string             `json:"kind,omitempty"`  // of a document
	ID       string             `json:"id,omitempty"`
	Doc      []byte             `json:"doc,omitempty"`  // nil removes it
	Days     map[string]int     `json:"days,omitempty"` // the highest serials
}

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
	s := &Store{cfg: c, dir: dir, root: root, index: newIndex(), blobs: b, seed: maphash.MakeSeed(), watcher: &watcher{}}
	s.project = newProjector(s)
	s.log, err = wal.Open(filepath.Join(dir, "log"), s.replay)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	if err := s.settle(); err != nil {
		return nil, errors.Join(err, s.log.Close(), root.Close())
	}
	return s, nil
}

// settle makes log, folders and memory agree when the log has been read.
func (s *Store) settle() error {
	if err := s.survey(); err != nil {
		return err
	}
	if err := s.log.Err(); err != nil {
		s.cfg.Log.Error("threads can be read only: nothing can be stored", "err", err)
		return nil
	}
	if s.log.Size() > firstCompact {
		if err := s.compact(context.Background()); err != nil {
			return err
		}
	}
	s.next = 2*s.log.Size() + firstCompact
	return s.blobs.clean(s.used())
}

// replay takes a record of the log into memory.
func (s *Store) replay(data []byte) error {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("a record of the exchange's log cannot be read: %w", err)
	}
	return s.take(r)
}

// take takes what is in the log into memory.
func (s *Store) take(r record) error {
	switch {
	case r.Thread != nil:
		w := &whole{env: *r.Thread, messages: r.Messages}
		w.env.Request = mess.Request{}
		w.bind(r.Binds)
		s.index.setWhole(w)
	case r.Envelope != nil:
		return s.index.step(*r.Envelope, r.Messages, r.Binds)
	case r.Ref != "":
		return s.index.more(r.Ref, r.Messages)
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

// write logs records and then takes them into memory.
func (s *Store) write(ctx context.Context, all ...record) error {
	data := make([][]byte, len(all))
	for i, r := range all {
		var err error
		if data[i], err = json.Marshal(r); err != nil {
			return err
		}
	}
	if err := s.log.Append(ctx, data...); err != nil {
		return err
	}
	for _, r := range all {
		if err := s.take(r); err != nil {
			return err
		}
	}
	return nil
}

// slim is an envelope as the log has it: the request is in the thread's first
// message, with all its pictures.
func slim(e exchange.Envelope) *exchange.Envelope {
	e.Request = mess.Request{}
	return &e
}

// lock keeps others from the same key.
func (s *Store) lock(key string) *sync.Mutex {
	m := &s.keys[maphash.String(s.seed, key)%uint64(len(s.keys))]
	m.Lock()
	return m
}

// Create stores a new thread.
func (s *Store) Create(ctx context.Context, c exchange.Create) (exchange.Thread, error) {
	defer s.grown(ctx)
	s.step.RLock()
	defer s.step.RUnlock()
	if c.ClientID != "" {
		defer s.lock(c.Requestor + "\x00" + c.ClientID).Unlock()
		if ref, ok := s.index.find(c.Requestor, c.ClientID); ok {
			return exchange.Thread{}, &exchange.ExistsError{Ref: ref}
		}
	}
	ref, err := s.newRef(c.Day, c.Token)
	if err != nil {
		return exchange.Thread{}, err
	}
	t := c.Build(ref)
	messages, err := encodeAll(t.Messages)
	if err != nil {
		return exchange.Thread{}, err
	}
	if err := s.write(ctx, record{Thread: slim(t.Envelope), Messages: messages}); err != nil {
		return exchange.Thread{}, err
	}
	s.index.left(ref, folder{fresh: true})
	s.project.mark(ref)
	return t, nil
}

// Append stores one step.
func (s *Store) Append(ctx context.Context, step exchange.Step) error {
	defer s.grown(ctx)
	s.step.RLock()
	defer s.step.RUnlock()
	ref := step.Envelope.Ref
	defer s.lock(ref).Unlock()
	w, wasWhole, err := s.whole(ref)
	switch {
	case err != nil:
		return err
	case w.env.Ver+1 != step.Envelope.Ver:
		return exchange.ErrStale
	}
	for _, b := range step.Binds {
		if !s.blobs.has(b.SHA256) {
			return exchange.ErrNoBlob
		}
	}
	r := record{Envelope: slim(step.Envelope), Binds: step.Binds}
	if r.Messages, err = encodeAll(step.Messages); err != nil {
		return err
	}
	if !wasWhole { // the log knows only that it ended
		r.Thread, r.Envelope, r.Messages = r.Envelope, nil, append(w.messages, r.Messages...)
	}
	if err := s.write(ctx, r); err != nil {
		return err
	}
	s.project.mark(ref)
	return nil
}

// whole reads a thread from memory, or, if it has ended, from its folder.
func (s *Store) whole(ref string) (w whole, inMemory bool, err error) {
	w, known, ok := s.index.thread(ref)
	if ok || !known {
		if !ok {
			err = exchange.ErrNoThread
		}
		return w, ok, err
	}
	t, err := s.readEnded(ref)
	if err != nil {
		return whole{}, false, err
	}
	w.env = t.Envelope
	w.messages, err = encodeAll(t.Messages)
	return w, false, err
}

// Put stores or removes a small document.
func (s *Store) Put(ctx context.Context, kind, id string, doc []byte) error {
	defer s.grown(ctx)
	s.step.RLock()
	defer s.step.RUnlock()
	defer s.lock(kind + "\x00" + id).Unlock()
	return s.write(ctx, record{Kind: kind, ID: id, Doc: doc})
}

// Thread reads a thread.
func (s *Store) Thread(_ context.Context, ref string) (exchange.Thread, error) {
	w, _, ok := s.index.thread(ref)
	if ok {
		return w.decode()
	}
	return s.readEnded(ref)
}

// Find returns the thread that requestor made with the client id.
func (s *Store) Find(_ context.Context, requestor, clientID string) (string, error) {
	if ref, ok := s.index.find(requestor, clientID); ok && clientID != "" {
		return ref, nil
	}
	return "", exchange.ErrNoThread
}

// List reads envelopes, newest change first.
func (s *Store) List(_ context.Context, f exchange.Filter) (exchange.Page, error) {
	all, cursor, err := s.index.page(f)
	if err != nil {
		return exchange.Page{}, err
	}
	page := exchange.Page{Cursor: cursor}
	for _, one := range all {
		if one.whole == nil {
			one.env = s.endedEnvelope(one)
		} else if one.env, err = one.whole.envelope(); err != nil {
			return exchange.Page{}, err
		}
		page.Threads = append(page.Threads, one.env)
	}
	return page, nil
}

// Open calls fn with each thread's envelope that has no terminal status.
func (s *Store) Open(_ context.Context, fn func(exchange.Envelope) error) error {
	for _, ref := range s.index.wholes(func(w *whole) bool { return !w.env.Status.Terminal() }) {
		w, _, ok := s.index.thread(ref)
		if !ok {
			continue
		}
		e, err := w.envelope()
		if err != nil {
			return err
		}
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}

// Docs reads all documents of a kind.
func (s *Store) Docs(_ context.Context, kind string) (map[string][]byte, error) {
	return s.index.docsOf(kind), nil
}

// Stage keeps bytes for a later step.
func (s *Store) Stage(_ context.Context, ref string, data io.Reader, most int64) (exchange.Staged, error) {
	if _, known, _ := s.index.thread(ref); !known {
		return exchange.Staged{}, exchange.ErrNoThread
	}
	if err := s.log.Err(); err != nil {
		return exchange.Staged{}, err
	}
	return s.blobs.add(data, most)
}

// Blob opens a bound attachment, or a file that another program has put beside
// the thread.
func (s *Store) Blob(_ context.Context, ref, name string) (io.ReadSeekCloser, error) {
	w, known, _ := s.index.thread(ref)
	if sum, ok := w.binds[name]; ok {
		if f, err := s.blobs.open(sum); err == nil {
			return f, nil
		}
	}
	return s.beside(ref, name, known)
}

// Close waits for what is being written, and brings the folders up to date.
func (s *Store) Close() error {
	return errors.Join(s.project.finish(), s.log.Close(), s.root.Close())
}

// Written is how long the log is now, how much was written to it since the store
// was opened, and how much of that today, in bytes. The folders are not in it.
func (s *Store) Written() (size, total, today int64) {
	total, today = s.log.Written()
	return s.log.Size(), total, today
}
