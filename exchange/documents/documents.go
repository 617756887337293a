// Package documents stores small documents next to the threads of a store. A document has a kind,
// an id and bytes; the package does not interpret them.
package documents

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/keyed"
	"github.com/messkit/messkit/internal/wait"
)

// Key names a document.
type Key struct{ Kind, ID string }

// Documents has the documents of one store. It is safe for concurrent use.
type Documents struct {
	store thread.Store
	locks keyed.Locks // by kind and id: one goroutine at a time writes a document

	mu    sync.Mutex
	pos   thread.Pos // Note has taken the feed up to here
	kinds map[string]map[string]document
	taken map[string]bool // kinds whose bytes Take has handed over
}

// document is a stored document.
type document struct {
	rev  thread.Rev
	data []byte // nil after Take
}

// New returns the documents of a store. The caller must pass each change of the feed to Note.
func New(store thread.Store) *Documents {
	return &Documents{store: store, kinds: map[string]map[string]document{}, taken: map[string]bool{}}
}

// Note takes a change of the feed.
func (d *Documents) Note(c thread.Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pos = c.Pos
	if c.Kind != "" {
		d.set(Key{c.Kind, c.ID}, c.Doc, c.Rev)
	}
}

// Position returns the position of the last change that Note has taken.
func (d *Documents) Position() thread.Pos {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pos
}

// set records what the store has; nil for a removed document. The caller holds d.mu.
func (d *Documents) set(k Key, data []byte, rev thread.Rev) {
	if data == nil {
		delete(d.kinds[k.Kind], k.ID)
		return
	}
	if d.kinds[k.Kind] == nil {
		d.kinds[k.Kind] = map[string]document{}
	}
	if d.taken[k.Kind] {
		data = nil
	}
	d.kinds[k.Kind][k.ID] = document{rev, data}
}

// Read returns the documents of a kind, by id. The caller must not change them.
func (d *Documents) Read(kind string) map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[string][]byte{}
	for id, one := range d.kinds[kind] {
		all[id] = one.data
	}
	return all
}

// Take works like Read, for a caller that keeps the content itself: Documents then drops the bytes.
func (d *Documents) Take(kind string) map[string][]byte {
	all := d.Read(kind)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taken[kind] = true
	for id, one := range d.kinds[kind] {
		d.kinds[kind][id] = document{rev: one.rev}
	}
	return all
}

// Writer holds the write lock of a document.
type Writer struct {
	d      *Documents
	key    Key
	unlock func()
}

// Write locks a document for writing, and waits while another goroutine writes it. The caller
// then finds out the newest content, calls Put, and closes the Writer. Writers of different
// documents do not wait for each other. The error is that of ctx.
func (d *Documents) Write(ctx context.Context, k Key) (*Writer, error) {
	unlock, err := d.locks.LockContext(ctx, k.Kind+"\x00"+k.ID)
	if err != nil {
		return nil, err
	}
	return &Writer{d, k, unlock}, nil
}

// Close unlocks the document.
func (w *Writer) Close() { w.unlock() }

// attempts limits how often Put repeats a write, because the store cannot tell whether it has it,
// or because another process was first.
const attempts = 8

// Put stores the document, or removes it if doc is nil. If the outcome of a write is unknown, Put
// writes the same bytes again. The error is that of the store or of ctx.
func (w *Writer) Put(ctx context.Context, doc []byte) error {
	for n := range attempts {
		after := w.rev()
		if doc == nil && after == "" {
			return nil
		}
		rev, err := w.d.store.Put(ctx, w.key.Kind, w.key.ID, doc, after)
		if err == nil {
			w.d.mu.Lock()
			defer w.d.mu.Unlock()
			w.d.set(w.key, bytes.Clone(doc), rev)
			return nil
		}
		if !errors.Is(err, thread.ErrUnknown) && !errors.Is(err, thread.ErrStale) {
			return err
		}
		if readErr := w.d.refresh(ctx); readErr != nil {
			return errors.Join(err, readErr)
		}
		if !wait.For(ctx, time.Millisecond<<n) {
			return ctx.Err()
		}
	}
	return thread.ErrUnknown
}

func (w *Writer) rev() thread.Rev {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	return w.d.kinds[w.key.Kind][w.key.ID].rev
}

// refresh reads the changes of the store.
func (d *Documents) refresh(ctx context.Context) error {
	d.mu.Lock()
	pos := d.pos
	d.mu.Unlock()
	return thread.ReadAll(ctx, d.store, pos, func(c thread.Change) error {
		d.Note(c)
		return nil
	})
}

// Put stores one document, or removes it if doc is nil.
func (d *Documents) Put(ctx context.Context, k Key, doc []byte) error {
	return d.Save(ctx, func(Key) ([]byte, error) { return doc, nil }, k)
}

// together is the number of documents that Save writes concurrently. They share syncs of the disk.
const together = 512

// Save stores documents as render returns them, and removes nil documents. It calls render while it
// holds the write lock of the document, so that the last of several writers stores the newest
// state. Save writes many documents concurrently, so that they share syncs of the disk. It returns
// the errors of all, joined.
func (d *Documents) Save(ctx context.Context, render func(Key) ([]byte, error), keys ...Key) error {
	one := func(k Key) error {
		w, err := d.Write(ctx, k)
		if err != nil {
			return err
		}
		defer w.Close()
		doc, err := render(k)
		if err != nil {
			return err
		}
		return w.Put(ctx, doc)
	}
	if len(keys) == 1 {
		return one(keys[0])
	}
	var g errgroup.Group
	g.SetLimit(together)
	errs := make([]error, len(keys))
	for i, k := range keys {
		g.Go(func() error { errs[i] = one(k); return nil })
	}
	_ = g.Wait() // the errors are in errs
	return errors.Join(errs...)
}
