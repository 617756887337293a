package blobs

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A clean-up keeps the file of an upload in progress, and removes that of an interrupted upload.
func TestCleanUpKeepsRunningUploads(t *testing.T) {
	dir := t.TempDir()
	b, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	from, to := io.Pipe()
	sum, failed := make(chan string, 1), make(chan error, 1)
	go func() {
		s, err := b.Add(from, 100)
		sum <- s.SHA256
		failed <- err
	}()
	if _, err := to.Write([]byte("half of ")); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, temporary+"left")
	if err := errors.Join(os.WriteFile(left, nil, 0o600), b.Clean(nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("file of no upload: %v, want ErrNotExist", err)
	}
	if _, err := to.Write([]byte("a picture")); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	name, err := <-sum, <-failed
	if err != nil {
		t.Fatal(err)
	}
	f, err := b.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if data, err := io.ReadAll(f); err != nil || string(data) != "half of a picture" {
		t.Errorf("%q, %v", data, err)
	}
	if err := b.Clean(nil); err != nil || len(b.begun) > 0 {
		t.Errorf("afterwards: %v, %v", err, b.begun)
	}
}
