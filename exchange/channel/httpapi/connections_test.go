package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/internal/resources"
)

// narrow are limits that a test can reach.
var narrow = httpapi.Rate{Requests: 1000, Burst: 1000, Connections: 4, AllConnections: 8, Waiting: 4, AllWaiting: 6}

// clientConn is a client at an address elsewhere with one connection.
type clientConn struct {
	net.Conn
	in *bufio.Reader
}

// connect connects from an address, or fails the test.
func (h *runningServer) connect(addr string) clientConn {
	h.Helper()
	conn, kept := h.connectFrom(addr)
	if !kept {
		h.Fatalf("%s: no connection", addr)
	}
	_ = conn.SetReadDeadline(time.Time{}) // a pipe has deadlines
	h.Cleanup(func() { _ = conn.Close() })
	return clientConn{conn, bufio.NewReader(conn)}
}

// send sends a request without a body.
func (v clientConn) send(t *testing.T, path, key string) {
	t.Helper()
	if _, err := fmt.Fprintf(v, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n", path, key); err != nil {
		t.Fatal(err)
	}
}

// readHead reads the head of an answer, and its body if that ends.
func (v clientConn) readHead(t *testing.T) (code int, head http.Header) {
	t.Helper()
	res, err := http.ReadResponse(v.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.ContentLength >= 0 {
		_, _ = io.Copy(io.Discard, res.Body)
	}
	return res.StatusCode, res.Header
}

func (v clientConn) request(t *testing.T, path, key string) int {
	t.Helper()
	v.send(t, path, key)
	code, _ := v.readHead(t)
	return code
}

func use(t *testing.T, h *runningServer, what string) resources.Use {
	t.Helper()
	for _, u := range h.server.Connections() {
		if u.What == what {
			return u
		}
	}
	t.Fatalf("%q is not told", what)
	return resources.Use{}
}

// Polls and streams take no place of a request, and requests take none of theirs.
func TestWaitingConnectionsHaveOwnLimit(t *testing.T) {
	withRunningServerConfig(t, httpapi.Config{Rate: narrow}, func(t *testing.T, h *runningServer) {
		key, err := h.keys.Issue("agent", exchange.Requester)
		if err != nil {
			t.Fatal(err)
		}
		const stream, poll = root + "/events?after=now", root + "/events?after=now&wait=60s"
		for i, path := range []string{stream, poll, stream, poll} {
			v := h.connect("192.0.2.1:1")
			v.send(t, path, key)
			if path == stream {
				if code, _ := v.readHead(t); code != 200 {
					t.Fatalf("%d: a stream got %d", i, code)
				}
			}
			synctest.Wait()
		}
		// Four wait, and as many connections of that address are still free.
		var open []clientConn
		for range 4 {
			open = append(open, h.connect("192.0.2.1:1"))
		}
		if _, kept := h.connectFrom("192.0.2.1:1"); kept {
			t.Error("a fifth connection that does not wait is kept")
		}
		for _, v := range open {
			if code := v.request(t, root+"/requests", key); code != 200 {
				t.Errorf("a request got %d while others wait", code)
			}
		}
		// The server rejects a fifth stream with a reason, and keeps the connection open.
		open[0].send(t, stream, key)
		if code, head := open[0].readHead(t); code != 503 || head.Get("Retry-After") == "" {
			t.Errorf("one too many waits: %d %v", code, head)
		}
		if code := open[0].request(t, root+"/requests", key); code != 200 {
			t.Errorf("then a request got %d", code)
		}
		// The limit of all addresses binds as well.
		for i, want := range []int{200, 200, 503} {
			v := h.connect("192.0.2.2:1")
			v.send(t, stream, key)
			if code, _ := v.readHead(t); code != want {
				t.Errorf("%d of another address: %d, want %d", i, code, want)
			}
		}
		if u := use(t, h, "connections that wait for events"); u.Now != 6 || u.Limit != 6 || u.Refused != 1 || u.Last.IsZero() || u.Setting != "exchange: rate: all_waiting" {
			t.Errorf("%+v", u)
		}
		if u := use(t, h, "connections that wait for events of one address"); u.Now != 4 || u.Limit != 4 || u.Refused != 1 {
			t.Errorf("%+v", u)
		}
	})
}

// A connection stays in the pool of those that wait until it asks for something
// else. Its place is free when it closes.
func TestConnectionMovesBetweenPools(t *testing.T) {
	withRunningServerConfig(t, httpapi.Config{Rate: narrow}, func(t *testing.T, h *runningServer) {
		key, err := h.keys.Issue("agent", exchange.Requester)
		if err != nil {
			t.Fatal(err)
		}
		counts := func(busy, wait int) {
			t.Helper()
			synctest.Wait()
			if b, w := use(t, h, "connections").Now, use(t, h, "connections that wait for events").Now; b != busy || w != wait {
				t.Errorf("%d and %d, want %d and %d", b, w, busy, wait)
			}
		}
		v := h.connect("192.0.2.1:1")
		counts(1, 0)
		for range 2 {
			if code := v.request(t, root+"/events?after=now&wait=1s", key); code != 200 {
				t.Fatal(code)
			}
			counts(0, 1) // between two polls as well
		}
		if code := v.request(t, root+"/requests", key); code != 200 {
			t.Fatal(code)
		}
		counts(1, 0)
		if code := v.request(t, root+"/events?after=now&wait=1s", "wrong"); code != 401 {
			t.Fatal(code)
		}
		counts(1, 0) // a client without a key does not wait
		if code := v.request(t, root+"/events?after=now&wait=1s", key); code != 200 {
			t.Fatal(code)
		}
		// At the limit of requests, a waiting client gets an error. A stop passes.
		for i := range 8 {
			h.connect(fmt.Sprintf("198.51.100.%d:1", i))
		}
		counts(8, 1)
		if code := v.request(t, root+"/requests", key); code != 503 {
			t.Errorf("one request too many: %d", code)
		}
		if code := v.request(t, root+"/stop", key); code != 405 { // GET, which it has not
			t.Errorf("a stop: %d", code)
		}
		counts(8, 1)
		v.send(t, root+"/events?after=now", key)
		if code, _ := v.readHead(t); code != 200 {
			t.Error(code)
		}
		counts(8, 1)
		_ = v.Close()
		counts(8, 0)
	})
}

// Slow clients use up the places of their own address alone. Requests of other
// addresses and event streams go on.
func TestSlowClientsAreLimitedPerAddress(t *testing.T) {
	withRunningServerConfig(t, httpapi.Config{Rate: narrow}, func(t *testing.T, h *runningServer) {
		key, err := h.keys.Issue("agent", exchange.Requester)
		if err != nil {
			t.Fatal(err)
		}
		waits := h.connect("192.0.2.1:1")
		waits.send(t, root+"/events?after=now", key)
		if code, _ := waits.readHead(t); code != 200 {
			t.Fatal(code)
		}
		refused := 0
		for range 100 { // ten seconds of an attack
			conn, kept := h.connectFrom("192.0.2.66:1")
			t.Cleanup(func() { _ = conn.Close() })
			if !kept {
				refused++
			} else if _, err := io.WriteString(conn, "GET /health HTTP/1.1\r\nX: "); err != nil {
				t.Fatal(err)
			}
			if code := h.connect("192.0.2.2:1").requestAndClose(t, root+"/requests", key); code != 200 {
				t.Fatalf("another address got %d", code)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if refused < 90 {
			t.Errorf("%d of 100 slow clients were turned away, want 90 or more", refused)
		}
		time.Sleep(time.Minute) // the server has closed the slow ones
		if u := use(t, h, "connections"); u.Now != 0 {
			t.Errorf("%d connections are left", u.Now)
		}
	})
}

// requestAndClose asks, and hangs up.
func (v clientConn) requestAndClose(t *testing.T, path, key string) int {
	defer v.Close()
	return v.request(t, path, key)
}

func TestLimitsComeFromMemoryAndFiles(t *testing.T) {
	for name, c := range map[string]struct {
		of         resources.Limits
		rate, want httpapi.Rate
	}{
		"a board with 512 MB": {
			of:   resources.Limits{Memory: 512 << 20, Files: 1 << 19},
			want: httpapi.Rate{Connections: 64, AllConnections: 1024, Waiting: 512, AllWaiting: 2048},
		},
		"few files": {
			of:   resources.Limits{Memory: 8 << 30, Files: 1024},
			want: httpapi.Rate{Connections: 16, AllConnections: 128, Waiting: 128, AllWaiting: 512},
		},
		"a server": {
			of:   resources.Limits{Memory: 64 << 30, Files: 1 << 20},
			want: httpapi.Rate{Connections: 1024, AllConnections: 16384, Waiting: 32768, AllWaiting: 131072},
		},
		"what is set stays": {
			of:   resources.Limits{Memory: 512 << 20, Files: 1 << 19},
			rate: httpapi.Rate{Connections: 9, AllConnections: 8, Waiting: 7, AllWaiting: 6},
			want: httpapi.Rate{Connections: 9, AllConnections: 8, Waiting: 7, AllWaiting: 6},
		},
	} {
		if got := c.rate.Filled(c.of); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
