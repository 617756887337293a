package httpapi_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"testing"

	"github.com/messkit/messkit/exchange/httpapi"
	"github.com/messkit/messkit/exchange/keys"
)

// The door speaks TLS 1.3 and HTTP/1.1, and nothing older or newer.
func TestTLS(t *testing.T) {
	cert, err := keys.Certificate(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := made(t, httpapi.Config{TLS: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}})
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.door.Run(ctx, l) }()
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
}
