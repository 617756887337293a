package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// away has the headers of a client on another host.
var away = []string{"Origin", "https://elsewhere.example"}

func TestEnrollmentCode(t *testing.T) {
	h := startHarness(t, httpapi.Config{EnrollmentCode: "abc-123"})
	h.want(h.do("POST", root+"/register", "", `{"executor_id":"a","enrol":"abc-123"}`, away...), 201, "")
	h.want(h.do("POST", root+"/register", "", `{"executor_id":"b"}`), 201, "") // a local process needs none
	h.want(h.do("POST", root+"/register", "", `{"executor_id":"c","enrol":"abc-123"}`, "X-Forwarded-For", "192.0.2.1"), 201, "")
	for range 5 {
		h.want(h.do("POST", root+"/register", "", `{"executor_id":"d","enrol":"abc-124"}`, away...), 403, "")
	}
	// After too many guesses the server rejects even the valid code.
	for _, code := range []string{"abc-125", "abc-123"} {
		r := h.do("POST", root+"/register", "", `{"executor_id":"d","enrol":"`+code+`"}`, away...)
		if r.code != 429 || r.head.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", code, r.code, r.body)
		}
	}
	h.want(h.do("POST", root+"/register", "", `{"executor_id":"e"}`), 201, "")
}

// A local process needs no code. A wrong code is an error all the same, because it is old or for
// another exchange, and the registration fails.
func TestWrongCodeOfLocalProcessIsRejected(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	r := h.do("POST", root+"/register", "", `{"executor_id":"a","capabilities":["x"],"enrol":"K7QM4-T9XE2"}`)
	if h.want(r, 403, ""); !strings.Contains(r.body, "a local process needs none, so leave it out") {
		t.Errorf("it says %s", r.body)
	}
	if list := h.x.Executors(); len(list) != 0 {
		t.Errorf("registered: %+v", list)
	}
	code, _, err := h.keys.NewCode("", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	h.want(h.do("POST", root+"/register", "", `{"executor_id":"a","enrol":"`+code+`"}`), 201, "")
	h.want(h.do("POST", root+"/register", "", `{"executor_id":"b","enrol":"`+code+`"}`), 403, "")
	h.want(h.do("POST", root+"/register", "", `{"executor_id":"b"}`), 201, "")
}

func TestRegistrationWithoutCode(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	for _, header := range []string{"Forwarded", "X-Forwarded-Host", "X-Real-IP", "Via"} {
		h.want(h.do("POST", root+"/register", "", `{"executor_id":"a","enrol":""}`, header, "192.0.2.1"), 403, "")
	}
	h.want(h.do("POST", root+"/register", "", `{"executor_id":"a","enrol":""}`, "Origin", "null"), 403, "")
	h.want(h.do("POST", root+"/register", "", `{"executor_id":"page"}`, "Origin", h.url), 201, "")
}

// The server rejects a registration with the name of another actor.
func TestTakenNameIsRejected(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	own := exchange.Actor{ID: "own-pi", Roles: exchange.ExecutorRole} // in this process, without a key
	m := mess.Message{Items: []mess.Item{&mess.Config{Executor: &mess.Executor{ID: "own-pi", Capabilities: []mess.Capability{{ID: "x"}}}}}}
	if _, err := h.x.Post(t.Context(), exchange.Inbound{Actor: own, Channel: "local", Message: m}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"own-pi", exchange.Self, "operator"} {
		if r := h.do("POST", root+"/register", "", fmt.Sprintf(`{"executor_id":%q}`, id)); r.code != 409 || r.field("why") != "conflict" {
			t.Errorf("%s: %d %s", id, r.code, r.body)
		}
	}
	// Only an operator can replace a lost key.
	agent := h.register("agent", "")
	h.want(h.do("POST", root+"/register", agent, `{"executor_id":"own-pi"}`), 409, "")
	h.want(h.do("POST", root+"/register", h.op, `{"executor_id":"own-pi"}`), 201, "")
	first := h.do("POST", root+"/register", h.op, `{"executor_id":"lost-pi"}`).field("api_key")
	second := h.do("POST", root+"/register", h.op, `{"executor_id":"lost-pi"}`).field("api_key")
	if first == "" || second == "" || first == second {
		t.Errorf("a lost key is replaced: %q, %q", first, second)
	}
	h.want(h.do("GET", root+"/requests", first, ""), 401, "")
	h.want(h.do("GET", root+"/requests", second, ""), 200, "")
	h.want(h.do("POST", root+"/register", h.op, `{"executor_id":"operator"}`), 409, "")
	for _, body := range []string{
		`{"executor_id":"a/b"}`, `{"executor_id":7}`, `{"executor_id":"a","capabilities":[{}]}`,
		`{"executor_id":"a","capabilities":["x"],"availability":"schedule","schedule":"at noon"}`, `[]`, ``,
	} {
		h.want(h.do("POST", root+"/register", "", body), 400, "")
	}
	h.want(h.do("POST", root+"/register", "", `{"executor_id":"a"}`), 201, "") // a failed registration leaves no key
}

// The id of an exchange may contain an underscore. The server does not parse it from the key.
func TestExchangeIDWithUnderscore(t *testing.T) {
	ec := exchange.DefaultConfig()
	ec.ID = "my_summer_home"
	h := newHarnessOver(t, httpapi.Config{}, ec, memory.New()).serve()
	const root = "/api/v1/exchanges/my_summer_home"
	r := h.do("POST", root+"/register", "", `{"executor_id":"phone"}`)
	key := r.field("api_key")
	if r.code != 201 || !strings.HasPrefix(key, "mess_my_summer_home_") {
		t.Fatalf("%d %s", r.code, r.body)
	}
	h.want(h.do("GET", root+"/requests", key, ""), 200, `{"threads":[]}`)
	h.want(h.do("GET", "/api/v1/exchanges/my/requests", key, ""), 403, "")
	if r := h.do("GET", "/health", "", ""); r.field("exchange_id") != "my_summer_home" {
		t.Errorf("%s", r.body)
	}
}

func TestKeys(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	phone := h.register("phone", "")
	for _, scheme := range []string{"Bearer " + phone, "bearer " + phone, "Bearer  " + phone} {
		h.want(h.do("GET", root+"/requests", "", "", "Authorization", scheme), 200, "")
	}
	var bodies []string
	for _, auth := range []string{"Bearer x", "Bearer mess_home_00000000000000000000000000000000", "Bearer mess_other_0", "Bearer " + phone[:len(phone)-1]} {
		r := h.do("GET", root+"/requests", "", "", "Authorization", auth)
		if r.code != 401 || r.head.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %d", auth, r.code)
		}
		bodies = append(bodies, r.body)
	}
	for _, b := range bodies {
		if b != bodies[0] {
			t.Errorf("the answer tells what is wrong: %s, %s", b, bodies[0])
		}
	}
	h.want(h.do("GET", root+"/requests", "", "", "Authorization", "Basic "+phone), 401, "")
	fresh, err := h.keys.Rotate("phone", exchange.Requester)
	if err != nil {
		t.Fatal(err)
	}
	h.want(h.do("GET", root+"/requests", phone, ""), 401, "")
	h.want(h.do("GET", root+"/requests", fresh, ""), 200, "")
	if _, err := h.keys.Revoke("phone"); err != nil {
		t.Fatal(err)
	}
	h.want(h.do("GET", root+"/requests", fresh, ""), 401, "")
}

// The roles of an actor limit its calls and its view.
func TestRoles(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	agent := h.register("agent", "")
	ref := h.create(agent, `{"intent":"look"}`)
	key := func(id string, roles exchange.Role) string {
		k, err := h.keys.Issue(id, roles)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	observer, requester, executor := key("o", exchange.Observer), key("r", exchange.Requester), key("e", exchange.ExecutorRole)
	h.want(h.do("GET", root+"/requests/"+ref, observer, ""), 200, "")
	h.want(h.do("POST", root+"/requests", observer, `{"intent":"look"}`), 403, "")
	h.want(h.do("PATCH", root+"/requests/"+ref, observer, `{"status":"cancelled"}`), 403, "")
	h.want(h.do("GET", root+"/requests/"+ref, requester, ""), 404, "")
	h.want(h.do("GET", root+"/requests", requester, ""), 200, `{"threads":[]}`)
	h.want(h.do("POST", root+"/requests", executor, `{"intent":"look"}`), 403, "")
	h.want(h.do("PATCH", root+"/requests/"+ref, h.op, `{"status":"cancelled"}`), 200, "")
}

// The response lists unknown fields, which the exchange stores. Fields of existing clients are
// not in the list.
func TestUnknownProfileFieldsAreListed(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	r := h.do("POST", root+"/register", "", `{"executor_id":"a","capabilites":["x"],"colour":"red","hooks":{},"notifications":[],"preferences":{"min_priority":"normal"}}`)
	if r.code != 201 || !strings.Contains(r.body, `"unknown":["capabilites","colour"]`) {
		t.Errorf("%d %s", r.code, r.body)
	}
	key := r.field("api_key")
	h.want(h.do("PATCH", root+"/executors/a", key, `{"display_nam":"A","capabilities":["x"]}`), 200, `{"executor_id":"a","unknown":["display_nam"],"updated":true}`)
	h.want(h.do("PATCH", root+"/executors/a", key, `{"display_name":"A"}`), 200, `{"executor_id":"a","updated":true}`)
}

// A heartbeat of a requester does not make it an executor, which would get every offer without
// requirements. Its other fields are an error.
func TestHeartbeatRegistersNoExecutor(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	asks := h.register("asks", "")
	for _, body := range []string{`{}`, ``, `{"executor_id":"asks"}`} {
		h.want(h.do("PATCH", root+"/executors/asks", asks, body), 200, `{"executor_id":"asks","updated":true}`)
	}
	for _, body := range []string{`{"display_name":"A"}`, `{"notifications":[{"type":"webhook","url":"https://a.example/"}]}`, `{"capabilities":[]}`} {
		r := h.do("PATCH", root+"/executors/asks", asks, body)
		if h.wantReadableError(body, r, 409); !strings.Contains(r.body, "is no registered executor") {
			t.Error(r.body)
		}
	}
	if h.x.IsRegistered("asks") {
		t.Error("it has become an executor")
	}
	h.want(h.do("PATCH", root+"/executors/asks", asks, `{"capabilities":["x"]}`), 200, `{"executor_id":"asks","updated":true}`)
	h.want(h.do("PATCH", root+"/executors/asks", asks, `{"capabilities":[]}`), 200, `{"executor_id":"asks","updated":true}`)
}

// No path lets an actor without the role executor register as one.
func TestOnlyAnExecutorRegistersAsOne(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	for _, role := range []string{"requester", "observer"} {
		key := h.do("POST", root+"/keys", h.op, `{"actor":"`+role+`-1","roles":["`+role+`"]}`).field("api_key")
		me := `{"id":"` + role + `-1","capabilities":["x"]}`
		h.want(h.do("POST", root+"/mess", key, `[{"config":{"executor":`+me+`}}]`), 403, "")
		h.want(h.do("PATCH", root+"/executors/"+role+"-1", key, `{"capabilities":["x"]}`), 403, "")
		if got := h.do("GET", root+"/executors", h.op, "").body; strings.Contains(got, role) {
			t.Errorf("%s: %s", role, got)
		}
	}
	key := h.do("POST", root+"/keys", h.op, `{"actor":"pi","roles":["executor"]}`).field("api_key")
	h.want(h.do("POST", root+"/mess", key, `[{"config":{"executor":{"id":"pi","capabilities":["x"]}}}]`), 200, "")
}
