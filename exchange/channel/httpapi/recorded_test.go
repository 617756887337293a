package httpapi_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// Recorded requests of clients of the MESS reference servers get responses of the same shape in
// JSON, and never a 500.
func TestRecordedRequests(t *testing.T) {
	text, err := os.ReadFile("../../../internal/test/referenceserver/testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var steps []struct {
		By, Method, Path, Type, Body string
		Code                         map[string]int
		Has                          map[string]string
	}
	if err := json.Unmarshal(text, &steps); err != nil || len(steps) < 40 {
		t.Fatalf("%d steps, %v", len(steps), err)
	}
	h := startHarness(t, httpapi.Config{Import: func(string, map[string][]byte) error { return nil }})
	keys, ref := map[string]string{"wrong": "mess_home_0", "lost": "mess_my_home_0"}, "REF"
	for _, s := range steps {
		var headers []string
		if s.Type != "" || s.Body != "" {
			headers = []string{"Content-Type", "application/json"}
		}
		if s.Type != "" {
			headers[1] = s.Type
		}
		key := ""
		if s.By != "" {
			key = keys[s.By]
		}
		r := h.do(s.Method, strings.ReplaceAll(s.Path, "REF", ref), key, strings.ReplaceAll(s.Body, "REF", ref), headers...)
		where := fmt.Sprintf("%s %s %s %.80s", s.By, s.Method, s.Path, s.Body)
		if r.code != s.Code["ours"] || !strings.Contains(r.body, s.Has["ours"]) {
			t.Errorf("%s: %d %s, want %d with %s", where, r.code, r.body, s.Code["ours"], s.Has["ours"])
		}
		if r.code >= 400 {
			h.wantReadableError(where, r, r.code)
		} else if r.body != "" && !json.Valid([]byte(r.body)) {
			t.Errorf("%s: %s is not JSON", where, r.body)
		}
		if r.code == 201 && r.field("api_key") != "<nil>" {
			keys[r.field("executor_id")] = r.field("api_key")
		}
		if r.code == 201 && ref == "REF" && r.field("ref") != "<nil>" {
			ref = r.field("ref")
		}
	}
}
