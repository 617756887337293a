package mesh_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/mess"
)

// A request becomes a task, and the response goes to its address with its context.
func TestRequestAndResponse(t *testing.T) {
	h := newFixture(t, nil)
	e := h.request("msg_1", "How many tanks in zone 5?")
	e.ReplyContext = json.RawMessage(`{"thread" : "é",  "k":[1.50,2]}`)
	h.takes(e)
	r, _ := h.hub.wait(t, responseTo("msg_1"))
	if string(r.ReplyContext) != `{"thread" : "é",  "k":[1.50,2]}` || r.Payload.Body != "47 tanks" || r.Payload.Metadata.Get("status") != "completed" || r.Payload.Subject != "Re: How many tanks in zone 5?" {
		t.Errorf("%+v", r)
	}
	if path, head := h.hub.place(0); r.From != "arm_01" || r.To != "hub" || path != "/hooks/arm_01" || head.Get("Authorization") != "Bearer "+tokenHub {
		t.Errorf("%+v %v %v", r, path, head)
	}
	m, err := mess.Parse([]byte(r.Payload.Metadata.Get("mess")))
	if err != nil || len(m.Items) != 2 || m.Items[0].(*mess.Status).Evidence != mess.ReadBack {
		t.Errorf("%+v, %v", m, err)
	}
	th, err := h.x.Thread(t.Context(), watcher, r.Payload.Metadata.Get("ref"))
	if err != nil || th.Requestor != "mesh/hub" || th.Messages[0].Channel != "mesh" {
		t.Errorf("%+v, %v", th, err)
	}
}

// The agent accepts or rejects the recorded requests of other implementations as in the contract.
func TestRecordedRequestsAreTaken(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("wire", "testdata", "mesh-wire.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	agents := map[string]*fixture{}
	for _, name := range []string{"alpha", "beta", "hub"} {
		agents[name] = newFixture(t, func(c *mesh.Config) {
			c.Agent, c.Forward, c.Peers = name, true, map[string]mesh.Peer{}
			for _, other := range []string{"alpha", "beta", "hub"} {
				if other != name {
					c.Peers[other] = mesh.Peer{
						URL: "http://127.0.0.1:1", KeyFile: keyFile(t, shared), SealKeyFile: keyFile(t, "3aaa9998ac451d9763792cc62493d87c298c2f12ffa5851e3f507dfc480ae4da"),
					}
				}
			}
		})
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) != 36 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, line := range lines {
		var r struct {
			Case, Method, Path, Body string
			To                       string `json:"to_agent"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		agent := agents[r.To]
		want := http.StatusAccepted
		switch {
		case r.Case == "f05-131k", r.Case == "f08-badmeta":
			want = http.StatusBadRequest
		case r.Method == http.MethodGet:
			want = http.StatusOK
		case r.Path == "/api/mesh/response": // a page of the scripts that MESH does not have
			want = http.StatusNotFound
		}
		if agent == nil {
			agent = agents["alpha"]
		}
		req, err := http.NewRequest(r.Method, agent.server.URL+r.Path, strings.NewReader(r.Body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+tokenHere)
		if code, v := agent.roundTrip(req); code != want {
			t.Errorf("%s: %d %v, want %d", r.Case, code, v, want)
		}
	}
}

func keyFile(t testing.TB, text string) string {
	name := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(name, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// The agent rejects each kind of bad message with its reason, changes nothing, and writes it to
// the audit log.
func TestRefusals(t *testing.T) {
	h := newFixture(t, func(c *mesh.Config) {
		c.SessionPrefixes = []string{"hook:"}
		p := c.Peers["beta"]
		p.Accept = "beta-alone"
		c.Peers["beta"] = p
	})
	good := envelope(wire.Request, "msg_1", "photo").Text()
	hook := func(text string) string { return string(wire.Hook{Message: text}.Text()) }
	big := strings.Repeat("x", 70<<10)
	for name, c := range map[string]struct {
		path, token, body string
		code              int
		reason            string
	}{
		"no token":             {"/hooks/hub", "", hook(good), 401, "unauthorized"},
		"wrong token":          {"/hooks/hub", "nope", hook(good), 401, "unauthorized"},
		"token in the address": {"/hooks/hub?token=" + tokenHere, tokenHere, hook(good), 400, "token_in_query"},
		"bare":                 {"/hooks/", tokenHere, hook(good), 404, "not_found"},
		"another path":         {"/hooks/beta", tokenHere, hook(good), 403, "wrong_path"},
		"unknown sender":       {"/hooks/eve", tokenHere, hook(strings.Replace(good, `"from":"hub"`, `"from":"eve"`, 1)), 403, "unknown_sender"},
		"another's name":       {"/hooks/beta", tokenHere, hook(strings.Replace(good, `"from":"hub"`, `"from":"beta"`, 1)), 403, "wrong_token"},
		"its own token":        {"/hooks/hub", "beta-alone", hook(good), 403, "wrong_token"},
		"another recipient":    {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"to":"arm_01"`, `"to":"leg_02"`, 1)), 400, "wrong_recipient"},
		"empty body":           {"/hooks/hub", tokenHere, "", 400, "invalid"},
		"empty message":        {"/hooks/hub", tokenHere, `{"message":""}`, 400, "invalid"},
		"no JSON":              {"/hooks/hub", tokenHere, "hello", 400, "invalid"},
		"unknown protocol":     {"/hooks/hub", tokenHere, hook(strings.Replace(good, "mesh/1.0", "mesh/3.0", 1)), 400, "unsupported_protocol"},
		"bad ttl":              {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"ttl":300`, `"ttl":60.5`, 1)), 400, "invalid"},
		"unknown priority":     {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"priority":"normal"`, `"priority":"banana"`, 1)), 400, "invalid"},
		"priority in capitals": {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"priority":"normal"`, `"priority":"HIGH"`, 1)), 400, "invalid"},
		"no subject":           {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"subject":"photo",`, "", 1)), 400, "invalid"},
		"subject is null":      {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"subject":"photo"`, `"subject":null`, 1)), 400, "invalid"},
		"replyTo without url":  {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"replyTo":null`, `"replyTo":{"token":"t"}`, 1)), 400, "invalid"},
		"replyTo is empty":     {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"replyTo":null`, `"replyTo":{}`, 1)), 400, "invalid"},
		"MESS that is no text": {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"metadata":{}`, `"metadata":{"mess":{"request":{"intent":"photo","confirm_before":true}}}`, 1)), 400, "invalid"},
		"too large":            {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"body":"photo"`, `"body":"`+big+`"`, 1)), 413, "too_large"},
		"far too large":        {"/hooks/hub", tokenHere, hook(strings.Repeat(big, 4)), 413, "too_large"},
		"large file":           {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"attachments":[]`, `"attachments":[{"type":"inline","data":"`+base64.StdEncoding.EncodeToString([]byte(big))+`"}]`, 1)), 413, "too_large"},
		"a file that is none":  {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"attachments":[]`, `"attachments":[{"type":"inline","data":"%%%"}]`, 1)), 400, "invalid"},
		"session":              {"/hooks/agent", tokenHere, `{"message":"hi","sessionKey":"agent:main:x"}`, 400, "session_key"},
		"encrypted, no key":    {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"metadata":{}`, `"metadata":{},"encrypted":true`, 1)), 400, "sealed"},
		"from tomorrow":        {"/hooks/hub", tokenHere, hook(strings.Replace(good, envelope(wire.Request, "x", "x").Time.UTC().Format("2006-01-02"), "2999-01-01", 1)), 400, "clock"},
	} {
		t.Run(name, func(t *testing.T) {
			code, v := h.raw(c.path, c.token, c.body)
			if code != c.code || v["ok"] != false || v["error"] != c.reason || v["message"] == "" {
				t.Errorf("%d %v, want %d %s", code, v, c.code, c.reason)
			}
			if !h.audited("refused_" + c.reason) {
				t.Errorf("the audit log has no refused_%s", c.reason)
			}
		})
	}
	if h.count("request photo") != 0 {
		t.Error("something was done")
	}
	req, _ := http.NewRequest(http.MethodGet, h.server.URL+"/hooks/hub", nil)
	if code, _ := h.roundTrip(req); code != http.StatusMethodNotAllowed {
		t.Error(code)
	}
}

// A client that guesses tokens must wait, but the agent accepts a valid token from the same
// address.
func TestWrongTokensShutNobodyOut(t *testing.T) {
	h := newFixture(t, nil)
	last := 0
	for range 25 {
		last, _ = h.raw("/hooks/hub", "guess", "{}")
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("%d after 25 guesses", last)
	}
	h.takes(envelope(wire.Notification, "msg_n", "hello"))
}

// A peer that sends too much gets a Retry-After.
func TestRateLimit(t *testing.T) {
	h := newFixture(t, func(c *mesh.Config) { c.Rate, c.Burst = 0.1, 3 })
	for _, id := range []string{"a", "b", "c"} {
		h.takes(envelope(wire.Notification, id, "hello"))
	}
	if code, v := h.post(envelope(wire.Notification, "d", "hello")); code != http.StatusTooManyRequests || v["error"] != "rate_limited" || !h.audited("refused_rate_limited") {
		t.Errorf("%d %v", code, v)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks/hub", strings.NewReader(string(wire.Hook{Message: envelope(wire.Notification, "e", "hello").Text()}.Text())))
	r.Header.Set("Authorization", "Bearer "+tokenHere)
	w := httptest.NewRecorder()
	h.adapter.ServeHTTP(w, r)
	if after, err := strconv.Atoi(w.Header().Get("Retry-After")); w.Code != http.StatusTooManyRequests || err != nil || after < 1 || after > 600 { // one in ten minutes
		t.Errorf("%d, after %d, %v", w.Code, after, err)
	}
	h.takes(func() wire.Envelope { // other peers have their own limit
		e := envelope(wire.Notification, "f", "hello")
		e.From = "beta"
		return e
	}())
}

// A text without a sender counts against a limit, and has the size limit of an envelope.
func TestTextIsCounted(t *testing.T) {
	h := newFixture(t, func(c *mesh.Config) { c.Rate, c.Burst = 0.1, 3 })
	text := func(what string) int {
		code, _ := h.raw("/hooks/agent", tokenHere, string(wire.Hook{Message: what}.Text()))
		return code
	}
	if code := text(strings.Repeat("x", wire.MaxText+1)); code != http.StatusRequestEntityTooLarge {
		t.Errorf("%d", code)
	}
	for i, want := range []int{202, 202, 202, 429} {
		if code := text("hello"); code != want {
			t.Errorf("%d: %d", i, code)
		}
	}
	h.takes(envelope(wire.Notification, "msg_n", "hello")) // the peer has its own limit
}

// A duplicate makes no second task. A new message with the same key gets its own response with the
// same result.
func TestRepetitions(t *testing.T) {
	h := newFixture(t, nil)
	e := h.request("msg_1", "count")
	e.IdempotencyKey = "weekly"
	h.takes(e)
	first, _ := h.hub.wait(t, responseTo("msg_1"))
	if v := h.takes(e); v["duplicate"] != true {
		t.Fatalf("%v", v)
	}
	h.until("the answer again", func() bool {
		n := 0
		for _, r := range h.hub.all() {
			if r.ID == first.ID {
				n++
			}
		}
		return n == 2
	})
	e.ID = "msg_2"
	if v := h.takes(e); v["duplicate"] != true {
		t.Errorf("%v", v)
	}
	second, _ := h.hub.wait(t, responseTo("msg_2"))
	if second.ID == first.ID || second.Payload.Body != first.Payload.Body {
		t.Errorf("%+v\n%+v", first, second)
	}
	if n := h.count("request count"); n != 1 {
		t.Errorf("done %d times", n)
	}
	h.stop()
	h.open() // also after a restart
	if v := h.takes(e); v["duplicate"] != true || h.count("request count") != 1 {
		t.Errorf("%v", v)
	}
}

func TestExpired(t *testing.T) {
	h := newFixture(t, nil)
	e := h.request("msg_1", "photo")
	e.Time, e.TTL = time.Now().Add(-time.Hour), time.Minute
	if v := h.takes(e); v["expired"] != true || !h.audited("expired") || h.count("request photo") != 0 {
		t.Errorf("%v", v)
	}
}

// The response goes only to the address of the peer.
func TestAnswersGoToThePeerAlone(t *testing.T) {
	evil := newHub(t)
	h := newFixture(t, nil)
	e := h.request("msg_1", "count")
	e.ReplyTo.URL = evil.URL + "/hooks/arm_01"
	h.takes(e)
	h.hub.wait(t, responseTo("msg_1"))
	if got := evil.all(); len(got) != 0 || !h.audited("reply_to_refused") {
		t.Errorf("%+v", got)
	}
	e = h.request("msg_2", "count")
	e.ReplyTo = nil
	h.takes(e)
	h.hub.wait(t, responseTo("msg_2"))
}

func TestSessions(t *testing.T) {
	h := newFixture(t, nil)
	e := h.request("msg_1", "count")
	e.ReplyContext = json.RawMessage(`{"sessionKey":"agent:main:slack:C1"}`)
	e.ReplyTo.URL = h.hub.URL + "/hooks/agent"
	if code, v := h.raw("/hooks/agent", tokenHere, string(wire.Hook{Message: e.Text(), SessionKey: "slack:C1"}.Text())); code != 202 {
		t.Fatal(code, v)
	}
	r, hook := h.hub.wait(t, responseTo("msg_1"))
	if path, _ := h.hub.place(0); path != "/hooks/agent" || hook.SessionKey != "slack:C1" || string(r.ReplyContext) != string(e.ReplyContext) {
		t.Errorf("%v %q %s", path, hook.SessionKey, r.ReplyContext)
	}
	if files, _ := filepath.Glob(filepath.Join(h.dir, "sessions", "*.json")); len(files) != 1 {
		t.Errorf("%v", files)
	}
}

// A session key is valid if the whole key has a prefix from the configuration. If the configuration
// allows none, no key is valid.
func TestWhichSessionsPeersMayName(t *testing.T) {
	documented := []string{"hook:", "agent:main:"} // as in the example of the specification
	for _, one := range []struct {
		prefixes       []string
		off            bool
		beside, within string
		code           int
		session        string // session of the message
	}{
		{prefixes: documented, beside: "slack:C1", code: 400},
		{prefixes: documented, within: "slack:C1", code: 400},
		{prefixes: documented, beside: "hook:a", within: "slack:C1", code: 400},
		{prefixes: documented, beside: "slack:C1", within: "agent:other:slack:C1", code: 400},
		{prefixes: documented, beside: "slack:C2", within: "agent:main:slack:C1", code: 400},
		{prefixes: documented, beside: "slack:C1", within: "agent:main:slack:C1", code: 202, session: "agent:main:slack:C1"},
		{prefixes: documented, beside: "agent:main:x", code: 202, session: "agent:main:x"},
		{prefixes: documented, beside: "hook:a", code: 202, session: "hook:a"},
		{prefixes: documented, code: 202},
		{beside: "anything", code: 202, session: "anything"},
		{off: true, beside: "hook:a", code: 400},
		{off: true, within: "hook:a", code: 202},
	} {
		h := newFixture(t, func(c *mesh.Config) { c.SessionPrefixes, c.AllowSessionKey = one.prefixes, !one.off })
		e := envelope(wire.Notification, "msg_1", "hello")
		if one.within != "" {
			e.ReplyContext = json.RawMessage(`{"sessionKey":"` + one.within + `"}`)
		}
		if code, v := h.raw("/hooks/agent", tokenHere, string(wire.Hook{Message: e.Text(), SessionKey: one.beside}.Text())); code != one.code {
			t.Errorf("%+v: %d %v", one, code, v)
		}
		files, _ := filepath.Glob(filepath.Join(h.dir, "sessions", "*.json"))
		text := ""
		for _, f := range files {
			data, _ := os.ReadFile(f)
			text += string(data)
		}
		if (one.session == "") != (len(files) == 0) || !strings.Contains(text, `"`+one.session+`"`) && one.session != "" {
			t.Errorf("%+v: %s", one, text)
		}
	}
}

// A response contains an image that fits, and serves a larger one.
func TestPictures(t *testing.T) {
	h := newFixture(t, nil)
	h.takes(h.request("msg_1", "small photo"))
	h.takes(h.request("msg_2", "photo"))
	small, _ := h.hub.wait(t, responseTo("msg_1"))
	if a := small.Payload.Attachments; len(a) != 1 || a[0].Type != "inline" || a[0].MIME != "image/jpeg" {
		t.Fatalf("%+v", small.Payload.Attachments)
	}
	data, err := base64.StdEncoding.DecodeString(small.Payload.Attachments[0].Data)
	if err != nil || string(data) != string(picture(48, 48)) {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	large, hook := h.hub.wait(t, responseTo("msg_2"))
	if a := large.Payload.Attachments; len(a) != 1 || a[0].Type != "url" || len(hook.Message) > wire.MaxText {
		t.Fatalf("%+v", a)
	}
	res, err := http.Get(large.Payload.Attachments[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err = io.ReadAll(res.Body)
	if err != nil || string(data) != string(picture(640, 640)) || res.Header.Get("Content-Type") != "image/jpeg" || res.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d bytes, %v, %v", len(data), res.Header, err)
	}
	if code, _ := h.raw(mesh.FilesPath+"guess/x.jpg", "", ""); code != http.StatusMethodNotAllowed {
		t.Error(code)
	}
}

func TestFailures(t *testing.T) {
	h := newFixture(t, nil)
	h.takes(h.request("msg_1", "fail"))
	r, _ := h.hub.wait(t, responseTo("msg_1"))
	if r.Payload.Metadata.Get("status") != "failed" || !strings.Contains(r.Payload.Body, "power cut") || !strings.Contains(r.Payload.Body, "the outcome is unknown") {
		t.Errorf("%+v", r.Payload)
	}
	e := h.request("msg_2", "x")
	e.Payload.Metadata = wire.Object{}.With("mess", `{"MESS":[{"status":{"code":"completed"}}]}`)
	h.takes(e)
	if r, _ := h.hub.wait(t, responseTo("msg_2")); r.Payload.Metadata.Get("status") != "failed" {
		t.Errorf("%+v", r.Payload)
	}
}

// A restart loses nothing: the next run sends the response, and the executor acts once.
func TestRestart(t *testing.T) {
	h := newFixture(t, nil)
	h.takes(h.request("msg_1", "forever"))
	h.until("it is done", func() bool { return h.count("request forever") == 1 })
	var ref string
	h.until("it is a task", func() bool {
		for _, l := range h.audit() {
			if l["status"] == "task" {
				ref = l["ref"].(string)
			}
		}
		return ref != ""
	})
	h.stop()
	h.SendTo(ref, `[{status: {code: completed}}, {response: {content: ["at last"]}}]`)
	h.open()
	if r, _ := h.hub.wait(t, responseTo("msg_1")); r.Payload.Body != "at last" {
		t.Errorf("%+v", r.Payload)
	}
}

func TestHealth(t *testing.T) {
	h := newFixture(t, nil)
	if v := h.health(); v["ok"] != true || v["status"] != "ok" || v["agent"] != "arm_01" || v["protocol"] != "mesh/1.0" || v["version"] != "test" || v["storage"] != nil {
		t.Errorf("%v", v)
	}
	h.storage = errFull
	if v := h.health(); v["status"] != "degraded" || v["storage"] != "failing" {
		t.Errorf("%v", v)
	}
}

// health returns the health of the agent.
func (h *fixture) health() map[string]any {
	h.Helper()
	req, _ := http.NewRequest(http.MethodGet, h.server.URL+"/api/status", nil)
	code, v := h.roundTrip(req)
	if code != http.StatusOK {
		h.Errorf("%d %v", code, v)
	}
	return v
}

// The agent rejects a message that it cannot store. The peer sends it again, and the executor acts
// once. Until then, the health is degraded.
func TestAFullDisk(t *testing.T) {
	h := newFixture(t, nil)
	h.disk.full.Store(true)
	for _, e := range []wire.Envelope{h.request("msg_1", "count"), envelope(wire.Notification, "msg_2", "hello"), envelope(wire.Alert, "msg_3", "down")} {
		if code, v := h.post(e); code != http.StatusServiceUnavailable || v["ok"] != false || v["error"] != "unavailable" {
			t.Errorf("%s: %d %v", e.ID, code, v)
		}
	}
	if v := h.health(); v["status"] != "degraded" || v["storage"] != "failing" {
		t.Errorf("%v", v)
	}
	h.disk.full.Store(false)
	h.takes(h.request("msg_1", "count"))
	h.hub.wait(t, responseTo("msg_1"))
	if n := h.count("request count"); n != 1 {
		t.Errorf("done %d times", n)
	}
	if v := h.health(); v["status"] != "ok" {
		t.Errorf("%v", v)
	}
}

// A flood of rejected messages does not fill the log, which contains their number.
func TestAFloodOfRefusals(t *testing.T) {
	h := newFixture(t, nil)
	knock := func(from string) {
		r, w := httptest.NewRequest(http.MethodPost, "/hooks/", nil), httptest.NewRecorder()
		r.RemoteAddr = from + ":1"
		if h.adapter.ServeHTTP(w, r); w.Code != http.StatusNotFound {
			t.Fatal(w.Code)
		}
	}
	const all = 500 // in less than eight minutes
	for range all {
		knock("192.0.2.1")
	}
	knock("192.0.2.2") // another address has its own limit
	h.stop()
	written, more := map[any]int{}, ""
	for _, l := range h.audit() {
		switch l["status"] {
		case "refused_not_found":
			written[l["from"]]++
		case "refused_more":
			more, _ = l["detail"].(string)
		}
	}
	if n := written["192.0.2.1"]; n < 60 || n >= all || written["192.0.2.2"] != 1 || !strings.Contains(more, "the log omits") {
		t.Errorf("%v of %d are written; %q", written, all, more)
	}
}
