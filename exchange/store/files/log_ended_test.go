package files_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// ended makes a folder with open and ended threads, and returns its content.
func ended(t *testing.T) (dir string, want map[string]string) {
	t.Helper()
	dir = t.TempDir()
	s := openAll(t, dir)
	for _, id := range []string{"a", "b", "c", "d"} {
		finish(t, s, fill(t, s, id, 1, 10))
	}
	fill(t, s, "e", 1, 10)
	want = content(all(t, s))
	closeStore(t, s)
	return dir, want
}

// openAll opens a store without archival.
func openAll(t *testing.T, dir string) *files.Store {
	t.Helper()
	cfg := files.DefaultConfig()
	cfg.ArchiveAfter = 0
	s, err := cfg.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// closeStore closes a store after its folders show every step in the log.
func closeStore(t *testing.T, s *files.Store) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx, noListener{}) }()
	err := s.Settle(t.Context())
	stop()
	if err := errors.Join(err, <-ran, s.Close()); err != nil {
		t.Fatal(err)
	}
}

// finish ends a thread.
func finish(t *testing.T, s *files.Store, ref string) {
	t.Helper()
	th, rev, err := s.Read(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	th.Ver++
	th.Status, th.Phase = mess.Completed, thread.Finished
	m := mess.Message{From: "pi", Re: mess.Refs{ref}, Items: []mess.Item{&mess.Status{Code: mess.Completed}}}
	if _, err := s.Append(t.Context(), thread.Step{After: rev, Envelope: th.Envelope, Messages: []mess.Message{m}}); err != nil {
		t.Fatal(err)
	}
}

// The envelope of an ended thread has the requirements of its request, with their metadata, and so have
// the envelopes in lists.
func TestEndedEnvelopeHasRequirements(t *testing.T) {
	dir := t.TempDir()
	s := openAll(t, dir)
	finish(t, s, fill(t, s, "plain", 1, 10))
	requires := []mess.Capability{{ID: "switch-on", Meta: mess.Object{{Key: "devices", Value: []any{"lamp"}}, {Key: "for", Value: "10m0s"}}}}
	req := mess.Request{ID: "tap", Intent: "turn on the lamp for 10 minutes", Requires: requires}
	ref := newRef(s, "tap")
	_, err := s.Append(t.Context(), thread.Step{
		Envelope: thread.Envelope{Ref: ref, ClientID: "tap", Requester: "agent", Status: mess.Pending, Ver: 1, Intent: req.Intent, Needs: thread.NeedsOf(req)},
		Messages: []mess.Message{{From: "agent", Ref: ref, Items: []mess.Item{&req}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	finish(t, s, ref)
	closeStore(t, s)
	s = openAll(t, dir)
	defer closeStore(t, s)
	for _, e := range list(t, s) {
		want := thread.Needs{}
		if e.Ref == ref {
			want.Requires = requires
		}
		if diff := cmp.Diff(want, e.Needs); diff != "" {
			t.Errorf("%s: %s", e.Ref, diff)
		}
	}
}

// The store finds ended threads by ref and by key. It does so even if the log of ended threads
// is lost or damaged, or both logs are lost: the folders have the threads.
func TestEndedThreadsAreFound(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"as they were": func(string) error { return nil },
		"lost":         func(dir string) error { return os.RemoveAll(filepath.Join(dir, "log", "ended")) },
		"both lost":    func(dir string) error { return os.RemoveAll(filepath.Join(dir, "log")) },
		"damaged": func(dir string) error {
			return corruptFile(filepath.Join(dir, "log", "ended"), "02-01-002", "?????????")
		},
		"garbage": func(dir string) error { return corruptFile(filepath.Join(dir, "log", "ended"), "messkwal", "????????") },
	} {
		t.Run(name, func(t *testing.T) {
			dir, want := ended(t)
			if err := spoil(dir); err != nil {
				t.Fatal(err)
			}
			for n := range 3 {
				s := openAll(t, dir)
				if diff := cmp.Diff(want, content(all(t, s))); diff != "" {
					t.Errorf("start %d (-want +got):\n%s", n, diff)
				}
				for _, id := range []string{"a", "b", "c", "d"} {
					ref, err := s.Lookup(t.Context(), thread.Key{Owner: "agent", Name: id})
					if th, _, err2 := s.Read(t.Context(), ref); err != nil || th.ClientID != id {
						t.Errorf("start %d: Lookup of %s: %s, %v, %v", n, id, ref, err, err2)
					}
				}
				if ref, err := s.Lookup(t.Context(), thread.Key{Owner: "agent", Name: "z"}); !errors.Is(err, thread.ErrNoThread) {
					t.Errorf("start %d: Lookup of no key: %s, %v", n, ref, err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// corruptFile replaces bytes of a file in a folder at their first occurrence.
func corruptFile(dir, was, is string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	if err != nil {
		return err
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if i := bytes.Index(data, []byte(was)); i >= 0 {
			copy(data[i:], is)
			return os.WriteFile(name, data, 0o600)
		}
	}
	return errors.New("it is not there")
}

// A thread that has ended continues, ends again, and disappears. The store has its current
// state, also after a restart.
func TestEndedThreadChanges(t *testing.T) {
	dir, want := ended(t)
	const ref = "2026-02-01-002-b"
	for n := range 3 {
		s := openAll(t, dir)
		finish(t, s, ref)
		want = content(all(t, s))
		closeStore(t, s)
		s = openAll(t, dir)
		if diff := cmp.Diff(want, content(all(t, s))); diff != "" {
			t.Errorf("%d (-want +got):\n%s", n, diff)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, string(messeaf.Finished), ref)); err != nil {
		t.Fatal(err)
	}
	delete(want, ref)
	for n := range 3 {
		s := openAll(t, dir)
		if diff := cmp.Diff(want, content(all(t, s))); diff != "" {
			t.Errorf("removed, %d (-want +got):\n%s", n, diff)
		}
		if found, err := s.Lookup(t.Context(), thread.Key{Owner: "agent", Name: "b"}); !errors.Is(err, thread.ErrNoThread) {
			t.Errorf("removed, %d: Lookup: %s, %v", n, found, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
