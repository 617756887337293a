package stop_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/internal/durable"
)

// Somebody removes the folder while a program runs. Its content is unknown, so that counts as a
// stop until a reset.
func TestRemovedFolderIsLatched(t *testing.T) {
	data, g := t.TempDir(), newFakePolicy()
	dir := filepath.Join(data, "stop")
	run(t, stop.Config{Dir: dir}, g)
	if err := durable.Use(data, "stop"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+"-old"); err != nil {
		t.Fatal(err)
	}
	g.waitForReason(t, "its folder is missing")
	for !durable.There(filepath.Join(dir, "latched.json")) { // until the order is on the disk
		<-time.After(time.Millisecond)
	}
	if _, err := stop.Reset(dir, "teague", time.Now()); err != nil {
		t.Fatal(err)
	}
	g.waitForReason(t, "")
	// An order in the new folder counts at once.
	began := time.Now()
	if err := stop.WriteOrder(dir, stop.Order{ID: "a", Reason: "smoke"}); err != nil {
		t.Fatal(err)
	}
	g.waitForReason(t, "smoke")
	t.Logf("stopped after %v", time.Since(began))
}

// The folder disappears between the first read and the start of the watch.
func TestFolderRemovedDuringStart(t *testing.T) {
	data, g := t.TempDir(), newFakePolicy()
	dir := filepath.Join(data, "stop")
	s := stop.Open(stop.Config{Dir: dir, Devices: func() []stop.Device { return nil }}, g, time.Now, quiet)
	if err := durable.Use(data, "stop"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+"-old"); err != nil {
		t.Fatal(err)
	}
	runLatch(t, s)
	g.waitForReason(t, "its folder is missing")
}

// The folder disappeared before the start.
func TestFolderRemovedBeforeStart(t *testing.T) {
	data, g := t.TempDir(), newFakePolicy()
	dir := filepath.Join(data, "stop")
	if got := stop.ReadOrders(dir); len(got) > 0 {
		t.Errorf("before the first start: %v", got)
	}
	if err := durable.Use(data); err != nil {
		t.Fatal(err)
	}
	if got := stop.ReadOrders(dir); len(got) != 1 {
		t.Errorf("%v, want a stop", got)
	}
	run(t, stop.Config{Dir: dir}, g)
	g.waitForReason(t, "its folder is missing")
	for !durable.There(filepath.Join(dir, "latched.json")) {
		<-time.After(time.Millisecond)
	}
	if _, err := stop.Reset(dir, "teague", time.Now()); err != nil {
		t.Fatal(err)
	}
	g.waitForReason(t, "")
}

// An order does not hide that the folder has disappeared.
func TestOrderDoesNotHideRemovedFolder(t *testing.T) {
	data := t.TempDir()
	dir := filepath.Join(data, "stop")
	if err := durable.Use(data); err != nil {
		t.Fatal(err)
	}
	if err := stop.WriteOrder(dir, stop.Order{ID: "b"}); err != nil {
		t.Fatal(err)
	}
	if got := stop.ReadOrders(dir); len(got) != 2 {
		t.Errorf("%v, want both", got)
	}
}
