package httpapi_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/keys"
)

// The server uses TLS 1.3 and HTTP/1.1, and no older or newer version.
func TestTLS(t *testing.T) {
	cert, err := keys.Certificate(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := newHarness(t, httpapi.Config{TLS: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}})
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.server.Run(ctx, l) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	for name, c := range map[string]struct {
		max  uint16
		fine bool
	}{"TLS 1.3": {tls.VersionTLS13, true}, "TLS 1.2": {tls.VersionTLS12, false}} {
		line := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MaxVersion: c.max}, ForceAttemptHTTP2: true}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+l.Addr().String()+"/health", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := line.RoundTrip(req)
		if (err == nil) != c.fine {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if res.ProtoMajor != 1 || res.StatusCode != 200 || res.Body.Close() != nil {
				t.Errorf("%s: %s %s", name, res.Proto, res.Status)
			}
		}
		line.CloseIdleConnections()
	}
	raw := func(name, want string, conn net.Conn, err error, text string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(conn) // the server may close the connection after an invalid request
		if !strings.HasPrefix(string(answer), "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json") || !strings.Contains(string(answer), want) {
			t.Errorf("%s: %q", name, answer)
		}
	}
	secure, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	raw("a NUL in the request line", `{"error":"the request is invalid`, secure, err, "GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n")
	plain, err := net.Dial("tcp", l.Addr().String())
	raw("plain text", "this port speaks HTTPS", plain, err, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
	nonsense, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nonsense.Close()
	_, _ = nonsense.Write([]byte("\x00\x01\x02 nonsense\r\n\r\n"))
	if answer, _ := io.ReadAll(nonsense); strings.Contains(string(answer), "HTTP") {
		t.Errorf("nonsense is answered: %q", answer)
	}
}
