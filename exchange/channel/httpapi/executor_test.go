package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// The path of one executor returns its card and its presence, without its secrets.
func TestExecutorHasCard(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	h.want(h.do("POST", root+"/register", "", `{"executor_id":"porch-pi","display_name":"Porch","capabilities":[{"switch-on":{"risk":"low"}}],"versions":["1.1.0"],
		"areas":["porch"],"instance":"one","notifications":[{"type":"webhook","url":"http://127.0.0.1:9/x","secret":"at least as long as this"}]}`), 201, "")
	asker := h.register("asker", "")
	r := h.do("GET", root+"/executors/porch-pi", asker, "")
	var v struct {
		ID       string
		Name     string `json:"display_name"`
		Live     bool
		LastSeen string `json:"last_seen"`
		Card     map[string]any
	}
	if err := json.Unmarshal([]byte(r.body), &v); err != nil || r.code != 200 {
		t.Fatalf("%d %s: %v", r.code, r.body, err)
	}
	card, err := json.Marshal(v.Card)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"areas":["porch"],"capabilities":[{"switch-on":{"risk":"low"}}],"id":"porch-pi","name":"Porch","versions":["1.1.0"]}`
	if !sameJSON(string(card), want) || v.ID != "porch-pi" || v.Name != "Porch" || !v.Live || v.LastSeen == "" {
		t.Errorf("got %s\ncard %s\nwant %s", r.body, card, want)
	}
	if strings.Contains(r.body, "secret") || strings.Contains(r.body, "127.0.0.1") {
		t.Errorf("it tells how the executor is notified: %s", r.body)
	}
	h.wantReadableError("unknown", h.do("GET", root+"/executors/nobody", asker, ""), 404)
	h.wantReadableError("not an executor", h.do("GET", root+"/executors/asker", asker, ""), 404)
	h.want(h.do("GET", root+"/executors/porch-pi", "", ""), 401, "")
	if r := h.do("POST", root+"/executors/porch-pi", asker, "{}"); r.code != 405 || r.head.Get("Allow") != "GET, HEAD, PATCH, DELETE" {
		t.Errorf("%d %v", r.code, r.head)
	}
}
