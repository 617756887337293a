// Package files is the store of one board: a write-ahead log that is the truth
// for what was acknowledged, and a folder of attachments known by their
// content. Threads are kept in memory beside it; opening reads the log.
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
	"os"
	"path/filepath"
	"sync"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess"
)

// Store keeps threads in a folder. Every method is durable when it returns.
type Store struct {
	mem   *exchange.Memory
	log   *wal.Log
	blobs *blobs

	// step is held for reading while something is logged and then taken into
	// memory, and for writing while the log is made anew from memory.
	step sync.RWMutex
	keys [64]sync.Mutex // one step of a thread at a time, one create of a requester's id
	seed maphash.Seed
	next int64 // size of the log, in bytes, at which it is made anew; guarded by step

	mu    sync.Mutex
	names map[string]map[string]string // by thread: bound name to SHA-256
}

var _ exchange.Store = (*Store)(nil)

// record is one record of the log: a whole thread, a step of one, more messages
// of one, or a document.
type record struct {
	Thread   *exchange.Thread   `json:"thread,omitempty"`
	Envelope *exchange.Envelope `json:"envelope,omitempty"`
	Ref      string             `json:"ref,omitempty"` // of the thread that has more messages
	Messages []mess.Message     `json:"messages,omitempty"`
	Binds    []exchange.Bind    `json:"binds,omitempty"`
	Kind     string             `json:"kind,omitempty"` // of a document
	ID       string             `json:"id,omitempty"`
	Doc      []byte             `json:"doc,omitempty"` // nil removes it
}

// Open opens the store in a folder, which is made if it is not there. A folder
// that another program has open is refused.
func Open(dir string) (*Store, error) {
	b, err := openBlobs(filepath.Join(dir, "attachments"))
	if err != nil {
		return nil, err
	}
	s := &Store{mem: exchange.NewMemory(), blobs: b, seed: maphash.MakeSeed(), names: map[string]map[string]string{}}
	s.log, err = wal.Open(filepath.Join(dir, "log"), s.replay)
	if err != nil {
		return nil, err
	}
	s.next = 2*s.log.Size() + firstCompact
	if s.log.Size() > firstCompact {
		err = s.compact(context.Background())
	}
	if err == nil {
		err = s.blobs.clean(s.used())
	}
	if err != nil {
		return nil, errors.Join(err, s.log.Close())
	}
	return s, nil
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
	ctx := context.Background()
	switch {
	case r.Thread != nil:
		s.mem.Restore(*r.Thread)
		s.bind(r.Thread.Ref, r.Binds)
	case r.Envelope != nil:
		s.bind(r.Envelope.Ref, r.Binds)
		return s.mem.Append(ctx, exchange.Step{Envelope: *r.Envelope, Messages: r.Messages})
	case r.Ref != "":
		t, err := s.mem.Thread(ctx, r.Ref)
		if err != nil {
			return err
		}
		t.Messages = append(t.Messages, r.Messages...)
		s.mem.Restore(t)
	default:
		return s.mem.Put(ctx, r.Kind, r.ID, r.Doc)
	}
	return nil
}

func (s *Store) bind(ref string, binds []exchange.Bind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range binds {
		if s.names[ref] == nil {
			s.names[ref] = map[string]string{}
		}
		s.names[ref][b.Name] = b.SHA256
	}
}

// write logs a record and then takes it into memory.
func (s *Store) write(ctx context.Context, r record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := s.log.Append(ctx, data); err != nil {
		return err
	}
	return s.take(r)
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
		if ref, err := s.mem.Find(ctx, c.Requestor, c.ClientID); err == nil {
			return exchange.Thread{}, &exchange.ExistsError{Ref: ref}
		}
	}
	t := c.Build(s.mem.Reserve(c.Day, c.Token))
	return t, s.write(ctx, record{Thread: &t})
}

// Append stores one step.
func (s *Store) Append(ctx context.Context, step exchange.Step) error {
	defer s.grown(ctx)
	s.step.RLock()
	defer s.step.RUnlock()
	defer s.lock(step.Envelope.Ref).Unlock()
	t, err := s.mem.Thread(ctx, step.Envelope.Ref)
	switch {
	case err != nil:
		return err
	case t.Ver+1 != step.Envelope.Ver:
		return exchange.ErrStale
	}
	for _, b := range step.Binds {
		if !s.blobs.has(b.SHA256) {
			return exchange.ErrNoBlob
		}
	}
	return s.write(ctx, record{Envelope: &step.Envelope, Messages: step.Messages, Binds: step.Binds})
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
func (s *Store) Thread(ctx context.Context, ref string) (exchange.Thread, error) {
	return s.mem.Thread(ctx, ref)
}

// Find returns the thread that requestor made with the client id.
func (s *Store) Find(ctx context.Context, requestor, clientID string) (string, error) {
	return s.mem.Find(ctx, requestor, clientID)
}

// List reads envelopes, newest change first.
func (s *Store) List(ctx context.Context, f exchange.Filter) (exchange.Page, error) {
	return s.mem.List(ctx, f)
}

// Open calls fn with each thread's envelope that has no terminal status.
func (s *Store) Open(ctx context.Context, fn func(exchange.Envelope) error) error {
	return s.mem.Open(ctx, fn)
}

// Watch has nothing to tell: nobody else writes to the log.
func (s *Store) Watch(ctx context.Context, fn func(exchange.Envelope)) error {
	return s.mem.Watch(ctx, fn)
}

// Docs reads all documents of a kind.
func (s *Store) Docs(ctx context.Context, kind string) (map[string][]byte, error) {
	return s.mem.Docs(ctx, kind)
}

// Stage keeps bytes for a later step.
func (s *Store) Stage(ctx context.Context, ref string, data io.Reader, most int64) (exchange.Staged, error) {
	if _, err := s.mem.Thread(ctx, ref); err != nil {
		return exchange.Staged{}, err
	}
	return s.blobs.add(data, most)
}

// Blob opens a bound attachment.
func (s *Store) Blob(ctx context.Context, ref, name string) (io.ReadSeekCloser, error) {
	if _, err := s.mem.Thread(ctx, ref); err != nil {
		return nil, err
	}
	s.mu.Lock()
	sum, ok := s.names[ref][name]
	s.mu.Unlock()
	if !ok {
		return nil, exchange.ErrNoBlob
	}
	f, err := s.blobs.open(sum)
	if errors.Is(err, os.ErrNotExist) {
		return nil, exchange.ErrNoBlob
	}
	return f, err
}

// Close waits for what is being written.
func (s *Store) Close() error { return s.log.Close() }
