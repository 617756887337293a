package httpapi_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/history"
	"github.com/messkit/messkit/exchange/home"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// asked is one request and the operation that it exemplifies.
type asked struct {
	op, path  string // the operation's id; a path below the exchange, or one with a / at its beginning
	key, body string
	code      int
	headers   []string
}

// describedServer is a fixture that checks the answers against the OpenAPI document.
type describedServer struct {
	*harness
	api  *openAPI
	ops  map[string]operation
	seen map[string]bool // op code
}

type operation struct {
	method, path string
	v            map[string]any
}

// operations are those of the description, by id.
func (a *openAPI) operations() map[string]operation {
	ops := map[string]operation{}
	paths, _ := a.at(a.doc, "paths").(map[string]any)
	for path, methods := range paths {
		for method, v := range methods.(map[string]any) {
			o := v.(map[string]any)
			ops[fmt.Sprint(o["operationId"])] = operation{strings.ToUpper(method), path, o}
		}
	}
	return ops
}

// The OpenAPI document describes every route, and no others.
func TestEveryRouteIsDescribed(t *testing.T) {
	a := readOpenAPI(t)
	if a.doc["openapi"] != "3.1.0" {
		t.Errorf("openapi: %v", a.doc["openapi"])
	}
	var have []string
	for id, o := range a.operations() {
		have = append(have, o.method+" "+o.path)
		if o.v["summary"] == nil || id == "<nil>" {
			t.Errorf("%s %s: no id or summary", o.method, o.path)
		}
		for part := range strings.SplitSeq(o.path, "/") {
			name, ok := strings.CutPrefix(part, "{")
			if ok && !slices.ContainsFunc(o.v["parameters"].([]any), func(p any) bool { return a.at(p, "name") == strings.TrimSuffix(name, "}") }) {
				t.Errorf("%s: %s is not described", id, part)
			}
		}
	}
	want := httpapi.Routes()
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) || len(want) == 0 {
		t.Errorf("described: %q\nserved: %q", have, want)
	}
	docs, err := os.ReadFile("../../../docs/reference/openapi.json")
	if own, _ := os.ReadFile("openapi.json"); err != nil || string(docs) != string(own) {
		t.Errorf("docs/reference/openapi.json is another one: %v", err)
	}
	packed, err := os.Open("openapi.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	if served, err := io.ReadAll(r); err != nil || string(served) != string(docs) {
		t.Errorf("openapi.json.gz holds another one (%v): gzip -9nkf openapi.json", err)
	}
}

// ask sends a request and compares the response with the description.
func (d *describedServer) ask(a asked) reply {
	d.Helper()
	o, ok := d.ops[a.op]
	if !ok {
		d.Fatalf("%s is not described", a.op)
	}
	path := a.path
	if !strings.HasPrefix(path, "/") {
		path = root + "/" + path
	}
	r := d.do(o.method, path, a.key, a.body, a.headers...)
	name := fmt.Sprintf("%s %s %.80s", a.op, a.path, a.body)
	if r.code != a.code {
		d.Errorf("%s: got %d %.300s, want %d", name, r.code, r.body, a.code)
		return r
	}
	if r.head.Get("X-Request-Id") == "" {
		d.Errorf("%s: no request id", name)
	}
	code := fmt.Sprint(a.code)
	answer := d.api.at(o.v, "responses", code)
	if answer == nil {
		d.Errorf("%s: %s is not described", name, code)
		return r
	}
	d.seen[a.op+" "+code] = true
	for _, wrong := range d.differences(answer, r) {
		d.Errorf("%s: %d: %s", name, r.code, wrong)
	}
	return r
}

// differences returns the differences between a response and its description.
func (d *describedServer) differences(answer any, r reply) []string {
	content, _ := d.api.at(answer, "content").(map[string]any)
	if content == nil {
		if r.body != "" {
			return []string{"has a body, and none is described"}
		}
		return nil
	}
	kind, _, err := mime.ParseMediaType(r.head.Get("Content-Type"))
	if err != nil {
		return []string{err.Error()}
	}
	if _, ok := content["*/*"]; ok {
		kind = "*/*"
	}
	if content[kind] == nil {
		return []string{kind + " is not described"}
	}
	if kind != "application/json" {
		return nil
	}
	var v any
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		return []string{err.Error()}
	}
	return d.api.check(d.api.at(content[kind], "schema"), v, "")
}

// describe returns a running fixture with its OpenAPI document.
func describe(t testing.TB, cfg httpapi.Config) *describedServer {
	a := readOpenAPI(t)
	return &describedServer{startHarness(t, cfg), a, a.operations(), map[string]bool{}}
}

// The server gives every described answer of every operation in the described shape, and no other
// answers.
func TestOpenAPIMatchesServer(t *testing.T) {
	deliveries := []map[string]any{{"id": "x", "executor": "phone", "event_type": "thread_created", "ref": "r", "to": "https://example.com", "made": "2026-11-21T00:00:00Z", "at": "2026-11-21T00:00:00Z", "tries": 1, "state": "delivered", "code": 200}}
	there := func(ref string, _ map[string][]byte) error {
		if ref == "2026-01-01-002" {
			return mess.Errorf(mess.Conflict, "it is there")
		}
		return nil
	}
	read := func(string, string, time.Time, time.Time) (time.Duration, []history.Series, error) {
		return time.Hour, []history.Series{{Quantity: "level", Unit: "%", Points: []history.Point{{At: time.Now(), Last: 1, Min: 1, Max: 2}}}}, nil
	}
	floor := func(context.Context, string, string) (*home.Map, error) {
		return &home.Map{Image: []byte("x"), MIME: "image/png", At: "2026-11-21T00:00:00Z", Rooms: []home.MapRoom{{Name: "kitchen"}}, Robot: &home.MapPoint{}, Dock: &home.MapPoint{}}, nil
	}
	d := describe(t, httpapi.Config{Import: there, Map: floor, History: read, Webhooks: func(exchange.Actor) any { return deliveries }, Status: func() any { return map[string]any{"threads": 0} }, MaxBody: 8 << 10, EnrollmentCode: "standing-code"})
	agent, phone, tablet := d.register("agent", ""), d.register("phone", `"x"`), d.register("tablet", `"x"`)
	observer, err := d.keys.Issue("observer", exchange.Observer)
	if err != nil {
		t.Fatal(err)
	}
	const gate = `{"open":{"devices":["gate"]}}`
	d.register("left", `{"dim":{"devices":["lamp"],"parameters":{"level":{"min":0,"max":100}}}},`+gate)
	d.register("right", gate)
	ref := d.create(agent, `{"intent":"look","requires":["x"],"context":["a",{"url":"https://example.com"}]}`)
	one, big := "requests/"+ref, `{"x":"`+strings.Repeat("x", 9<<10)+`"}`
	ended := d.create(agent, `{"intent":"look","requires":["x"]}`)
	d.do("PATCH", root+"/requests/"+ended, agent, `{"status":"cancelled"}`)
	file := one + "/attachments/a.png"
	d.do("PATCH", root+"/"+one, phone, `{"status":"claimed"}`)
	image := d.do("PUT", root+"/"+file, phone, "picture", "Content-Type", "image/png").body
	stored := one + "/attachments/att-002-image-a.png" // as the exchange names it
	notUploaded := `{"status":"in_progress","mess":[{"response":{"content":[{"image":{"file":"b.png","mime":"image/png","size":1,"sha256":"` + strings.Repeat("0", 64) + `"}}]}}]}`
	yaml := []string{"Content-Type", "application/yaml"}
	for _, a := range []asked{
		{"health", "/health", "", "", 200, nil},
		{"openapi", "/api/openapi.json", "", "", 200, nil},
		{"alive", "/healthz", "", "", 200, nil},
		{"ready", "/readyz", "", "", 200, nil},
		{"metrics", "/metrics", "", "", 200, nil},
		{"metrics", "/metrics", "", "", 401, away},
		{"metrics", "/metrics", observer, "", 200, away},
		{"metrics", "/metrics", agent, "", 403, nil},
		{"register", "register", "", `{"executor_id":"pi","display_name":"Pi","capabilities":["x",{"y":{}}]}`, 201, nil},
		{"register", "register", "", `{"executor_id":"pi"}`, 409, nil},
		{"register", "register", "", `{"executor_id":"pi-2"}`, 403, away},
		{"register", "/api/v1/exchanges/other/register", "", `{"executor_id":"pi-2"}`, 401, nil},
		{"create", "requests", agent, `{"id":"a","intent":"look"}`, 201, nil},
		{"create", "requests", agent, `{"id":"a","intent":"look away"}`, 409, nil},
		{"create", "requests", agent, `{"intent":"x","constraints":{"depends_on":["nothing"]}}`, 422, nil},
		{"list", "requests?status=pending&limit=1", agent, "", 200, nil},
		{"list", "requests?limit=0", agent, "", 400, nil},
		{"update", one, phone, `{"status":"claimed","x_own":1}`, 200, nil},
		{"update", one, tablet, `{"status":"claimed"}`, 409, nil},
		{"update", one, phone, `{"status":"expired"}`, 409, nil},
		{"update", one, tablet, `{}`, 404, nil},
		{"update", one, phone, notUploaded, 422, nil},
		{"upload", file, phone, "picture", 200, []string{"Content-Type", "image/png"}},
		{"upload", "requests/none/attachments/a.png", phone, "x", 404, nil},
		{"upload", "requests/" + ended + "/attachments/a.png", agent, "x", 409, nil},
		{"upload", file, phone, "", 400, nil},
		{"upload", file, phone, big, 413, nil},
		{"upload", file, phone, "x", 415, []string{"Content-Type", "x/y; ="}},
		{"update", one, phone, `{"status":"in_progress","mess":[{"response":{"content":[{"image":` + image + `}]}}]}`, 200, nil},
		{"thread", one, agent, "", 200, nil},
		{"thread", "requests/none", agent, "", 404, nil},
		{"threadText", one + "/thread", agent, "", 200, nil},
		{"threadText", "requests/none/thread", agent, "", 404, nil},
		{"download", stored, agent, "", 200, nil},
		{"download", stored, agent, "", 206, []string{"Range", "bytes=0-1"}},
		{"download", stored, agent, "", 416, []string{"Range", "bytes=1000-"}},
		{"download", one + "/attachments/none", agent, "", 404, nil},
		{"mess", "mess", agent, `{"MESS":[{"request":{"id":"b","intent":"look"}}]}`, 200, nil},
		{"mess", "mess", agent, "MESS:\n- request: {intent: look}\n", 200, yaml},
		{"mess", "mess", phone, `{"epoch":7,"re":"` + ref + `","MESS":[{"status":{"code":"in_progress"}}]}`, 409, nil},
		{"mess", "mess", agent, `{"re":"none","MESS":[{"cancel":{}}]}`, 404, nil},
		{"mess", "mess", agent, `{"MESS":[{"config":{"hold":{"executors":["nobody"]}}}]}`, 422, nil},
		{"events", "events?wait=0s&after=now&as=executor", phone, "", 200, nil},
		{"events", "events?wait=0s&after=now", agent, "", 200, nil},
		{"events", "events?wait=x", agent, "", 400, nil},
		{"executors", "executors", agent, "", 200, nil},
		{"executor", "executors/phone", agent, "", 200, nil},
		{"executor", "executors/none", agent, "", 404, nil},
		{"profile", "executors/phone", phone, `{"display_name":"Phone 2"}`, 200, nil},
		{"profile", "executors/tablet", phone, `{}`, 403, nil},
		{"profile", "executors/agent", agent, `{"display_name":"A"}`, 409, nil},
		{"forget", "executors/phone", d.op, "", 409, nil},
		{"forget", "executors/none", d.op, "", 404, nil},
		{"forget", "executors/phone", agent, "", 403, nil},
		{"capabilities", "capabilities?tag=visual", agent, "", 200, nil},
		{"capabilities", "capabilities?tag=%zz", agent, "", 400, nil},
		{"home", "/api/v1/home", agent, "", 200, nil},
		{"deviceMap", "/api/v1/devices/lamp/map", agent, "", 200, nil},
		{"deviceMap", "/api/v1/devices/none/map", agent, "", 404, nil},
		{"deviceMap", "/api/v1/devices/lamp/map", observer, "", 403, nil},
		{"livePicture", "/api/v1/devices/none/live", agent, "", 404, nil},
		{"livePicture", "/api/v1/devices/gate/live", agent, "", 409, nil},
		{"livePicture", "/api/v1/devices/lamp/live", observer, "", 403, nil},
		{"deviceTasks", "/api/v1/devices/lamp/tasks", agent, "", 200, nil},
		{"deviceTasks", "/api/v1/devices/none/tasks", agent, "", 404, nil},
		{"deviceTasks", "/api/v1/devices/gate/tasks", agent, "", 409, nil},
		{"history", "/api/v1/devices/lamp/history", agent, "", 200, nil},
		{"history", "/api/v1/devices/lamp/history?from=now", agent, "", 400, nil},
		{"history", "/api/v1/devices/none/history", agent, "", 404, nil},
		{"history", "/api/v1/devices/gate/history", agent, "", 409, nil},
		{"operate", "/api/v1/devices/lamp/dim", agent, `{"level":40}`, 202, nil},
		{"operate", "/api/v1/devices/lamp/dim", agent, "level: 40\n", 202, yaml},
		{"operate", "/api/v1/devices/lamp/dim", agent, `{"level":140}`, 400, nil},
		{"operate", "/api/v1/devices/lamp/dim", observer, `{"level":40}`, 403, nil},
		{"operate", "/api/v1/devices/lamp/open", agent, "", 404, nil},
		{"operate", "/api/v1/devices/gate/open", agent, "", 409, nil},
		{"deviceTasks", "/api/v1/devices/lamp/tasks", agent, "", 200, nil},
		{"home", "/api/v1/home", agent, "", 200, nil},
		{"stream", "/api/v1/stream?after=%zz", agent, "", 400, nil},
		{"hold", "hold", agent, `{"why":"the floor is wet","executors":["phone"]}`, 202, nil},
		{"hold", "hold", agent, `{"executors":["nobody"]}`, 422, nil},
		{"executors", "executors", agent, "", 200, nil},
		{"resume", "resume", agent, "", 202, nil},
		{"resume", "resume", agent, `{"executors":["nobody"]}`, 422, nil},
		{"profile", "executors/phone", phone, `{"held":{"why":"at its broker"}}`, 200, nil},
		{"executors", "executors", agent, "", 200, nil},
		{"profile", "executors/phone", phone, `{"held":{}}`, 200, nil},
		{"stop", "stop", d.op, `{"executors":["nobody"]}`, 422, nil},
		{"stop", "stop", d.op, `{"why":"smoke"}`, 202, nil},
		{"executors", "executors", agent, "", 200, nil},
		{"status", "status", d.op, "", 200, nil},
		{"status", "status", agent, "", 403, nil},
		{"webhooks", "webhooks", phone, "", 200, nil},
		{"import", "import", d.op, "ref: 2026-01-01-001\nstatus: pending\n---\nfrom: a\nMESS:\n- request: {intent: x}\n", 201, yaml},
		{"import", "import", d.op, `{"content":"ref: 2026-01-01-002\nstatus: pending\n"}`, 409, nil},
		{"import", "import", agent, `{"content":"x"}`, 403, nil},
		{"export", "export/" + ref, agent, "", 200, nil},
		{"export", "export/" + ref + "?format=v1", agent, "", 200, nil},
		{"export", "export/" + ref + "?format=v3", agent, "", 400, nil},
		{"export", "export/none", agent, "", 404, nil},
		{"issueKey", "keys", d.op, `{"actor":"dash","roles":["observer"]}`, 201, nil},
		{"issueKey", "keys", d.op, `{"actor":"dash","roles":["observer"]}`, 409, nil},
		{"setRoles", "keys/dash", d.op, `{"roles":["requester"]}`, 200, nil},
		{"setRoles", "keys/none", d.op, `{"roles":["requester"]}`, 404, nil},
		{"setRoles", "keys/operator", d.op, `{"roles":["requester"]}`, 409, nil},
		{"rotateKey", "keys/dash/rotate", d.op, `{"overlap":"1h"}`, 201, nil},
		{"rotateKey", "keys/none/rotate", d.op, ``, 404, nil},
		{"keys", "keys", d.op, "", 200, nil},
		{"revokeKey", "keys/dash", d.op, "", 200, nil},
		{"revokeKey", "keys/dash", d.op, "", 404, nil},
		{"revokeKey", "keys/operator", d.op, "", 409, nil},
		{"newCode", "codes", d.op, `{"actor":"pi-2","within":"1m"}`, 201, nil},
		{"create", "requests", observer, `{"intent":"look"}`, 403, nil},
	} {
		d.ask(a)
	}
	for range 100 {
		_, _, _ = d.keys.NewCode("", time.Minute)
	}
	d.ask(asked{"newCode", "codes", d.op, "", 409, nil})
	for range 5 {
		d.do("POST", root+"/register", "", `{"executor_id":"x","enrol":"wrong"}`, away...)
	}
	d.ask(asked{"register", "register", "", `{"executor_id":"x","enrol":"wrong"}`, 429, away})
	d.checkStream(agent)
	d.checkLivePicture(t)
	d.checkCommonErrors(ref, agent, big)
	d.checkMissingFunctions()
	d.checkSilentExecutor()
	for id, o := range d.ops {
		for code := range d.api.at(o.v, "responses").(map[string]any) {
			if code != "default" && !d.seen[id+" "+code] {
				t.Errorf("%s: %s is described, and nothing here gives it", id, code)
			}
		}
	}
}

// checkCommonErrors checks the answers that many operations have in common.
func (d *describedServer) checkCommonErrors(ref, agent, big string) {
	slow := describe(d.TB, httpapi.Config{Rate: httpapi.Rate{Requests: 0.1, Burst: 1, Connections: 4}})
	spent := slow.register("agent", "")
	slow.do("GET", root+"/capabilities", spent, "")
	names := strings.NewReplacer("{exchange}", "home", "{ref}", ref, "{name}", "att-002-image-a.png", "{id}", "agent", "{actor}", "agent", "{verb}", "open")
	for _, id := range slices.Sorted(maps.Keys(d.ops)) {
		o := d.ops[id]
		path := names.Replace(o.path)
		if id == "executor" { // an agent that only asks has no entry
			path = strings.Replace(path, "/agent", "/phone", 1)
		}
		key := agent
		if strings.Contains(o.path, "/keys") || strings.HasSuffix(o.path, "/codes") || id == "status" || id == "stop" || id == "hold" || id == "resume" || id == "import" {
			key = d.op
		}
		if _, open := o.v["security"]; !open {
			d.ask(asked{id, path, "", "", 401, nil})
			if strings.Contains(o.path, "{exchange}") {
				d.ask(asked{id, strings.Replace(path, "/home/", "/other/", 1), key, "", 403, nil})
			}
			slow.ask(asked{id, path, spent, "", 429, nil})
			d.seen[id+" 429"] = slow.seen[id+" 429"]
		}
		if d.api.at(o.v, "requestBody", "content", "application/json") != nil {
			large := big
			if id == "register" {
				large = `{"executor_id":"x","x":"` + strings.Repeat("x", 70<<10) + `"}`
			}
			d.ask(asked{id, path, key, "[", 400, nil})
			d.ask(asked{id, path, key, large, 413, nil})
			d.ask(asked{id, path, key, "<p>", 415, []string{"Content-Type", "text/html"}})
		}
		if d.api.at(o.v, "responses", "304") != nil {
			tag := d.do("GET", path, key, "").head.Get("ETag")
			d.ask(asked{id, path, key, "", 304, []string{"If-None-Match", tag}})
			if r := d.do("HEAD", path, key, ""); r.code != 200 || r.head.Get("ETag") != tag {
				d.Errorf("HEAD %s: %d", path, r.code)
			}
		}
		if r := d.do("TRACE", path, key, ""); r.code != http.StatusMethodNotAllowed || len(d.differences(d.api.at(o.v, "responses", "default"), r)) > 0 {
			d.Errorf("TRACE %s: %d %s", path, r.code, r.body)
		}
		if r := d.do("OPTIONS", path, "", ""); r.code != http.StatusNoContent {
			d.Errorf("OPTIONS %s: %d", path, r.code)
		}
	}
}

// checkStream compares the events of the home with their shapes.
func (d *describedServer) checkStream(key string) {
	s := d.stream("/api/v1/stream", key)
	d.do("POST", "/api/v1/devices/lamp/dim", key, `{"level":1}`)
	for _, event := range []struct{ name, schema string }{{"home", "Home"}, {"device", "Device"}} {
		_, name, data := nextEvent(d.TB, s)
		var v any
		if err := json.Unmarshal([]byte(data), &v); err != nil || name != event.name {
			d.Fatalf("got %s %s, want %s", name, data, event.name)
		}
		for _, wrong := range d.api.check(d.api.at(d.api.doc, "components", "schemas", event.schema), v, "") {
			d.Errorf("stream: %s: %s", name, wrong)
		}
	}
	d.seen["stream 200"] = true
}

// checkLivePicture checks the media type of a live picture.
func (d *describedServer) checkLivePicture(t *testing.T) {
	f := startLive(t, `{"code":"claimed"}`, `{"code":"in_progress"}`, photographed)
	res := f.watch("/api/v1/devices/cam/live", f.agent)
	<-f.refs
	got, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	if d.api.at(d.ops["livePicture"].v, "responses", "200", "content", got) == nil {
		t.Errorf("live picture: %d %q is not described", res.StatusCode, got)
	}
	d.seen["livePicture 200"] = true
}

// checkMissingFunctions checks the optional paths of a server without their functions.
func (d *describedServer) checkMissingFunctions() {
	silent := describe(d.TB, httpapi.Config{Unready: func(context.Context) []string { return []string{"the store cannot write"} }})
	silent.ask(asked{"ready", "/readyz", "", "", 503, nil})
	silent.ask(asked{"status", "status", silent.op, "", 404, nil})
	silent.ask(asked{"webhooks", "webhooks", silent.op, "", 404, nil})
	for _, one := range []string{"ready 503", "status 404", "webhooks 404"} {
		d.seen[one] = silent.seen[one]
	}
}

// checkSilentExecutor checks operations that need an executor without recent heartbeats.
func (d *describedServer) checkSilentExecutor() {
	cfg := exchange.DefaultConfig()
	cfg.Unreachable, cfg.LeaseWithoutHeartbeat = time.Second, time.Second
	late := &describedServer{newHarnessOver(d.TB, httpapi.Config{}, cfg, memory.New()).serve(), d.api, d.ops, map[string]bool{}}
	late.register("phone", `"x"`)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && late.x.Executors()[0].Live; <-tick.C {
	}
	late.ask(asked{"forget", "executors/phone", late.op, "", 200, nil})
	d.seen["forget 200"] = late.seen["forget 200"]
}

// The examples have the described shapes, and the server accepts those of requests.
func TestOpenAPIExamples(t *testing.T) {
	f := startHome(t)
	d := &describedServer{harness: f.harness, api: readOpenAPI(t)}
	examples := 0
	for id, o := range d.api.operations() {
		path, headers := o.path, []string(nil)
		list, _ := d.api.at(o.v, "parameters").([]any)
		for _, p := range list {
			example, _ := d.api.at(p, "example").(string)
			name := fmt.Sprint(d.api.at(p, "name"))
			if path = strings.Replace(path, "{"+name+"}", example, 1); d.api.at(p, "in") == "header" && example != "" {
				headers = append(headers, name, example)
			}
		}
		bodies := []any{d.api.at(o.v, "requestBody")}
		for _, answer := range d.api.at(o.v, "responses").(map[string]any) {
			bodies = append(bodies, answer)
		}
		for i, b := range bodies {
			content := d.api.at(b, "content", "application/json")
			example := d.api.at(content, "example")
			if example == nil {
				continue
			}
			examples++
			for _, wrong := range d.api.check(d.api.at(content, "schema"), example, "") {
				t.Errorf("%s: example: %s", id, wrong)
			}
			if text, _ := json.Marshal(example); i == 0 {
				if r := d.do(o.method, path, f.agent, string(text), headers...); r.code >= 300 {
					t.Errorf("%s %s %s: %d %s", o.method, path, text, r.code, r.body)
				}
			}
		}
	}
	if examples < 3 {
		t.Errorf("there are %d examples, want 3 or more", examples)
	}
}
