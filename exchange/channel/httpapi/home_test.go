package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/history"
	"github.com/messkit/messkit/exchange/store/memory"
)

// homeFixture is an exchange with one executor, vm, and its key.
type homeFixture struct {
	*harness
	vm, agent string // keys
}

const (
	vmCapabilities = `{"switch-on":{"devices":["hall-light","heater"],"effect":"idempotent"}},` +
		`{"set-brightness":{"devices":["hall-light"],"effect":"idempotent","parameters":{"level":{"type":"number","unit":"percent","min":0,"max":100}}}},` +
		`{"set-temperature":{"devices":["heater"],"effect":"idempotent","parameters":{"temperature":{"type":"number","unit":"°C","min":-30,"max":100}}}},` +
		`{"open":{"devices":["gate"],"classes":{"gate":"gate"},"effect":"idempotent"}},{"check-visual":{"devices":["gate"],"effect":"query"}},"x"`
	vmStates = `[{"device":"hall-light","state":"on","name":"hall light","area":"hall","class":"light","as_of":"2026-11-21T12:00:00Z",` +
		`"readings":[{"quantity":"level","value":40,"unit":"%","as_of":"2026-11-21T12:00:00Z","commanded":true}]},` +
		`{"device":"heater","state":"unknown","name":"heater","limits":{"temperature":{"min":5,"max":30}},"failing":{"since":"2026-11-21T11:00:00Z","reason":"dial 10.0.0.9: no route"},"locked":"paint is wet"}]`
)

func startHome(t testing.TB) *homeFixture {
	t.Helper()
	cfg := exchange.DefaultConfig()
	cfg.States = true
	h := newHarnessOver(t, httpapi.Config{Rate: unlimited}, cfg, memory.New()).serve()
	f := &homeFixture{harness: h, vm: h.register("vm", vmCapabilities), agent: h.register("agent", "")}
	h.want(h.do("PATCH", root+"/executors/vm", f.vm, `{"states":`+vmStates+`}`), http.StatusOK, "")
	return f
}

// device returns one device of the home as a client sees it, as JSON.
func (f *homeFixture) device(key, id string) map[string]any {
	f.Helper()
	var home struct{ Devices []map[string]any }
	if err := json.Unmarshal([]byte(f.do("GET", "/api/v1/home", key, "").body), &home); err != nil {
		f.Fatal(err)
	}
	for _, d := range home.Devices {
		if d["id"] == id {
			return d
		}
	}
	f.Fatalf("no device %s in %v", id, home)
	return nil
}

// operate makes a request and returns its ref.
func (f *homeFixture) operate(path, body string, headers ...string) string {
	f.Helper()
	r := f.do("POST", "/api/v1/devices/"+path, f.agent, body, headers...)
	if r.code != http.StatusAccepted {
		f.Fatalf("%s: %d %s", path, r.code, r.body)
	}
	return r.field("ref")
}

func TestHomeShowsDevices(t *testing.T) {
	f := startHome(t)
	const doc = `{"exchange":"home","now":"TIME",
	"areas":[{"name":"hall","devices":["vm:hall-light"]},{"name":"","devices":["vm:gate","vm:heater"]}],
	"devices":[
	{"id":"vm:gate","executor":"vm","device":"gate","name":"gate","class":"gate","state":"unknown","reachable":true,"verbs":[{"verb":"open","effect":"idempotent"}]},
	{"id":"vm:hall-light","executor":"vm","device":"hall-light","name":"hall light","area":"hall","class":"light","state":"on","as_of":"TIME",
	 "readings":[{"quantity":"level","value":40,"unit":"%","as_of":"TIME","commanded":true}],"reachable":true,
	 "verbs":[{"verb":"switch-on","effect":"idempotent","parameters":{"for":{"type":"duration"}}},
	  {"verb":"set-brightness","effect":"idempotent","parameters":{"level":{"type":"number","unit":"percent","min":0,"max":100,"needed":true}}}]},
	{"id":"vm:heater","executor":"vm","device":"heater","name":"heater","state":"unknown","limits":{"temperature":{"min":5,"max":30}},
	 "reachable":false,"unreachable":{"since":"TIME","reason":"REASON"},"locked":"paint is wet",
	 "verbs":[{"verb":"switch-on","effect":"idempotent","parameters":{"for":{"type":"duration"}}},
	  {"verb":"set-temperature","effect":"idempotent","parameters":{"temperature":{"type":"number","unit":"°C","min":-30,"max":100,"needed":true}}}]}],
	"executors":[{"id":"vm","name":"My Phone","person":false,"live":true,"last_seen":"TIME","stopped":"","drained":""}]}`
	plain := strings.NewReplacer("\n", "", "\t", "").Replace(doc)
	for key, reason := range map[string]string{f.agent: "its executor cannot use it", f.op: "dial 10.0.0.9: no route"} {
		want := strings.Replace(plain, "REASON", reason, 1)
		f.want(f.do("GET", "/api/v1/home", key, ""), http.StatusOK, want)
		f.want(f.do("GET", root+"/home", key, ""), http.StatusOK, want)
	}
}

func TestVerbMakesRequest(t *testing.T) {
	f := startHome(t)
	r := f.do("POST", "/api/v1/devices/vm:hall-light/set-brightness", f.agent, `{"level":40,"within":"30s"}`)
	f.want(r, http.StatusAccepted, `{"ref":"DAY-001","status":"pending","device":"vm:hall-light","verb":"set-brightness"}`)
	if at := r.head.Get("Location"); at != root+"/requests/"+r.field("ref") {
		t.Errorf("Location is %q", at)
	}
	thread := f.do("GET", r.head.Get("Location"), f.agent, "")
	var v struct {
		Thread struct {
			Intent   string
			Messages []struct {
				Mess []struct {
					Request *struct {
						NeededBy time.Time `json:"needed_by"`
						Requires json.RawMessage
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(thread.body), &v); err != nil {
		t.Fatal(err)
	}
	req := v.Thread.Messages[0].Mess[0].Request
	if left := time.Until(req.NeededBy); left < 20*time.Second || left > 30*time.Second {
		t.Errorf("needed in %v, want 30s", left)
	}
	if v.Thread.Intent != "set the hall light to 40 percent" || !sameJSON(string(req.Requires), `[{"set-brightness":{"devices":["hall-light"],"executor":"vm","level":40}}]`) {
		t.Errorf("the request is %q %s", v.Thread.Intent, req.Requires)
	}
	if d := f.device(f.agent, "vm:hall-light"); fmt.Sprint(d["task"]) != fmt.Sprintf("map[intent:%s ref:%s requestor_id:agent status:pending verb:set-brightness]", v.Thread.Intent, r.field("ref")) {
		t.Errorf("task is %v", d["task"])
	}
	f.operate("hall-light/switch-on", "") // the name alone, and no body
}

// A verb is like a sentence: its executor asks for the confirmation, and cannot start without it.
func TestVerbWaitsForConfirmation(t *testing.T) {
	f := startHome(t)
	one := root + "/requests/" + f.operate("vm:gate/open", "{}")
	f.want(f.do("PATCH", one, f.vm, `{"status":"claimed"}`), http.StatusOK, "")
	f.want(f.do("PATCH", one, f.vm, `{"mess":[{"status":{"code":"needs_confirmation","action":"open the gate","consequences":"it is open","action_hash":"abc"}}]}`), http.StatusOK, "")
	if d := f.device(f.agent, "vm:gate"); d["task"].(map[string]any)["status"] != "needs_confirmation" {
		t.Errorf("task is %v", d["task"])
	}
	f.want(f.do("PATCH", one, f.vm, `{"mess":[{"status":{"code":"in_progress","action_hash":"abc"}}]}`), http.StatusConflict, "")
	f.operate("vm:gate/open", "{}") // another tap is no confirmation
	f.want(f.do("PATCH", one, f.vm, `{"mess":[{"status":{"code":"in_progress","action_hash":"abc"}}]}`), http.StatusConflict, "")
}

func TestVerbWithIdempotencyKey(t *testing.T) {
	f := startHome(t)
	first := f.operate("vm:hall-light/set-brightness", `{"level":40}`, "Idempotency-Key", "tap-1")
	for _, body := range []string{`{"level":40}`, `{"level":"40","within":"1m"}`} {
		if again := f.operate("vm:hall-light/set-brightness", body, "Idempotency-Key", `"tap-1"`); again != first {
			t.Errorf("the same key has made %s and %s", first, again)
		}
	}
	one := root + "/requests/" + first
	f.want(f.do("PATCH", one, f.agent, `{"status":"cancelled"}`), http.StatusOK, "")
	r := f.do("POST", "/api/v1/devices/vm:hall-light/set-brightness", f.agent, `{"level":40}`, "Idempotency-Key", "tap-1")
	if r.code != http.StatusAccepted || r.field("ref") != first || r.field("status") != "cancelled" {
		t.Errorf("after the end: %d %s", r.code, r.body)
	}
	if r := f.do("POST", "/api/v1/devices/vm:hall-light/set-brightness", f.agent, `{"level":40,"within":"10s"}`, "Idempotency-Key", "tap-1"); r.code != http.StatusConflict {
		t.Errorf("another within with a used key: %d %s", r.code, r.body)
	}
	for path, body := range map[string]string{"vm:hall-light/set-brightness": `{"level":41}`, "vm:hall-light/switch-on": "", "vm:heater/switch-on": ""} {
		if r := f.do("POST", "/api/v1/devices/"+path, f.agent, body, "Idempotency-Key", "tap-1"); r.code != http.StatusConflict {
			t.Errorf("%s with a used key: %d %s", path, r.code, r.body)
		}
	}
	for _, key := range []string{"a b", "last", "2026-11-21-001", strings.Repeat("x", 129)} {
		if r := f.do("POST", "/api/v1/devices/gate/open", f.agent, "", "Idempotency-Key", key); r.code != http.StatusBadRequest {
			t.Errorf("key %q: %d %s", key, r.code, r.body)
		}
	}
	if n := strings.Count(f.do("GET", root+"/requests", f.agent, "").body, `"ref"`); n != 1 {
		t.Errorf("there are %d threads, want 1", n)
	}
}

// No executor can begin a verb after its time, and the home shows why nothing happened.
func TestVerbExpires(t *testing.T) {
	f := startHome(t)
	ref := f.operate("vm:gate/open", `{"within":"1s"}`)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); ; <-tick.C {
		last, _ := f.device(f.agent, "vm:gate")["last"].(map[string]any)
		if last["status"] == "expired" && last["ref"] == ref {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("last is %v, want expired", last)
		}
	}
	f.want(f.do("PATCH", root+"/requests/"+ref, f.vm, `{"status":"claimed"}`), http.StatusConflict, "")
}

func TestHomeShowsLastResult(t *testing.T) {
	f := startHome(t)
	one := root + "/requests/" + f.operate("vm:gate/open", "{}")
	for _, status := range []string{"claimed", "in_progress"} {
		f.want(f.do("PATCH", one, f.vm, `{"status":"`+status+`"}`), http.StatusOK, "")
	}
	f.want(f.do("PATCH", one, f.vm, `{"mess":[{"status":{"code":"failed","reason":{"type":"error","detail":"it is stuck","effect":"unknown"},"evidence":"unknown"}}]}`), http.StatusOK, "")
	d := f.device(f.agent, "vm:gate")
	last := d["last"].(map[string]any)
	if d["task"] != nil || last["status"] != "failed" || last["reason"] != "it is stuck" || last["verb"] != "open" || last["evidence"] != "unknown" {
		t.Errorf("task is %v, last is %v", d["task"], last)
	}
}

// A caller sees of others' requests only that there is one.
func TestHomeHidesRequestsOfOthers(t *testing.T) {
	f := startHome(t)
	other := f.register("other", "")
	f.operate("vm:gate/open", "{}")
	observer, err := f.keys.Issue("observer", exchange.Observer)
	if err != nil {
		t.Fatal(err)
	}
	if task := f.device(other, "vm:gate")["task"]; fmt.Sprint(task) != "map[status:pending verb:open]" {
		t.Errorf("another requester sees %v", task)
	}
	d := f.device(observer, "vm:gate")
	if len(d["task"].(map[string]any)) != 5 || fmt.Sprint(d["verbs"]) != "[]" {
		t.Errorf("an observer sees %v %v", d["task"], d["verbs"])
	}
	f.want(f.do("POST", "/api/v1/devices/gate/open", observer, ""), http.StatusForbidden, "")
	f.want(f.do("GET", "/api/v1/home", "", ""), http.StatusUnauthorized, "")
	f.want(f.do("POST", "/api/v1/devices/gate/open", "", ""), http.StatusUnauthorized, "")
	f.want(f.do("POST", "/api/v1/devices/gate/open", "wrong", ""), http.StatusUnauthorized, "")
}

func TestVerbRejectsWrongOrders(t *testing.T) {
	f := startHome(t)
	f.register("vm2", `{"open":{"devices":["gate"]}},{"open":{"devices":["a b/c:ü"]}},{"own":{"devices":["gate"],"parameters":{"word":{"values":["a","b"]},"free":{}}}}`)
	odd := url.PathEscape("vm2:a b/c:ü")
	for _, tt := range []struct {
		path, body string
		code       int
		text       string
	}{
		{"vm:none/open", "", 404, "GET home lists the devices"},
		{"vm:gate/none", "", 404, "its verbs: open"},
		{"vm:gate/check-visual", "", 404, "check-visual needs a sentence"},
		{"gate/open", "", 409, "write vm:gate or vm2:gate"},
		{"vm:hall-light/set-brightness", "", 400, "level: missing"},
		{"vm:hall-light/set-brightness", `{"level":101}`, 400, "level: 101 is too much; write 100 percent or less"},
		{"vm:hall-light/set-brightness", `{"level":-1}`, 400, "level: -1 is too little; write 0 percent or more"},
		{"vm:hall-light/set-brightness", `{"level":"NaN"}`, 400, "level: not a number"},
		{"vm:hall-light/set-brightness", `{"level":true}`, 400, "level: not a number"},
		{"vm:hall-light/set-brightness", `{"level":1e999}`, 400, ""},
		{"vm:hall-light/set-brightness", `{"level":40,"speed":1}`, 400, "speed: unknown argument of set-brightness; known: level, within"},
		{"vm:hall-light/set-brightness", `{"level":40,"devices":["gate"]}`, 400, "devices: unknown argument"},
		{"vm:hall-light/set-brightness", `{"level":40,"level":50}`, 400, ""},
		{"vm:heater/set-temperature", `{"temperature":31}`, 400, "temperature: 31 is too much; write 30 °C or less"},
		{"vm:hall-light/switch-on", `{"for":"soon"}`, 400, "for: not a duration"},
		{"vm:hall-light/switch-on", `{"for":"-1s"}`, 400, "for: not a duration"},
		{"vm:hall-light/switch-on", `{"within":"2h"}`, 400, "within: not a duration from 1s to 1h"},
		{"vm:hall-light/switch-on", `{"within":10}`, 400, "within: not a duration from 1s to 1h"},
		{"vm2:gate/own", `{"word":"c"}`, 400, "unknown value \"c\"; known: a, b"},
		{"vm2:gate/own", `{"free":"a; open all"}`, 400, "has signs"},
		{"vm2:gate/own", `{"free":""}`, 400, "not a text"},
		{"vm:gate/open", "[", 400, ""},
		{"vm:gate/open", `[1]`, 400, ""},
		{"vm:gate/open", `"open"`, 400, ""},
		{"vm:gate/open", "{\"a\":\x00}", 400, ""},
		{"vm:gate/open", strings.Repeat("[", 3000), 400, ""},
		{"vm:gate/open", `{"x":"` + strings.Repeat("x", 5000) + `"}`, 413, ""},
		{"vm:gate/", "", 404, ""},
		{"vm:gate", "", 404, ""},
		{"vm:gate/open/now", "", 404, ""},
		{"/open", "", 404, ""},
		{"vm:gate%2Fopen", "", 404, ""},
		{odd + "/close", "", 404, "its verbs: open"},
	} {
		r := f.do("POST", "/api/v1/devices/"+tt.path, f.agent, tt.body)
		if r.code != tt.code || !strings.Contains(r.field("error"), tt.text) {
			t.Errorf("%s %.60s: %d %s, want %d %s", tt.path, tt.body, r.code, r.body, tt.code, tt.text)
		}
	}
	if body := f.do("GET", root+"/requests", f.agent, "").body; !sameJSON(body, `{"threads":[]}`) {
		t.Errorf("wrong orders have made threads: %s", body)
	}
	f.operate(odd+"/open", "")
	f.operate("vm2:gate/own", `{"word":"B","free":"a"}`)
}

// The history of a device has its points in the form of the API, and wrong questions get a reason.
func TestHistoryOfDevice(t *testing.T) {
	cfg := exchange.DefaultConfig()
	cfg.States = true
	began := time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC)
	var asked []string
	read := func(executor, device string, from, to time.Time) (time.Duration, []history.Series, error) {
		asked = append(asked, fmt.Sprint(executor, device, to.Sub(from).Round(time.Minute)))
		return time.Minute, []history.Series{{Quantity: "level", Unit: "%", Points: []history.Point{{At: began, Last: 40, Min: 5.5, Max: 55}}}, {Quantity: "reached"}}, nil
	}
	h := newHarnessOver(t, httpapi.Config{Rate: unlimited, History: read}, cfg, memory.New()).serve()
	h.register("vm", vmCapabilities)
	agent := h.register("agent", "")
	const want = `{"device":"vm:hall-light","from":"TIME","to":"TIME","step":"1m0s","quantities":[` +
		`{"quantity":"level","unit":"%","points":[[1795258800000,40,5.5,55]]},{"quantity":"reached","points":[]}]}`
	for _, path := range []string{"/api/v1/devices/vm:hall-light/history", "/api/v1/devices/hall-light/history", root + "/devices/vm%3Ahall-light/history"} {
		h.want(h.do("GET", path, agent, ""), http.StatusOK, want)
	}
	h.want(h.do("GET", "/api/v1/devices/hall-light/history?from=2026-11-01T00:00:00Z&to=2026-11-02T00:00:00Z", agent, ""), http.StatusOK, want)
	if want := "vmhall-light23h59m0s vmhall-light23h59m0s vmhall-light23h59m0s vmhall-light24h0m0s"; strings.Join(asked, " ") != want {
		t.Errorf("asked for %v, want %s", asked, want)
	}
	for path, code := range map[string]int{
		"/api/v1/devices/attic/history": http.StatusNotFound, "/api/v1/devices/hall-light/history?from=yesterday": http.StatusBadRequest,
		"/api/v1/devices/hall-light/history?to=%00": http.StatusBadRequest, "/api/v1/devices/hall-light/history?from=2026-11-01": http.StatusBadRequest,
	} {
		if r := h.do("GET", path, agent, ""); r.code != code {
			t.Errorf("%s: %d %s, want %d", path, r.code, r.body, code)
		}
	}
	if r := h.do("GET", "/api/v1/devices/hall-light/history", "", ""); r.code != http.StatusUnauthorized {
		t.Errorf("without a key: %d", r.code)
	}
}

// A thread belongs to the devices that its executor names, also if the request is a sentence. The home
// shows it at the device while it is open, then its result, and the list of tasks keeps it.
func TestSentenceBelongsToItsDevice(t *testing.T) {
	f := startHome(t)
	tap := f.operate("vm:hall-light/switch-on", "")
	r := f.do("POST", root+"/requests", f.agent, `{"intent":"make the hall bright"}`)
	ref := r.field("ref")
	one := root + "/requests/" + ref
	if task := f.device(f.agent, "vm:gate")["task"]; task != nil {
		t.Errorf("before the claim the gate has %v", task)
	}
	f.want(f.do("PATCH", one, f.vm, `{"mess":[{"status":{"code":"claimed","uses":[{"device":"gate","capability":"open"},{"device":"heater","capability":"switch-on"},{"device":"","capability":"x"},7]}}]}`), http.StatusOK, "")
	for _, id := range []string{"vm:gate", "vm:heater"} {
		if task, _ := f.device(f.agent, id)["task"].(map[string]any); task["ref"] != ref || task["status"] != "claimed" {
			t.Errorf("%s has %v", id, task)
		}
	}
	f.want(f.do("PATCH", one, f.vm, `{"status":"in_progress"}`), http.StatusOK, "")
	f.want(f.do("PATCH", one, f.vm, `{"mess":[{"status":{"code":"completed","evidence":"read_back"}}]}`), http.StatusOK, "")
	if d := f.device(f.agent, "vm:gate"); d["task"] != nil || d["last"].(map[string]any)["ref"] != ref || d["last"].(map[string]any)["verb"] != "open" {
		t.Errorf("after the end the gate has %v", d)
	}
	other := f.register("other", "")
	for _, tt := range []struct{ query, key, want string }{
		{"vm:gate", f.agent, ref},
		{"gate&status=completed", f.op, ref},
		{"vm:gate&status=pending", f.op, ""},
		{"vm:gate", other, ""},
		{"hall-light", f.agent, tap},
		{"elsewhere:hall-light", f.op, ""},
		{"vm:removed", f.op, ""},
	} {
		var list struct{ Threads []struct{ Ref string } }
		r := f.do("GET", root+"/requests?device="+tt.query, tt.key, "")
		if err := json.Unmarshal([]byte(r.body), &list); err != nil || r.code != http.StatusOK {
			t.Fatalf("%s: %d %s", tt.query, r.code, r.body)
		}
		if got := fmt.Sprint(list.Threads); got != strings.Replace("[{"+tt.want+"}]", "{}", "", 1) {
			t.Errorf("device=%s has %s, want %s", tt.query, got, tt.want)
		}
	}
	for query, code := range map[string]int{"attic": http.StatusNotFound, ":gate": http.StatusBadRequest, "vm:": http.StatusBadRequest} {
		if r := f.do("GET", root+"/requests?device="+query, f.agent, ""); r.code != code {
			t.Errorf("device=%s: %d %s, want %d", query, r.code, r.body, code)
		}
	}
	for _, tt := range []struct{ path, key, want string }{
		{"vm:gate", f.agent, ref + " completed open read_back make the hall bright agent"},
		{"vm:gate", f.op, ref + " completed open read_back make the hall bright agent"},
		{"gate", other, ""},
		{"vm:hall-light", f.agent, tap + " pending switch-on  turn on the hall light agent"},
	} {
		var list struct {
			Tasks []struct {
				Ref, Status, Verb, Evidence, Intent string
				Requester                           string `json:"requestor_id"`
			}
		}
		r := f.do("GET", "/api/v1/devices/"+tt.path+"/tasks", tt.key, "")
		if err := json.Unmarshal([]byte(r.body), &list); err != nil || r.code != http.StatusOK {
			t.Fatalf("%d %s", r.code, r.body)
		}
		got := ""
		for _, one := range list.Tasks {
			got += strings.Join([]string{one.Ref, one.Status, one.Verb, one.Evidence, one.Intent, one.Requester}, " ")
		}
		if got != tt.want {
			t.Errorf("%s has %q, want %q", tt.path, got, tt.want)
		}
	}
}
