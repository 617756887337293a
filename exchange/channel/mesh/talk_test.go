package mesh_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/mess"
)

// answer returns the answer of the hub to a question.
func answer(id, to, body string) wire.Envelope {
	e := envelope(wire.Response, id, body)
	e.CorrelationID = to
	return e
}

// A question goes to the peer as a request, and a response answers it.
func TestQuestionIsAnsweredByResponse(t *testing.T) {
	h := newFixture(t, nil)
	h.takes(h.request("msg_1", "ask"))
	q, _ := h.hub.wait(t, questionOf)
	if q.ReplyTo == nil || q.ReplyTo.URL != h.server.URL+"/hooks/hub" || !strings.Contains(q.Payload.Body, "where? (sink, stove)") || q.CorrelationID != "msg_1" {
		t.Fatalf("%+v", q)
	}
	h.takes(answer("msg_a", q.ID, "sink"))
	if r, _ := h.hub.wait(t, responseTo("msg_1")); r.Payload.Body != "done" || h.count(`reply {"area":"sink"}`) != 1 {
		t.Errorf("%+v %v", r.Payload, h.Acts())
	}
}

func TestSeveralQuestionsGetAnswers(t *testing.T) {
	h := newFixture(t, nil)
	h.takes(h.request("msg_1", "ask two"))
	q, _ := h.hub.wait(t, questionOf)
	h.takes(answer("msg_a", q.ID, "the sink"))
	again, _ := h.hub.wait(t, func(e wire.Envelope) bool { return questionOf(e) && e.ID != q.ID })
	if !strings.Contains(again.Payload.Body, `there is no answer to "area"`) {
		t.Errorf("%q", again.Payload.Body)
	}
	h.takes(answer("msg_b", again.ID, "area: sink\ndepth: 2 cm"))
	h.hub.wait(t, responseTo("msg_1"))
	if h.count(`reply {"area":"sink","depth":"2 cm"}`) != 1 {
		t.Errorf("%v", h.Acts())
	}
}

// A confirmation counts for its own task and for the plan in the question. The agent asks again if
// an answer is no plain yes or no.
func TestConfirmationIsForOnePlan(t *testing.T) {
	h := newFixture(t, nil)
	h.takes(h.request("msg_1", "confirm"))
	q, _ := h.hub.wait(t, questionOf)
	if !strings.Contains(q.Payload.Body, "open the valve") || !strings.Contains(q.Payload.Body, "It may drip.") {
		t.Errorf("%q", q.Payload.Body)
	}
	other := answer("msg_o", q.ID, "yes")
	other.From = "beta"
	h.takes(other)
	wrong := answer("msg_h", q.ID, "yes")
	wrong.Payload.Metadata = wire.Object{}.With("mess", `{"MESS":[{"reply":{"re":"x","confirm":true,"action_hash":"another"}}]}`)
	h.takes(wrong)
	again, _ := h.hub.wait(t, func(e wire.Envelope) bool { return questionOf(e) && e.ID != q.ID })
	h.takes(answer("msg_m", again.ID, "yes?"))
	third, _ := h.hub.wait(t, func(e wire.Envelope) bool { return questionOf(e) && e.ID != q.ID && e.ID != again.ID })
	if h.count("reply null") != 0 {
		t.Fatalf("%v", h.Acts())
	}
	h.takes(answer("msg_old", q.ID, "yes")) // to an earlier question
	h.takes(answer("msg_y", third.ID, "yes"))
	if r, _ := h.hub.wait(t, responseTo("msg_1")); r.Payload.Metadata.Get("status") != "completed" || !h.audited("answer_refused") || !h.audited("unexpected") {
		t.Errorf("%+v", r.Payload)
	}
	h.takes(h.request("msg_2", "confirm"))
	q2, _ := h.hub.wait(t, func(e wire.Envelope) bool { return questionOf(e) && e.CorrelationID == "msg_2" })
	h.takes(answer("msg_n", q2.ID, "no"))
	if r, _ := h.hub.wait(t, responseTo("msg_2")); r.Payload.Metadata.Get("status") != "cancelled" {
		t.Errorf("%+v", r.Payload)
	}
}

// A task of more than five seconds gets an ack and continues; the peer can cancel it.
func TestLongTaskGetsAckAndCancel(t *testing.T) {
	t.Parallel() // it waits
	h := newFixture(t, nil)
	h.takes(h.request("msg_1", "forever"))
	ack, _ := h.hub.wait(t, func(e wire.Envelope) bool { return e.Type == wire.Ack })
	if ack.CorrelationID != "msg_1" || ack.Payload.Metadata.Get("status") != "in_progress" || ack.Payload.Metadata.Get("eta") != "2030-01-01T08:00:00Z" || !strings.Contains(ack.Payload.Body, "10 %: looking") {
		t.Errorf("%+v", ack)
	}
	stop := envelope(wire.Notification, "msg_c", "cancel")
	stop.CorrelationID = "msg_1"
	h.takes(stop)
	if r, _ := h.hub.wait(t, responseTo("msg_1")); r.Payload.Metadata.Get("status") != "cancelled" || !strings.Contains(r.Payload.Body, "part of it happened") {
		t.Errorf("%+v", r.Payload)
	}
}

// The agent rejects an unsigned message from a peer that must sign, and encrypts the answer to an
// encrypted message.
func TestSignatureAndEncryption(t *testing.T) {
	h := newFixture(t, func(c *peers.Config) {
		p := c.Peers["hub"]
		p.KeyFile, p.Signed = keyFile(t, shared), true
		c.Peers["hub"] = p
	})
	key := wire.Key(shared)
	e := h.request("msg_1", "count")
	if code, v := h.post(e); code != http.StatusForbidden || v["error"] != "unsigned" {
		t.Errorf("%d %v", code, v)
	}
	sealed, err := key.Seal("count", [16]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	e.Payload.Body, e.Payload.Encrypted = sealed, true
	text, _ := key.Sign(e.Text())
	if code, v := h.raw("/hooks/hub", tokenHere, string(wire.Hook{Message: strings.Replace(text, "msg_1", "msg_9", 1)}.Text())); code != http.StatusForbidden || v["error"] != "bad_signature" {
		t.Errorf("%d %v", code, v)
	}
	if code, v := h.raw("/hooks/hub", tokenHere, string(wire.Hook{Message: text}.Text())); code != http.StatusAccepted {
		t.Fatal(code, v)
	}
	r, hook := h.hub.wait(t, responseTo("msg_1"))
	_, head := h.hub.place(0)
	plain, err := key.Open(r.Payload.Body)
	if err != nil || plain != "47 tanks" || !r.Payload.Encrypted || !key.Verify(hook.Message) || strings.Contains(hook.Message, "tanks") || head.Get("X-MESH-Signature") != r.Signature {
		t.Errorf("%q, %v\n%s", plain, err, hook.Message)
	}
}

// Files come from the peer and from shared folders, and from no other place.
func TestAttachmentsComeFromAllowedSources(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("from the folder"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}
		_, _ = w.Write([]byte("from the server"))
	}))
	defer files.Close()
	h := newFixture(t, func(c *peers.Config) { c.Paths = []string{dir} })
	e := h.request("msg_1", "count")
	e.Payload.Attachments = []wire.Attachment{
		{Type: "inline", Data: "YSxiCjEsMgo=", Filename: "small.csv", Size: -1},
		{Type: "url", URL: files.URL + "/report.txt", Size: -1},
		{Type: "path", Path: filepath.Join(dir, "a.txt"), Size: -1},
		{Type: "url", URL: files.URL + "/away", Filename: "away", Size: -1},
		{Type: "url", URL: "http://169.254.169.254/meta", Size: -1},
		{Type: "url", URL: "http://localhost:1/x", Size: -1},
		{Type: "path", Path: filepath.Join(dir, "link"), Size: -1},
		{Type: "path", Path: filepath.Join(dir, "..", "secret"), Size: -1},
		{Type: "path", Path: "/etc/passwd", Size: -1},
	}
	h.takes(e)
	r, _ := h.hub.wait(t, responseTo("msg_1"))
	for _, want := range []string{"away: its server answers 302", "meta: it is not at the address of hub", "x: it is not at the address of hub", "link: there is no such file", "secret: it is in no folder", "passwd: it is in no folder"} {
		if !strings.Contains(r.Payload.Body, want) {
			t.Errorf("%q is not in\n%s", want, r.Payload.Body)
		}
	}
	th, err := h.x.Thread(t.Context(), watcher, r.Payload.Metadata.Get("ref"))
	if err != nil {
		t.Fatal(err)
	}
	context, _ := json.Marshal(th.Request().Context)
	for _, want := range []string{"YSxiCjEsMgo=", "ZnJvbSB0aGUgc2VydmVy", "ZnJvbSB0aGUgZm9sZGVy"} {
		if !strings.Contains(string(context), want) {
			t.Errorf("%s is not in %s", want, context)
		}
	}
	if len(th.Request().Context) != 3 {
		t.Errorf("%s", context)
	}
}

// A slow file server does not delay other peers and urgent messages.
func TestSlowServerDelaysNoOtherPeer(t *testing.T) {
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer slow.Close()
	defer close(release)
	h := newFixture(t, nil)
	e := h.request("msg_1", "count")
	e.Payload.Attachments = []wire.Attachment{{Type: "url", URL: slow.URL, Size: -1}}
	h.takes(e)
	h.takes(envelope(wire.Notification, "msg_2", "the same peer is heard"))
	urgent := envelope(wire.Request, "msg_4", "count at once")
	urgent.Priority = wire.High
	h.takes(urgent)
	h.until("what is urgent is done", func() bool { return h.count("request count at once") == 1 })
	other := envelope(wire.Request, "msg_3", "count for beta")
	other.From = "beta"
	h.takes(other)
	h.until("beta is served", func() bool { return h.count("request count for beta") == 1 })
}

// A legacy text goes to the audit log and makes no task.
func TestLegacyTextMakesNoTask(t *testing.T) {
	h := newFixture(t, nil)
	for _, text := range []string{"ping", "switch on the heater", `["a"]`, `{"protocol":"sfiac/1.0"}`} {
		if code, v := h.raw("/hooks/hub", tokenHere, string(wire.Hook{Message: text}.Text())); code != http.StatusAccepted || v["text"] != true {
			t.Errorf("%q: %d %v", text, code, v)
		}
	}
	if !h.audited("received_text") || len(h.Acts()) != 0 {
		t.Errorf("%v", h.Acts())
	}
}

// The agent stores a legacy text, then forwards it to the configured address, even after errors
// or a restart.
func TestLegacyTextIsForwarded(t *testing.T) {
	var mu sync.Mutex
	var got []map[string]any
	code := http.StatusServiceUnavailable
	handler := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var v map[string]any
		if err := json.NewDecoder(r.Body).Decode(&v); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s: %v", r.Method, err)
		}
		if w.WriteHeader(code); code == http.StatusOK {
			got = append(got, v)
		}
	}))
	defer handler.Close()
	h := newFixture(t, func(c *peers.Config) { c.TextURL = handler.URL + "/texts" })
	if code, v := h.raw("/hooks/hub", tokenHere, `{"message":"switch on $(reboot)","sessionKey":"s:1"}`); code != http.StatusAccepted {
		t.Fatal(code, v)
	}
	h.stop() // before the address accepts it
	mu.Lock()
	code = http.StatusOK
	mu.Unlock()
	h.open()
	h.until("the text is forwarded", func() bool { return h.audited("text_handed_on") })
	mu.Lock()
	got = slices.CompactFunc(got, func(a, b map[string]any) bool { return a["id"] == b["id"] }) // a text can arrive twice after an interruption
	if len(got) != 1 || got[0]["text"] != "switch on $(reboot)" || got[0]["from"] != "hub" || got[0]["to"] != "arm_01" || got[0]["sessionKey"] != "s:1" {
		t.Errorf("%v", got)
	}
	code = http.StatusGone
	mu.Unlock()
	if code, v := h.raw("/hooks/agent", tokenHere, `{"message":"ping"}`); code != http.StatusAccepted {
		t.Fatal(code, v)
	}
	h.until("he does not want it", func() bool { return h.audited("text_not_handed_on") })
	h.disk.full.Store(true)
	if code, v := h.raw("/hooks/agent", tokenHere, `{"message":"ping"}`); code != http.StatusServiceUnavailable {
		t.Error(code, v)
	}
	if len(h.Acts()) != 0 {
		t.Errorf("%v", h.Acts())
	}
}

// The configuration sets the number of hosts of one scope that make an outage.
func TestConfiguredOutageSize(t *testing.T) {
	h := newFixture(t, func(c *peers.Config) { c.Outage.Hosts = 2 })
	for _, c := range []struct{ host, want string }{{"worker-1", "new"}, {"worker-2", "escalate"}} {
		e := envelope(wire.Alert, "msg_"+c.host, "no answer")
		e.Payload.Metadata = wire.Object{}.With("host", c.host).With("check", "ping").With("scope", "lan")
		if got := h.takes(e)["verdict"]; got != c.want {
			t.Errorf("%s: %v, want %s", c.host, got, c.want)
		}
	}
	if all := h.report(mesh.Order{Do: "status"}).Status.Incidents; len(all) != 1 || all[0].Type != "network_outage" || all[0].Scope != "lan" {
		t.Errorf("%+v", all)
	}
}

// The agent notifies people of the first alert and of the recovery, and counts other alerts. A dead
// letter of an old alert opens no incident.
func TestRepeatedAlertIsCounted(t *testing.T) {
	h := newFixture(t, func(c *peers.Config) { c.Notify = []string{"hub"} })
	alert := func(id, status string, at time.Time) any {
		e := envelope(wire.Alert, id, "disk full")
		e.Time = at
		e.Payload.Metadata = wire.Object{}.With("host", "worker-1").With("check", "disk").With("status", status)
		return h.takes(e)["verdict"]
	}
	old := time.Now().Add(-2 * time.Minute)
	for _, c := range []struct{ id, status, want string }{{"a1", "", "new"}, {"a2", "", "suppressed"}, {"a3", "resolved", "recovery"}} {
		if got := alert(c.id, c.status, time.Now()); got != c.want {
			t.Errorf("%s: %v, want %s", c.id, got, c.want)
		}
	}
	if got := alert("a0", "", old); got != "suppressed" {
		t.Errorf("an old alert: %v", got)
	}
	h.hub.wait(t, func(e wire.Envelope) bool { return strings.HasPrefix(e.Payload.Subject, "[new] worker-1/disk") })
	h.hub.wait(t, func(e wire.Envelope) bool { return strings.HasPrefix(e.Payload.Subject, "[recovery]") })
}

// The disk is full, so the agent cannot store the state of an incident: the next run notifies
// people.
func TestAlertOnFullDiskNotifiesLater(t *testing.T) {
	h := newFixture(t, func(c *peers.Config) { c.Notify = []string{"hub"} })
	for _, status := range []string{"new", "resolved"} {
		e := envelope(wire.Alert, "msg_"+status, "disk full")
		e.Payload.Metadata = wire.Object{}.With("host", "worker-1").With("check", "disk").With("status", status)
		h.disk.full.Store(true)
		if code, v := h.post(e); code != http.StatusServiceUnavailable {
			t.Errorf("%d %v", code, v)
		}
		h.disk.full.Store(false)
		if v := h.takes(e); v["verdict"] != "suppressed" { // the incident has counted it; the notification follows below
			t.Errorf("%v", v)
		}
		h.stop()
		h.open()
		subject := map[string]string{"new": "[new] worker-1/disk", "resolved": "[recovery] worker-1/disk"}[status]
		h.hub.wait(t, func(e wire.Envelope) bool { return strings.HasPrefix(e.Payload.Subject, subject) })
	}
	h.stop()
	h.open()
	h.takes(envelope(wire.Notification, "msg_n", "x"))
	subjects := map[string]string{} // the next run may send a notification again
	for _, e := range h.hub.all() {
		subjects[e.ID] = e.Payload.Subject
	}
	if len(subjects) != 2 {
		t.Errorf("notifications are %q, want 2", subjects)
	}
}

// The agent forwards a message for another agent unchanged if the configuration allows it.
func TestMessageIsForwardedUnchanged(t *testing.T) {
	for _, forward := range []bool{true, false} {
		h := newFixture(t, func(c *peers.Config) { c.Forward = forward })
		e := envelope(wire.Request, "msg_1", "count")
		e.From, e.To = "beta", "hub"
		e.Relay = &wire.Relay{From: "beta", Via: "arm_01", OriginalTo: "hub"}
		code, v := h.post(e)
		if !forward {
			if code != http.StatusForbidden || v["error"] != "no_relay" {
				t.Errorf("%d %v", code, v)
			}
			continue
		}
		if code != http.StatusAccepted {
			t.Fatal(code, v)
		}
		got, _ := h.hub.wait(t, questionOf)
		if path, _ := h.hub.place(0); got.Text() != e.Text() || path != "/hooks/beta" {
			t.Errorf("%s\n%s", got.Text(), e.Text())
		}
	}
}

// A cancel during an open question ends the task for the peer as cancelled, also in the MESS
// message, whose last status was the question.
func TestCancelDuringQuestion(t *testing.T) {
	h := newFixture(t, nil)
	h.takes(h.request("msg_1", "ask"))
	h.hub.wait(t, questionOf)
	n := envelope(wire.Notification, "msg_2", "cancel")
	n.CorrelationID = "msg_1"
	h.takes(n)
	r, _ := h.hub.wait(t, responseTo("msg_1"))
	m, err := mess.Parse([]byte(r.Payload.Metadata.Get("mess")))
	if err != nil || len(m.Items) == 0 {
		t.Fatal(m, err)
	}
	if s, ok := m.Items[0].(*mess.Status); !ok || s.Code != mess.Cancelled || r.Payload.Metadata.Get("status") != "cancelled" {
		t.Errorf("%s", r.Payload.Metadata.Get("mess"))
	}
}
