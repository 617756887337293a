//go:build linux

package stop_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/stop"
)

// waitForState waits until a program answers for a folder.
func waitForState(t *testing.T, dir string) stop.State {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		h, err := stop.Query(dir)
		if err == nil {
			return h
		}
		if !errors.Is(err, stop.ErrNotRunning) || time.Now().After(end) {
			t.Fatal(err)
		}
		<-time.After(time.Millisecond)
	}
}

// With a folder that accepts nothing, the running program still answers, stops, and clears.
func TestUnwritableFolder(t *testing.T) {
	data, g := t.TempDir(), newFakePolicy()
	dir := filepath.Join(data, "stop")
	if _, err := stop.Query(dir); !errors.Is(err, stop.ErrNotRunning) {
		t.Errorf("before anybody runs: %v", err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // in place of the folder
		t.Fatal(err)
	}
	_, end := run(t, stop.Config{Dir: dir}, g)
	if h := waitForState(t, dir); len(h.Orders) > 0 {
		t.Errorf("%+v", h)
	}
	o := stop.Order{ID: "a", Reason: "smoke", By: "teague"}
	if err := stop.WriteOrder(dir, o); err == nil {
		t.Fatal("WriteOrder succeeds, want an error")
	}
	h, err := stop.SendStop(dir, o)
	if reason, _ := g.Watch(); err != nil || !strings.Contains(reason, "smoke") || len(h.Orders) != 1 || len(h.Unsaved) != 1 || len(h.Devices) != 1 {
		t.Errorf("stopped for %q: %+v, %v", reason, h, err)
	}
	if h := waitForState(t, dir); len(h.Orders) != 1 || h.Orders[0].Reason != "smoke" {
		t.Errorf("%+v", h)
	}
	if h, err := stop.ResetUnsaved(dir, "teague"); err != nil || len(h.Cleared) != 1 || len(h.Orders) > 0 {
		t.Errorf("%+v, %v", h, err)
	}
	g.waitForReason(t, "")
	if h, err := stop.ResetUnsaved(dir, "teague"); err != nil || len(h.Cleared) > 0 {
		t.Errorf("once more: %+v, %v", h, err)
	}
	end()
	if _, err := stop.Query(dir); !errors.Is(err, stop.ErrNotRunning) {
		t.Errorf("when it has ended: %v", err)
	}
}

// Only Clear removes an order from the disk; the running program does not.
func TestOnlyClearRemovesOrder(t *testing.T) {
	dir, g := filepath.Join(t.TempDir(), "stop"), newFakePolicy()
	s, _ := run(t, stop.Config{Dir: dir}, g)
	s.Stop(stop.Order{ID: "a", Reason: "smoke"})
	waitUntilWritten(t, s)
	waitForState(t, dir)
	if h, err := stop.ResetUnsaved(dir, "teague"); err != nil || len(h.Cleared) > 0 || len(h.Orders) != 1 {
		t.Errorf("%+v, %v", h, err)
	}
}
