package watchdog_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/watchdog"
)

// fakeProcesses starts watchdogs as goroutines.
type fakeProcesses struct {
	w *world

	mu      sync.Mutex
	started int
	broken  int          // how many starts fail
	mute    bool         // the next ones do not answer
	slept   atomic.Int64 // time that the machine has slept
	last    *watchdogProcess
}

// watchdogProcess is one watchdog.
type watchdogProcess struct {
	io.Reader
	io.Writer
	messages *io.PipeReader
	answers  *io.PipeWriter
	thawed   chan struct{} // closed by Kill
	ended    chan struct{}
	dead     atomic.Bool
	frozen   atomic.Bool // it reads nothing more
}

// readMessages reads the messages for a watchdog, unless it is frozen.
func (r *watchdogProcess) readMessages(p []byte) (int, error) {
	if n, err := r.messages.Read(p); !r.frozen.Load() {
		return n, err
	}
	<-r.thawed
	return 0, io.EOF
}

type reader func(p []byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

func (g *fakeProcesses) start() (watchdog.Process, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.started++
	if g.broken > 0 {
		g.broken--
		return nil, errors.New("no memory")
	}
	in, to := io.Pipe()
	from, out := io.Pipe()
	r := &watchdogProcess{Reader: from, Writer: to, messages: in, answers: out, thawed: make(chan struct{}), ended: make(chan struct{})}
	g.last = r
	mute := g.mute
	go func() {
		defer close(r.ended)
		if mute {
			_, _ = io.Copy(io.Discard, in)
			return
		}
		one := watchdog.New(r.execute(g.w), slog.New(slog.DiscardHandler))
		one.UseSuspendTime(g.sleep)
		_ = one.Run(reader(r.readMessages), out)
		_ = out.Close()
	}()
	return r, nil
}

// Close ends the messages.
func (r *watchdogProcess) Close() error { return r.Writer.(*io.PipeWriter).Close() }

// Kill ends it: neither messages nor orders pass any more.
func (r *watchdogProcess) Kill() error {
	if !r.dead.Swap(true) {
		close(r.thawed)
	}
	_ = r.answers.Close()
	_ = r.messages.CloseWithError(errors.New("killed"))
	return r.Close()
}

// execute carries out the orders of a watchdog while it lives.
func (r *watchdogProcess) execute(w *world) watchdog.Execute {
	return func(kind string, order []byte) (bool, error) {
		if r.dead.Load() {
			return false, nil
		}
		return w.execute(kind, order)
	}
}

func (g *fakeProcesses) sleep() time.Duration { return time.Duration(g.slept.Load()) }

func (g *fakeProcesses) set(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}

func (g *fakeProcesses) kill() {
	g.set(func() { _ = g.last.Kill() })
	synctest.Wait()
}

// withClient runs a test with a client and a running watchdog.
func withClient(t *testing.T, test func(t *testing.T, c *watchdog.Client, g *fakeProcesses, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		g := &fakeProcesses{w: w}
		c := watchdog.NewClient([]watchdog.Device{lamp("hall", "keep"), lamp("stairs", "keep")}, g.start, slog.New(slog.DiscardHandler))
		c.UseSuspendTime(g.sleep)
		ctx, cancel := context.WithCancel(t.Context())
		end := make(chan error, 1)
		go func() { end <- c.Run(ctx) }()
		c.AwaitReady(ctx)
		test(t, c, g, w)
		cancel()
		if err := <-end; err != nil {
			t.Errorf("the client ends with %v", err)
		}
		wait(time.Hour) // a lamp that stayed on goes off
	})
}

func (w *world) wantHistory(t *testing.T, want string) {
	t.Helper()
	if got := w.history(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestClientNotifiesWatchdog(t *testing.T) {
	withClient(t, func(t *testing.T, c *watchdog.Client, _ *fakeProcesses, w *world) {
		for _, d := range []string{"hall", "stairs"} {
			if err := errors.Join(c.Ready(d), c.WillBeOn(d, time.Minute)); err != nil {
				t.Fatal(err)
			}
			w.turn(d, true)
		}
		wait(30 * time.Second)
		c.IsOff("stairs")
		wait(time.Hour)
		w.wantHistory(t, "hall off 1m0.025s")
	})
}

// A device may be on at its start, before a watchdog runs.
func TestClientReportsEarlierState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		g := &fakeProcesses{w: w}
		c := watchdog.NewClient([]watchdog.Device{lamp("hall", "keep")}, g.start, slog.New(slog.DiscardHandler))
		w.turn("hall", true)
		c.MayBeOn("hall", time.Minute)
		if err := c.WillBeOn("hall", time.Hour); !errors.Is(err, watchdog.ErrNotRunning) {
			t.Errorf("without a guard: %v", err)
		}
		wait(30 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		end := make(chan error, 1)
		go func() { end <- c.Run(ctx) }()
		wait(time.Minute)
		w.wantHistory(t, "hall off 1m0.025s")
		cancel()
		if err := <-end; err != nil {
			t.Error(err)
		}
		wait(time.Second)
	})
}

// The client replaces a watchdog that has ended. Until then it rejects switching on, and the
// time of a device that is on continues.
func TestKilledWatchdogIsReplaced(t *testing.T) {
	withClient(t, func(t *testing.T, c *watchdog.Client, g *fakeProcesses, w *world) {
		if err := c.WillBeOn("hall", time.Minute); err != nil {
			t.Fatal(err)
		}
		w.turn("hall", true)
		g.set(func() { g.broken = 3 })
		g.kill()
		for _, err := range []error{c.Ready("hall"), c.WillBeOn("hall", time.Hour), c.WillBeOn("stairs", time.Hour)} {
			if !errors.Is(err, watchdog.ErrNotRunning) {
				t.Errorf("without a guard: %v", err)
			}
		}
		if err := errors.Join(c.Ready("elsewhere"), c.WillBeOn("elsewhere", 0)); err != nil {
			t.Errorf("a device that needs none: %v", err)
		}
		wait(2 * time.Second) // 50 + 100 + 200 + 400 ms
		started := 0
		g.set(func() { started = g.started })
		if err := errors.Join(c.Ready("hall"), c.Ready("stairs")); err != nil || started != 5 {
			t.Errorf("with a new guard, the %dth: %v", started, err)
		}
		wait(time.Hour)
		w.wantHistory(t, "hall off 1m0.025s")
	})
}

// The client kills and replaces a frozen watchdog.
func TestFrozenWatchdogIsReplaced(t *testing.T) {
	withClient(t, func(t *testing.T, c *watchdog.Client, g *fakeProcesses, w *world) {
		g.set(func() { g.mute = true })
		g.kill()
		wait(500 * time.Millisecond)
		if err := c.WillBeOn("hall", time.Minute); !errors.Is(err, watchdog.ErrNotRunning) {
			t.Errorf("with a guard that does not answer: %v", err)
		}
		var frozen *watchdogProcess
		g.set(func() { g.mute, frozen = false, g.last })
		wait(5 * time.Second)
		select {
		case <-frozen.ended:
		default:
			t.Error("the frozen guard is still there")
		}
		if err := c.Ready("hall"); err != nil {
			t.Error(err)
		}
	})
}

// After a rejection by the watchdog the state is the old one.
func TestRejectionKeepsState(t *testing.T) {
	withClient(t, func(t *testing.T, c *watchdog.Client, _ *fakeProcesses, w *world) {
		if err := c.WillBeOn("hall", time.Minute); err != nil {
			t.Fatal(err)
		}
		w.turn("hall", true)
		hang := make(chan struct{})
		w.mu.Lock()
		w.hang["hall"] = hang
		w.mu.Unlock()
		wait(2 * time.Minute) // the watchdog is switching it off
		no, ok := errors.AsType[*watchdog.RejectionError](c.WillBeOn("hall", time.Hour))
		if !ok || !strings.Contains(no.Error(), "hall: the watchdog is switching it off now") {
			t.Errorf("%v", no)
		}
		w.mu.Lock()
		delete(w.hang, "hall")
		w.mu.Unlock()
		close(hang)
		wait(time.Second)
		w.turn("hall", true) // the delayed act happens
		wait(time.Second)
		if got := w.history(); !strings.HasPrefix(got, "hall off 2m0s, hall off 2m1.") {
			t.Error(got)
		}
		if err := c.WillBeOn("hall", time.Minute); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// A watchdog that freezes during a message delays a caller no longer than answerTime, and the
// client replaces it.
func TestUnreadMessageTimesOut(t *testing.T) {
	withClient(t, func(t *testing.T, c *watchdog.Client, g *fakeProcesses, _ *world) {
		g.set(func() { g.last.frozen.Store(true) })
		began := time.Now()
		for range 3 { // the watchdog still reads the first of them
			if err := c.WillBeOn("hall", time.Minute); !errors.Is(err, watchdog.ErrNotRunning) {
				t.Errorf("On = %v, want that the watchdog is not running", err)
			}
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("the call took %v, want 4s at most", took)
		}
		wait(10 * time.Second)
		if err := c.WillBeOn("hall", time.Minute); err != nil || g.started < 2 {
			t.Errorf("the next guard, of %d: %v", g.started, err)
		}
	})
}

// A watchdog that starts after the machine has slept gets the remaining time without the time
// asleep.
func TestNextWatchdogCountsSuspend(t *testing.T) {
	withClient(t, func(t *testing.T, c *watchdog.Client, g *fakeProcesses, w *world) {
		if err := c.WillBeOn("hall", time.Hour); err != nil {
			t.Fatal(err)
		}
		w.turn("hall", true)
		g.slept.Store(int64(2 * time.Hour))
		g.kill()
		wait(time.Second)
		if got := w.history(); !strings.HasPrefix(got, "hall off") {
			t.Errorf("history %q, want the hall off at once", got)
		}
	})
}
