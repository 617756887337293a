package httpapi_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/keys"
)

// poller is a connection of a client that polls.
type poller struct {
	testing.TB
	net.Conn
	in *bufio.Reader
}

func (r *runningServer) newPoller() *poller {
	r.Helper()
	conn, err := r.cable.dial(r.Context(), "", "")
	if err != nil {
		r.Fatal(err)
	}
	return &poller{r, conn, bufio.NewReader(conn)}
}

// request is the text of a request.
func request(path, key, more string) string {
	return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n%s\r\n", path, key, more)
}

func (c *poller) send(text string) {
	c.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.Error(err)
	}
}

// answer reads one response.
func (c *poller) answer() (*http.Response, string) {
	c.Helper()
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		c.Fatal(err)
	}
	return res, string(body)
}

const longPoll = root + "/events?wait=50s"

// A connection stays usable after a poll that has waited, and the response has the headers of one
// that has not waited.
func TestPollKeepsConnection(t *testing.T) {
	withRunningServerConfig(t, httpapi.Config{Origins: []string{"https://console.example"}}, func(t *testing.T, r *runningServer) {
		agent, c := r.key("agent"), r.newPoller()
		defer c.Close()
		const origin = "Origin: https://console.example\r\n"
		c.send(request(root+"/events?wait=0s", r.op, origin))
		at, _ := c.answer()
		for range 3 {
			c.send(request(longPoll, r.op, origin))
			time.Sleep(20 * time.Second) // fake time
			ref := r.create(agent, `{"intent":"look"}`)
			res, body := c.answer()
			if res.StatusCode != 200 || res.Close || !strings.Contains(body, ref) {
				t.Errorf("%d %v %s", res.StatusCode, res.Close, body)
			}
			if got, want := slices.Sorted(maps.Keys(res.Header)), slices.Sorted(maps.Keys(at.Header)); !slices.Equal(got, want) {
				t.Errorf("headers %v, want %v", got, want)
			}
			time.Sleep(time.Minute)
			c.send("G") // a client may send its request in pieces
			time.Sleep(time.Second)
			c.send(request("/health", r.op, "")[1:])
			if res, body := c.answer(); res.StatusCode != 200 || !strings.Contains(body, "1.2.3") {
				t.Errorf("%d %s", res.StatusCode, body)
			}
		}
	})
}

// A poll without events ends with its wait. A client that has the response already gets 304.
func TestPollEndsAfterItsWait(t *testing.T) {
	withRunningServer(t, func(t *testing.T, r *runningServer) {
		c := r.newPoller()
		defer c.Close()
		c.send(request(root+"/events?wait=0s", r.op, ""))
		_, body := c.answer()
		last := reply{body: body}.field("last")
		tag := ""
		for _, want := range []int{200, 304} {
			began := time.Now()
			c.send(request(longPoll+"&after="+last, r.op, "If-None-Match: "+tag+"\r\n"))
			res, body := c.answer()
			if res.StatusCode != want || want == 200 && body != fmt.Sprintf("{\"events\":[],\"last\":%q}\n", last) {
				t.Errorf("%d %q, want %d", res.StatusCode, body, want)
			}
			if took := time.Since(began); took.Round(time.Second) != 50*time.Second {
				t.Errorf("it took %v", took)
			}
			tag = res.Header.Get("ETag")
		}
	})
}

// A request that a client sends before the response to its poll is answered after it.
func TestRequestAfterPollIsAnswered(t *testing.T) {
	for name, pause := range map[string]time.Duration{"at once": 0, "later": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			withRunningServer(t, func(t *testing.T, r *runningServer) {
				c := r.newPoller()
				defer c.Close()
				began := time.Now()
				if pause == 0 {
					c.send(request(longPoll, r.op, "") + request("/health", r.op, ""))
				} else {
					c.send(request(longPoll, r.op, ""))
					time.Sleep(pause) // fake time
					go c.send(request("/health", r.op, ""))
				}
				if res, body := c.answer(); res.StatusCode != 200 || !strings.HasPrefix(body, `{"events":[],`) || time.Since(began) < 50*time.Second {
					t.Errorf("the poll: %d %s after %v", res.StatusCode, body, time.Since(began))
				}
				if res, body := c.answer(); res.StatusCode != 200 || !strings.Contains(body, "1.2.3") {
					t.Errorf("the request: %d %s", res.StatusCode, body)
				}
			})
		})
	}
}

// A poll that waits ends with its client, its key, and a client that does not read. Then the
// server has nothing left of it.
func TestParkedPollEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end    func(r *runningServer, c *poller)
		within time.Duration
		answer string // "": none
	}{
		"disconnect":    {func(_ *runningServer, c *poller) { _ = c.Close() }, time.Second, ""},
		"key":           {func(r *runningServer, _ *poller) { r.do("DELETE", root+"/keys/phone", r.op, "") }, time.Second, `{"events":[],`},
		"does not read": {func(*runningServer, *poller) {}, 85 * time.Second, ""},
		"idle": {func(_ *runningServer, c *poller) {
			c.answer()
		}, 175 * time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			withRunningServer(t, func(t *testing.T, r *runningServer) {
				p := r.newPoller()
				defer p.Close()
				p.send(request(longPoll, r.key("phone"), ""))
				synctest.Wait()
				began := time.Now()
				c.end(r, p)
				if c.answer != "" {
					if res, body := p.answer(); res.StatusCode != 200 || !strings.HasPrefix(body, c.answer) {
						t.Errorf("%d %s", res.StatusCode, body)
					}
					_ = p.Close()
				}
				r.server.NoStreams()
				if took := time.Since(began); took > c.within {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// A client that asks to close the connection, or a server that ends, closes it after the
// response.
func TestPollClosesConnection(t *testing.T) {
	for name, c := range map[string]struct {
		header string
		end    func(r *runningServer)
	}{
		"asked":       {"Connection: close\r\n", func(*runningServer) {}},
		"server ends": {"", func(r *runningServer) { r.cancel() }},
	} {
		t.Run(name, func(t *testing.T) {
			withRunningServer(t, func(t *testing.T, r *runningServer) {
				p := r.newPoller()
				defer p.Close()
				p.send(request(longPoll, r.op, c.header))
				synctest.Wait()
				c.end(r)
				if res, body := p.answer(); res.StatusCode != 200 || !res.Close || !strings.HasPrefix(body, `{"events":[],`) {
					t.Errorf("%d %v %s", res.StatusCode, res.Close, body)
				}
				if _, err := p.in.ReadByte(); err != io.EOF {
					t.Errorf("the connection: %v", err)
				}
			})
		})
	}
}

// The errors that net/http writes itself are JSON also after a poll.
func TestErrorAfterPollIsJSON(t *testing.T) {
	withRunningServer(t, func(t *testing.T, r *runningServer) {
		c := r.newPoller()
		defer c.Close()
		c.send(request(longPoll, r.op, ""))
		c.answer()
		c.send("GET /\x01 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
		if res, body := c.answer(); res.StatusCode != 400 || !strings.HasPrefix(body, `{"error":`) {
			t.Errorf("%d %s", res.StatusCode, body)
		}
	})
}

// A poll that keeps its request, such as one over HTTP/1.0, ends with it.
func TestPollEndsWithRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, httpapi.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		req := httptest.NewRequestWithContext(ctx, "GET", longPoll, http.NoBody)
		req.Header.Set("Authorization", "Bearer "+h.op)
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.server.Handler().ServeHTTP(&responseRecorder{head: http.Header{}}, req)
		}()
		synctest.Wait()
		began := time.Now()
		cancel()
		<-done
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// runOnPort runs the server on a port of this machine, until the test ends.
func (h *harness) runOnPort() (addr string) {
	h.Helper()
	l, err := new(net.ListenConfig).Listen(h.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		h.Fatal(err)
	}
	ctx, cancel := context.WithCancel(h.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.server.Run(ctx, l) }()
	h.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			h.Errorf("Run: %v", err)
		}
	})
	return l.Addr().String()
}

// A client of net/http polls over one connection, also over TLS.
func TestPollsShareOneConnection(t *testing.T) {
	cert, err := keys.Certificate(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for scheme, cfg := range map[string]*tls.Config{"http": nil, "https": {Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, httpapi.Config{TLS: cfg})
			addr := h.runOnPort()
			dialed := 0
			line := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				dialed++
				return new(net.Dialer).DialContext(ctx, network, addr)
			}}
			defer line.CloseIdleConnections()
			h.url, h.line = scheme+"://"+addr, line
			for range 2 {
				if r := h.do("GET", root+"/events?wait=1001ms", h.op, ""); r.code != 200 || !strings.HasPrefix(r.body, `{"events":[],`) {
					t.Errorf("%d %s", r.code, r.body)
				}
			}
			if dialed != 1 {
				t.Errorf("%d connections", dialed)
			}
		})
	}
}

// A client may end its side after the poll. It gets the response.
func TestPollAfterHalfClose(t *testing.T) {
	h := newHarness(t, httpapi.Config{})
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", h.runOnPort())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = io.WriteString(conn, request(longPoll, h.op, ""))
	if err = errors.Join(err, conn.(*net.TCPConn).CloseWrite()); err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(data), "HTTP/1.1 200 OK\r\n") || !strings.Contains(string(data), `{"events":[],`) {
		t.Errorf("%s, %v", data, err)
	}
}
