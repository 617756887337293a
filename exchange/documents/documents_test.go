package documents_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/messkit/messkit/exchange/documents"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
)

var lamp = documents.Key{Kind: "state", ID: "lamp"}

// stored reads a document from the store itself.
func stored(t *testing.T, store thread.Store, k documents.Key) (doc string) {
	t.Helper()
	level := errors.New("level")
	err := store.Feed(t.Context(), "", func(c thread.Change) error {
		if c.Level {
			return level
		}
		if c.Kind == k.Kind && c.ID == k.ID {
			doc = string(c.Doc)
		}
		return nil
	})
	if !errors.Is(err, level) {
		t.Fatal(err)
	}
	return doc
}

func TestPut(t *testing.T) {
	store := memory.New()
	d := documents.New(store)
	for _, doc := range []string{"a", "b", "", "", "c"} {
		var data []byte
		if doc != "" {
			data = []byte(doc)
		}
		if err := d.Put(t.Context(), lamp, data); err != nil {
			t.Fatalf("%q: %v", doc, err)
		}
		if got := stored(t, store, lamp); got != doc {
			t.Errorf("stored is %q, want %q", got, doc)
		}
		if got, there := d.Read("state")["lamp"]; string(got) != doc || there != (doc != "") {
			t.Errorf("read is %q, want %q", got, doc)
		}
	}
}

// TestDocumentsChangeAfterTake checks that documents of a kind can change and disappear after Take.
func TestDocumentsChangeAfterTake(t *testing.T) {
	store := memory.New()
	d := documents.New(store)
	if err := d.Put(t.Context(), lamp, []byte("a")); err != nil {
		t.Fatal(err)
	}
	if got := d.Take("state"); string(got["lamp"]) != "a" {
		t.Errorf("taken is %q", got)
	}
	for _, doc := range [][]byte{[]byte("b"), nil, []byte("c")} {
		if err := d.Put(t.Context(), lamp, doc); err != nil {
			t.Fatal(err)
		}
		if got := stored(t, store, lamp); got != string(doc) {
			t.Errorf("stored is %q, want %q", got, doc)
		}
	}
}

// lossy stores each document, and returns ErrUnknown at every second call.
type lossy struct {
	thread.Store
	calls atomic.Int64
}

func (l *lossy) Put(ctx context.Context, kind, id string, doc []byte, after thread.Rev) (thread.Rev, error) {
	rev, err := l.Store.Put(ctx, kind, id, doc, after)
	if l.calls.Add(1)%2 == 1 && err == nil {
		return "", thread.ErrUnknown
	}
	return rev, err
}

// TestUnknownOutcome checks that Put stores a document if the store returns ErrUnknown.
func TestUnknownOutcome(t *testing.T) {
	store := &lossy{Store: memory.New()}
	d := documents.New(store)
	for i := range 5 {
		doc := fmt.Sprint("doc", i)
		if err := d.Put(t.Context(), lamp, []byte(doc)); err != nil {
			t.Fatal(err)
		}
		if got := stored(t, store, lamp); got != doc {
			t.Errorf("stored is %q, want %q", got, doc)
		}
	}
	if err := d.Put(t.Context(), lamp, nil); err != nil || stored(t, store, lamp) != "" {
		t.Errorf("the document is not removed: %v", err)
	}
}

// TestPutReplacesDocumentOfOtherProcess checks that Put replaces a document of another process.
func TestPutReplacesDocumentOfOtherProcess(t *testing.T) {
	store := memory.New()
	ours, theirs := documents.New(store), documents.New(store)
	for i := range 4 {
		for name, d := range map[string]*documents.Documents{"ours": ours, "theirs": theirs} {
			doc := fmt.Sprint(name, i)
			if err := d.Put(t.Context(), lamp, []byte(doc)); err != nil {
				t.Fatal(err)
			}
			if got := stored(t, store, lamp); got != doc {
				t.Errorf("stored is %q, want %q", got, doc)
			}
		}
	}
}

// TestWaitForLockEndsWithContext checks that a goroutine that waits for the write lock of a document stops with
// its context, and that a later write succeeds.
func TestWaitForLockEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := documents.New(memory.New())
		w, err := d.Write(t.Context(), lamp)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var g sync.WaitGroup
		g.Go(func() {
			if err := d.Put(ctx, lamp, []byte("late")); !errors.Is(err, context.Canceled) {
				t.Errorf("Put with an ended context: %v, want Canceled", err)
			}
		})
		synctest.Wait()
		cancel()
		g.Wait()
		w.Close()
		if err := d.Put(t.Context(), lamp, []byte("now")); err != nil {
			t.Error(err)
		}
	})
}
