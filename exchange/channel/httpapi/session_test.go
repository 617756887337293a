package httpapi_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/store/memory"
)

// The session of a browser is valid only for the pages of the exchange, not for pages of other
// hosts or of another port of the same host.
func TestForeignPageCannotUseSession(t *testing.T) {
	x, err := exchange.Open(t.Context(), exchange.DefaultConfig(), memory.New(), time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	k, err := keys.Open(t.TempDir(), "home")
	if err != nil {
		t.Fatal(err)
	}
	key, err := k.Issue("ana", exchange.Requester)
	if err != nil {
		t.Fatal(err)
	}
	door := httpapi.New(x, k, httpapi.Config{SessionKey: func(r *http.Request) string {
		if _, err := r.Cookie("in"); err != nil {
			return ""
		}
		return key
	}}, slog.New(slog.DiscardHandler))
	const own, other = "http://127.0.0.1:8420", "http://127.0.0.1:3000"
	for _, c := range []struct {
		method string
		heads  []string
		want   int
	}{
		{"GET", nil, 200},
		{"GET", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"GET", []string{"Sec-Fetch-Site", "none"}, 200},
		{"GET", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"GET", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"POST", nil, 403},
		{"POST", []string{"Origin", own}, 201},
		{"POST", []string{"Origin", own, "Sec-Fetch-Site", "same-origin"}, 201},
		{"POST", []string{"Origin", other}, 403},
		{"POST", []string{"Origin", "null"}, 403},
		{"POST", []string{"Sec-Fetch-Site", "none"}, 403},
		{"POST", []string{"Origin", other, "Sec-Fetch-Site", "same-site"}, 403},
		{"POST", []string{"Authorization", "Bearer " + key, "Origin", other, "Sec-Fetch-Site", "cross-site"}, 201},
		{"POST", []string{"Authorization", "Bearer wrong", "Origin", own}, 401},
	} {
		r := httptest.NewRequest(c.method, own+"/api/v1/exchanges/home/requests", strings.NewReader(map[string]string{"POST": `{"intent":"look"}`}[c.method]))
		r.AddCookie(&http.Cookie{Name: "in", Value: "x"})
		for i := 0; i < len(c.heads); i += 2 {
			r.Header.Set(c.heads[i], c.heads[i+1])
		}
		w := httptest.NewRecorder()
		door.Handler().ServeHTTP(w, r)
		if w.Code != c.want {
			text, _ := io.ReadAll(w.Body)
			t.Errorf("%s %q: %d %s, want %d", c.method, c.heads, w.Code, text, c.want)
		}
	}
	list := door.DeniedRequests()
	if len(list) > 8 || total(list) != 8 || list[0].Code != 401 || list[len(list)-1].Code != 403 || strings.Contains(list[0].Error, "wrong") {
		t.Errorf("refused: %+v", list)
	}
}

func total(list []httpapi.DeniedRequest) (n int) {
	for _, r := range list {
		n += r.Count
	}
	return n
}

// Rejected requests with the same caller and reason are one entry with a count. So one caller
// does not displace the entries of others.
func TestEqualDenialsAreOneEntry(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	agent := h.register("agent", "")
	h.do("POST", root+"/keys", agent, `{"actor":"x"}`)
	for n := range 300 {
		h.do("GET", fmt.Sprintf("%s/requests/%d", root, n), "mess_home_wrong", "")
	}
	h.do("POST", root+"/stop", "", "")
	list := h.server.DeniedRequests()
	if len(list) != 3 {
		t.Fatalf("%d refusals: %+v", len(list), list)
	}
	if r := list[0]; r.Code != 401 || r.Count != 1 || r.Path != root+"/stop" || r.Various {
		t.Errorf("the newest: %+v", r)
	}
	if r := list[1]; r.Count != 300 || !r.Various || r.Path != root+"/requests/299" || r.At.Before(r.First) {
		t.Errorf("those that are alike: %+v", r)
	}
	if r := list[2]; r.Code != 403 || r.Actor != "agent" || r.Count != 1 {
		t.Errorf("the oldest: %+v", r)
	}
}

// The log of rejected requests has a size limit for any number of callers.
func TestDeniedLogIsBounded(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	for n := range 300 {
		r := httptest.NewRequest("GET", "http://127.0.0.1:8420"+root+"/requests", nil)
		r.RemoteAddr = fmt.Sprintf("10.0.%d.%d:1", n/200, n%200)
		h.server.Handler().ServeHTTP(httptest.NewRecorder(), r)
	}
	if list := h.server.DeniedRequests(); len(list) != 100 || list[0].From != "10.0.1.99" || list[99].From != "10.0.1.0" {
		t.Errorf("%d, from %s to %s", len(list), list[0].From, list[len(list)-1].From)
	}
}
