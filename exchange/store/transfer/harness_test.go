package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/exchange/store/transfer"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// openFolder opens the store of a folder, with its work in the background. The caller calls close.
func openFolder(t testing.TB, dir string) (_ *files.Store, closeStore func()) {
	t.Helper()
	return openWith(t, dir, 0)
}

// openWith is openFolder with an archive.
func openWith(t testing.TB, dir string, archiveAfter time.Duration) (_ *files.Store, closeStore func()) {
	t.Helper()
	c := files.DefaultConfig()
	c.Log, c.ArchiveAfter = slog.New(slog.DiscardHandler), archiveAfter
	s, err := c.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, nil) }()
	return s, sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-done, s.Close()); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("close: %v", err)
		}
	})
}

// waitForArchive waits until only archives have some threads.
func waitForArchive(t testing.TB, s *files.Store, threads int) {
	t.Helper()
	err := s.Feed(t.Context(), "", func(c thread.Change) error {
		if !c.Removed && !c.Level {
			return nil
		}
		if all, err := s.Archived(t.Context()); err != nil || len(all) >= threads {
			return errors.Join(err, errArchived)
		}
		return nil
	})
	if !errors.Is(err, errArchived) {
		t.Fatal(err)
	}
}

var errArchived = errors.New("archived")

// folder opens the store of a folder until the test ends.
func folder(t testing.TB, dir string) *files.Store {
	t.Helper()
	s, closeStore := openFolder(t, dir)
	t.Cleanup(closeStore)
	return s
}

// picture is the content of an attachment.
func picture(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "picture %d ", i), 10_000) }

// fill stores threads: open and ended ones, with keys, attachments and late messages, and documents.
func fill(t testing.TB, s thread.Store, threads int) {
	t.Helper()
	more(t, s, 0, threads)
	putDocuments(t, s)
}

// more stores threads by their numbers.
func more(t testing.TB, s thread.Store, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		id := ""
		if i%3 != 0 {
			id = fmt.Sprint("ask-", i)
		}
		step := storetest.Step(messeaf.Ref("2026-02-01", i+1, ""), "agent", id, storetest.Start)
		step.Envelope.Op = fmt.Sprint("op-", i)
		e := mustAppend(t, s, step)
		for n := range i % 4 {
			e = report(t, s, e, []mess.Code{mess.Claimed, mess.InProgress, mess.Completed}[n], i)
		}
	}
}

// putDocuments stores some documents.
func putDocuments(t testing.TB, s thread.Store) {
	t.Helper()
	for kind, docs := range map[string]map[string]string{
		"executor": {"phone": `{"a":1}`, "lamp": `{}`}, "stop": {"all": `{"count":2}`},
		"door-webhook": {"position": `{"pos":"3","at":"2026-02-01T17:00:00Z"}`}, "door-mqtt": {"inbox": `"999"`},
	} {
		for id, doc := range docs {
			if _, err := s.Put(t.Context(), kind, id, []byte(doc), ""); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// report stores a report with an attachment.
func report(t testing.TB, s thread.Store, e thread.Envelope, code mess.Code, i int) thread.Envelope {
	t.Helper()
	staged, err := s.Stage(t.Context(), bytes.NewReader(picture(i)), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	e.Ver++
	e.Serial++
	e.Status, e.Updated, e.Executor, e.Op = code, storetest.Start, "phone", fmt.Sprint("op-", i, "-", e.Ver)
	name := fmt.Sprintf("att-%03d-image-fridge.jpg", e.Serial)
	m := mess.Message{
		From: "phone", Received: mess.TimeOf(storetest.Start), Re: mess.Refs{e.Ref},
		Items: []mess.Item{&mess.Status{Code: code}, &mess.Response{Content: []mess.Entry{
			mess.TextEntry(strings.Repeat("seen ", i)),
			mess.ObjectEntry("image", mess.Media{File: name, MIME: "image/jpeg", Size: &staged.Size, SHA256: staged.SHA256}),
		}}},
	}
	m.Ref = messeaf.MessageRef(e.Ref, e.Serial, m)
	e.History = append(slices.Clip(e.History), thread.HistoryEntry{Action: string(code), At: storetest.Start, By: "phone", Ref: m.Ref})
	if code.Terminal() {
		e.Phase = thread.Finished
	}
	return mustAppend(t, s, thread.Step{
		After: e.Rev, Envelope: e, Binds: []thread.Bind{{Name: name, SHA256: staged.SHA256}},
		Messages: []mess.Message{m},
	})
}

func mustAppend(t testing.TB, s thread.Store, step thread.Step) thread.Envelope {
	t.Helper()
	rev, err := s.Append(t.Context(), step)
	if err != nil {
		t.Fatalf("Append(%s): %v", step.Envelope.Ref, err)
	}
	step.Envelope.Rev = rev
	return step.Envelope
}

// mustCopy copies, and returns the report.
func mustCopy(t testing.TB, from, to thread.Store) transfer.Report {
	t.Helper()
	r, err := transfer.Copy(t.Context(), from, to, transfer.Options{Source: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Source != r.Target || len(r.Source) != 64 {
		t.Errorf("digests %q and %q", r.Source, r.Target)
	}
	return r
}

// errCut is the error of a store that has failed.
var errCut = errors.New("the power is off")

// failing fails from the nth write on. A write may be stored although it fails.
type failing struct {
	thread.Store
	left   atomic.Int64
	stores bool // the first failed write is stored
}

func (f *failing) cut() (fails, stored bool) {
	n := f.left.Add(-1)
	return n < 0, n == -1 && f.stores
}

func (f *failing) Append(ctx context.Context, s thread.Step) (thread.Rev, error) {
	fails, stored := f.cut()
	if fails && !stored {
		return "", errCut
	}
	rev, err := f.Store.Append(ctx, s)
	if fails {
		return "", errors.Join(errCut, err)
	}
	return rev, err
}

func (f *failing) Put(ctx context.Context, kind, id string, doc []byte, after thread.Rev) (thread.Rev, error) {
	fails, stored := f.cut()
	if fails && !stored {
		return "", errCut
	}
	rev, err := f.Store.Put(ctx, kind, id, doc, after)
	if fails {
		return "", errors.Join(errCut, err)
	}
	return rev, err
}
