package httpclient_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/httpclient"
)

// slow is a device that executes "/late" only when the test allows it, even if the client
// has disconnected.
type slow struct {
	*httptest.Server
	arrived, let chan struct{} // "/late" has arrived; the device may execute it

	mu    sync.Mutex
	drops bool // the device disconnects after the execution
	done  []string
}

func newSlow(t *testing.T) (*slow, *httpclient.Client) {
	t.Helper()
	s := &slow{arrived: make(chan struct{}), let: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" {
			close(s.arrived)
			<-s.let
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.done = append(s.done, r.URL.Path)
		if s.drops && r.URL.Path == "/late" {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(s.Close)
	cfg := httpclient.DefaultConfig()
	cfg.URL, cfg.Timeout = s.URL, time.Minute
	c, err := httpclient.New(cfg, "")
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func (s *slow) did() []string { s.mu.Lock(); defer s.mu.Unlock(); return slices.Clone(s.done) }

// cut sends a command and cancels it when the device has received it.
func (s *slow) cut(t *testing.T, c *httpclient.Client) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-s.arrived; cancel() }()
	if _, err := c.Do(ctx, httpclient.Call{Method: "PUT", Path: "/late", Acts: true}); !errors.Is(err, context.Canceled) || errors.Is(err, drivers.ErrNothingDone) {
		t.Fatalf("a call that was cut ends with %v", err)
	}
}

// A device may execute a command after its client has disconnected. The next command waits
// for that, so the device executes it afterwards.
func TestNextCommandRunsAfterTheLateOne(t *testing.T) {
	s, c := newSlow(t)
	s.cut(t, c)
	next := make(chan error, 1)
	go func() {
		_, err := c.Do(t.Context(), httpclient.Call{Method: "PUT", Path: "/next", Acts: true})
		next <- err
	}()
	if _, err := c.Do(t.Context(), httpclient.Call{Path: "/look"}); err != nil {
		t.Fatal("a question waits: ", err)
	}
	close(s.let)
	if err := <-next; err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.did(), " "); got != "/look /late /next" {
		t.Error("order of the calls is ", got)
	}
}

// Last sends its command at once, and again after the earlier command has ended.
func TestLast(t *testing.T) {
	s, c := newSlow(t)
	s.cut(t, c)
	times := 0
	err := c.RunLast(t.Context(), func(ctx context.Context) error {
		_, err := c.Do(ctx, httpclient.Call{Method: "PUT", Path: "/off", Acts: true})
		if times++; times == 1 { // the late call ends before the first answer to Last
			close(s.let)
			_, err := c.Do(context.WithoutCancel(t.Context()), httpclient.Call{Method: "PUT", Path: "/between", Acts: true})
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.did(), " "); got != "/off /late /between /off" {
		t.Error("order of the calls is ", got)
	}
	if err := c.RunLast(t.Context(), func(ctx context.Context) error {
		_, err := c.Do(ctx, httpclient.Call{Method: "PUT", Path: "/once", Acts: true})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got := s.did(); got[len(got)-1] != "/once" || len(got) != 5 {
		t.Error("commands without a late one, want no repetition: ", got)
	}
}

// A command that ends while it waits for its turn does not reach the device.
func TestCancelBeforeTurn(t *testing.T) {
	s, c := newSlow(t)
	s.cut(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Do(ctx, httpclient.Call{Method: "PUT", Path: "/next", Acts: true}); !errors.Is(err, context.Canceled) || !errors.Is(err, drivers.ErrNothingDone) {
		t.Errorf("error of a cancelled call that waits is %v, want ErrNothingDone", err)
	}
	close(s.let)
}

// A command that ends before the connection exists does not reach the device.
func TestCancelBeforeConnection(t *testing.T) {
	s, c := newSlow(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Do(ctx, httpclient.Call{Method: "PUT", Path: "/never", Acts: true}); !errors.Is(err, drivers.ErrNothingDone) {
		t.Errorf("error of a cancelled call is %v, want ErrNothingDone", err)
	}
	if got := s.did(); len(got) != 0 {
		t.Error("commands are ", got)
	}
}

// If a device answers a command but never answered the one before, it may still execute
// that one. Unanswered reports it once, and Last reports it too.
func TestUnanswered(t *testing.T) {
	for _, drops := range []bool{false, true} {
		s, c := newSlow(t)
		s.drops = drops
		s.cut(t, c)
		close(s.let)
		if _, err := c.Do(t.Context(), httpclient.Call{Method: "PUT", Path: "/off", Acts: true}); err != nil {
			t.Fatal(err)
		}
		asked := error(errors.New("not asked"))
		err := c.RunLast(t.Context(), func(ctx context.Context) error { asked = c.Unanswered(ctx); return nil })
		if asked != nil || errors.Is(err, drivers.ErrMayAct) != drops {
			t.Errorf("hangs up: %t, as the last: %v, then %v", drops, asked, err)
		}
		for first := range 2 {
			if err := c.Unanswered(t.Context()); errors.Is(err, drivers.ErrMayAct) != (drops && first == 0) {
				t.Errorf("hangs up: %t, asked %d times before: %v", drops, first, err)
			}
		}
	}
}

// For a minute after an unanswered call the result of Last is unknown, and the caller
// repeats it.
func TestLastAfterUnansweredCall(t *testing.T) {
	cfg := httpclient.DefaultConfig()
	cfg.URL = "http://127.0.0.1:1"
	synctest.Test(t, func(t *testing.T) {
		c, err := httpclient.New(cfg, "")
		if err != nil {
			t.Fatal(err)
		}
		nothing := func(context.Context) error { return nil }
		if err := c.RunLast(t.Context(), nothing); err != nil {
			t.Errorf("RunLast without a command: %v", err)
		}
		c.Unsure()
		time.Sleep(50 * time.Second)
		if err := c.RunLast(t.Context(), nothing); !errors.Is(err, drivers.ErrMayAct) {
			t.Errorf("RunLast after an unanswered call: %v, want ErrMayAct", err)
		}
		time.Sleep(11 * time.Second)
		if err := c.RunLast(t.Context(), nothing); err != nil {
			t.Errorf("after a minute: %v", err)
		}
	})
}

// The kernel does not deliver a command after its caller has given up on a stalled link,
// because the client resets the connection. The error is ErrMayAct.
func TestStalledCommandIsDropped(t *testing.T) {
	var did sync.Map
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { did.Store(r.URL.Path, true) }))
	t.Cleanup(s.Close)
	link := drivertest.NewProxy(t, s.Listener.Addr().String())
	cfg := httpclient.DefaultConfig()
	cfg.URL, cfg.Timeout = "http://"+link.Addr().String(), 200*time.Millisecond
	c, err := httpclient.New(cfg, "")
	if err != nil {
		t.Fatal(err)
	}
	goOn := link.Stall()
	if _, err := c.Do(t.Context(), httpclient.Call{Method: "PUT", Path: "/stalled", Acts: true}); !errors.Is(err, drivers.ErrMayAct) || errors.Is(err, drivers.ErrNothingDone) {
		t.Errorf("a command without an answer ends with %v", err)
	}
	if _, err := c.Do(t.Context(), httpclient.Call{Path: "/look"}); err == nil || errors.Is(err, drivers.ErrMayAct) {
		t.Errorf("a question without an answer ends with %v", err)
	}
	goOn()
	deadline := time.Now().Add(30 * time.Second)
	for _, err = c.Do(t.Context(), httpclient.Call{Method: "PUT", Path: "/next", Acts: true}); err != nil && time.Now().Before(deadline); {
		_, err = c.Do(t.Context(), httpclient.Call{Method: "PUT", Path: "/next", Acts: true})
	}
	if _, late := did.Load("/stalled"); late || err != nil {
		t.Errorf("the stalled command arrived: %t; the next ends with %v", late, err)
	}
}
