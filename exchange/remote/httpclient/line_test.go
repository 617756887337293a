package httpclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/remote/httpclient"
)

// pipeNetwork is a network without sockets, for a bubble of fake time. The test can break it.
type pipeNetwork struct {
	conns chan net.Conn
	done  chan struct{}

	mu     sync.Mutex
	broken bool
	dials  []time.Time
}

var errBroken = errors.New("connection refused")

func (l *pipeNetwork) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeNetwork) Addr() net.Addr { return &net.UnixAddr{Name: "line"} }
func (l *pipeNetwork) Close() error   { return nil }

func (l *pipeNetwork) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	l.mu.Lock()
	l.dials = append(l.dials, time.Now())
	torn := l.broken
	l.mu.Unlock()
	if torn {
		return nil, errBroken
	}
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeNetwork) breakConnections(torn bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = torn
}

func (l *pipeNetwork) tries() []time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dials
}

// clientOver runs a scenario with a client and a server with the handler h, in fake time.
func clientOver(t *testing.T, h http.HandlerFunc, story func(t *testing.T, c *httpclient.Client, l *pipeNetwork)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &pipeNetwork{conns: make(chan net.Conn), done: make(chan struct{})}
		s := &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := s.Serve(l); !errors.Is(err, net.ErrClosed) && !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		})
		c, err := httpclient.New(httpclient.Config{URL: "http://127.0.0.1:8420", Exchange: "home", Key: "mess_home_secret"}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		httpclient.DialBy(c, l.dial)
		story(t, c, l)
		httpclient.CloseIdle(c)
		close(l.done)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		time.Sleep(time.Minute) // for handlers that sleep
	})
}

// write writes to a stream and flushes it.
func write(w http.ResponseWriter, format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	_ = http.NewResponseController(w).Flush() // the client may have left
}

// message returns an event for an executor.
func message(id, ref string) string {
	return fmt.Sprintf("id: %s\nevent: message\ndata: {\"re\":%q,\"MESS\":[{\"cancel\":{}}]}\n\n", id, ref)
}

// The client does not reuse a connection that the server may be closing: after 4 idle seconds it
// opens a new one.
func TestIdleConnectionIsNotReused(t *testing.T) {
	health := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"status":"ok"}`) }
	clientOver(t, health, func(t *testing.T, c *httpclient.Client, l *pipeNetwork) {
		for _, one := range []struct {
			idle  time.Duration
			dials int // until then
		}{{0, 1}, {3 * time.Second, 1}, {4500 * time.Millisecond, 2}, {3 * time.Second, 2}, {time.Hour, 3}} {
			time.Sleep(one.idle)
			if _, err := c.Health(context.Background()); err != nil {
				t.Fatal(err)
			}
			if n := len(l.tries()); n != one.dials {
				t.Errorf("after %v: %d connections, want %d", one.idle, n, one.dials)
			}
		}
	})
}

// The reference servers close idle connections after 5 s. A client that sends a request at that
// moment would not know whether the server has received it.
func TestIdleConnectionEndsBeforeServer(t *testing.T) {
	c, err := httpclient.New(httpclient.Config{URL: "http://127.0.0.1:1"}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if d := httpclient.IdleTime(c); d <= 0 || d >= 5*time.Second {
		t.Errorf("%v", d)
	}
}
