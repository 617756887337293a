package mesh_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh"
	"github.com/messkit/messkit/exchange/channel/mesh/delivery"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/test/pagetest"
)

// TestListedDifferencesFromMESH covers each difference from MESH 1.0 that docs/how-to/mesh.md lists.
func TestListedDifferencesFromMESH(t *testing.T) {
	here := func(tests ...string) func(*testing.T) { return pagetest.Elsewhere(".", tests...) }
	pagetest.Differences(t, "../../../docs/how-to/mesh.md", map[string]func(*testing.T){
		"Port 18789":                         ownAddress,
		"No TLS":                             pagetest.Elsewhere("delivery", "TestPinRejectsOtherCertificates"),
		"A timeout of 10 s":                  timeouts,
		"A health check before each message": pagetest.Elsewhere("delivery", "TestHealthCheckIsCached", "TestAttemptsFollowAnswers"),
		"A failed health check opens the circuit breaker":         pagetest.Elsewhere("delivery", "TestAttemptsFollowAnswers"),
		"Protocol `mesh/1.0`":                                     acceptedEnvelopes,
		"An `id` is a UUID":                                       acceptedEnvelopes,
		"The token alone identifies `from`":                       here("TestInvalidMessageIsRejected"),
		"A request needs `replyTo`":                               here("TestResponseGoesToPeerOnly", "TestInvalidMessageIsRejected"),
		"Any address in `replyTo`":                                here("TestResponseGoesToPeerOnly"),
		"Receivers do not read `replyContext`":                    here("TestSessionKeyNeedsConfiguredPrefix", "TestRequestGetsResponse"),
		"A request goes to `/hooks/{sender}`":                     requestForSession,
		"`/hooks/agent` feeds a chat session":                     sessionOfAnyPath,
		"Any `ttl`":                                               acceptedEnvelopes,
		"A response comes within the `ttl`":                       here("TestAcksFollowInterval", "TestLongTaskGetsAckAndCancel"),
		"`metadata` has any content":                              here("TestInvalidMessageIsRejected", "TestTwoAgentsLoseNothing"),
		"The members of the envelope":                             membersOfEnvelope,
		"Receivers recognize duplicates":                          duplicatesForADay,
		"An immediate `ack`":                                      acksOnce,
		"No type for questions":                                   here("TestQuestionIsAnsweredByResponse"),
		"No type for a cancel":                                    here("TestLongTaskGetsAckAndCancel", "TestCancelDuringQuestion"),
		"A rally is a set of requests":                            ralliesOnce,
		"Retries after transport errors and 5xx only":             pagetest.Elsewhere("delivery", "TestAttemptsFollowAnswers"),
		"No retry after 4xx":                                      otherAddressAfter4xx,
		"Three failures open the circuit breaker":                 pagetest.Elsewhere("delivery", "TestAttemptsFollowAnswers", "TestBreakerOpensAfterFailures"),
		"The form of dead letters":                                pagetest.Elsewhere("state", "TestDeadLettersAreStored"),
		"The folders `~/clawd/state` and `~/clawd/logs`":          filesInDataFolder,
		"A further host does not alert again":                     hostsOfAnOutage,
		"Each change of status is reported":                       pagetest.Elsewhere("state", "TestOldAlertOpensNoIncident"),
		"Summaries each hour, and each two hours after the first": here("TestIncidentSummariesFollowIntervals"),
		"`deliver`, Slack and Signal":                             here("TestPeopleAreNotified"),
		"`alert-dedup.sh`":                                        here("TestRepeatedAlertIsCounted"),
		"Tokens rotate each quarter":                              here("TestTokenRotates"),
		"64 KB for a message":                                     inlineFilesApart,
		"Each message is in the audit log":                        here("TestRejectedFloodKeepsLogSmall"),
		"Files of any size":                                       filesTooLarge,
		"Files from any address":                                  here("TestAttachmentsComeFromAllowedSources"),
		"Files at any path":                                       here("TestAttachmentsComeFromAllowedSources"),
		"A file server for five minutes":                          here("TestResponseHasImage"),
		"Agents act on plain text":                                here("TestLegacyTextMakesNoTask"),
		"`mesh-send.sh` and `mesh-receive.sh`":                    here("TestMetadataOfResponse"),
	})
}

// posted returns a request of the agent to the hub as the hub received it.
func (h *fixture) posted(s mesh.Sending) (wire.Envelope, wire.Hook) {
	h.Helper()
	id := h.send(s)
	return h.hub.wait(h, func(e wire.Envelope) bool { return e.ID == id })
}

func ownAddress(t *testing.T) {
	h := newFixture(t, nil)
	if e, _ := h.posted(mesh.Sending{To: "hub", Type: wire.Request, Body: "hello"}); e.ReplyTo == nil || e.ReplyTo.URL != h.server.URL+"/hooks/hub" {
		t.Errorf("answers go to %+v", e.ReplyTo)
	}
}

func timeouts(t *testing.T) {
	store, err := state.Open(t.TempDir(), time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var whole time.Duration
	delivery.New([]delivery.Peer{{Name: "hub", URL: "http://192.0.2.1"}}, delivery.Config{Client: func(_ delivery.Peer, total time.Duration) *http.Client {
		whole = total
		return &http.Client{}
	}}, store, slog.New(slog.DiscardHandler))
	if whole != 30*time.Second {
		t.Errorf("a request takes up to %v", whole)
	}
}

func acceptedEnvelopes(t *testing.T) {
	h := newFixture(t, nil)
	for i, one := range []struct {
		was, is string
		code    int
	}{
		{"mesh/1.0", "mesh/1.7", http.StatusAccepted},
		{"mesh/1.0", "mesh/2.0", http.StatusBadRequest},
		{`"id":"`, `"id":"A:1@x_`, http.StatusAccepted},
		{`"id":"`, `"id":"a/b `, http.StatusBadRequest},
		{`"ttl":300`, `"ttl":2592000`, http.StatusAccepted},
		{`"ttl":300`, `"ttl":2592001`, http.StatusBadRequest},
		{`"ttl":300`, `"ttl":0.5`, http.StatusBadRequest},
		{`"ttl":300`, `"ttl":0`, http.StatusAccepted}, // within 5 s
	} {
		text := envelope(wire.Notification, fmt.Sprint("n", i), "hello").Text()
		code, v := h.raw("/hooks/hub", tokenHere, string(wire.Hook{Message: strings.Replace(text, one.was, one.is, 1)}.Text()))
		if code != one.code || v["expired"] != nil {
			t.Errorf("%s: %d %v", one.is, code, v)
		}
	}
}

func requestForSession(t *testing.T) {
	h := newFixture(t, nil)
	const key = "agent:main:slack:C1"
	e, hook := h.posted(mesh.Sending{To: "hub", Type: wire.Request, Body: "hello", SessionKey: key})
	if path, _ := h.hub.place(0); path != "/hooks/agent" || hook.SessionKey != "slack:C1" || e.SessionKey() != key {
		t.Errorf("the message went to %s with %q, %q", path, hook.SessionKey, e.SessionKey())
	}
	if e.ReplyTo == nil || e.ReplyTo.URL != h.server.URL+"/hooks/agent" {
		t.Errorf("the answer goes to %+v", e.ReplyTo)
	}
	r := answer("msg_r", e.ID, "done")
	r.ReplyContext = e.ReplyContext
	if code, v := h.raw("/hooks/agent", e.ReplyTo.Token, string(wire.Hook{Message: r.Text(), SessionKey: key}.Text())); code != http.StatusAccepted {
		t.Error(code, v)
	}
	if r := h.result(e.ID); r.Body != "done" {
		t.Errorf("%+v", r)
	}
}

func sessionOfAnyPath(t *testing.T) {
	h := newFixture(t, nil)
	text := envelope(wire.Notification, "msg_1", "hello").Text()
	if code, v := h.raw("/hooks/hub", tokenHere, string(wire.Hook{Message: text, SessionKey: "s1"}.Text())); code != http.StatusAccepted {
		t.Fatal(code, v)
	}
	files, _ := filepath.Glob(filepath.Join(h.dir, "sessions", "*.json"))
	if len(files) != 1 {
		t.Fatal(files)
	}
	if data, err := os.ReadFile(files[0]); err != nil || !bytes.Contains(data, []byte("msg_1")) {
		t.Errorf("%s %v", data, err)
	}
}

func membersOfEnvelope(t *testing.T) {
	h := newFixture(t, func(c *peers.Config) {
		p := c.Peers["hub"]
		p.KeyFile = keyFile(t, shared)
		c.Peers["hub"] = p
	})
	_, hook := h.posted(mesh.Sending{To: "hub", Type: wire.Notification, Body: "hello"})
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(hook.Message), &members); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"conversationId", "session", "nonce", "signature"} {
		if members[name] == nil {
			t.Errorf("%s misses %s", hook.Message, name)
		}
	}
}

func duplicatesForADay(t *testing.T) {
	inTime(t, func(h *fixture, _ *far) {
		for _, c := range []struct {
			after time.Duration
			known any
		}{{0, nil}, {23 * time.Hour, true}, {2 * time.Hour, nil}} {
			later(c.after)
			if v := h.hooked(envelope(wire.Notification, "msg_1", "hello")); v["duplicate"] != c.known {
				t.Errorf("%v later: %v", c.after, v)
			}
		}
	})
}

func acksOnce(t *testing.T) {
	inTime(t, func(h *fixture, hub *far) {
		hub.down = true
		h.hooked(envelope(wire.Request, "msg_1", "forever"))
		later(8 * time.Second) // the peer loses the ack
		hub.mu.Lock()
		hub.down = false
		hub.mu.Unlock()
		later(5 * time.Minute)
		came, _ := hub.all()
		same(t, "told", came, nil)
	})
}

func ralliesOnce(t *testing.T) {
	h := newFixture(t, nil)
	h.hub.code = http.StatusInternalServerError
	r := h.report(mesh.Order{Do: "rally", Send: &mesh.Sending{To: "hub", Body: "how many?"}})
	e, _ := h.hub.wait(t, questionOf)
	var deadLetters []state.DeadLetter
	h.until("it is a dead letter", func() bool {
		deadLetters = h.report(mesh.Order{Do: "letters"}).DeadLetters
		return len(deadLetters) > 0
	})
	if e.TTL != 2*time.Minute || deadLetters[0].ID != r.Taken[0].ID || deadLetters[0].Attempts != 1 {
		t.Errorf("ttl %v, %+v", e.TTL, deadLetters)
	}
}

func otherAddressAfter4xx(t *testing.T) {
	paths := make(chan string, 10)
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			paths <- r.URL.Path
		}
		if r.URL.Path == "/gone" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer peer.Close()
	h := newFixture(t, func(c *peers.Config) { c.Peers["hub"] = peers.Peer{URL: peer.URL, Token: tokenHub} })
	e := h.request("msg_1", "count")
	e.ReplyTo.URL = peer.URL + "/gone"
	h.takes(e)
	if first, second := <-paths, <-paths; first != "/gone" || second != "/hooks/arm_01" {
		t.Errorf("the response went to %s and %s", first, second)
	}
}

func filesInDataFolder(t *testing.T) {
	h := newFixture(t, nil)
	h.takes(envelope(wire.Alert, "msg_1", "disk full"))
	for _, name := range []string{"active-incidents.json", "mesh-audit.jsonl"} {
		if _, err := os.Stat(filepath.Join(h.dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func hostsOfAnOutage(t *testing.T) {
	h := newFixture(t, nil)
	for i, want := range []string{"new", "new", "escalate", "suppressed"} {
		e := envelope(wire.Alert, fmt.Sprint("msg_", i), "no answer")
		e.Payload.Metadata = wire.Object{}.With("host", fmt.Sprint("worker-", i)).With("check", "ping").With("scope", "lan")
		if got := h.takes(e)["verdict"]; got != want {
			t.Errorf("host %d: %v, want %s", i, got, want)
		}
	}
}

func inlineFilesApart(t *testing.T) {
	h := newFixture(t, nil)
	e := envelope(wire.Notification, "msg_1", "hello")
	data := base64.StdEncoding.EncodeToString(make([]byte, wire.MaxInline))
	for range 2 {
		e.Payload.Attachments = append(e.Payload.Attachments, wire.Attachment{Type: "inline", Data: data, Size: -1})
	}
	if text := e.Text(); len(text) <= 2*wire.MaxText {
		t.Fatal("the message is too small for this test")
	}
	h.takes(e)
}

func filesTooLarge(t *testing.T) {
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 3<<20)) }))
	defer files.Close()
	h := newFixture(t, nil)
	e := h.request("msg_1", "count")
	e.Payload.Attachments = []wire.Attachment{{Type: "url", URL: files.URL + "/large.bin", Size: -1}}
	h.takes(e)
	if r, _ := h.hub.wait(t, responseTo("msg_1")); !strings.Contains(r.Payload.Body, "large.bin: it is larger than 2097152 bytes") || !h.audited("attachment_missing") {
		t.Errorf("%s", r.Payload.Body)
	}
}
