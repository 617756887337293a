package client_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
)

// Only an exchange that does not answer may not run. One that answers gives its own reason.
func TestHintOfUnavailableExchange(t *testing.T) {
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"error":"the disk is full; make room, and try again","why":"unavailable"}`))
	}))
	defer busy.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	file := filepath.Join(t.TempDir(), "operator.key")
	if err := os.WriteFile(file, []byte("mess_home_secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, url string
		text      string
		hint      bool
	}{
		{"an exchange that answers", busy.URL, "the disk is full; make room, and try again", false},
		{"no exchange", gone.URL, "cannot be reached", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := client.Client{URL: c.url, Exchange: "home", KeyFile: file}
			err := k.Call(func(x *httpclient.Client) error {
				_, err := x.List(t.Context(), httpclient.Filter{})
				return err
			})
			if !errors.Is(err, mess.Unavailable) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v; want an unavailable exchange with %q", err, c.text)
			}
			if h, hint := errors.AsType[*output.HintError](err); hint != c.hint {
				t.Errorf("the hint is %v; want one: %t", h, c.hint)
			}
		})
	}
}
