package journal

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/messkit/messkit/mess"
)

// failWrites puts the journal in the state after a failed sync and a failed reopening.
func (j *Journal) failWrites(t *testing.T, why error) {
	t.Helper()
	if err := j.log.Close(); err != nil {
		t.Fatal(err)
	}
	j.log, j.openErr = nil, why
}

// A journal on a failing disk permits nothing and drops nothing, and Repair restores all of it.
func TestRepairRestoresJournal(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	j, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	intent := func(ref string) Intent { return Intent{Ref: ref, Epoch: 1, Plan: json.RawMessage("{}")} }
	report := mess.Message{Items: []mess.Item{&mess.Status{Code: mess.Completed}}}
	if err := errors.Join(j.Intent(ctx, intent("a")), j.Intent(ctx, intent("b")), j.Done(ctx, "c", 1, report)); err != nil {
		t.Fatal(err)
	}
	eio := errors.New("input/output error")
	j.failWrites(t, eio)
	for name, err := range map[string]error{
		"Err": j.Err(), "Ready": j.EnsureRoom(ctx), "an intent": j.Intent(ctx, intent("new")), "a report": j.Done(ctx, "a", 1, report), "that it was sent": j.Sent(ctx, "c"),
	} {
		if !errors.Is(err, eio) {
			t.Errorf("%s: %v, want %v", name, err, eio)
		}
	}
	wantTasks := func(when, want string) {
		t.Helper()
		var got []string
		for _, task := range j.Tasks() {
			got = append(got, task.Ref+map[bool]string{true: "?", false: "!"}[task.Open()])
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	wantTasks("broken", "b? a!")

	// Repair fails while the files are damaged.
	name := filepath.Join(dir, "0000000000000001.wal")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte("X"), whole[1:]...)
	if err := os.WriteFile(name, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := j.Repair(ctx); err == nil || j.Err() == nil {
		t.Errorf("mended on damaged files: %v", err)
	}
	if err := os.WriteFile(name, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.Repair(ctx), j.Err(), j.EnsureRoom(ctx), j.Intent(ctx, intent("new"))); err != nil {
		t.Fatal(err)
	}
	wantTasks("mended", "b? new? a!")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Repair(ctx); err == nil {
		t.Error("a closed journal was opened again")
	}
	if j, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	wantTasks("opened again", "b? new? a!")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}
