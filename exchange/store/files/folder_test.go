package files_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

const foreignThread = `ref: 2026-02-01-NX8J
requestor: someone
status: pending
created: 2026-02-01T10:00:00.000Z
updated: 2026-02-01T10:00:00.000Z
intent: water the plants
priority: normal
history: []
confirm_before: true
---
from: someone
received: 2026-02-01T10:00:00.000Z
channel: mcp
MESS:
  - v: 1.0.0
  - request:
      id: plants
      intent: water the plants
`

// A thread moves to the folder of its status, and other programs can read it after every step.
func TestThreadMovesThroughFolders(t *testing.T) {
	s := newSharedFolder(t, t.TempDir())
	ref := fill(t, s.store, "a", 0, 0)
	s.settle()
	s.wantThreads("state=received/2026-02-01-001-a")
	fill(t, s.store, "b", 3, 10)
	s.settle()
	s.wantThreads("state=received/2026-02-01-001-a", "state=executing/2026-02-01-002-b")
	s.end(ref, mess.TextEntry("done"))
	s.settle()
	s.wantThreads("state=executing/2026-02-01-002-b", "state=finished/2026-02-01-001-a")
	for range 2 { // the second read uses the folder only
		th, _, err := s.store.Read(t.Context(), ref)
		if err != nil || th.Status != mess.Completed || len(th.Messages) != 2 || th.Phase != thread.Finished || th.Messages[1].Ref != ref+"/response-001" {
			t.Errorf("%+v, %v", th, err)
		}
		if all := list(t, s.store); len(all) != 2 || all[0].Intent != "look" {
			t.Errorf("%v", all)
		}
		s.close()
		s.loseLog()
		s.open()
	}
	s.settle()
	s.wantThreads("state=executing/2026-02-01-002-b", "state=finished/2026-02-01-001-a")
	if got := s.log.String(); got != "" {
		t.Errorf("log is %s, want it empty", got)
	}
}

// A late message in a thread that has ended goes into the folder of the thread.
func TestLateMessageIsStored(t *testing.T) {
	s := newSharedFolder(t, t.TempDir())
	ref := fill(t, s.store, "a", 0, 0)
	s.end(ref)
	s.close()
	s.open()
	if err := s.PostExternal(t.Context(), ref, mess.Message{From: "pi", Items: []mess.Item{&mess.Status{Code: mess.InProgress, Message: "late"}}}); err != nil {
		t.Fatal(err)
	}
	s.settle()
	s.wantThreads("state=finished/2026-02-01-001-a")
	s.close()
	s.open()
	if th, _, err := s.store.Read(t.Context(), ref); err != nil || len(th.Messages) != 4 || th.Messages[2].Ref != ref+"/status-002" {
		t.Errorf("%+v, %v", th, err)
	}
}

// Long threads continue in further files, and large contents become files of their own.
func TestLargeThreads(t *testing.T) {
	s := newSharedFolder(t, t.TempDir())
	ref := fill(t, s.store, "a", 5, 400<<10)
	picture := bytes.Repeat([]byte("picture!"), 100<<10)
	small := mess.DataURI("image/png", picture[:1000])
	s.end(ref, mess.MediaEntry("image", mess.Media{URI: mess.DataURI("image/jpeg", picture)}), mess.MediaEntry("image", mess.Media{URI: small}))
	s.settle()
	s.wantThreads("state=finished/2026-02-01-001-a")
	names, err := filepath.Glob(s.path("state=finished", ref, "0*"))
	if err != nil || len(names) != 3 {
		t.Errorf("%v, %v", names, err)
	}
	s.close()
	s.loseLog()
	s.open()
	th, _, err := s.store.Read(t.Context(), ref)
	if err != nil || len(th.Messages) != 7 {
		t.Fatalf("%d messages, %v", len(th.Messages), err)
	}
	if a := th.Attachments(); len(a) != 1 || a[0].Name != "att-001-image-image.jpg" || a[0].Size != int64(len(picture)) {
		t.Errorf("%+v", a)
	}
	f, err := s.store.Attachment(t.Context(), ref, "att-001-image-image.jpg")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(f); err != nil || !bytes.Equal(data, picture) {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := th.Messages[6].JSON(); err != nil || !strings.Contains(string(text), base64.StdEncoding.EncodeToString(picture[:1000])) {
		t.Error("the small picture is not inside any more")
	}
}

// The store imports a message that another program appends, once, for each way of writing.
func TestAppendedMessageIsImported(t *testing.T) {
	s := newSharedFolder(t, t.TempDir())
	ref := fill(t, s.store, "a", 1, 10)
	s.settle()
	file := []string{"state=executing", ref, "000-" + ref + ".messe-af.yaml"}
	s.append("---\nfrom: agent\nMESS:\n  - answer:\n      re: "+ref+"\n      value: both\n", file...)
	m := <-s.reports
	if a, ok := m.Items[0].(*mess.Answer); !ok || a.Value != "both" || m.From != "agent" {
		t.Errorf("got %+v", m)
	}
	s.settle()
	s.wantThreads("state=executing/" + ref)
	// Another program prints the whole thread in its own way and appends to it.
	data, err := os.ReadFile(s.path(file...))
	if err != nil {
		t.Fatal(err)
	}
	anew := strings.ReplaceAll(strings.ReplaceAll(string(data), "\n\n", "\n"), `"2026-02-01T`, `'2026-02-01T`)
	anew = strings.ReplaceAll(anew, `-08:00"`, `-08:00'`) + "---\nfrom: agent\nreceived: 2026-02-01T18:00:00Z\nMESS:\n  - cancel: {re: last, reason: enough}\n"
	s.write(anew, file...)
	if m := <-s.reports; m.Items[0].Kind() != mess.KindCancel {
		t.Errorf("got %+v", m)
	}
	s.settle()
	s.close()
	s.open()
	s.settle()
	if len(s.reports) > 0 {
		t.Errorf("repeated report: %+v", <-s.reports)
	}
	th, _, err := s.store.Read(t.Context(), ref)
	if err != nil || len(th.Messages) != 6 {
		t.Errorf("%d messages, %v", len(th.Messages), err)
	}
	s.wantThreads("state=executing/" + ref)
}

// The exchange offers a thread of another program like any other request, and keeps that
// program's own fields.
func TestForeignThreadIsOffered(t *testing.T) {
	for _, file := range []string{"state=received/2026-02-01-NX8J.messe-af.yaml", "state=received/2026-02-01-NX8J/000-2026-02-01-NX8J.messe-af.yaml"} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s := newSharedFolder(t, t.TempDir())
			s.write(foreignThread, filepath.FromSlash(file))
			e := <-s.changed
			if e.Ref != "2026-02-01-NX8J" || e.Intent != "water the plants" || e.Status != mess.Pending {
				t.Errorf("%+v", e)
			}
			s.settle()
			s.wantThreads(strings.TrimSuffix(file, "/000-2026-02-01-NX8J.messe-af.yaml"))
			s.end(e.Ref)
			s.settle()
			s.wantThreads("state=finished/2026-02-01-NX8J")
			if data, err := os.ReadFile(s.path("state=finished", e.Ref, "000-"+e.Ref+".messe-af.yaml")); err != nil || !strings.Contains(string(data), "from: someone") {
				t.Errorf("%v: %s", err, data)
			}
		})
	}
}

// Without its log, a store restores the threads from the folders.
func TestLostLogIsRebuiltFromFolders(t *testing.T) {
	dir := t.TempDir()
	s := newSharedFolder(t, dir)
	open, ended := fill(t, s.store, "a", 2, 10), fill(t, s.store, "b", 0, 0)
	s.end(ended, mess.TextEntry("done"))
	s.close()
	s.loseLog()
	s.write(foreignThread, "state=received", "2026-02-01-NX8J.messe-af.yaml")
	s.open()
	for ref, want := range map[string]mess.Code{open: mess.InProgress, ended: mess.Completed, "2026-02-01-NX8J": mess.Pending} {
		th, _, err := s.store.Read(t.Context(), ref)
		if err != nil || th.Status != want {
			t.Errorf("%s: %s, %v", ref, th.Status, err)
		}
	}
	if ref, err := s.store.Lookup(t.Context(), thread.Key{Owner: "agent", Name: "b"}); err != nil || ref != ended {
		t.Errorf("%s, %v", ref, err)
	}
	if ref := fill(t, s.store, "c", 0, 0); ref != "2026-02-01-003-c" {
		t.Errorf("the next ref is %s", ref)
	}
	s.settle()
	s.wantThreads("state=received/2026-02-01-003-c", "state=received/2026-02-01-NX8J.messe-af.yaml", "state=executing/"+open, "state=finished/"+ended)
}

// The store logs an unreadable thread with its file and leaves it in place. It serves the other
// threads.
func TestUnreadableThreadIsLogged(t *testing.T) {
	dir := t.TempDir()
	s := newSharedFolder(t, dir)
	good := fill(t, s.store, "a", 1, 10)
	s.settle()
	s.close()
	s.write("\x00\x01garbage", "state=received", "2026-02-01-008", "000-2026-02-01-008.messe-af.yaml")
	s.write(foreignThread[:len(foreignThread)-40]+"\n      x: [", "state=received", "2026-02-01-NX8J.messe-af.yaml")
	s.write(strings.NewReplacer("NX8J", "ZERO", "      intent: water the plants\n", "      intent: water\n      needed_by: 0001-01-01T00:00:00Z\n").Replace(foreignThread), "state=received", "2026-02-01-ZERO.messe-af.yaml")
	s.write("from: a\nMESS: [{request: {intent: x}}]", "state=finished", "2026-02-01-009", "000-2026-02-01-009.messe-af.yaml")
	if err := os.MkdirAll(s.path("state=canceled", "2026-02-01-010"), 0o700); err != nil {
		t.Fatal(err)
	}
	// The good thread is in two folders, and the copy of the store is incomplete.
	data, err := os.ReadFile(s.path("state=executing", good, "000-"+good+".messe-af.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.write(string(data), "state=finished", good, "000-"+good+".messe-af.yaml")
	s.write(string(data[:len(data)-30]), "state=executing", good, "000-"+good+".messe-af.yaml")
	past := time.Now().Add(-time.Minute)
	if err := os.Chtimes(s.path("state=executing", good, "000-"+good+".messe-af.yaml"), past, past); err != nil {
		t.Fatal(err)
	}
	s.open()
	s.settle()
	if th, _, err := s.store.Read(t.Context(), good); err != nil || len(th.Messages) != 2 {
		t.Errorf("%v, %v", th, err)
	}
	logged := s.log.String()
	for _, want := range []string{"2026-02-01-008.messe-af.yaml:1: a NUL byte", "2026-02-01-NX8J.messe-af.yaml:", "000-2026-02-01-009.messe-af.yaml:1: ref: is missing", "2026-02-01-010: has no file", "2026-02-01-ZERO.messe-af.yaml: cannot be offered: ", "moved a thread's files to set-aside"} {
		if !strings.Contains(logged, want) {
			t.Errorf("%q is not in the log:\n%s", want, logged)
		}
	}
	if ref := fill(t, s.store, "c", 0, 0); ref == good {
		t.Errorf("%s was given twice", ref)
	}
	got, err := os.ReadFile(s.path("state=executing", good, "000-"+good+".messe-af.yaml"))
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%v\n%s", err, cmp.Diff(string(data), string(got)))
	}
}

// Threads that ended long ago are in an archive, and remain readable.
func TestArchives(t *testing.T) {
	s := newSharedFolder(t, t.TempDir())
	ref := fill(t, s.store, "a", 0, 0)
	picture := bytes.Repeat([]byte("picture!"), 100<<10)
	s.end(ref, mess.MediaEntry("image", mess.Media{URI: mess.DataURI("image/jpeg", picture)}))
	open := fill(t, s.store, "b", 0, 0)
	s.close()
	s.loseLog()
	cfg := files.DefaultConfig()
	cfg.ArchiveAfter = time.Hour
	store, err := cfg.Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	s.store = store
	ctx, cancel := context.WithCancel(t.Context())
	var g sync.WaitGroup
	g.Go(func() { _ = store.Run(ctx, s) })
	archive := s.path("archive", "2026-02.messe-af.zip")
	for {
		if _, err := os.Stat(s.path("state=finished", ref)); errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	cancel()
	g.Wait()
	if _, err := os.Stat(archive); err != nil {
		t.Fatal(err)
	}
	th, _, err := store.Read(t.Context(), ref)
	if err != nil || th.Status != mess.Completed || len(th.Messages) != 2 {
		t.Errorf("%+v, %v", th, err)
	}
	f, err := store.Attachment(t.Context(), ref, "att-001-image-image.jpg")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(f); err != nil || !bytes.Equal(data, picture) {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if th, _, err := store.Read(t.Context(), open); err != nil || th.Status != mess.Pending {
		t.Errorf("%+v, %v", th, err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	s.loseLog()
	s.open()
	if next := fill(t, s.store, "", 0, 0); next != "2026-02-01-003" {
		t.Errorf("the next ref is %s", next)
	}
}
