package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/daemon"
)

// Each known cause of a failed start has its hint. Only a lock of another process leads to the
// hint about another messkit.
func TestFailedStartHasHint(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("log: %w", syscall.ENOSPC), "no space left for /data"},
		{errors.Join(errors.New("log"), fmt.Errorf("write: %w", syscall.ENOSPC)), "no space left for /data"},
		{fmt.Errorf("wal: %w", files.ErrInUse), "another messkit uses /data"},
		{fmt.Errorf("open: %w", syscall.EACCES), "read and write all of /data"},
	} {
		h, ok := errors.AsType[*output.HintError](daemon.DataFolderError(tt.err, "/data"))
		if !ok || !strings.Contains(h.Hint, tt.want) {
			t.Errorf("notOpened(%v): %+v, want the hint %q", tt.err, h, tt.want)
		}
	}
	if h, ok := errors.AsType[*output.HintError](daemon.DataFolderError(errors.New("strange"), "/data")); ok {
		t.Errorf("hint for an unknown error is %q, want none", h.Hint)
	}
}

// The hint for a damaged log describes a start without the log.
func TestDamagedLogHasHint(t *testing.T) {
	dir := t.TempDir()
	s, err := files.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for id := range 3 {
		if _, err := s.Put(t.Context(), "kind", fmt.Sprint(id), []byte("value"), ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "log") // a part of it is missing
	if err := os.Rename(filepath.Join(log, "0000000000000001.wal"), filepath.Join(log, "0000000000000003.wal")); err != nil {
		t.Fatal(err)
	}
	_, err = files.Open(dir)
	h, ok := errors.AsType[*output.HintError](daemon.StoreError(err, dir))
	if !ok || !strings.Contains(h.Hint, "without "+filepath.Join(dir, "log")) {
		t.Errorf("%v: %+v", err, h)
	}
}

// On a full disk, `messkit lock` fails with the hint that `messkit stop` needs no disk.
func TestLockOnFullDiskHasHint(t *testing.T) {
	err := (&output.Env{Out: io.Discard}).Done("locked", "front-door", &fs.PathError{Op: "write", Path: "decisions", Err: syscall.ENOSPC})
	if h, ok := errors.AsType[*output.HintError](err); !ok || !strings.Contains(h.Hint, `"messkit stop" holds without a disk`) {
		t.Error(err)
	}
}
