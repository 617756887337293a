package mesh_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/mess"
)

// A request becomes a task, and the response goes to its address with its context.
func TestRequestGetsResponse(t *testing.T) {
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
	if err != nil || th.Requester != "mesh/hub" || th.Messages[0].Channel != "mesh" {
		t.Errorf("%+v, %v", th, err)
	}
}

// The agent accepts or rejects the recorded requests of other implementations as in the contract.
func TestRecordedRequestsMatchContract(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("wire", "testdata", "mesh-wire.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	agents := map[string]*fixture{}
	for _, name := range []string{"alpha", "beta", "hub"} {
		agents[name] = newFixture(t, func(c *peers.Config) {
			c.Agent, c.Forward, c.Peers = name, true, map[string]peers.Peer{}
			for _, other := range []string{"alpha", "beta", "hub"} {
				if other != name {
					c.Peers[other] = peers.Peer{
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

// A duplicate makes no second task. A new message with the same key gets its own response with the
// same result.
func TestDuplicateMakesNoSecondTask(t *testing.T) {
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

func TestExpiredMessageIsRejected(t *testing.T) {
	h := newFixture(t, nil)
	e := h.request("msg_1", "photo")
	e.Time, e.TTL = time.Now().Add(-time.Hour), time.Minute
	if v := h.takes(e); v["expired"] != true || !h.audited("expired") || h.count("request photo") != 0 {
		t.Errorf("%v", v)
	}
}

// The response goes only to the address of the peer.
func TestResponseGoesToPeerOnly(t *testing.T) {
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

// A response contains an image that fits, and serves a larger one.
func TestResponseHasImage(t *testing.T) {
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

func TestFailedTaskGetsResponse(t *testing.T) {
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
func TestRestartLosesNothing(t *testing.T) {
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

func TestHealthReportsStorage(t *testing.T) {
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
