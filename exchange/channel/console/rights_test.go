package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/console"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/store/memory"
)

// rightsFixture is an exchange with the real HTTP API and the console, an executor with devices, and a
// signed-in browser of each role.
type rightsFixture struct {
	*testing.T
	k        *keys.Keys
	c        *console.Console
	counted  *countedConsole
	url      string
	op       string // the key of the operator
	browsers map[string]*http.Client
}

const rightsStates = `{"executor_id":"vm","capabilities":[{"switch-on":{"devices":["lamp","bed-lamp"],"effect":"idempotent"}},{"unlock":{"devices":["front-door"],"effect":"idempotent"}},` +
	`{"activate":{"devices":["leave"],"effect":"once"}},{"open":{"devices":["gate","box"],"effect":"idempotent"}}],"states":[{"device":"lamp","state":"on","area":"hall","class":"light"},` +
	`{"device":"bed-lamp","state":"on","area":"bedroom","class":"light"},{"device":"front-door","state":"locked","area":"hall","class":"lock"},` +
	`{"device":"leave","state":"unknown","area":"hall","class":"scene"},{"device":"gate","state":"closed","area":"hall","class":"gate"},{"device":"box","state":"closed","area":"hall"}]}`

func newRights(t *testing.T) *rightsFixture {
	t.Helper()
	log, dir := slog.New(slog.DiscardHandler), t.TempDir()
	cfg := exchange.DefaultConfig()
	cfg.States = true
	x, err := exchange.Open(t.Context(), cfg, memory.New(), time.Now, log)
	if err != nil {
		t.Fatal(err)
	}
	f := &rightsFixture{T: t, browsers: map[string]*http.Client{}}
	if f.k, err = keys.Open(dir, cfg.ID); err != nil {
		t.Fatal(err)
	}
	f.c = console.Open(x, f.k, console.Config{LocalExecutor: &fakeDaemon{}, SignInRate: 1000}, log)
	f.counted = &countedConsole{Console: f.c}
	mounted := map[string]httpapi.MountedHandler{}
	for _, path := range f.c.MountedPaths() {
		mounted[path] = f.counted
	}
	api := httpapi.New(x, f.k, httpapi.Config{
		Pages: f.c.Pages(), SessionKey: f.c.SessionKey, SignedInByPerson: func(*http.Request) bool { return true }, WatchSession: f.c.WatchSession, MountedHandlers: mounted,
		Status: func() any { return 1 }, Webhooks: func(exchange.Actor) any { return nil }, Rate: httpapi.Rate{Requests: 1e6, Burst: 1e6, Connections: 1000},
	}, log)
	s := httptest.NewServer(api.Handler())
	t.Cleanup(s.Close)
	f.url = s.URL
	key, err := os.ReadFile(dir + "/operator.key")
	if err != nil {
		t.Fatal(err)
	}
	f.op = strings.TrimSpace(string(key))
	f.must(http.StatusCreated, f.do(nil, http.MethodPost, "/api/v1/exchanges/home/register", rightsStates))
	return f
}

type answer struct {
	code int
	text string
}

// do sends a request of a browser, or with the operator's key without one. It reads at most the first
// kilobyte: a stream does not end.
func (f *rightsFixture) do(b *http.Client, method, path, body string) answer {
	f.Helper()
	ctx, cancel := context.WithCancel(f.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, f.url+path, strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	if b == nil {
		b = http.DefaultClient
		r.Header.Set("Authorization", "Bearer "+f.op)
	} else {
		r.Header.Set("Origin", f.url)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if strings.Contains(path, "stream") || strings.Contains(path, "events") {
		r.Header.Set("Accept", "text/event-stream")
	}
	res, err := b.Do(r)
	if err != nil {
		f.Fatal(err)
	}
	defer res.Body.Close()
	data := make([]byte, 64<<10)
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		n, _ := res.Body.Read(data)
		return answer{res.StatusCode, string(data[:n])}
	}
	data, _ = io.ReadAll(res.Body)
	return answer{res.StatusCode, string(data)}
}

func (f *rightsFixture) must(code int, a answer) string {
	f.Helper()
	if a.code != code {
		f.Errorf("got %d %s, want %d", a.code, a.text, code)
	}
	return a.text
}

// invite invites a person as the operator, and returns the token of the link.
func (f *rightsFixture) invite(body string) string {
	f.Helper()
	var v struct{ Path string }
	if err := json.Unmarshal([]byte(f.must(http.StatusCreated, f.do(nil, http.MethodPost, "/console/invite", body))), &v); err != nil {
		f.Fatal(err)
	}
	_, token, _ := strings.Cut(v.Path, "#")
	return token
}

func newBrowser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

// signIn signs a new browser in, with the body of the sign-in.
func (f *rightsFixture) signIn(body string) *http.Client {
	f.Helper()
	b := newBrowser(f.T)
	f.must(http.StatusOK, f.do(b, http.MethodPost, "/console/session", body))
	return b
}

// everyone signs a browser of each role in.
func (f *rightsFixture) everyone() {
	f.Helper()
	until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	f.browsers["operator"] = f.signIn(`{"key":"` + f.op + `"}`)
	for role, more := range map[string]string{"resident": "", "viewer": "", "helper": "", "guest": `,"areas":["hall"],"until":"` + until + `"`} {
		f.browsers[role] = f.signIn(fmt.Sprintf(`{"link":%q}`, f.invite(fmt.Sprintf(`{"name":%q,"role":%q%s}`, role, role, more))))
	}
}

// rightsTable says who may use which path. The letters stand for operator, resident, helper, viewer
// and guest. A path of the API stands without its exchange.
var rightsTable = map[string]string{
	"GET requests": "orhvg", "POST requests": "orh", "GET requests/{ref}": "orhvg", "PATCH requests/{ref}": "orhvg", "GET requests/{ref}/thread": "orhvg",
	"GET requests/{ref}/attachments/{name}": "orhvg", "PUT requests/{ref}/attachments/{name}": "orhv", "POST import": "o", "GET export/{ref}": "orhv",
	"POST mess": "orhvg", "GET events": "orhv", "GET executors": "orhv", "GET executors/{id}": "orhv", "PATCH executors/{id}": "h", "DELETE executors/{id}": "o",
	"GET home": "orhvg", "GET stream": "orhvg", "GET devices/{id}/history": "orhv", "GET devices/{id}/tasks": "orhv", "GET devices/{id}/live": "orh", "GET devices/{id}/map": "orh", "POST devices/{id}/{verb}": "orhg", "GET capabilities": "orhv",
	"POST stop": "orh", "POST hold": "orh", "POST resume": "orh", "GET status": "o", "GET webhooks": "orhv",
	"GET keys": "o", "POST keys": "o", "PATCH keys/{actor}": "o", "DELETE keys/{actor}": "o", "POST keys/{actor}/rotate": "o", "POST codes": "o",

	"GET /console/who": "orhvg", "GET /console/events": "orhvg", "GET /console/pictures": "orhvg", "GET /console/refused": "o", "POST /console/plan": "orh",
	"POST /console/stop": "orhvg", "POST /console/release": "o", "POST /console/arm": "o", "POST /console/invite": "o", "GET /console/people": "o",
	"POST /console/people": "o", "GET /console/browsers": "orhvg", "POST /console/browsers": "orhvg", "GET /console/notices": "orhvg", "POST /console/notices": "orhvg",
	"GET /console/bell": "orhvg", "POST /console/bell": "orhvg", "POST /console/link": "orhvg", "POST /console/code": "o",
	"GET /console/config": "o", "POST /console/config": "o", "GET /console/quiet": "o", "POST /console/quiet": "o", "GET /console/search": "o", "POST /console/search": "o", "POST /console/device": "o",
}

// rightsBodies has the bodies that reach the judgement of a role. The others are [, which is invalid
// after it.
var rightsBodies = map[string]string{
	"POST requests": `{"intent":"x"}`, "PATCH requests/{ref}": `{"status":"cancelled"}`, "POST mess": `{"MESS":[{"cancel":{"re":"2026-01-01-001"}}]}`,
	"POST devices/{id}/{verb}": `{}`, "PATCH executors/{id}": `{"display_name":"x"}`, "POST stop": `{}`, "POST hold": `{}`, "POST resume": `{}`,
	"DELETE executors/{id}": ``, "DELETE keys/{actor}": ``,
}

// paths returns every path that needs a key: those of the OpenAPI file and those of the console.
func (f *rightsFixture) paths() (list []string) {
	f.Helper()
	data, err := os.ReadFile("../httpapi/openapi.json")
	if err != nil {
		f.Fatal(err)
	}
	var api struct {
		Paths map[string]map[string]struct{ Security *[]any }
	}
	if err := json.Unmarshal(data, &api); err != nil {
		f.Fatal(err)
	}
	for path, methods := range api.Paths {
		name := strings.TrimPrefix(strings.TrimPrefix(path, "/api/v1/exchanges/{exchange}/"), "/api/v1/")
		if strings.HasPrefix(name, "/") || name == "register" { // they need no key
			continue
		}
		for method := range methods {
			list = append(list, strings.ToUpper(method)+" "+name)
		}
	}
	for _, path := range f.c.MountedPaths() {
		found := false
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			if f.do(nil, method, path, "[").code != http.StatusMethodNotAllowed {
				list, found = append(list, method+" "+path), true
			}
		}
		if !found {
			f.Errorf("%s has no method", path)
		}
	}
	slices.Sort(list)
	return list
}

// Every path of the OpenAPI file and of the console lets in exactly the roles of the table. A path
// that is new needs a line there.
func TestEveryPathChecksRights(t *testing.T) {
	f := newRights(t)
	all := f.paths()
	f.everyone()
	for name := range rightsTable {
		if !slices.Contains(all, name) {
			t.Errorf("%s is in the table, and is no path", name)
		}
	}
	fill := strings.NewReplacer("{ref}", "2026-01-01-001", "{name}", "a.txt", "devices/{id}", "devices/vm:lamp", "executors/{id}", "executors/vm", "{verb}", "switch-on", "{actor}", "nobody")
	for _, name := range all {
		want, ok := rightsTable[name]
		if !ok {
			t.Errorf("%s has no line in the table", name)
			continue
		}
		method, path, _ := strings.Cut(name, " ")
		body, ok := rightsBodies[name]
		if !ok && method != http.MethodGet {
			body = "["
		}
		if name == "PATCH executors/{id}" {
			path = "executors/helper" // everybody may change only the own one
		}
		if !strings.HasPrefix(path, "/") {
			path = "/api/v1/exchanges/home/" + fill.Replace(path)
		}
		for role, letter := range map[string]string{"operator": "o", "resident": "r", "helper": "h", "viewer": "v", "guest": "g"} {
			got := f.do(f.browsers[role], method, path, body)
			denied := got.code == http.StatusForbidden || got.code == http.StatusUnauthorized
			if denied == strings.Contains(want, letter) || got.code >= 500 {
				t.Errorf("%s as %s: %d %s", name, role, got.code, got.text)
			}
		}
	}
}

// The page of a guest has neither capabilities of executors nor names of persons nor devices of other
// areas, but a stop and its unsafe devices. Others have them.
func TestGuestSeesNoCapabilities(t *testing.T) {
	f := newRights(t)
	f.everyone()
	f.must(http.StatusAccepted, f.do(f.browsers["resident"], http.MethodPost, "/api/v1/exchanges/home/hold", `{"executors":["vm"],"why":"the hob is hot"}`))
	f.must(http.StatusCreated, f.do(nil, http.MethodPost, "/api/v1/exchanges/home/register", strings.Replace(rightsStates, "{",
		`{"stopped":{"why":"smoke","devices":[{"device":"lamp","state":"safe"},{"device":"bed-lamp","state":"unsafe","err":"10.0.0.7 is silent"}]},`, 1)))
	for role, sees := range map[string]bool{"resident": true, "viewer": true, "guest": false} {
		next, end := f.events(f.browsers[role], "?home=true", "")
		all := ""
		for seen := map[string]bool{}; !seen["state"] || !seen["home"]; {
			e := next("state", "home")
			seen[e.name] = true
			all += e.data
		}
		end()
		all += f.must(http.StatusOK, f.do(f.browsers[role], http.MethodGet, "/api/v1/home", ""))
		for _, hidden := range []string{`"unlock"`, "by resident", `"by":"resident"`, "hob", "bed-lamp", "10.0.0.7"} {
			if strings.Contains(all, hidden) != sees {
				t.Errorf("%s: %q is there: %v, want %v", role, hidden, !sees, sees)
			}
		}
		for _, shown := range []string{`"on_hold":"`, `"drained":"`, `"why":"smoke"`, `"state":"unsafe"`, `"device":"lamp"`} {
			if !strings.Contains(all, shown) {
				t.Errorf("%s: %q is missing in %s", role, shown, all)
			}
		}
	}
}

// A guest operates the devices of its areas, but no lock, door, gate, scene or device of an unknown
// class, and sees no others.
func TestGuestOperatesOnlyWhatIsAllowed(t *testing.T) {
	f := newRights(t)
	until := time.Now().Add(30 * time.Second).UTC()
	guest := f.signIn(`{"link":"` + f.invite(`{"name":"Gus","role":"guest","areas":["hall"],"until":"`+until.Format(time.RFC3339Nano)+`"}`) + `"}`)
	home := f.must(http.StatusOK, f.do(guest, http.MethodGet, "/api/v1/home", ""))
	stream := f.do(guest, http.MethodGet, "/api/v1/stream", "").text
	for _, text := range []string{home, stream} {
		if strings.Contains(text, "bed") || !strings.Contains(text, "front-door") {
			t.Errorf("the guest sees %s", text)
		}
	}
	act := func(b *http.Client, device, verb string) answer {
		return f.do(b, http.MethodPost, "/api/v1/devices/vm:"+device+"/"+verb, `{"within":"5m"}`)
	}
	f.must(http.StatusForbidden, act(guest, "front-door", "unlock"))
	f.must(http.StatusForbidden, act(guest, "leave", "activate"))
	f.must(http.StatusForbidden, act(guest, "gate", "open"))
	f.must(http.StatusForbidden, act(guest, "box", "open"))
	f.must(http.StatusNotFound, act(guest, "bed-lamp", "switch-on"))
	var made struct{ Ref string }
	if err := json.Unmarshal([]byte(f.must(http.StatusAccepted, act(guest, "lamp", "switch-on"))), &made); err != nil {
		t.Fatal(err)
	}
	if thread := f.do(guest, http.MethodGet, "/api/v1/exchanges/home/requests/"+made.Ref, "").text; !strings.Contains(thread, `"needed_by":"`+until.Format("2006-01-02T15:04")) {
		t.Errorf("the order may begin after the end of the access: %s", thread)
	}
	f.must(http.StatusForbidden, f.do(guest, http.MethodPost, "/api/v1/exchanges/home/mess", `{"MESS":[{"query":{"type":"executors"}}]}`))
	f.must(http.StatusForbidden, f.do(guest, http.MethodPost, "/api/v1/exchanges/home/mess", `{"MESS":[{"request":{"intent":"unlock the front door"}}]}`))
	f.must(http.StatusOK, f.do(guest, http.MethodPost, "/api/v1/exchanges/home/mess", `{"MESS":[{"cancel":{"re":"`+made.Ref+`"}}]}`))
	f.must(http.StatusOK, f.do(nil, http.MethodPost, "/console/people", `{"do":"change","actor":"gus","role":"guest","entry":true,"until":"`+until.Format(time.RFC3339Nano)+`"}`))
	for device, verb := range map[string]string{"front-door": "unlock", "leave": "activate", "gate": "open", "box": "open", "bed-lamp": "switch-on"} {
		f.must(http.StatusAccepted, act(guest, device, verb))
	}
}
