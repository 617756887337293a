package stop_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/stop"
)

// fakePolicy counts its calls.
type fakePolicy struct {
	mu      sync.Mutex
	reason  string
	stops   int
	clears  int
	changed chan struct{}
}

func newFakePolicy() *fakePolicy { return &fakePolicy{changed: make(chan struct{})} }

func (g *fakePolicy) Stop(reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reason = reason
	g.stops++
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *fakePolicy) ResetStop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reason = ""
	g.clears++
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *fakePolicy) Watch() (string, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reason, g.changed
}

// counts returns the numbers of stops and clears.
func (g *fakePolicy) counts() (stops, clears int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stops, g.clears
}

// waitForReason waits until the reason of the policy's stop contains a text; "" waits until there is no
// stop.
func (g *fakePolicy) waitForReason(t *testing.T, text string) {
	t.Helper()
	patience := time.After(time.Minute)
	for {
		reason, changed := g.Watch()
		if text == "" && reason == "" || text != "" && strings.Contains(reason, text) {
			return
		}
		select {
		case <-changed:
		case <-patience:
			t.Fatalf("stopped for %q, want %q", reason, text)
		}
	}
}

var quiet = slog.New(slog.DiscardHandler)

// run opens a latch and keeps it running until the test calls the returned function.
func run(t *testing.T, cfg stop.Config, g *fakePolicy) (*stop.Latch, func()) {
	t.Helper()
	if cfg.Devices == nil {
		cfg.Devices = func() []stop.Device { return []stop.Device{{Device: "lamp", State: "safe", Evidence: "read_back"}} }
	}
	s := stop.Open(cfg, g, time.Now, quiet)
	return s, runLatch(t, s)
}

// runLatch keeps a latch running until the test calls the returned function.
func runLatch(t *testing.T, s *stop.Latch) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	var once sync.Once
	end = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(end)
	return end
}

// waitUntilWritten waits until the disk has all orders of a latch.
func waitUntilWritten(t *testing.T, s *stop.Latch) {
	t.Helper()
	patience := time.After(time.Minute)
	for {
		orders, taken, changed := s.Watch()
		if len(orders) > 0 && taken != nil {
			return
		}
		select {
		case <-changed:
		case <-patience:
			t.Fatal("nothing is written")
		}
	}
}

func TestStopSurvivesRestart(t *testing.T) {
	dir, g := filepath.Join(t.TempDir(), "stop"), newFakePolicy()
	s, end := run(t, stop.Config{Dir: dir}, g)
	s.Stop(stop.Order{ID: "a", Reason: "smoke", By: "teague"})
	if reason, _ := g.Watch(); reason == "" { // before the latch writes anything
		t.Error("the policy is not stopped at once")
	}
	waitUntilWritten(t, s)
	s.Stop(stop.Order{ID: "a", Reason: "the same again"})
	end()

	again := newFakePolicy()
	s = stop.Open(stop.Config{Dir: dir}, again, time.Now, quiet)
	orders, taken, _ := s.Watch()
	if again.stops != 1 || !strings.Contains(again.reason, "smoke, by teague") || len(orders) != 1 || !slices.Contains(taken, "a") {
		t.Errorf("%+v, %v, %v", again.reason, orders, taken)
	}
}

func TestUnreadableLatchIsLatched(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "half": `{"orders": [{"id": "a", "wh`, "no order": `{"orders": []}`, "not one": "[1, 2]", "no id": `{"orders": [{"why": "x"}]}`,
		"zeros": strings.Repeat("\x00", 200), "a clear in its place": `{"clear": "x"}`,
	} {
		dir, g := t.TempDir(), newFakePolicy()
		if err := os.WriteFile(filepath.Join(dir, "latched.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, end := run(t, stop.Config{Dir: dir}, g)
		if reason, _ := g.Watch(); !strings.Contains(reason, "is unreadable") {
			t.Errorf("%s: stopped for %q", name, reason)
		}
		if _, err := stop.Reset(dir, "teague", time.Now()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		g.waitForReason(t, "")
		end()
	}
	dir, g := t.TempDir(), newFakePolicy()
	if err := os.Mkdir(filepath.Join(dir, "latched.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	stop.Open(stop.Config{Dir: dir}, g, time.Now, quiet)
	if g.stops == 0 {
		t.Error("a latch that is a folder does not stop")
	}
}

func TestStopByFile(t *testing.T) {
	dir, g := filepath.Join(t.TempDir(), "stop"), newFakePolicy()
	s, _ := run(t, stop.Config{Dir: dir}, g)
	if err := stop.WriteOrder(dir, stop.Order{ID: "cli", Reason: "by hand"}); err != nil {
		t.Fatal(err)
	}
	g.waitForReason(t, "by hand")
	waitUntilWritten(t, s)
	for r, err := stop.ReadReport(dir); !r.Settled("cli"); r, err = stop.ReadReport(dir) {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		<-time.After(time.Millisecond)
	}

	// Only removing the file does not reset the stop.
	if err := os.Remove(filepath.Join(dir, "latched.json")); err != nil {
		t.Fatal(err)
	}
	for len(stop.ReadOrders(dir)) == 0 {
		<-time.After(time.Millisecond)
	}
	if reason, _ := g.Watch(); reason == "" {
		t.Error("removing the file has cleared it")
	}

	cleared, err := stop.Reset(dir, "teague", time.Now())
	if err != nil || len(cleared) != 1 || cleared[0].ID != "cli" {
		t.Fatalf("%v, %v", cleared, err)
	}
	g.waitForReason(t, "")
	if _, err := stop.Reset(dir, "teague", time.Now()); !errors.Is(err, stop.ErrNotStopped) {
		t.Errorf("%v", err)
	}
	s.Stop(stop.Order{ID: "cli", Reason: "delivered once more"})
	if reason, _ := g.Watch(); reason != "" {
		t.Errorf("an order that was cleared stops again: %s", reason)
	}
	s.Stop(stop.Order{Reason: "a new one"})
	g.waitForReason(t, "a new one")
}

// A restarted program still knows a cleared order.
func TestClearedOrderIsKnownAfterRestart(t *testing.T) {
	dir, g := t.TempDir(), newFakePolicy()
	if err := stop.WriteOrder(dir, stop.Order{ID: "old"}); err != nil {
		t.Fatal(err)
	}
	if _, err := stop.Reset(dir, "teague", time.Now()); err != nil {
		t.Fatal(err)
	}
	s := stop.Open(stop.Config{Dir: dir}, g, time.Now, quiet)
	s.Stop(stop.Order{ID: "old"})
	if g.stops != 0 {
		t.Error("the latch stops again, want one stop")
	}
}

// An order that the disk does not accept is active in memory; the latch writes it when the
// disk accepts it.
func TestStopOnUnwritableDisk(t *testing.T) {
	parent, g := t.TempDir(), newFakePolicy()
	dir := filepath.Join(parent, "stop")
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // in place of the folder
		t.Fatal(err)
	}
	s, _ := run(t, stop.Config{Dir: dir}, g)
	s.Stop(stop.Order{ID: "a", Reason: "smoke"})
	if reason, _ := g.Watch(); reason == "" {
		t.Error("not stopped")
	}
	if _, taken, _ := s.Watch(); taken != nil {
		t.Error("the latch reports a stored stop, want none")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	waitUntilWritten(t, s)
}

// button is a simulated line.
type button struct {
	levels chan bool
	broken chan error
}

func (*button) String() string { return "the button" }

func (b *button) Watch(ctx context.Context, stops func(bool)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case level := <-b.levels:
			stops(level)
		case err := <-b.broken:
			return err
		}
	}
}

func TestStopLine(t *testing.T) {
	dir, g := t.TempDir(), newFakePolicy()
	b := &button{levels: make(chan bool), broken: make(chan error)}
	s, _ := run(t, stop.Config{Dir: dir, Input: b}, g)
	b.levels <- false
	b.levels <- true
	g.waitForReason(t, "pressed")
	waitUntilWritten(t, s)

	// A reset has no effect while the button is pressed.
	before, _ := g.counts()
	if _, err := stop.Reset(dir, "teague", time.Now()); err != nil {
		t.Fatal(err)
	}
	for len(stop.ReadOrders(dir)) == 0 {
		<-time.After(time.Millisecond)
	}
	if stops, clears := g.counts(); clears != 0 || stops == before {
		t.Errorf("cleared %d times, stopped %d times, %d before", clears, stops, before)
	}
	b.levels <- false
	b.levels <- false // the first level has taken effect then
	if reason, _ := g.Watch(); reason == "" {
		t.Error("letting go of the button has cleared it")
	}
	waitUntilWritten(t, s)
	if _, err := stop.Reset(dir, "teague", time.Now()); err != nil {
		t.Fatal(err)
	}
	g.waitForReason(t, "")
	b.broken <- errors.New("no such chip")
	g.waitForReason(t, "cannot read the stop button: no such chip")
}

func TestMissingStopLine(t *testing.T) {
	c := stop.DefaultInputConfig()
	if stop.NewInput(c) != nil {
		t.Error("a line without a number")
	}
	c.Chip, c.Line = "gpiochip-none", 3
	if err := stop.NewInput(c).Watch(t.Context(), func(bool) { t.Error("a missing line reports a level") }); err == nil {
		t.Error("Watch of a missing line succeeds, want an error")
	}
	if err := (stop.InputConfig{Line: 1, StopsOn: "up", Bias: "pull"}).Validate(); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("%v", err)
	}
}

// FuzzLatch checks that a latch file with any content stops, and that a reset ends that.
func FuzzLatch(f *testing.F) {
	for _, s := range []string{"", "{}", `{"orders":[{"id":"a","why":"b","by":"c","at":"2026-11-21T10:00:00Z"}]}`, `{"orders":[{"id":" "}]}`, "null"} {
		f.Add([]byte(s))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, "latched.json"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		before := stop.ReadOrders(dir)
		if len(before) == 0 {
			t.Fatalf("%q does not stop", data)
		}
		if err := stop.WriteOrder(dir, stop.Order{ID: "new", Reason: "x\ny"}); err != nil {
			t.Fatal(err)
		}
		after := stop.ReadOrders(dir)
		for _, o := range before {
			if len(before) < 16 && !slices.Contains(after, o) {
				t.Errorf("%q: %v is not among %v", data, o, after)
			}
		}
		if !slices.ContainsFunc(after, func(o stop.Order) bool { return o.ID == "new" }) {
			t.Errorf("%q: the new order is not among %v", data, after)
		}
		if _, err := stop.Reset(dir, "x", time.Time{}); err != nil || len(stop.ReadOrders(dir)) != 0 {
			t.Errorf("%q: %v", data, err)
		}
	})
}
