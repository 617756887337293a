package main

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/messkit/messkit/internal/cli/thread"
)

// If the folder of a thread moves before the reader opens it, WhereItIs searches again. It
// returns fs.ErrNotExist for a deleted thread.
func TestMovedThreadIsFound(t *testing.T) {
	const ref = "2026-11-21-003"
	data := t.TempDir()
	in := func(state string) string { return filepath.Join(data, "state="+state, ref) }
	for _, dir := range []string{in("executing"), filepath.Join(data, "state=finished")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	name := "000-" + ref + ".messe-af.yaml"
	if err := os.WriteFile(filepath.Join(in("executing"), name), []byte("here"), 0o600); err != nil {
		t.Fatal(err)
	}
	tries := 0
	read := func(found thread.OnDisk) ([]byte, error) {
		if tries++; tries == 1 {
			if err := os.Rename(in("executing"), in("finished")); err != nil {
				t.Fatal(err)
			}
		}
		return fs.ReadFile(found.Fsys, path.Join(found.Dir(), name))
	}
	if text, err := thread.WhereItIs(data, ref, read); err != nil || string(text) != "here" || tries != 2 {
		t.Errorf("%q, %v after %d tries", text, err, tries)
	}
	if _, err := thread.WhereItIs(data, ref, func(thread.OnDisk) (int, error) { return 0, fs.ErrNotExist }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing thread: %v, want ErrNotExist", err)
	}
}
