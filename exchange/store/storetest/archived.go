package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// ArchiveStore is a store with archives.
type ArchiveStore interface {
	thread.Store
	thread.Archiver
	thread.Folders
}

// ended makes a thread that has ended, with an attachment.
func ended(t *testing.T, s thread.Store, id, file string) thread.Thread {
	t.Helper()
	th := mustCreate(t, s, "agent", id, Start)
	staged, err := s.Stage(t.Context(), strings.NewReader(file), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	claim := Next(th.Envelope, mess.Claimed, Start)
	claim.Binds = []thread.Bind{{Name: fileName, SHA256: staged.SHA256}}
	mustAppend(t, s, Next(mustAppend(t, s, claim), mess.Completed, Start))
	return mustRead(t, s, th.Ref)
}

// fileName is the name of the attachment of each thread.
const fileName = "att-001-image-fridge.jpg"

// RunArchived checks what a store does with threads in its archive. archive moves the threads that have
// ended there, and returns when they are in no other place.
func RunArchived(t *testing.T, s ArchiveStore, archive func()) {
	var gone []thread.Thread
	for n := range 3 {
		gone = append(gone, ended(t, s, fmt.Sprint("old", n), fmt.Sprint("picture ", n)))
	}
	open := mustCreate(t, s, "agent", "open", Start)
	archive()
	refs, err := s.Archived(t.Context())
	slices.Sort(refs)
	want := []string{gone[0].Ref, gone[1].Ref, gone[2].Ref}
	if err != nil || !slices.Equal(refs, want) {
		t.Errorf("the archive has %v, %v; want %v", refs, err, want)
	}
	for n, was := range gone {
		is, rev, err := s.Read(t.Context(), was.Ref)
		if err != nil || is.Status != was.Status || is.Requester != was.Requester || is.ClientID != was.ClientID || is.Executor != was.Executor {
			t.Errorf("%s: %+v, %v", was.Ref, is.Envelope, err)
		}
		if diff := cmp.Diff(texts(was.Messages), texts(is.Messages)); diff != "" {
			t.Errorf("%s: messages (-before +in the archive):\n%s", was.Ref, diff)
		}
		f, err := s.Attachment(t.Context(), was.Ref, fileName)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(f); err != nil || string(data) != fmt.Sprint("picture ", n) {
			t.Errorf("%s: the attachment is %q, %v", was.Ref, data, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if ref, err := s.Lookup(t.Context(), thread.Key{Owner: "agent", Name: was.ClientID}); !errors.Is(err, thread.ErrNoThread) {
			t.Errorf("the id %s belongs to %q, %v; want ErrNoThread", was.ClientID, ref, err)
		}
		late := Next(is.Envelope, mess.Completed, Start)
		late.After = rev
		if rev, err := s.Append(t.Context(), late); !errors.Is(err, thread.ErrNoThread) {
			t.Errorf("a step after the end: %q, %v; want ErrNoThread", rev, err)
		}
		if rev, err := s.Append(t.Context(), Step(was.Ref, "agent", "", Start)); !errors.Is(err, thread.ErrStale) {
			t.Errorf("a new thread with the ref: %q, %v; want ErrStale", rev, err)
		}
	}
	if _, err := s.Attachment(t.Context(), gone[0].Ref, "att-009-image-none.jpg"); !errors.Is(err, thread.ErrNoBlob) {
		t.Errorf("an unknown attachment: %v, want ErrNoBlob", err)
	}
	last := map[string]thread.Change{}
	for _, c := range feed(t, s, "", 0) {
		last[c.Envelope.Ref] = c
	}
	for _, was := range gone {
		if c, has := last[was.Ref]; has && !c.Removed {
			t.Errorf("the feed ends with %s", line(c))
		}
	}
	if c := last[open.Ref]; c.Removed || c.Envelope.Status != mess.Pending {
		t.Errorf("the open thread: %s", line(c))
	}
	again := mustCreate(t, s, "agent", "old0", Start) // its requester can use the id again
	if again.Ref == gone[0].Ref {
		t.Errorf("the new thread has the ref of an archived one: %s", again.Ref)
	}
}

// texts returns messages as JSON, without their refs, which follow from their order in a folder.
func texts(all []mess.Message) (list []string) {
	for _, m := range all {
		m.Ref = ""
		line, err := m.JSON()
		if err != nil {
			line = []byte(err.Error())
		}
		list = append(list, string(bytes.TrimSpace(line)))
	}
	return list
}
