package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// Errors before any handler are JSON as well.
func TestInvalidRequestGetsJSONError(t *testing.T) {
	h := newHarness(t, httpapi.Config{})
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.url = "http://" + l.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error { return h.server.Run(ctx, l) })
	for what, c := range map[string]struct {
		method, path, headers string
		code                  int
	}{
		"NUL in the path":           {"GET", "/hea\x00lth", "", 400},
		"NUL in the method":         {"G\x00T", "/health", "", 400},
		"a path that cannot be":     {"GET", root + "/requests/%", "", 400},
		"a space in the path":       {"GET", "/a b", "", 400},
		"no path":                   {"GET", "", "", 400},
		"a header without a name":   {"GET", "/health", ": x\r\n", 400},
		"NUL in a header":           {"GET", "/health", "X: a\x00b\r\n", 400},
		"two hosts":                 {"GET", "/health", "Host: other\r\n", 400},
		"much too large headers":    {"GET", "/health", "X: " + strings.Repeat("x", 64<<10) + "\r\n", 431},
		"an encoding that is none":  {"POST", root + "/mess", "Transfer-Encoding: rot13\r\n", 501},
		"two lengths":               {"POST", root + "/mess", "Content-Length: 7\r\n", 400},
		"what somebody may look at": {"GET", "/health", "", 200},
	} {
		r := h.raw(c.method, c.path, c.headers, "")
		if r.head.Get("X-Request-Id") == "" {
			t.Errorf("%s: no request id", what)
		}
		if c.code == 200 {
			if r.code != 200 {
				t.Errorf("%s: %d", what, r.code)
			}
			continue
		}
		h.wantReadableError(fmt.Sprint(what), r, c.code)
	}
	stop()
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// A file looks like an error of net/http: the client gets it unchanged, and the next request on the
// connection gets its answer.
func TestFileLikeAnErrorStaysUnchanged(t *testing.T) {
	text := "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request: nothing of ours"
	file := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(1+len(text)))
		for _, part := range []string{"A", text} {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
		}
	})
	h := newHarness(t, httpapi.Config{Pages: map[string]http.Handler{"/file": file}})
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error { return h.server.Run(ctx, l) })
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for _, one := range []struct{ ask, says string }{
		{"GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n", "A" + text},
		{"GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n", "A" + text},
		{"GET /hea\x00lth HTTP/1.1\r\nHost: localhost\r\n\r\n", `{"error":"the request is invalid`},
	} {
		if _, err := io.WriteString(conn, one.ask); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || !strings.HasPrefix(string(body), one.says) {
			t.Errorf("%q: %q, %v", one.ask, body, err)
		}
		_ = res.Body.Close()
	}
	stop()
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}
