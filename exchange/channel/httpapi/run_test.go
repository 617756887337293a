package httpapi_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// pipeListener is a listener with connections in this process, so that the test can use fake time.
type pipeListener struct {
	plugs  chan net.Conn
	closed chan struct{}
}

func (c *pipeListener) Accept() (net.Conn, error) {
	select {
	case p := <-c.plugs:
		return p, nil
	case <-c.closed:
		return nil, net.ErrClosed
	}
}

func (c *pipeListener) Close() error   { close(c.closed); return nil }
func (c *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func (c *pipeListener) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case c.plugs <- there:
		return here, nil
	case <-c.closed:
		return nil, net.ErrClosed
	}
}

// runningServer is a fixture in a bubble of fake time, with a server that runs as in the program.
type runningServer struct {
	*harness
	cable  *pipeListener
	cancel func()
	done   chan error // the result of Run
}

func withRunningServer(t *testing.T, test func(*testing.T, *runningServer)) {
	t.Helper()
	withRunningServerConfig(t, httpapi.Config{}, test)
}

func withRunningServerConfig(t *testing.T, cfg httpapi.Config, test func(*testing.T, *runningServer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, cfg)
		c := &pipeListener{make(chan net.Conn), make(chan struct{})}
		line := &http.Transport{DialContext: c.dial}
		h.url, h.line = "http://127.0.0.1", line
		ctx, cancel := context.WithCancel(t.Context())
		r := &runningServer{h, c, cancel, make(chan error, 1)}
		go func() {
			defer close(r.done)
			r.done <- h.server.Run(ctx, c)
		}()
		test(t, r)
		cancel()
		for range r.done { // the test may have received it already
		}
		line.CloseIdleConnections()
	})
}

// A program that ends does not wait for streams and polls.
func TestRunEndsStreams(t *testing.T) {
	withRunningServer(t, func(t *testing.T, h *runningServer) {
		s := h.stream(root+"/events?after=now", h.op)
		if _, name, _ := nextEvent(t, s); name != "reset" {
			t.Fatalf("got %s", name)
		}
		polled := make(chan reply, 1)
		go func() {
			defer close(polled) // also if it fails
			polled <- h.do("GET", root+"/events?wait=50s", h.op, "")
		}()
		synctest.Wait() // the poll waits
		began := time.Now()
		h.cancel()
		if r := <-polled; r.code != 200 || !strings.HasPrefix(r.body, `{"events":[],`) {
			t.Errorf("the poll: %d %s", r.code, r.body)
		}
		if data, err := io.ReadAll(s); len(data) > 0 || err != nil {
			t.Errorf("the stream: %q, %v", data, err)
		}
		if err := <-h.done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// begin sends a request with only the first part of its body, and waits until the server handles
// it.
func (h *runningServer) begin() net.Conn {
	h.Helper()
	conn, err := h.cable.dial(h.Context(), "", "")
	if err != nil {
		h.Fatal(err)
	}
	text := "POST " + root + "/requests HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + h.op + "\r\nContent-Length: 17\r\n\r\n" + `{"intent":`
	if _, err := io.WriteString(conn, text); err != nil {
		h.Fatal(err)
	}
	synctest.Wait()
	return conn
}

// The server completes a running request before the program ends.
func TestRunFinishesRequests(t *testing.T) {
	withRunningServer(t, func(t *testing.T, h *runningServer) {
		conn := h.begin()
		defer conn.Close()
		h.cancel()
		time.Sleep(3 * time.Second) // fake time
		if _, err := io.WriteString(conn, `"look"}`); err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(data), "HTTP/1.1 201 ") || !strings.Contains(string(data), `"status":"pending"`) {
			t.Errorf("%s, %v", data, err)
		}
		if err := <-h.done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// But the program ends, even if a client does not finish.
func TestRunDoesNotWaitForUnfinishedRequest(t *testing.T) {
	withRunningServer(t, func(t *testing.T, h *runningServer) {
		conn := h.begin()
		defer conn.Close()
		began := time.Now()
		h.cancel()
		if err := <-h.done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// While the program runs, a client that is slow loses its place in time.
func TestSlowReaderTimesOut(t *testing.T) {
	withRunningServer(t, func(t *testing.T, h *runningServer) {
		conn := h.begin()
		defer conn.Close()
		began := time.Now()
		_, err := io.ReadAll(conn)
		if took := time.Since(began); took > 3*time.Minute || err != nil {
			t.Errorf("it took %v, %v", took, err)
		}
	})
}

func TestRunFailsWithoutPort(t *testing.T) {
	h := newHarness(t, httpapi.Config{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := h.server.Run(t.Context(), l); err == nil {
		t.Error("Run is content without a port")
	}
}
