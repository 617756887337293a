package main

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/daemon"
)

func TestSignerVerifiesReceipts(t *testing.T) {
	var got strings.Builder
	log, dir := slog.New(slog.NewTextHandler(&got, nil)), t.TempDir()
	name := filepath.Join(dir, daemon.SignerFile)
	s, err := daemon.Signer(dir, log)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want mode 0600", info, err)
	}
	again, err := daemon.Signer(dir, log)
	if err != nil || again.Public() != s.Public() {
		t.Errorf("a second start has another key: %v", err)
	}
	if got.Len() > 0 {
		t.Errorf("log is %q, want it empty", got.String())
	}
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := daemon.Signer(dir, log); err != nil || !strings.Contains(got.String(), "other users can read") {
		t.Errorf("a key that all can read: %v, %q", err, got.String())
	}
	secret, err := os.ReadFile(name)
	if err != nil || strings.Contains(got.String(), strings.TrimSpace(string(secret))) {
		t.Errorf("%v, or the log shows the key: %s", err, got.String())
	}
	for _, bad := range []string{"", "abc", "not base64!", strings.TrimSpace(string(secret))[:40]} {
		if err := os.WriteFile(name, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := daemon.Signer(dir, log)
		if err == nil || !strings.Contains(err.Error(), name) || len(bad) > 3 && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
		if data, err := os.ReadFile(name); err != nil || string(data) != bad {
			t.Errorf("%q was overwritten by %q", bad, data)
		}
	}
	got.Reset()
	if s, err := daemon.Signer(filepath.Join(dir, "missing"), log); s != nil || err != nil || !strings.Contains(got.String(), "no signed receipts") {
		t.Errorf("where nothing can be written: %v, %v, %q", s, err, got.String())
	}
	if _, err := daemon.ReadSigner(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no key: %v", err)
	}
}
