package httpclient_test

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/mess"
)

// A client accepts a pinned server by its key, with any name and any issuer.
func TestPinIdentifiesServer(t *testing.T) {
	reached := 0
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached++
		_, _ = w.Write([]byte(`{"status":"ok","exchange_id":"home"}`))
	}))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	s.StartTLS()
	t.Cleanup(s.Close)
	right := httpclient.Fingerprint(s.Certificate())
	wrong := "sha256:" + strings.Repeat("00", 32)
	for name, c := range map[string]struct{ pin, want string }{
		"the right pin":             {right, ""},
		"the right pin in capitals": {strings.ToUpper(right), ""},
		"a wrong pin":               {wrong, "does not match the pin (it is " + right},
		"no pin":                    {"", "no authority known here signed its certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			before := reached
			x, err := httpclient.New(httpclient.Config{URL: s.URL, Pin: c.pin, Key: "secret"}, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			_, err = x.Health(t.Context())
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, mess.Unavailable) || !errors.Is(err, httpclient.ErrUntrusted) || !strings.Contains(err.Error(), c.want) || reached != before {
				t.Errorf("%v; the server was reached %d times", err, reached-before)
			}
		})
	}
	for _, pin := range []string{"x", "sha256:", "sha256:" + strings.Repeat("0", 63), "sha1:" + strings.Repeat("0", 64), strings.Repeat("0", 64), "sha256:" + strings.Repeat("g", 64)} {
		if err := httpclient.CheckPin(pin); err == nil {
			t.Errorf("%q is taken", pin)
		}
	}
	if _, err := httpclient.New(httpclient.Config{URL: "http://127.0.0.1", Pin: right}, nil); err == nil || !strings.Contains(err.Error(), "https") {
		t.Errorf("a pin in plain text: %v", err)
	}
}

// The error for a server without TLS is not the one for an untrusted server.
func TestPinOfServerWithoutTLS(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	x, err := httpclient.New(httpclient.Config{URL: strings.Replace(s.URL, "http:", "https:", 1)}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Health(t.Context()); !errors.Is(err, mess.Unavailable) || errors.Is(err, httpclient.ErrUntrusted) || !strings.Contains(err.Error(), "write http:// in its address") {
		t.Errorf("got %v", err)
	}
}

// A client with a pin rejects old versions of TLS.
func TestPinNeedsTLS13(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS = &tls.Config{MaxVersion: tls.VersionTLS12}
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	s.StartTLS()
	t.Cleanup(s.Close)
	x, err := httpclient.New(httpclient.Config{URL: s.URL, Pin: httpclient.Fingerprint(s.Certificate())}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("got %v", err)
	}
}
