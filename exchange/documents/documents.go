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

	// These are for a store that several processes share. Positions are those of the last change.
	shared  bool
	latest  map[Key]thread.Pos    // that kinds has
	handled map[Key]thread.Pos    // that this process has written, or its follower has seen
	follow  map[string]Follower   // by kind
	pending map[Key]thread.Change // changes of other processes that the followers have yet to see
	bases   map[Key][]byte        // content at handled, of the kinds of FollowFrom
	based   map[string]bool       // these kinds
}

// Follower is called with a document that another process has changed, nil for one that it has
// removed. was is the content when this process wrote it, or when the follower saw it last. Only
// FollowFrom gives it. Nobody writes the document meanwhile, so the follower must not do that.
type Follower func(id string, was, doc []byte)

// document is a stored document.
type document struct {
	rev  thread.Rev
	data []byte // nil after Take
}

// New returns the documents of a store. The caller must pass each change of the feed to Note.
func New(store thread.Store) *Documents {
	_, shared := store.(thread.Shared)
	return &Documents{
		store: store, kinds: map[string]map[string]document{}, taken: map[string]bool{},
		shared: shared, latest: map[Key]thread.Pos{}, handled: map[Key]thread.Pos{}, follow: map[string]Follower{}, pending: map[Key]thread.Change{},
		bases: map[Key][]byte{}, based: map[string]bool{},
	}
}

// IsShared reports whether other processes may write documents of the store.
func (d *Documents) IsShared() bool { return d.shared }

// Follow has fn called with later changes of a kind by other processes, if the store is shared. There
// is one follower of a kind.
func (d *Documents) Follow(kind string, fn Follower) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.follow[kind] = fn
}

// FollowFrom works like Follow, and gives fn the earlier content too. Call it before Take.
func (d *Documents) FollowFrom(kind string, fn Follower) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.follow[kind], d.based[kind] = fn, true
	for id, one := range d.kinds[kind] {
		d.bases[Key{kind, id}] = one.data
	}
}

// setBase records the content of a document at handled. The caller holds d.mu.
func (d *Documents) setBase(k Key, doc []byte) {
	if d.based[k.Kind] {
		d.bases[k] = doc
	}
}

// Note takes a change of the feed.
func (d *Documents) Note(c thread.Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pos = c.Pos
	if k := (Key{c.Kind, c.ID}); c.Kind != "" && d.noteDocument(k, c) {
		go d.callFollower(k)
	}
}

// noteDocument takes the change of a document, and reports whether somebody must call the follower.
// The caller holds d.mu.
func (d *Documents) noteDocument(k Key, c thread.Change) bool {
	if !d.shared {
		d.set(k, c.Doc, c.Rev)
		return false
	}
	if d.latest[k].Before(c.Pos) {
		d.latest[k] = c.Pos
		d.set(k, c.Doc, c.Rev)
	}
	if d.follow[k.Kind] == nil || !d.handled[k].Before(c.Pos) {
		return false
	}
	was, waits := d.pending[k]
	if !waits || was.Pos.Before(c.Pos) {
		d.pending[k] = c
	}
	return !waits
}

// callFollower calls the follower of a document while nobody writes it.
func (d *Documents) callFollower(k Key) {
	unlock := d.locks.Lock(k.Kind + "\x00" + k.ID)
	defer unlock()
	d.callLocked(k)
}

// callLocked calls the follower of a document, unless this process has written it since. The caller
// holds the write lock of the document.
func (d *Documents) callLocked(k Key) {
	d.mu.Lock()
	c, waits := d.pending[k]
	delete(d.pending, k)
	fn, was := d.follow[k.Kind], d.bases[k]
	if waits = waits && d.handled[k].Before(c.Pos); waits {
		d.handled[k] = c.Pos
		d.setBase(k, c.Doc)
	}
	d.mu.Unlock()
	if waits {
		fn(k.ID, was, c.Doc)
	}
}

// wrote records a write of this process. rev is "" after a removal, and latest was the position of the
// document before it. The caller holds d.mu.
func (d *Documents) wrote(k Key, doc []byte, rev thread.Rev, latest thread.Pos) {
	doc = bytes.Clone(doc)
	if d.shared {
		d.setBase(k, doc)
		pos := thread.Pos(rev)
		if d.latest[k] != latest && (rev == "" || pos.Before(d.latest[k])) {
			return // the feed has brought this change, or a later one of another process
		}
		if rev != "" {
			d.latest[k], d.handled[k] = pos, pos
		}
	}
	d.set(k, doc, rev)
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
	return w.put(ctx, func() ([]byte, error) { return doc, nil })
}

// put works like Put. It calls render before each attempt: its follower may have seen the document of
// another process.
func (w *Writer) put(ctx context.Context, render func() ([]byte, error)) error {
	for n := range attempts {
		after, latest := w.rev() // before render: a change that the feed brings meanwhile makes the write fail
		doc, err := render()
		if err != nil {
			return err
		}
		if doc == nil && after == "" {
			return nil
		}
		rev, err := w.d.store.Put(ctx, w.key.Kind, w.key.ID, doc, after)
		if err == nil {
			w.d.mu.Lock()
			defer w.d.mu.Unlock()
			w.d.wrote(w.key, doc, rev, latest)
			return nil
		}
		if !errors.Is(err, thread.ErrUnknown) && !errors.Is(err, thread.ErrStale) {
			return err
		}
		if readErr := w.refresh(ctx); readErr != nil {
			return errors.Join(err, readErr)
		}
		if !wait.For(ctx, time.Millisecond<<n) {
			return ctx.Err()
		}
	}
	return thread.ErrUnknown
}

func (w *Writer) rev() (thread.Rev, thread.Pos) {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	return w.d.kinds[w.key.Kind][w.key.ID].rev, w.d.latest[w.key]
}

// refresh reads the changes of the store, and calls the follower of the document.
func (w *Writer) refresh(ctx context.Context) error {
	d := w.d
	err := thread.ReadAll(ctx, d.store, d.Position(), func(c thread.Change) error {
		if !d.shared {
			d.Note(c)
			return nil
		}
		if k := (Key{c.Kind, c.ID}); k == w.key { // the feed of the caller of Note brings all others
			d.mu.Lock()
			defer d.mu.Unlock()
			d.noteDocument(k, c)
		}
		return nil
	})
	d.callLocked(w.key)
	return err
}

// Change replaces a document by what change makes of the present one, nil for none. It calls change
// again if another process was first. The error is that of change, of the store or of ctx.
func (d *Documents) Change(ctx context.Context, k Key, change func(doc []byte) ([]byte, error)) error {
	w, err := d.Write(ctx, k)
	if err != nil {
		return err
	}
	defer w.Close()
	return w.put(ctx, func() ([]byte, error) { return change(d.Get(k)) })
}

// Has reports whether a document has a content, as far as this process knows.
func (d *Documents) Has(k Key, doc []byte) bool { return bytes.Equal(d.Get(k), doc) }

// Get returns a document as far as this process knows, nil for none. The caller must not change it.
func (d *Documents) Get(k Key) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kinds[k.Kind][k.ID].data
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
		return w.put(ctx, func() ([]byte, error) { return render(k) })
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
