package httpapi_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// from is a connection that comes from an address.
type from struct {
	net.Conn
	addr string
}

func (f from) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(f.addr)) }

// connectFrom connects from an address, and reports whether the server keeps the connection.
func (h *runningServer) connectFrom(addr string) (conn net.Conn, kept bool) {
	h.Helper()
	here, there := net.Pipe()
	h.cable.plugs <- from{there, addr}
	synctest.Wait()
	_ = here.SetReadDeadline(time.Now().Add(time.Millisecond)) // fails if the server has closed its end
	_, err := here.Read(make([]byte, 1))
	return here, !errors.Is(err, io.EOF)
}

func TestRateOfOneKey(t *testing.T) {
	withRunningServerConfig(t, httpapi.Config{Rate: httpapi.Rate{Requests: 2, Burst: 10, Connections: 64}}, func(t *testing.T, h *runningServer) {
		agent, err := h.keys.Issue("agent", exchange.Requester)
		if err != nil {
			t.Fatal(err)
		}
		other, err := h.keys.Issue("other", exchange.Requester|exchange.Operator)
		if err != nil {
			t.Fatal(err)
		}
		ask := func(key string) reply {
			conn, kept := h.connectFrom("192.0.2.1:4711")
			defer conn.Close()
			if !kept {
				t.Fatal("no connection")
			}
			if err := conn.SetDeadline(time.Time{}); err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Fprintf(conn, "GET %s/requests HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n", root, key); err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			return reply{res.StatusCode, strings.TrimSpace(string(data)), res.Header}
		}
		took := func() (n int) {
			for ask(agent).code == 200 {
				n++
			}
			return n
		}
		if n := took(); n != 10 {
			t.Errorf("%d at once, want 10", n)
		}
		r := ask(agent)
		if wait, err := strconv.Atoi(r.head.Get("Retry-After")); r.code != 429 || err != nil || wait != 1 || r.field("error") == "" {
			t.Errorf("%d %s, %v", r.code, r.body, r.head)
		}
		h.want(ask(other), 200, "") // a key of its own
		time.Sleep(3 * time.Second)
		if n := took(); n < 5 || n > 6 {
			t.Errorf("%d after 3 s, want 6", n)
		}
		for range 20 {
			ask(other)
		}
		h.want(ask(other), 429, "") // the limit applies to an operator on another host
	})
}

// Other clients cannot exhaust the limit of the local operator.
func TestLocalOperatorHasNoRateLimit(t *testing.T) {
	h := startHarness(t, httpapi.Config{Rate: httpapi.Rate{Requests: 0.1, Burst: 1, Connections: 4}})
	for range 20 {
		h.want(h.do("GET", root+"/requests", h.op, ""), 200, "")
	}
	h.want(h.do("GET", root+"/requests", h.op, "", "X-Forwarded-For", "192.0.2.1"), 200, "")
	h.want(h.do("GET", root+"/requests", h.op, "", "X-Forwarded-For", "192.0.2.1"), 429, "") // not here
}

// One address has so many connections, all of them together have a limit too,
// and this machine has none.
func TestConnectionsOfOneAddress(t *testing.T) {
	withRunningServerConfig(t, httpapi.Config{Rate: httpapi.Rate{Requests: 1, Burst: 1, Connections: 4, AllConnections: 64}}, func(t *testing.T, h *runningServer) {
		var mine []net.Conn
		kept := func(addr string, n int) (all int) {
			for range n {
				conn, ok := h.connectFrom(addr)
				t.Cleanup(func() { _ = conn.Close() })
				if ok {
					all++
					mine = append(mine, conn)
				}
			}
			return all
		}
		for _, c := range []struct {
			addr      string
			try, want int
		}{
			{"192.0.2.1:1", 6, 4},
			{"[::ffff:192.0.2.1]:1", 1, 0}, // the same
			{"192.0.2.2:1", 5, 4},
			{"[2001:db8::1]:1", 3, 3},
			{"[2001:db8::2:2]:1", 3, 1}, // the same network
			{"[2001:db8:0:1::1]:1", 5, 4},
			{"127.0.0.1:1", 10, 10},
			{"[::1]:1", 10, 10},
		} {
			if n := kept(c.addr, c.try); n != c.want {
				t.Errorf("%s: %d, want %d", c.addr, n, c.want)
			}
		}
		_ = mine[0].Close()
		synctest.Wait()
		if n := kept("192.0.2.1:1", 2); n != 1 {
			t.Errorf("after one has gone: %d", n)
		}
		n := 0
		for i := range 20 {
			n += kept(fmt.Sprintf("198.51.100.%d:1", i), 4)
		}
		if n != 16*4-16 {
			t.Errorf("all together: %d more", n)
		}
		if n := kept("127.0.0.1:1", 10); n != 10 {
			t.Errorf("this machine then: %d", n)
		}
	})
}

// The server does not wait for a slow client.
func TestSlowBodyTimesOut(t *testing.T) {
	head := "POST " + root + "/requests HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\nAuthorization: Bearer "
	for name, c := range map[string]struct {
		first string // then one byte at a time
		every time.Duration
		max   time.Duration
		want  string
	}{
		"headers":                            {"GET /health HTTP/1.1\r\nX: ", time.Second, 11 * time.Second, ""},
		"a body that stops":                  {head + "KEY\r\n\r\n{", time.Hour, 16 * time.Second, "HTTP/1.1 408 "},
		"a body that trickles":               {head + "KEY\r\n\r\n{", 10 * time.Second, 121 * time.Second, "HTTP/1.1 408 "},
		"a wrong key, and a body that stops": {head + "wrong\r\n\r\n{", time.Hour, 16 * time.Second, "HTTP/1.1 401 "},
		"a registration that stops":          {"POST " + root + "/register HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{", time.Hour, 16 * time.Second, "HTTP/1.1 408 "},
	} {
		t.Run(name, func(t *testing.T) {
			withRunningServer(t, func(t *testing.T, h *runningServer) {
				conn, err := h.cable.dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				began := time.Now()
				ended := make(chan string, 1)
				go func() {
					data, _ := io.ReadAll(conn)
					ended <- string(data)
				}()
				if _, err := io.WriteString(conn, strings.Replace(c.first, "KEY", h.op, 1)); err != nil {
					t.Fatal(err)
				}
				for {
					select {
					case text := <-ended:
						if took := time.Since(began); took > c.max || !strings.HasPrefix(text, c.want) || c.want != "" && !strings.Contains(text, `{"error":"`) {
							t.Errorf("after %v: %q", took, text)
						}
						return
					case <-time.After(c.every):
						_, _ = conn.Write([]byte("x"))
					}
				}
			})
		})
	}
}

// A body with a too large Content-Length gets its error at once, before the server reads a
// byte, and so does a body for a path without one. The server never takes the rest for another
// request.
func TestTooLargeBodyIsNotRead(t *testing.T) {
	for _, c := range []struct {
		path   string
		length int
		code   int
	}{
		{"POST " + root + "/requests", 11 << 20, 413},
		{"PATCH " + root + "/requests/last", 11 << 20, 413},
		{"PUT " + root + "/requests/last/attachments/a.png", 11 << 20, 413},
		{"POST " + root + "/mess", 11 << 20, 413},
		{"POST " + root + "/import", 11 << 20, 413},
		{"POST " + root + "/stop", 11 << 20, 413},
		{"POST " + root + "/register", 11 << 20, 413},
		{"POST " + root + "/register", 70 << 10, 413},
		{"POST " + root + "/nothing", 11 << 20, 404},
		{"GET " + root + "/executors", 11 << 20, 200},
	} {
		for _, expect := range []string{"", "Expect: 100-continue\r\n"} {
			withRunningServerConfig(t, httpapi.Config{Import: func(string, map[string][]byte) error { return nil }}, func(t *testing.T, h *runningServer) {
				conn, err := h.cable.dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				began := time.Now() // fake time
				if _, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n%s\r\n", c.path, h.op, c.length, expect); err != nil {
					t.Fatal(err)
				}
				in := bufio.NewReader(conn)
				res, err := http.ReadResponse(in, nil) // a 100 would be asking for it
				if err != nil || res.StatusCode != c.code || !res.Close || time.Since(began) != 0 {
					t.Errorf("%s, %d bytes %s: %+v, %v after %v", c.path, c.length, expect, res, err, time.Since(began))
					return
				}
				_, _ = io.Copy(io.Discard, res.Body)
				go func() { _, _ = fmt.Fprintf(conn, "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") }()
				if rest, _ := io.ReadAll(in); len(rest) > 0 {
					t.Errorf("%s: the body is taken for a request, and answered: %q", c.path, rest)
				}
			})
		}
	}
}

// The server accepts only a small body from a sender that is not authenticated.
func TestTooLargeRegistrationIsRejected(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	h.want(h.do("POST", root+"/register", "", `{"executor_id":"pi","x":"`+strings.Repeat("x", 70<<10)+`"}`), 413, "")
}

func TestCORS(t *testing.T) {
	closed, some, all := startHarness(t, httpapi.Config{}), startHarness(t, httpapi.Config{Origins: []string{"https://a.example"}}), startHarness(t, httpapi.Config{Origins: []string{"*"}})
	for _, c := range []struct {
		h            *harness
		origin, want string
	}{
		{closed, "https://a.example", ""},
		{some, "https://a.example", "https://a.example"},
		{some, "https://a.example.evil", ""},
		{some, "http://a.example", ""},
		{some, "null", ""},
		{some, "", ""},
		{all, "https://b.example", "*"},
	} {
		for _, method := range []string{"OPTIONS", "GET"} {
			r := c.h.do(method, root+"/requests", c.h.op, "", "Origin", c.origin)
			if got := r.head.Get("Access-Control-Allow-Origin"); got != c.want || (r.head.Get("Access-Control-Allow-Headers") != "") != (c.want != "") || r.code/100 != 2 {
				t.Errorf("%s from %q: %d, %q; want %q", method, c.origin, r.code, got, c.want)
			}
		}
	}
	for origin, fine := range map[string]bool{
		"*": true, "https://a.example": true, "http://127.0.0.1:8080": true, "": false, "a.example": false, "https://a.example/": false, "https://": false, "ftp://a": false, "null": false, "https://u@a": false,
	} {
		if err := httpapi.CheckOrigin(origin); (err == nil) != fine {
			t.Errorf("%q: %v", origin, err)
		}
	}
}

func TestRequestIDs(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	seen := map[string]bool{}
	for range 3 {
		for _, path := range []string{"/health", "/nothing", root + "/requests", root + "/requests/x"} {
			id := h.do("GET", path, h.op, "", "X-Request-Id", "mine").head.Get("X-Request-Id")
			if len(id) != 16 || seen[id] {
				t.Errorf("%s: %q", path, id)
			}
			seen[id] = true
		}
	}
}

func TestRateSettings(t *testing.T) {
	if err := httpapi.DefaultRate().Validate(); err != nil {
		t.Error(err)
	}
	err := httpapi.Rate{Connections: 3, AllConnections: 2, Waiting: 1, AllWaiting: -1}.Validate()
	for _, want := range []string{"requests: 0 is not from", "burst: 0 is too few", "\nconnections: 3 is too few", "all_connections: 2 is too few", "\nwaiting: 1 is too few", "all_waiting: -1 is too few"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
