package httpapi_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/httpapi"
	"github.com/messkit/messkit/exchange/keys"
)

// house is a real exchange behind a real door on this machine.
type house struct {
	*testing.T
	url string
	op  string // the operator's key
}

func open(t *testing.T, cfg httpapi.Config) *house {
	t.Helper()
	dir := t.TempDir()
	log := slog.New(slog.DiscardHandler)
	k, err := keys.Open(dir, "home")
	if err != nil {
		t.Fatal(err)
	}
	ec := exchange.DefaultConfig()
	ec.Catalogue = []exchange.Definition{{ID: "take-photo", Description: "Take a photo", Tags: []string{"visual"}}}
	x, err := exchange.Open(t.Context(), ec, exchange.NewMemory(), time.Now, log)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := x.Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(wg.Wait)
	cfg.Version = "1.2.3"
	s := httptest.NewServer(httpapi.New(x, k, cfg, log).Handler())
	t.Cleanup(s.Close)
	key, err := os.ReadFile(filepath.Join(dir, "operator.key"))
	if err != nil {
		t.Fatal(err)
	}
	return &house{t, s.URL, strings.TrimSpace(string(key))}
}

const root = "/api/v1/exchanges/home"

// reply is an answer, with times and refs that differ from run to run made
// plain.
type reply struct {
	code int
	body string
	head http.Header
}

func (h *house) do(method, path, key, body string, headers ...string) reply {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		h.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		h.Fatal(err)
	}
	return reply{res.StatusCode, strings.TrimSpace(string(data)), res.Header}
}

var (
	anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+(Z|[-+]\d\d:\d\d)`)
	anyRef  = regexp.MustCompile(`\d{4}-\d\d-\d\d-(\d{3})`)
	anyKey  = regexp.MustCompile(`[0-9a-f]{32}`)
)

func (r reply) plain() string {
	s := anyTime.ReplaceAllString(r.body, "TIME")
	return anyKey.ReplaceAllString(anyRef.ReplaceAllString(s, "DAY-$1"), "KEY")
}

func (h *house) want(r reply, code int, body string) {
	h.Helper()
	if r.code != code || body != "" && !sameJSON(body, r.plain()) {
		h.Errorf("got %d %s\nwant %d %s", r.code, r.plain(), code, body)
	}
}

// sameJSON reports whether two texts are the same JSON.
func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return cmp.Equal(x, y)
}

func (r reply) field(name string) string {
	var v map[string]any
	if json.Unmarshal([]byte(r.body), &v) != nil {
		return ""
	}
	return fmt.Sprint(v[name])
}

// register gives an executor its key.
func (h *house) register(id, capabilities string) string {
	h.Helper()
	r := h.do("POST", root+"/register", "", fmt.Sprintf(`{"executor_id":%q,"display_name":"My Phone","capabilities":[%s],"preferences":{"min_priority":"normal"}}`, id, capabilities))
	if r.code != http.StatusCreated {
		h.Fatalf("register %s: %d %s", id, r.code, r.body)
	}
	return r.field("api_key")
}

func (h *house) create(key, body string) string {
	h.Helper()
	r := h.do("POST", root+"/requests", key, body)
	if r.code != http.StatusCreated {
		h.Fatalf("create: %d %s", r.code, r.body)
	}
	return r.field("ref")
}

// The way of one request as clients in the field go it, with the shapes that
// their servers give.
func TestAsInTheField(t *testing.T) {
	h := open(t, httpapi.Config{})
	h.want(h.do("GET", "/health", "", ""), 200, `{"status":"ok","service":"mess-exchange","version":"1.2.3","exchange_id":"home"}`)

	r := h.do("POST", root+"/register", "", `{"executor_id":"phone","display_name":"My Phone","capabilities":["take-photo",{"vacuum-floor":{"areas":["kitchen"]}}],"notifications":[],"hooks":{}}`)
	h.want(r, 201, `{"executor_id":"phone","api_key":"mess_home_KEY","message":"Keep this key; it is shown only once."}`)
	phone, agent := r.field("api_key"), h.register("claude-agent", "")
	h.want(h.do("POST", root+"/register", "", `{"executor_id":"phone"}`), 409, "")
	h.want(h.do("POST", root+"/register", "", `{}`), 400, `{"error":"executor_id required","why":"invalid"}`)

	r = h.do("POST", root+"/requests", agent, `{"intent":"Check if the garage door is closed","context":["Getting ready for bed",{"url":"https://example.com/x"}],"priority":"elevated","response_hints":["image",{"text":"one line"}],"x_own":{"kept":[1,2.50]}}`)
	h.want(r, 201, `{"ref":"DAY-001","status":"pending"}`)
	ref := r.field("ref")
	row := `{"ref":"DAY-001","status":"pending","intent":"Check if the garage door is closed","requestor_id":"claude-agent","executor_id":null,"priority":"elevated","created_at":"TIME","updated_at":"TIME"}`
	h.want(h.do("GET", root+"/requests?status=pending", phone, ""), 200, `{"threads":[`+row+`]}`)
	h.want(h.do("GET", root+"/requests?status=claimed", phone, ""), 200, `{"threads":[]}`)

	one := root + "/requests/" + ref
	h.want(h.do("PATCH", one, phone, `{}`), 200, `{"ref":"DAY-001","status":"pending"}`)
	h.want(h.do("PATCH", one, phone, `{"status":"claimed","message":"On it","mess":[{"status":{"re":"`+ref+`","code":"claimed","executor":"phone","estimate":"PT10M"}}]}`), 200, `{"ref":"DAY-001","status":"claimed"}`)
	r = h.do("GET", one, agent, "")
	for _, want := range []string{
		`"executor_id":"phone"`,
		`{"request":{"intent":"Check if the garage door is closed","context":["Getting ready for bed",{"url":"https://example.com/x"}],"response_hint":["image",{"text":"one line"}],"priority":"elevated","x_own":{"kept":[1,2.50]}}}`,
		`"estimate":"PT10M"`, `"message":"On it"`, `"from":"phone"`, `"ts":"TIME"`,
	} {
		if !strings.Contains(r.plain(), want) {
			t.Errorf("the thread has no %s:\n%s", want, r.plain())
		}
	}
	h.want(h.do("PATCH", one, phone, `{"status":"in-progress"}`), 200, `{"ref":"DAY-001","status":"in_progress"}`)
	h.want(h.do("PATCH", one, phone, `{"status":"needs-input","mess":[{"status":{"code":"needs_input","questions":[{"field":"door","question":"Which?"}]}}]}`), 200, `{"ref":"DAY-001","status":"needs_input"}`)
	h.want(h.do("PATCH", one, agent, `{"mess":[{"answer":{"re":"last","value":"the left one"}}]}`), 200, `{"ref":"DAY-001","status":"in_progress"}`)

	up := h.do("PUT", one+"/attachments/door.png", phone, "\x89PNG\r\n\x1a\nxxxx", "Content-Type", "image/png")
	if up.code != 200 || up.field("mime") != "image/png" || up.field("size") != "12" {
		t.Fatalf("upload: %d %s", up.code, up.body)
	}
	h.want(h.do("PATCH", one, phone, `{"status":"completed","mess":[{"response":{"content":["It is closed.",{"image":`+up.body+`}]}}]}`), 200, `{"ref":"DAY-001","status":"completed"}`)
	name := regexp.MustCompile(`att-[^"]*\.png`).FindString(h.do("GET", one, agent, "").body)
	file := one + "/attachments/" + name
	if r := h.do("GET", file, agent, ""); r.code != 200 || r.head.Get("Content-Type") != "image/png" || r.head.Get("X-Content-Type-Options") != "nosniff" || len(r.body) != 12 {
		t.Errorf("attachment: %d %q %v", r.code, r.body, r.head)
	}
	if r := h.do("GET", file, agent, "", "Range", "bytes=1-3"); r.code != 206 || r.body != "PNG" {
		t.Errorf("a part of it: %d %q", r.code, r.body)
	}
	h.want(h.do("GET", one+"/attachments/other.png", agent, ""), 404, "")
	if r := h.do("GET", one+"/thread", agent, ""); r.code != 200 || !strings.Contains(r.body, "intent: Check if the garage door is closed") || !strings.Contains(r.body, "\n---\n") {
		t.Errorf("thread: %d %s", r.code, r.body)
	}
	h.want(h.do("GET", root+"/executors", agent, ""), 200, `{"executors":[{"id":"phone","display_name":"My Phone","capabilities":["take-photo",{"vacuum-floor":{"areas":["kitchen"]}}],"last_seen":"TIME","created_at":"TIME","live":true}]}`)
	h.want(h.do("PATCH", root+"/executors/phone", phone, `{"display_name":"Phone 2"}`), 200, `{"executor_id":"phone","updated":true}`)
	h.want(h.do("PATCH", root+"/executors/phone", agent, `{}`), 403, "")
	if r := h.do("GET", root+"/capabilities?tag=visual", agent, ""); !strings.Contains(r.body, `{"description":"Take a photo","id":"take-photo","tags":["visual"]}`) {
		t.Errorf("capabilities: %s", r.body)
	}
}

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

// Exactly one of many claims at the same time gets the thread.
func TestClaimsAreExclusive(t *testing.T) {
	h := open(t, httpapi.Config{})
	agent := h.register("agent", "")
	const n = 12
	var who [n]string
	for i := range n {
		who[i] = h.register(fmt.Sprintf("phone-%d", i), `"x"`)
	}
	one := root + "/requests/" + h.create(agent, `{"intent":"look","requires":["x"]}`)
	var mu sync.Mutex
	count := map[int]int{}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			r := h.do("PATCH", one, who[i], `{"status":"claimed"}`)
			mu.Lock()
			defer mu.Unlock()
			count[r.code]++
		})
	}
	wg.Wait()
	if count[200] != 1 || count[409] != n-1 {
		t.Errorf("answers: %v", count)
	}
}

func TestMessagesInBothFormats(t *testing.T) {
	h := open(t, httpapi.Config{})
	agent := h.register("agent", "")
	h.want(h.do("POST", root+"/mess", agent, `{"MESS":[{"request":{"id":"a","intent":"look"}}]}`), 200, "")
	r := h.do("POST", root+"/mess", agent, "MESS:\n  - v: 1.1.0\n  - request:\n      id: b\n      intent: look\n", "Content-Type", "application/yaml")
	if r.code != 200 || !strings.Contains(r.body, "re: b") || !strings.HasPrefix(r.head.Get("Content-Type"), "application/yaml") {
		t.Errorf("YAML: %d %s", r.code, r.body)
	}
	// The same request again is the same thread.
	if a, b := h.create(agent, `{"id":"c","intent":"look"}`), h.create(agent, `{"id":"c","intent":"look"}`); a != b {
		t.Errorf("%s and %s", a, b)
	}
	h.want(h.do("POST", root+"/requests", agent, `{"id":"c","intent":"look away"}`), 409, "")
}

func TestWhatTheClientHasIsNotSentAgain(t *testing.T) {
	h := open(t, httpapi.Config{})
	agent := h.register("agent", "")
	path := root + "/requests/" + h.create(agent, `{"intent":"look `+strings.Repeat("x", 2000)+`"}`)
	r := h.do("GET", path, agent, "", "Accept-Encoding", "identity")
	tag := r.head.Get("ETag")
	if !strings.HasPrefix(tag, `W/"`) || r.head.Get("Cache-Control") != "no-store" || r.head.Get("Vary") != "*" {
		t.Errorf("headers: %v", r.head)
	}
	if again := h.do("GET", path, agent, "", "If-None-Match", `"x", `+tag); again.code != 304 || again.body != "" {
		t.Errorf("got %d %s", again.code, again.body)
	}
	z := h.do("GET", path, agent, "", "Accept-Encoding", "gzip")
	zr, err := gzip.NewReader(bytes.NewReader([]byte(z.body)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(zr)
	if err != nil || strings.TrimSpace(string(data)) != r.body {
		t.Errorf("compressed: %v %s", err, data)
	}
}

func TestEnrolmentCode(t *testing.T) {
	h := open(t, httpapi.Config{Enrol: "abc-123"})
	r := h.do("POST", root+"/register", "", `{"executor_id":"a","enrol":"abc-123"}`, "Origin", "https://elsewhere.example")
	h.want(r, 201, "")
	r = h.do("POST", root+"/register", "", `{"executor_id":"b","enrol":"abc-124"}`, "Origin", "https://elsewhere.example")
	h.want(r, 403, "")
}

// next reads one event of a stream, without comments.
func next(t *testing.T, r *bufio.Reader) (id, name, data string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "id: "):
			id = line[4:]
		case strings.HasPrefix(line, "event: "):
			name = line[7:]
		case strings.HasPrefix(line, "data: "):
			data = line[6:]
		case line == "" && name != "":
			return id, name, data
		}
	}
}

func (h *house) stream(path, key string, headers ...string) *bufio.Reader {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), "GET", h.url+path, nil)
	if err != nil {
		h.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { res.Body.Close() })
	return bufio.NewReader(res.Body)
}

func TestEvents(t *testing.T) {
	h := open(t, httpapi.Config{})
	phone, agent := h.register("phone", `"x"`), h.register("agent", "")
	s := h.stream(root+"/events?after=now", agent)
	first, name, _ := next(t, s)
	if name != "reset" {
		t.Fatalf("an unknown place to resume gives %s", name)
	}
	work := h.stream(root+"/events?as=executor", phone)
	ref := h.create(agent, `{"intent":"look","requires":["x"]}`)
	if _, name, data := next(t, work); name != "message" || !strings.Contains(data, `"request"`) || !strings.Contains(data, ref) {
		t.Errorf("offer: %s %s", name, data)
	}
	_, name, data := next(t, s)
	if name != "message" || !strings.Contains(data, `"thread":{"ref":"`+ref) || !strings.Contains(data, `"kind":"message"`) {
		t.Errorf("request: %s %s", name, data)
	}
	h.do("PATCH", root+"/requests/"+ref, phone, `{"status":"claimed"}`)
	if _, _, data := next(t, s); !strings.Contains(data, `"code":"claimed"`) {
		t.Errorf("claim: %s", data)
	}
	// A client that was away gets what it missed, and nothing twice.
	again := h.stream(root+"/events", agent, "Last-Event-ID", first)
	if _, _, data := next(t, again); !strings.Contains(data, `"request"`) {
		t.Errorf("missed: %s", data)
	}
	if _, _, data := next(t, again); !strings.Contains(data, `"claimed"`) {
		t.Errorf("missed: %s", data)
	}

	r := h.do("GET", root+"/events?wait=10s&after="+first, agent, "")
	if r.code != 200 || strings.Count(r.body, `"event":"message"`) != 2 {
		t.Errorf("poll: %d %s", r.code, r.body)
	}
	last := r.field("last")
	r = h.do("GET", root+"/events?wait=0s&after="+last, agent, "")
	h.want(r, 200, fmt.Sprintf(`{"events":[],"last":%q}`, last))
}

// FuzzBodies: whatever is sent, the answer is JSON and never a 500.
func FuzzBodies(f *testing.F) {
	for _, s := range []string{`{}`, `{"status":"claimed","mess":[{"status":{"re":"x"}}]}`, `{"intent":"a","constraints":{"depends_on":["x"]}}`, `[1`, "a: b", `{"mess":{"cancel":{}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		h := open(t, httpapi.Config{})
		phone := h.register("phone", `"x"`)
		ref := h.create(phone, `{"intent":"look"}`)
		for _, r := range []reply{
			h.do("POST", root+"/requests", phone, string(body)),
			h.do("PATCH", root+"/requests/"+ref, phone, string(body)),
			h.do("POST", root+"/mess", phone, string(body)),
			h.do("PATCH", root+"/executors/phone", phone, string(body)),
			h.do("POST", root+"/register", "", string(body)),
		} {
			if r.code >= 500 || !json.Valid([]byte(r.body)) {
				t.Errorf("%d %s", r.code, r.body)
			}
		}
	})
}
