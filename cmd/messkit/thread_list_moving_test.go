package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/messkit/messkit/internal/cli/thread"
	"github.com/messkit/messkit/mess/messeaf"
)

// The list contains a thread once if its exchange moves it to another folder between listing and
// reading.
func TestMovingThreadIsListedOnce(t *testing.T) {
	dir, ref := t.TempDir(), "2026-11-21-ABCD"
	before, after := filepath.Join(dir, string(messeaf.Executing)), filepath.Join(dir, string(messeaf.Finished))
	for _, name := range []string{filepath.Join(before, ref), after} {
		if err := os.MkdirAll(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	text := "ref: " + ref + `
requestor: me
executor: null
status: completed
created: 2026-11-21T16:00:00Z
updated: 2026-11-21T16:00:00Z
intent: turn on the light
---
from: me
received: 2026-11-21T16:00:00Z
re: ` + ref + `
MESS:
  - v: 1.0.0
  - request:
      intent: turn on the light
`
	if err := os.WriteFile(filepath.Join(before, ref, "000-"+ref+".messe-af.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := thread.ThreadsIn(dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	if err := os.Rename(filepath.Join(before, ref), filepath.Join(after, ref)); err != nil {
		t.Fatal(err)
	}
	there, err := thread.ThreadsIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	list, errs := thread.EnvelopesOf(dir, append(all, there...)) // both listings contain it
	if len(errs) > 0 || len(list) != 1 || list[0].Ref != ref || list[0].Intent != "turn on the light" {
		t.Errorf("%+v, %v", list, errs)
	}
	if err := os.RemoveAll(filepath.Join(after, ref)); err != nil {
		t.Fatal(err)
	}
	if list, errs := thread.EnvelopesOf(dir, all); len(errs) != 1 || len(list) != 0 {
		t.Errorf("list with a deleted thread: %+v, %v", list, errs)
	}
}
