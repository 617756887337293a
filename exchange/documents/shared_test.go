package documents_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/messkit/messkit/exchange/documents"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
)

// sharedStore is a memory store that several processes use.
type sharedStore struct{ *memory.Store }

func (sharedStore) Shared() {}

// processes makes the documents of two processes over one store, in a bubble of fake time.
func processes(t *testing.T, test func(t *testing.T, a, b *documents.Documents)) {
	synctest.Test(t, func(t *testing.T) {
		store := sharedStore{memory.New()}
		var both []*documents.Documents
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 2 {
			d := documents.New(store)
			both = append(both, d)
			go func() {
				err := store.Feed(ctx, "", func(c thread.Change) error { d.Note(c); return nil })
				if err != nil {
					t.Error(err)
				}
			}()
		}
		test(t, both[0], both[1])
	})
}

// Changes by two processes at the same time all count.
func TestChangeByTwoProcesses(t *testing.T) {
	processes(t, func(t *testing.T, a, b *documents.Documents) {
		var all sync.WaitGroup
		for _, d := range []*documents.Documents{a, b} {
			for range 50 {
				all.Go(func() {
					err := d.Change(t.Context(), lamp, func(doc []byte) ([]byte, error) {
						n, _ := strconv.Atoi(string(doc)) // "" is 0
						return []byte(strconv.Itoa(n + 1)), nil
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		synctest.Wait()
		for _, d := range []*documents.Documents{a, b} {
			if got := string(d.Read("state")["lamp"]); got != "100" {
				t.Errorf("after 100 changes it is %s", got)
			}
		}
	})
}

// A change of one process brings no document back that another one removes meanwhile.
func TestChangeOfRemovedDocument(t *testing.T) {
	processes(t, func(t *testing.T, a, b *documents.Documents) {
		if err := a.Put(t.Context(), lamp, []byte("on")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var seen []string
		err := a.Change(t.Context(), lamp, func(doc []byte) ([]byte, error) {
			seen = append(seen, string(doc))
			if doc == nil {
				return nil, nil
			}
			if err := b.Put(t.Context(), lamp, nil); err != nil {
				return nil, err
			}
			synctest.Wait() // the feed has brought the removal
			return []byte("off"), nil
		})
		synctest.Wait()
		if err != nil || !slices.Equal(seen, []string{"on", ""}) {
			t.Errorf("the change has seen %q, %v", seen, err)
		}
		if a.Get(lamp) != nil || b.Get(lamp) != nil {
			t.Errorf("the document is back: %q, %q", a.Get(lamp), b.Get(lamp))
		}
	})
}

// A follower sees what the other process writes and removes, and nothing that its own process does.
func TestFollow(t *testing.T) {
	processes(t, func(t *testing.T, a, b *documents.Documents) {
		var mu sync.Mutex
		var seen []string
		a.FollowFrom("state", func(id string, was, doc []byte) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, id+" "+string(was)+">"+string(doc))
		})
		for _, one := range []struct {
			by  *documents.Documents
			doc []byte
		}{{a, []byte("one")}, {b, []byte("two")}, {a, []byte("three")}, {a, nil}, {b, []byte("four")}, {b, nil}} {
			if err := one.by.Put(t.Context(), lamp, one.doc); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		want := []string{"lamp one>two", "lamp >", "lamp >four", "lamp four>"}
		if len(seen) != len(want) {
			t.Fatalf("seen are %q, want %q", seen, want)
		}
		for i := range want {
			if seen[i] != want[i] {
				t.Errorf("seen is %q, want %q", seen[i], want[i])
			}
		}
	})
}

// A change that refuses a document leaves it as it is.
func TestChangeRefuses(t *testing.T) {
	processes(t, func(t *testing.T, a, b *documents.Documents) {
		if err := a.Put(t.Context(), lamp, []byte("used")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		refused := errors.New("refused")
		if err := b.Change(t.Context(), lamp, func([]byte) ([]byte, error) { return nil, refused }); !errors.Is(err, refused) {
			t.Errorf("the error is %v", err)
		}
		if got := string(b.Read("state")["lamp"]); got != "used" {
			t.Errorf("it is %q", got)
		}
	})
}
