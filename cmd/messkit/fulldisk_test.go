package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/messkit/messkit/internal/test/disk"
)

// The exchange starts on a full or read-only disk. It serves the stored threads, rejects new
// requests, and logs the reason.
func TestExchangeStartsOnUnwritableDisk(t *testing.T) {
	cutCount(t)
	if !disk.HasOwnMounts(t) {
		return
	}
	binary := buildMesskit(t)
	for _, disk := range []struct {
		name, wantText string
		make           func(dir string) error
	}{
		{"full", "no space left on device", fillDisk},
		{"read-only", "read-only file system", func(dir string) error {
			return syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
		}},
	} {
		t.Run(disk.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=12m"); err != nil {
				t.Fatal(err)
			}
			p, d := startServing(t, dir, binary)
			code, body, err := d.call(d.operator, http.MethodPost, "/requests", `{"id":"first","intent":"look"}`)
			if err != nil || code != http.StatusCreated {
				t.Fatalf("%d %s, %v", code, body, err)
			}
			wantHealth(t, p, "ok")
			wantProbe(t, p, "/readyz", http.StatusOK, "ok")
			if err := errors.Join(p.stop(), disk.make(dir)); err != nil {
				t.Fatal(err)
			}
			p, d = startServing(t, dir, binary)
			code, body, err = d.call(d.operator, http.MethodGet, "/requests/first", "")
			if err != nil || code != http.StatusOK {
				t.Errorf("read of a stored thread: %d %s, %v, want 200", code, body, err)
			}
			wantHealth(t, p, "degraded")
			wantProbe(t, p, "/readyz", http.StatusServiceUnavailable, "the store cannot write")
			wantProbe(t, p, "/healthz", http.StatusOK, "ok")
			wantProbe(t, p, "/metrics", http.StatusOK, "\nmesskit_store_writable 0\n")
			code, body, err = d.call(d.operator, http.MethodPost, "/requests", `{"id":"second","intent":"look"}`)
			if err != nil || code != http.StatusServiceUnavailable {
				t.Errorf("new request: %d %s, %v, want 503", code, body, err)
			}
			if full := strings.Contains(string(body), "no space left on its disk for this; make room there"); full != (disk.name == "full") {
				t.Errorf("error of a new request is %s", body)
			}
			if err := p.stop(); err != nil {
				t.Error(err)
			}
			if got := p.stderr.String(); !strings.Contains(got, disk.wantText) || !strings.Contains(got, filepath.Join(dir, "log")) {
				t.Errorf("stderr is %s, want the cause and the log folder", got)
			}
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
}

// wantHealth checks the public health status.
func wantHealth(t *testing.T, p *process, status string) {
	t.Helper()
	host, _, _ := strings.Cut(p.url, "/api/")
	res, err := http.Get(host + "/health")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(body), `"status":"`+status+`"`) {
		t.Errorf("health: %d %s, %v; want %s", res.StatusCode, body, err, status)
	}
}

// startServing starts an exchange, which must serve.
func startServing(t *testing.T, dir, binary string) (*process, *apiClient) {
	t.Helper()
	p, err := launch(dir, binary)
	if err != nil || p.url == "" {
		t.Fatalf("%v %s", err, &p.stderr)
	}
	key, err := operatorKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p, newAPIClient(p.url, key, "")
}

// fillDisk fills a disk completely.
func fillDisk(dir string) error {
	f, err := os.Create(filepath.Join(dir, "fill"))
	if err != nil {
		return err
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("fill: %w", err)
	}
	return f.Close()
}
