package exchange

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/keyed"
)

// storedDocs are the small documents of the store, as its feed has given them.
type storedDocs struct {
	store Store
	locks keyed.Locks // one change of a document at a time

	mu  sync.Mutex
	pos thread.Pos // up to which they are known
	all map[string]map[string]storedDoc
}

type storedDoc struct {
	data []byte
	rev  thread.Rev
}

// take takes a change of the feed.
func (d *storedDocs) take(c thread.Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pos = c.Pos
	if c.Kind != "" {
		d.set(c.Kind, c.ID, storedDoc{c.Doc, c.Rev})
	}
}

// set is for those who hold d.mu.
func (d *storedDocs) set(kind, id string, one storedDoc) {
	if one.data == nil {
		delete(d.all[kind], id)
		return
	}
	if d.all == nil {
		d.all = map[string]map[string]storedDoc{}
	}
	if d.all[kind] == nil {
		d.all[kind] = map[string]storedDoc{}
	}
	d.all[kind][id] = one
}

func (d *storedDocs) get(kind, id string) storedDoc {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all[kind][id]
}

// Docs returns all documents of a kind.
func (d *storedDocs) Docs(_ context.Context, kind string) (map[string][]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	docs := map[string][]byte{}
	for id, one := range maps.All(d.all[kind]) {
		docs[id] = one.data
	}
	return docs, nil
}

// Put stores a document, or removes it if it is nil. If the store does not tell whether it
// has, Put reads what the store has now.
func (d *storedDocs) Put(ctx context.Context, kind, id string, doc []byte) error {
	defer d.locks.Lock(kind + "\x00" + id)()
	for n := range attempts {
		rev, err := d.store.Put(ctx, kind, id, doc, d.get(kind, id).rev)
		if err == nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.set(kind, id, storedDoc{bytes.Clone(doc), rev})
			return nil
		}
		if !errors.Is(err, thread.ErrUnknown) && !errors.Is(err, thread.ErrStale) {
			return err
		}
		if readErr := d.refresh(ctx); readErr != nil {
			return errors.Join(err, readErr)
		}
		if now := d.get(kind, id).data; bytes.Equal(now, doc) && (now == nil) == (doc == nil) {
			return nil
		}
		if err := pause(ctx, n); err != nil {
			return err
		}
	}
	return thread.ErrUnknown
}

// refresh reads what has changed in the store.
func (d *storedDocs) refresh(ctx context.Context) error {
	d.mu.Lock()
	pos := d.pos
	d.mu.Unlock()
	err := d.store.Feed(ctx, pos, func(c thread.Change) error {
		d.take(c)
		if c.Level {
			return errLevel
		}
		return nil
	})
	if errors.Is(err, errLevel) {
		return nil
	}
	return errors.Join(err, ctx.Err())
}
