package httpclient_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/mess"
)

// After the exchange rejects the key, the client rereads it and resends the request once.
func TestReplacedKeyIsReread(t *testing.T) {
	var good string
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.Header.Get("Authorization") != "Bearer "+good {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"no","why":"unauthorised"}`))
			return
		}
		_, _ = w.Write([]byte(`{"executors":[]}`))
	}))
	t.Cleanup(s.Close)
	var kept httpclient.Secret
	var lost error
	x, err := httpclient.New(httpclient.Config{URL: s.URL, Exchange: "home", Key: "first", Reread: func() (httpclient.Secret, error) { return kept, lost }}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, good string
		kept       httpclient.Secret
		lost       error
		asked      int
		fine       bool
	}{
		{"the key is good", "first", "first", nil, 1, true},
		{"it was rotated, and the new one is there", "second", "second", nil, 2, true},
		{"which is then used", "second", "second", nil, 1, true},
		{"it was revoked", "none", "second", nil, 1, false},
		{"the file is gone", "none", "", fs.ErrNotExist, 1, false},
		{"another wrong one is there", "none", "third", nil, 2, false},
		{"the right one comes", "fourth", "fourth", nil, 2, true},
	} {
		good, kept, lost, asked = c.good, c.kept, c.lost, 0
		_, err := x.Executors(t.Context())
		if (err == nil) != c.fine || err != nil && !errors.Is(err, mess.Unauthorized) || asked != c.asked {
			t.Errorf("%s: asked %d times, want %d: %v", c.name, asked, c.asked, err)
		}
	}
}
