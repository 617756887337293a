package transfer_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/exchange/store/transfer"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/test/natsserver"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// A home goes from a folder to another store and back to a folder, with the same content.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		roundTrip(t, memory.New())
	})
	t.Run("NATS", func(t *testing.T) {
		t.Parallel()
		server := natsserver.Start(t, natsserver.Options{Sync: "always"})
		s, err := jetstream.Open(t.Context(), jetstream.Config{URLs: []string{server.URL()}, Client: "test", Site: "home", Replicas: 1, SyncAlways: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		roundTrip(t, s)
	})
}

func roundTrip(t *testing.T, middle thread.Store) {
	const threads = 40
	dir := t.TempDir()
	first, closeFirst := openFolder(t, dir)
	fill(t, first, threads/2)
	closeFirst()
	first, closeFirst = openWith(t, dir, 24*time.Hour)
	waitForArchive(t, first, threads/8)
	more(t, first, threads/2, threads)
	closeFirst() // the other ended threads leave the log for their folders
	first = folder(t, dir)
	out := mustCopy(t, first, middle)
	back := folder(t, t.TempDir())
	in := mustCopy(t, middle, back)
	out.Copied, in.Copied = 0, 0
	if out != in || out.Threads != threads || out.Attachments != 60 || out.Messages != 100 || out.Documents != 5 || out.Missing != 0 {
		t.Errorf("there %+v, back %+v", out, in)
	}
	for i := range threads {
		compareThread(t, first, back, messeaf.Ref("2026-02-01", i+1, ""), i)
	}
	for _, s := range []thread.Store{first, back} {
		for id, want := range map[string]string{"phone": `{"a":1}`, "lamp": `{}`} {
			if doc, err := s.(thread.DocumentReader).Document(t.Context(), "executor", id); err != nil || string(doc) != want {
				t.Errorf("document %s: %q, %v", id, doc, err)
			}
		}
	}
}

// compareThread compares a thread without the digests of the package.
func compareThread(t *testing.T, a, b thread.Store, ref string, i int) {
	t.Helper()
	x, _, err1 := a.Read(t.Context(), ref)
	y, _, err2 := b.Read(t.Context(), ref)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if x.Status != y.Status || x.Ver != y.Ver || len(x.Messages) != len(y.Messages) || !x.Updated.Equal(y.Updated) || len(x.History) != len(y.History) {
		t.Errorf("%s: %+v, and in the copy %+v", ref, x, y)
	}
	if !x.Status.Terminal() && (x.Op != y.Op || x.Op == "") {
		t.Errorf("%s: operation %q, and in the copy %q", ref, x.Op, y.Op)
	}
	if _, err := a.Lookup(t.Context(), thread.Key{Owner: "agent", Name: fmt.Sprint("ask-", i)}); err == nil {
		if got, err := b.Lookup(t.Context(), thread.Key{Owner: "agent", Name: fmt.Sprint("ask-", i)}); err != nil || got != ref {
			t.Errorf("the key of %s leads to %q, %v", ref, got, err)
		}
	}
	for _, one := range y.Attachments() {
		f, err := b.Blob(t.Context(), one.SHA256)
		if folders, ok := b.(thread.Folders); ok && err != nil {
			f, err = folders.Attachment(t.Context(), ref, one.Name)
		}
		if err != nil {
			t.Fatalf("%s: %s: %v", ref, one.Name, err)
		}
		if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, picture(i)) {
			t.Errorf("%s: %s: %d bytes, %v", ref, one.Name, len(got), err)
		}
		f.Close()
	}
}

// A copy that is cut at any write goes on in the next run, and is the same as one without a cut.
func TestCutAtEachWrite(t *testing.T) {
	t.Parallel()
	from := memory.New()
	fill(t, from, 12)
	want := mustCopy(t, from, memory.New())
	for _, stores := range []bool{false, true} {
		done := false
		for n := int64(0); !done && n < 100; n++ {
			to := memory.New()
			f := &failing{Store: to, stores: stores}
			f.left.Store(n)
			_, err := transfer.Copy(t.Context(), from, f, transfer.Options{Source: "a test"})
			done = err == nil
			if !done && !errors.Is(err, errCut) {
				t.Fatalf("cut at write %d: %v", n, err)
			}
			doc, err := to.Document(t.Context(), transfer.MarkKind, transfer.MarkID)
			if _, incomplete := transfer.Incomplete(doc); err != nil || incomplete == done && n > 0 && !(stores && doc != nil) {
				t.Errorf("cut at write %d: the mark says incomplete: %t", n, incomplete)
			}
			if got := mustCopy(t, from, to); got.Target != want.Target {
				t.Errorf("cut at write %d: digest %s, want %s", n, got.Target, want.Target)
			}
		}
		if !done {
			t.Error("no copy without a cut")
		}
	}
}

// A second run copies only what has changed in the source since the first one.
func TestSecondRunCopiesTheRest(t *testing.T) {
	t.Parallel()
	from, to := memory.New(), folder(t, t.TempDir())
	fill(t, from, 12)
	mustCopy(t, from, to)
	th, rev, err := from.Read(t.Context(), messeaf.Ref("2026-02-01", 1, ""))
	if err != nil {
		t.Fatal(err)
	}
	th.Rev = rev
	e := th.Envelope
	for range 5 { // the folder gets five steps at once
		e = report(t, from, e, mess.InProgress, 1)
	}
	mustAppend(t, from, storetest.Step(messeaf.Ref("2026-02-01", 100, ""), "agent", "late", storetest.Start))
	if r := mustCopy(t, from, to); r.Copied != 2 || r.Threads != 13 {
		t.Errorf("the second run: %+v", r)
	}
	if r := mustCopy(t, from, to); r.Copied != 0 {
		t.Errorf("the third run: %+v", r)
	}
}

// A target with anything else is refused, and unchanged.
func TestRefusedTargets(t *testing.T) {
	t.Parallel()
	from := memory.New()
	fill(t, from, 5)
	for name, test := range map[string]struct {
		fill func(*memory.Store)
		want string
	}{
		"an own thread": {func(s *memory.Store) {
			mustAppend(t, s, storetest.Step(messeaf.Ref("2026-02-02", 1, ""), "agent", "x", storetest.Start))
		}, "1 threads and 0 documents"},
		"the same threads": {func(s *memory.Store) { fill(t, s, 5) }, "no copy has begun there"},
		"a document": {func(s *memory.Store) {
			if _, err := s.Put(t.Context(), "executor", "lamp", []byte("{}"), ""); err != nil {
				t.Fatal(err)
			}
		}, "0 threads and 1 documents"},
		"a copy of another source": {func(s *memory.Store) {
			if _, err := transfer.Copy(t.Context(), memory.New(), s, transfer.Options{Source: "another"}); err != nil {
				t.Fatal(err)
			}
		}, "a copy of another, and not of a test"},
		"a copy in use": {func(s *memory.Store) {
			mustCopy(t, from, s)
			if _, err := s.Put(t.Context(), "executor", "new", []byte("{}"), ""); err != nil {
				t.Fatal(err)
			}
		}, "an exchange has used it"},
	} {
		to := memory.New()
		test.fill(to)
		before := position(t, to)
		_, err := transfer.Copy(t.Context(), from, to, transfer.Options{Source: "a test"})
		if _, ok := errors.AsType[*transfer.RefusedError](err); !ok || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want a refusal with %q", name, err, test.want)
		}
		if after := position(t, to); after != before {
			t.Errorf("%s: the target has changed from %q to %q", name, before, after)
		}
	}
}

// position returns the position of the last change.
func position(t *testing.T, s thread.Store) (p thread.Pos) {
	t.Helper()
	if err := thread.ReadAll(t.Context(), s, "", func(c thread.Change) error { p = c.Pos; return nil }); err != nil {
		t.Fatal(err)
	}
	return p
}

// An incomplete copy with a thread that the source does not have is refused. An incomplete copy is no
// source.
func TestIncompleteCopy(t *testing.T) {
	t.Parallel()
	from, to := memory.New(), memory.New()
	fill(t, from, 5)
	f := &failing{Store: to}
	f.left.Store(3)
	if _, err := transfer.Copy(t.Context(), from, f, transfer.Options{Source: "a test"}); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	if _, err := transfer.Copy(t.Context(), to, memory.New(), transfer.Options{Source: "x"}); err == nil || !strings.Contains(err.Error(), "an incomplete copy of a test") {
		t.Errorf("an incomplete copy as a source: %v", err)
	}
	mustAppend(t, to, storetest.Step(messeaf.Ref("2026-02-02", 1, ""), "agent", "x", storetest.Start))
	_, err := transfer.Copy(t.Context(), from, to, transfer.Options{Source: "a test"})
	if _, ok := errors.AsType[*transfer.RefusedError](err); !ok || !strings.Contains(err.Error(), "2026-02-02-001") {
		t.Errorf("a thread of its own: %v", err)
	}
}

// Readers of the feed miss nothing after a copy: their positions are those of the target's feed.
func TestPositions(t *testing.T) {
	t.Parallel()
	from, to := memory.New(), memory.New()
	fill(t, from, 12)
	mustCopy(t, from, to)
	var seen []string // by a reader of the source after position 3
	if err := thread.ReadAll(t.Context(), from, "3", func(c thread.Change) error {
		if c.Envelope.Ref != "" {
			seen = append(seen, c.Envelope.Ref)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	doc, err := to.Document(t.Context(), "door-webhook", "position")
	if err != nil {
		t.Fatal(err)
	}
	pos, rest, _ := strings.Cut(strings.TrimPrefix(string(doc), `{"pos":"`), `"`)
	if rest != `,"at":"2026-02-01T17:00:00Z"}` {
		t.Errorf("the document is %s", doc)
	}
	got := map[string]bool{}
	if err := thread.ReadAll(t.Context(), to, thread.Pos(pos), func(c thread.Change) error { got[c.Envelope.Ref] = true; return nil }); err != nil {
		t.Fatal(err)
	}
	for _, ref := range seen {
		if !got[ref] {
			t.Errorf("after position %s the target's feed lacks %s", pos, ref)
		}
	}
	if inbox, err := to.Document(t.Context(), "door-mqtt", "inbox"); err != nil || string(inbox) != `"13"` {
		t.Errorf("a reader that has seen everything is at %s, %v; want the last thread of the target, 13 after the mark", inbox, err)
	}
}

// Threads in the archive of a store on servers are copied and exported like all others.
func TestArchivedOnServers(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	s, err := jetstream.Open(t.Context(), jetstream.Config{URLs: []string{server.URL()}, Client: "test", Site: "home", Replicas: 1, SyncAlways: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	archive := func(from, to, atLeast int) {
		t.Helper()
		var refs []string
		for i := from; i < to; i++ {
			refs = append(refs, messeaf.Ref("2026-02-01", i+1, ""))
		}
		if n, err := s.Archive(t.Context(), refs, storetest.Start.AddDate(1, 0, 0)); err != nil || n < atLeast {
			t.Fatalf("archived %d threads, %v; want %d", n, err, atLeast)
		}
	}
	fill(t, s, 12)
	exported, copied := folder(t, t.TempDir()), folder(t, t.TempDir())
	export := func(threads, fresh int) {
		t.Helper()
		is, err := transfer.Export(t.Context(), s, exported, transfer.Options{Source: "a test"})
		if err != nil || is.Threads != threads || is.Copied != fresh {
			t.Errorf("exported %+v, %v; want %d threads, %d of them new", is, err, threads, fresh)
		}
	}
	export(12, 12)
	archive(0, 12, 3)
	export(12, 0)
	more(t, s, 12, 20)
	archive(12, 20, 2)
	export(20, 8)
	if is := mustCopy(t, s, copied); is.Threads != 20 {
		t.Errorf("copied %+v", is)
	}
	for i := range 20 {
		compareThread(t, s, exported, messeaf.Ref("2026-02-01", i+1, ""), i)
		compareThread(t, s, copied, messeaf.Ref("2026-02-01", i+1, ""), i)
	}
}
