package storetest

import (
	"bytes"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/thread"
)

// Each calls fn with every number below n, from that many concurrent goroutines. It returns the
// first error; a goroutine stops at its own error.
func Each(n, goroutines int, fn func(i int) error) error {
	var next atomic.Int64
	var g errgroup.Group
	for range min(n, goroutines) {
		g.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := fn(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// oneDocument reads a document, one that the store has removed, and one that it never had.
func oneDocument(t *testing.T, s thread.Store) {
	var rev thread.Rev
	for _, doc := range []string{"1", "2", ""} {
		var b []byte
		if doc != "" {
			b = []byte(doc)
		}
		var err error
		if rev, err = s.Put(t.Context(), "executor", "a", b, rev); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string][]byte{"a": b, "never": nil} {
			got, err := s.(thread.DocumentReader).Document(t.Context(), "executor", id)
			if err != nil || !bytes.Equal(got, want) || (got == nil) != (want == nil) {
				t.Errorf("Document(executor, %s) = %q, %v; want %q", id, got, err, want)
			}
		}
	}
}
