package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// The exchange enforces time limits by its own clock, with 409.
func TestTimeLimitsAreEnforced(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	phone, agent := h.register("phone", `"x"`), h.register("agent", "")
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	for name, c := range map[string]struct {
		more string
		why  string
	}{
		"not before":  {`"constraints":{"timing":{"not_before":"` + at(time.Hour) + `"}}`, "not_ready"},
		"depends on":  {`"constraints":{"depends_on":["first"]}`, "not_ready"},
		"in time yet": {`"needed_by":"` + at(time.Hour) + `"`, ""},
	} {
		if name == "depends on" {
			h.create(agent, `{"id":"first","intent":"look"}`)
		}
		one := root + "/requests/" + h.create(agent, `{"intent":"look","requires":["x"],`+c.more+`}`)
		r := h.do("PATCH", one, phone, `{"status":"claimed"}`)
		switch {
		case c.why == "" && r.code != 200:
			t.Errorf("%s: %d %s", name, r.code, r.body)
		case c.why != "" && (r.code != 409 || r.field("why") != c.why || r.field("status") != "pending"):
			t.Errorf("%s: %d %s, want 409 as %s", name, r.code, r.body, c.why)
		}
	}
	late := root + "/requests/" + h.create(agent, `{"intent":"look","requires":["x"],"needed_by":"`+at(-time.Hour)+`"}`)
	for end := time.Now().Add(time.Minute); h.state(late, agent).Status != "expired"; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("too late, and %+v", h.state(late, agent))
		}
	}
	if r := h.do("PATCH", late, phone, `{"status":"claimed"}`); r.code != 409 && r.code != 404 {
		t.Errorf("too late: %d %s", r.code, r.body)
	}
}

// state is how a thread stands.
type state struct {
	Status   string    `json:"status"`
	Executor *string   `json:"executor_id"`
	Updated  time.Time `json:"updated_at"`
}

func (h *harness) state(path, key string) state {
	h.Helper()
	var v struct{ Thread state }
	r := h.do("GET", path, key, "")
	if err := json.Unmarshal([]byte(r.body), &v); err != nil || r.code != 200 {
		h.Fatalf("%s: %d %s", path, r.code, r.body)
	}
	return v.Thread
}

// Every message moves updated_at, one that changes no status too, and answers
// change the status back.
func TestUpdatedMovesOnEveryMessage(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	phone, agent := h.register("phone", `"x"`), h.register("agent", "")
	one := root + "/requests/" + h.create(agent, `{"intent":"look","requires":["x"]}`)
	was := h.state(one, agent)
	for _, s := range []struct{ by, body, status string }{
		{phone, `{"status":"claimed"}`, "claimed"},
		{phone, `{"status":"in-progress"}`, "in_progress"},
		{phone, `{"mess":[{"status":{"code":"in_progress","progress_pct":10}}]}`, "in_progress"},
		{phone, `{"status":"needs-input","mess":[{"status":{"code":"needs_input","questions":[{"field":"door","question":"Which?"}]}}]}`, "needs_input"},
		{agent, `{"mess":[{"reply":{"answers":{"door":"left"}}}]}`, "in_progress"},
		{phone, `{"mess":[{"response":{"content":["closed"]}},{"status":{"code":"completed"}}]}`, "completed"},
	} {
		for !time.Now().Truncate(time.Millisecond).After(was.Updated) { // the response has milliseconds
			time.Sleep(time.Millisecond)
		}
		h.want(h.do("PATCH", one, s.by, s.body), 200, "")
		is := h.state(one, agent)
		if is.Status != s.status || !is.Updated.After(was.Updated) {
			t.Errorf("%s: %+v, before it %+v", s.body, is, was)
		}
		was = is
	}
}

// A late claim gets the holder in the fields that clients read. Every response and every error
// forbids caching.
func TestRejectedClaimNamesHolder(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	phone, tablet, agent := h.register("phone", `"x"`), h.register("tablet", `"x"`), h.register("agent", "")
	one := root + "/requests/" + h.create(agent, `{"intent":"look","requires":["x"]}`)
	h.want(h.do("PATCH", one, phone, `{"status":"claimed"}`), 200, "")
	r := h.do("PATCH", one, tablet, `{"status":"claimed"}`)
	h.want(r, 409, `{"error":"phone has claimed it","why":"taken","ref":"DAY-001","status":"claimed","executor_id":"phone"}`)
	for _, r := range []reply{r, h.do("GET", "/nothing", "", ""), h.do("GET", root+"/requests", "", ""), h.do("PUT", one, agent, ""), h.do("GET", "/health", "", "")} {
		if r.head.Get("Cache-Control") != "no-store" || r.head.Get("Vary") != "*" || !strings.HasPrefix(r.head.Get("Content-Type"), "application/json") {
			t.Errorf("%d: %v", r.code, r.head)
		}
	}
	// Existing clients write rejected for declined.
	two := root + "/requests/" + h.create(agent, `{"intent":"look","requires":["x"]}`)
	h.want(h.do("PATCH", two, phone, `{"status":"rejected","message":"no hands"}`), 200, "")
	h.want(h.do("PATCH", two, tablet, `{"status":"rejected","message":"no eyes"}`), 200, `{"ref":"DAY-002","status":"declined"}`)
	if s := h.state(two, agent); s.Status != "declined" {
		t.Errorf("%+v", s)
	}
}
