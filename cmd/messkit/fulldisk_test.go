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
)

// The exchange starts on a full or read-only disk. It serves the stored threads, rejects new
// requests, and logs the reason.
func TestExchangeStartsOnUnwritableDisk(t *testing.T) {
	wantedCuts(t)
	if !inOwnMounts(t) {
		return
	}
	binary := buildMesskit(t)
	for _, disk := range []struct {
		name, says string
		make       func(dir string) error
	}{
		{"full", "no space left on device", fill},
		{"read-only", "read-only file system", func(dir string) error {
			return syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
		}},
	} {
		t.Run(disk.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=12m"); err != nil {
				t.Fatal(err)
			}
			p, d := serves(t, dir, binary)
			code, body, err := d.call(d.operator, http.MethodPost, "/requests", `{"id":"first","intent":"look"}`)
			if err != nil || code != http.StatusCreated {
				t.Fatalf("%d %s, %v", code, body, err)
			}
			healthIs(t, p, "ok")
			if err := errors.Join(p.stop(), disk.make(dir)); err != nil {
				t.Fatal(err)
			}
			p, d = serves(t, dir, binary)
			code, body, err = d.call(d.operator, http.MethodGet, "/requests/first", "")
			if err != nil || code != http.StatusOK {
				t.Errorf("what is there: %d %s, %v", code, body, err)
			}
			healthIs(t, p, "degraded")
			code, body, err = d.call(d.operator, http.MethodPost, "/requests", `{"id":"second","intent":"look"}`)
			if err != nil || code != http.StatusServiceUnavailable {
				t.Errorf("what is new: %d %s, %v", code, body, err)
			}
			if full := strings.Contains(string(body), "no space left on its disk for this; make room there"); full != (disk.name == "full") {
				t.Errorf("what is new: %s", body)
			}
			if err := p.stop(); err != nil {
				t.Error(err)
			}
			if said := p.stderr.String(); !strings.Contains(said, disk.says) || !strings.Contains(said, filepath.Join(dir, "log")) {
				t.Errorf("it said: %s", said)
			}
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
}

// healthIs checks the public health status.
func healthIs(t *testing.T, p *process, status string) {
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

// serves starts an exchange, which must serve.
func serves(t *testing.T, dir, binary string) (*process, *door) {
	t.Helper()
	p, err := launch(dir, binary)
	if err != nil || p.url == "" {
		t.Fatalf("%v %s", err, &p.stderr)
	}
	key, err := operatorKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p, newDoor(p.url, key, "")
}

// fill fills a disk completely.
func fill(dir string) error {
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
