package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
)

func TestErrorsHaveStatusAndReason(t *testing.T) {
	h := startHarness(t, httpapi.Config{MaxBody: 4 << 10})
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
		{"somebody else's report", "PATCH", one, other, `{"status":"completed"}`, 404, `"why":"unknown"`},
		{"an unknown priority", "POST", root + "/requests", agent, `{"intent":"x","priority":"huge"}`, 400, `is unknown; write one of: background`},
		{"no intent", "POST", root + "/requests", agent, `{}`, 400, `intent is missing`},
		{"an intent that is no text", "POST", root + "/requests", agent, `{"intent":{"a":1}}`, 400, `is a mapping; write text`},
		{"an intent that is a number", "POST", root + "/requests", agent, `{"id":42,"intent":5}`, 400, `is a number; write text`},
		{"an id that is a ref", "POST", root + "/requests", agent, `{"id":"2026-11-21-001","intent":"x"}`, 400, `looks like the ref of a thread`},
		{"no JSON", "POST", root + "/requests", agent, `{"intent":`, 400, `ends too early`},
		{"no key", "GET", root + "/requests", "", "", 401, `a key is missing`},
		{"a wrong key", "GET", root + "/requests", "mess_home_x", "", 401, `does not know the key`},
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
		{"a body that is no object", "PATCH", one, phone, `7`, 400, `is not one mapping`},
		{"a stream by HEAD", "HEAD", root + "/events", agent, "", 405, ``},
		{"a thread's text by POST", "POST", one + "/thread", agent, "", 405, `use GET or HEAD`},
		{"a health that is posted", "POST", "/health", "", "", 405, `use GET or HEAD`},
		{"registering by GET", "GET", root + "/register", "", "", 405, `use POST`},
		{"registering elsewhere", "POST", "/api/v1/exchanges/other/register", "", `{"executor_id":"x"}`, 401, ``},
		{"nothing at the root", "GET", "/", agent, "", 404, `nothing at this path`},
		{"an empty ref", "GET", root + "/requests/", agent, "", 404, `nothing at this path`},
		{"an exchange alone", "GET", root, agent, "", 404, `nothing at this path`},
		{"a bad wait", "GET", root + "/events?wait=x", agent, "", 400, `not a duration`},
	} {
		r := h.do(c.method, c.path, c.key, c.body)
		if r.code != c.code || !strings.Contains(r.body, c.want) || c.method != "HEAD" && !json.Valid([]byte(r.body)) || !strings.HasPrefix(r.head.Get("Content-Type"), "application/json") {
			t.Errorf("%s: got %d %s, want %d with %s", c.name, r.code, r.body, c.code, c.want)
		}
	}
	if r := h.do("POST", root+"/requests", agent, `{"intent":"look"}`, "Content-Type", "application/x-www-form-urlencoded"); r.code != 201 {
		t.Errorf("as curl -d sends it: %d %s", r.code, r.body)
	}
	if r := h.do("POST", root+"/mess", agent, "x", "Content-Type", "text/html"); r.code != 415 {
		t.Errorf("HTML: %d", r.code)
	}
	if r := h.do("DELETE", one, agent, ""); r.head.Get("Allow") != "GET, HEAD, PATCH" {
		t.Errorf("Allow: %v", r.head)
	}
	if r := h.do("OPTIONS", "/anything", "", ""); r.code != 204 || r.body != "" {
		t.Errorf("OPTIONS: %d", r.code)
	}
	if r := h.do("POST", root+"/register", "", `{"executor_id":"page"}`, "Origin", "https://evil.example"); r.code != 403 {
		t.Errorf("a page that registers: %d", r.code)
	}
}

// The server rejects a request with an unknown host name, which may come from a foreign page.
func TestUnknownHostIsRejected(t *testing.T) {
	h := startHarness(t, httpapi.Config{Hosts: []string{"kitchen.example"}})
	for host, code := range map[string]int{
		"127.0.0.1": 200, "127.0.0.1:80": 200, "[::1]:80": 200, "localhost": 200, "LocalHost.:8420": 200, "Kitchen.Example:80": 200, "192.0.2.1": 200,
		"evil.example": 403, "127.0.0.1.evil.example": 403, "localhost.evil.example": 403, "kitchen.example.evil": 403,
	} {
		if r := h.do("GET", "/health", "", "", "Host", host); r.code != code || !json.Valid([]byte(r.body)) {
			t.Errorf("%s: got %d %s, want %d", host, r.code, r.body, code)
		}
	}
}

// The errors of claims, epochs and references have their HTTP status and their code.
func TestLateClaimNamesHolder(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	phone, agent := h.register("phone", `"x"`), h.register("agent", "")
	first := h.create(agent, `{"id":"a","intent":"look","requires":["x"]}`)
	later := h.create(agent, `{"intent":"look","requires":["x"],"constraints":{"depends_on":["a"]}}`)
	mess := func(epoch int, ref, code string) reply {
		return h.do("POST", root+"/mess", phone, fmt.Sprintf(`{"epoch":%d,"re":%q,"MESS":[{"status":{"code":%q}}]}`, epoch, ref, code))
	}
	for _, c := range []struct {
		name string
		r    reply
		code int
		why  string
	}{
		{"before what it depends on", mess(0, later, "claimed"), 409, "not_ready"},
		{"a claim", mess(0, first, "claimed"), 200, "<nil>"},
		{"an old fence", mess(7, first, "in_progress"), 409, "stale"},
		{"another request by the same id", h.do("POST", root+"/requests", agent, `{"id":"a","intent":"look away"}`), 409, "conflict"},
		{"a dependency that is not there", h.do("POST", root+"/requests", agent, `{"intent":"x","constraints":{"depends_on":["b"]}}`), 422, "missing"},
		{"a reference that is not there", h.do("POST", root+"/requests", agent, `{"intent":"the same again","context":[{"ref":"nothing"}]}`), 422, "missing"},
		{"a ref that is not there", h.do("POST", root+"/requests", agent, `{"intent":"the same again","ref":"nothing"}`), 422, "missing"},
		{"rules without being the operator", h.do("POST", root+"/mess", agent, `{"MESS":[{"config":{"routing":{"rules":[]}}}]}`), 403, "forbidden"},
	} {
		if c.r.code != c.code || c.r.field("why") != c.why {
			t.Errorf("%s: got %d %s, want %d %s", c.name, c.r.code, c.r.body, c.code, c.why)
		}
	}
}

// fullStore is a store on a disk that is full.
type fullStore struct{ *memory.Store }

func (fullStore) Append(context.Context, exchange.Step) (thread.Rev, error) {
	return "", errors.New("/var/secret/path: no space left on device")
}

// A failure of the exchange is 503, and the client may try again.
func TestFullDiskIs503(t *testing.T) {
	h := newHarnessOver(t, httpapi.Config{}, exchange.DefaultConfig(), fullStore{memory.New()}).serve()
	r := h.do("POST", root+"/requests", h.op, `{"intent":"look"}`)
	if r.code != 503 || r.head.Get("Retry-After") != "1" || r.field("why") != "unavailable" || strings.Contains(r.body, "secret") {
		t.Errorf("%d %s", r.code, r.body)
	}
}
