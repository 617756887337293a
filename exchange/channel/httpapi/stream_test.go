package httpapi_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// key is a key for an executor that asks, too.
func (r *runningServer) key(id string) string {
	r.Helper()
	res := r.do("POST", root+"/keys", r.op, fmt.Sprintf(`{"actor":%q,"roles":["requester","executor"]}`, id))
	if res.code != http.StatusCreated {
		r.Fatalf("key for %s: %d %s", id, res.code, res.body)
	}
	return res.field("api_key")
}

// openStream asks for events on a connection of its own, and returns it with the
// answer's head.
func (r *runningServer) openStream(key, proto, more string) (net.Conn, *bufio.Reader, *http.Response) {
	r.Helper()
	conn, err := r.cable.dial(r.Context(), "", "")
	if err != nil {
		r.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET %s/events?as=executor %s\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n%s\r\n", root, proto, key, more); err != nil {
		r.Fatal(err)
	}
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		r.Fatal(err)
	}
	return conn, in, res
}

// A stream on a hijacked connection has the headers of every answer. It ends with a last chunk when
// the server shuts down.
func TestStreamHasHeadersAndLastChunk(t *testing.T) {
	withRunningServerConfig(t, httpapi.Config{Origins: []string{"https://console.example"}}, func(t *testing.T, r *runningServer) {
		key := r.key("phone")
		conn, _, res := r.openStream(key, "HTTP/1.1", "Origin: https://console.example\r\n")
		defer conn.Close()
		for name, want := range map[string]string{
			"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Accel-Buffering": "no",
			"Access-Control-Allow-Origin": "https://console.example",
		} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if len(res.Header.Get("X-Request-Id")) != 16 || res.Header.Get("Date") == "" || res.StatusCode != 200 || res.TransferEncoding[0] != "chunked" {
			t.Errorf("%d %v %v", res.StatusCode, res.Header, res.TransferEncoding)
		}
		whole := make(chan error, 1)
		var text strings.Builder
		go func() { _, err := io.Copy(&text, res.Body); whole <- err }()
		time.Sleep(40 * time.Second)
		synctest.Wait()
		r.cancel()
		if err := <-whole; err != nil || text.String() != ": hello\n\n: beat\n\n: beat\n\n" {
			t.Errorf("%q, %v", text.String(), err)
		}
		if err := <-r.done; err != nil {
			t.Error(err)
		}
	})
}

// The server notices a disconnect, a client that sends without end, and the end of a key at
// once, and not at the next heartbeat.
func TestStreamEndsOnDisconnect(t *testing.T) {
	for name, end := range map[string]func(r *runningServer, conn net.Conn){
		"it hangs up": func(_ *runningServer, conn net.Conn) { _ = conn.Close() },
		"it talks":    func(_ *runningServer, conn net.Conn) { _, _ = conn.Write(make([]byte, 64<<10)) },
		"its key":     func(r *runningServer, _ net.Conn) { r.do("DELETE", root+"/keys/phone", r.op, "") },
	} {
		t.Run(name, func(t *testing.T) {
			withRunningServer(t, func(t *testing.T, r *runningServer) {
				key := r.key("phone")
				conn, _, res := r.openStream(key, "HTTP/1.1", "")
				go func() { _, _ = io.Copy(io.Discard, res.Body) }()
				synctest.Wait()
				began := time.Now()
				end(r, conn)
				r.server.NoStreams()
				if took := time.Since(began); took > 2*time.Second { // fake time: a beat is 15 s away
					t.Errorf("noticed after %v", took)
				}
				_ = conn.Close()
			})
		})
	}
}

// The server drops a client that does not read, and the exchange does not wait for it.
func TestUnreadStreamEnds(t *testing.T) {
	withRunningServer(t, func(t *testing.T, r *runningServer) {
		key := r.key("phone")
		conn, _, _ := r.openStream(key, "HTTP/1.1", "")
		defer conn.Close()
		began := time.Now()
		r.server.NoStreams()
		if took := time.Since(began); took > time.Minute {
			t.Errorf("dropped after %v", took)
		}
	})
}

// HTTP/1.0 has no chunks: such a stream goes the way of other answers.
func TestStreamOverHTTP10(t *testing.T) {
	withRunningServer(t, func(t *testing.T, r *runningServer) {
		key := r.key("phone")
		conn, _, res := r.openStream(key, "HTTP/1.0", "")
		defer conn.Close()
		r.do("POST", root+"/mess", key, `[{"config":{"executor":{"id":"phone","capabilities":["x"]}}}]`)
		ref := make(chan string, 1)
		go func() { ref <- r.create(r.key("agent"), `{"intent":"look","requires":["x"]}`) }()
		_, name, data := nextEvent(t, bufio.NewReader(res.Body))
		if want := <-ref; name != "message" || !strings.Contains(data, want) || len(res.TransferEncoding) != 0 {
			t.Errorf("%s %s", name, data)
		}
	})
}

// A stream without events takes one goroutine of the server, and ends with its client.
func TestIdleStreamHasOneGoroutine(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	const streams = 50
	before := runtime.NumGoroutine()
	var wires []*rawConn
	for range streams {
		w, err := dial(strings.TrimPrefix(h.url, "http://"), fewLines)
		if err != nil {
			t.Fatal(err)
		}
		wires = append(wires, w)
		if err := errors.Join(w.begin("GET", root+"/events", h.op, "", nil), w.readUntil(": hello\n")); err != nil {
			t.Fatal(err)
		}
	}
	waitUntil(t, func() bool { return runtime.NumGoroutine() <= before+streams+5 })
	if n := runtime.NumGoroutine(); n < before+streams {
		t.Errorf("%d goroutines for %d streams: this test counts wrongly", n-before, streams)
	}
	for _, w := range wires {
		_ = w.conn.Close()
	}
	h.server.NoStreams()
}

// A client that waits needs little memory for a stack, because its goroutine does nothing else.
func TestIdleClientHasSmallStack(t *testing.T) {
	for name, path := range map[string]string{"stream": root + "/events", "poll": longPoll} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, httpapi.Config{})
			addr := h.runOnPort()
			const clients, most = 300, 5 << 10 // the stack of a request has 8 KB
			stacks := func() uint64 {
				runtime.GC() // shrinks stacks
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return m.StackInuse
			}
			before, goroutines := stacks(), runtime.NumGoroutine()
			for range clients {
				w, err := dial(addr, fewLines)
				if err != nil {
					t.Fatal(err)
				}
				defer w.conn.Close()
				if err := w.begin("GET", path, h.op, "", nil); err != nil {
					t.Fatal(err)
				}
			}
			waitUntil(t, func() bool {
				n := runtime.NumGoroutine() - goroutines
				return n >= clients && n <= clients+5
			})
			if each := (stacks() - before) / clients; each > most {
				t.Errorf("the stacks have %d bytes for each client, want at most %d", each, most)
			}
		})
	}
}

// waitUntil waits for a condition.
func waitUntil(t *testing.T, is func() bool) {
	t.Helper()
	for range 1000 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("this does not come: %d goroutines", runtime.NumGoroutine())
}
