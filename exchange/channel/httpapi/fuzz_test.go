package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// unlimited is a rate limit that a fuzzer does not reach.
var unlimited = httpapi.Rate{Requests: 1e6, Burst: 1e6, Connections: 64}

// FuzzBodies sends any bytes in any form. The response is JSON and never an internal error.
func FuzzBodies(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"status":"claimed","mess":[{"status":{"re":"x"}}]}`, `{"intent":"a","constraints":{"depends_on":["x"]}}`, `[1`, "a: b",
		`{"mess":{"cancel":{}}}`, `{"mess":[{"v":"1.1.0"},{"suggestion":{"type":"defer","re":["last"]}}],"message":"x"}`, `{"mess":"MESS: []"}`,
		`{"executor_id":"a","capabilities":["x",{"y":{"z":1e999}}],"holding":[{"ref":"r","epoch":-1}]}`, `{"status":"cancelled","message":"\u2028"}`,
		`{"MESS":[{"query":{"type":"status","filter":{"re":"last"}}},{"answer":{"value":null}}]}`,
	} {
		f.Add(s, "application/json")
	}
	f.Add(`{"level":40,"within":"30s"}`, "")
	f.Add(`{"actor":"x","roles":["observer"],"within":"1m","overlap":"1h"}`, "")
	f.Add("MESS:\n- cancel: {re: last}\n", "application/yaml")
	f.Add("", "x/y; =")
	h := newHarness(f, httpapi.Config{Rate: unlimited})
	door := h.server.Handler()
	do := func(method, path, key, body, kind string) *httptest.ResponseRecorder {
		req := httptest.NewRequest(method, root+path, strings.NewReader(body))
		req.RemoteAddr = "127.0.0.1:4711"
		req.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {kind}}
		w := httptest.NewRecorder()
		door.ServeHTTP(w, req)
		return w
	}
	var key struct {
		Key string `json:"api_key"`
	}
	if err := json.Unmarshal(do("POST", "/register", h.op, `{"executor_id":"phone","capabilities":["x",{"dim":{"devices":["lamp"],"parameters":{"level":{"min":0,"max":100}}}}]}`, "").Body.Bytes(), &key); err != nil {
		f.Fatal(err)
	}
	if _, err := h.keys.Issue("fuzzed", exchange.Observer); err != nil {
		f.Fatal(err)
	}
	var thread struct {
		Ref string `json:"ref"`
	}
	if err := json.Unmarshal(do("POST", "/requests", key.Key, `{"intent":"look"}`, "").Body.Bytes(), &thread); err != nil || thread.Ref == "" {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body, kind string) {
		for _, to := range [][2]string{
			{"POST", "/requests"},
			{"PATCH", "/requests/" + thread.Ref},
			{"PATCH", "/requests/last"},
			{"POST", "/mess"},
			{"PATCH", "/executors/phone"},
			{"POST", "/register"},
			{"PUT", "/requests/" + thread.Ref + "/attachments/a.png"},
			{"POST", "/devices/lamp/dim"},
			{"POST", "/stop"},
			{"POST", "/hold"},
			{"POST", "/resume"},
			{"POST", "/keys"},
			{"PATCH", "/keys/fuzzed"},
			{"POST", "/keys/fuzzed/rotate"},
			{"POST", "/codes"},
		} {
			by := key.Key
			if strings.HasPrefix(to[1], "/keys") || slices.Contains([]string{"/codes", "/stop", "/hold", "/resume"}, to[1]) {
				by = h.op
			}
			w := do(to[0], to[1], by, body, kind)
			isYAML := strings.HasPrefix(w.Header().Get("Content-Type"), "application/yaml")
			if w.Code >= 500 || w.Code == http.StatusTooManyRequests || !isYAML && !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s %s: %d %s", to[0], to[1], w.Code, w.Body)
			}
		}
	})
}

// FuzzPaths: no path gives a redirect, a page or a mistake of ours.
func FuzzPaths(f *testing.F) {
	for _, s := range []string{
		"", "/", "//", "/..", "/requests/", "/requests//", "/requests/../executors", "/requests/%2e%2e/x", "/requests/a%2Fb", "/requests?status=a&limit=x",
		"/requests?since=x&cursor=y", "/requests/x/attachments/%00", "/requests/x/attachments/..%2f..%2fetc", "/events?wait=-1s", "/events?wait=0s&after=x&as=executor",
		"/capabilities?tag=%ff", "/executors/", "/mess/x", "/requests/last/thread",
		"/home", "/devices/lamp/dim", "/devices/a%2Fb/%00", "/devices//dim", "/devices/phone:lamp/dim/x", "/stream/",
	} {
		f.Add(s, "GET")
	}
	h := newHarness(f, httpapi.Config{Rate: unlimited})
	door := h.server.Handler()
	f.Fuzz(func(t *testing.T, path, method string) {
		req, err := http.NewRequestWithContext(t.Context(), method, root+path, http.NoBody)
		if err != nil || req.URL.Query().Has("wait") && req.URL.Query().Get("wait") != "0s" {
			return // no client sends this, or it takes long
		}
		if p := req.URL.Path; strings.HasSuffix(p, "/stream") || strings.HasSuffix(p, "/events") && !req.URL.Query().Has("wait") {
			return // a stream does not end
		}
		req.Header.Set("Authorization", "Bearer "+h.op)
		w := httptest.NewRecorder()
		door.ServeHTTP(w, req)
		if w.Code >= 500 || w.Code == http.StatusTooManyRequests || w.Code/100 == 3 || w.Code >= 400 && !json.Valid(w.Body.Bytes()) && method != "HEAD" {
			t.Errorf("%s %q: %d %s", method, path, w.Code, w.Body)
		}
	})
}
