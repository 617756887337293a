package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/httpapi"
)

func TestRefusals(t *testing.T) {
	h := open(t, httpapi.Config{MaxBody: 4 << 10})
	phone, other, agent := h.register("phone", `"x"`), h.register("tablet", `"x"`), h.register("agent", "")
	ref := h.create(agent, `{"intent":"look","requires":["x"]}`)
	one := root + "/requests/" + ref
	if r := h.do("PATCH", one, phone, `{"status":"claimed"}`); r.code != 200 {
		t.Fatal(r.body)
	}
	for _, c := range []struct {
		name, method, path, key, body string
		code                          int
		want                          string
	}{
		{"a taken claim", "PATCH", one, other, `{"status":"claimed"}`, 409, `"executor_id":"phone"`},
		{"an illegal step", "PATCH", one, phone, `{"status":"expired"}`, 409, `"legal":[`},
		{"an unknown status", "PATCH", one, phone, `{"status":"done"}`, 400, `is not a status; known: cancelled, claimed`},
		{"a status that is no text", "PATCH", one, phone, `{"status":{"a":1}}`, 400, `status: is not text`},
		{"somebody else's report", "PATCH", one, other, `{"status":"completed"}`, 403, `"error":`},
		{"an unknown priority", "POST", root + "/requests", agent, `{"intent":"x","priority":"huge"}`, 400, `is unknown; write one of: background`},
		{"no intent", "POST", root + "/requests", agent, `{}`, 400, `intent is missing`},
		{"an intent that is no text", "POST", root + "/requests", agent, `{"intent":{"a":1}}`, 400, `is a mapping; write text`},
		{"no JSON", "POST", root + "/requests", agent, `{"intent":`, 400, `ends too early`},
		{"no key", "GET", root + "/requests", "", "", 401, `a key is missing`},
		{"a wrong key", "GET", root + "/requests", "mess_home_x", "", 401, `not known here`},
		{"another exchange", "GET", "/api/v1/exchanges/other/requests", agent, "", 403, `not for the exchange`},
		{"an unknown path without a key", "GET", root + "/nothing", "", "", 401, ``},
		{"an unknown path", "GET", root + "/nothing", agent, "", 404, ``},
		{"a path that wants cleaning", "GET", root + "//requests/../requests", agent, "", 404, ``},
		{"an unknown thread", "GET", root + "/requests/2026-01-01-999", agent, "", 404, `there is no thread`},
		{"somebody else's thread", "GET", one, other, "", 404, `there is no thread`},
		{"a wrong method", "DELETE", one, agent, "", 405, `use GET or HEAD or PATCH`},
		{"too much", "POST", root + "/requests", agent, `{"intent":"` + strings.Repeat("x", 5<<10) + `"}`, 413, `larger than 4096 bytes`},
		{"a wrong limit", "GET", root + "/requests?limit=0", agent, "", 400, `from 1 to 1000`},
		{"an unknown status to list", "GET", root + "/requests?status=bogus", agent, "", 400, `is not a status`},
		{"an empty message", "POST", root + "/mess", agent, ``, 400, `it is empty`},
		{"a message with mistakes", "POST", root + "/mess", agent, `{"MESS":[{"request":{}},` + "\n" + `{"status":{"code":"x"}}]}`, 400, `line 2: [1].status`},
		{"a bad wait", "GET", root + "/events?wait=x", agent, "", 400, `not a duration`},
	} {
		r := h.do(c.method, c.path, c.key, c.body)
		if r.code != c.code || !strings.Contains(r.body, c.want) || !json.Valid([]byte(r.body)) || !strings.HasPrefix(r.head.Get("Content-Type"), "application/json") {
			t.Errorf("%s: got %d %s, want %d with %s", c.name, r.code, r.body, c.code, c.want)
		}
	}
	if r := h.do("POST", root+"/mess", agent, "x", "Content-Type", "text/html"); r.code != 415 {
		t.Errorf("HTML: %d", r.code)
	}
	if r := h.do("OPTIONS", "/anything", "", ""); r.code != 204 || r.head.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("OPTIONS: %d", r.code)
	}
	if r := h.do("GET", "/health", "", "", "Host", "evil.example"); r.code != 403 {
		t.Errorf("a foreign name for this machine: %d", r.code)
	}
	if r := h.do("POST", root+"/register", "", `{"executor_id":"page"}`, "Origin", "https://evil.example"); r.code != 403 {
		t.Errorf("a page that registers: %d", r.code)
	}
}
