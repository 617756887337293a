package mesh_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/mess"
)

// report makes a call of the API that must succeed.
func (h *fixture) report(o mesh.Order) (r mesh.Report) {
	h.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		h.Fatal(err)
	}
	code, v := h.order(string(text))
	if code != http.StatusOK {
		h.Fatalf("%s: %d %v", text, code, v)
	}
	text, _ = json.Marshal(v)
	if err := json.Unmarshal(text, &r); err != nil {
		h.Fatal(err)
	}
	return r
}

// send sends a message and returns its id.
func (h *fixture) send(s mesh.Sending) string {
	h.Helper()
	r := h.report(mesh.Order{Do: "send", Send: &s})
	if len(r.Taken) != 1 {
		h.Fatalf("%+v", r)
	}
	return r.Taken[0].ID
}

// delivery waits for the result of a delivery, success or failure.
func (h *fixture) delivery(id, to string) (a mesh.Asked) {
	h.Helper()
	h.until(id+" is on its way no more", func() bool {
		a = *h.report(mesh.Order{Do: "delivered", ID: id, Peer: to}).Asked
		return a.Delivery != ""
	})
	return a
}

// result waits for the response to a request.
func (h *fixture) result(id string) *mesh.Result {
	h.Helper()
	var a mesh.Asked
	h.until("an answer to "+id, func() bool {
		a = *h.report(mesh.Order{Do: "await", ID: id}).Asked
		return a.Result != nil
	})
	return a.Result
}

// answers makes the hub answer every request before it accepts it, as some peers do.
func (h *fixture) answers(reply func(wire.Envelope) wire.Envelope) {
	h.hub.mu.Lock()
	defer h.hub.mu.Unlock()
	h.hub.answered = func(e wire.Envelope) {
		if e.Type != wire.Request {
			return
		}
		r := reply(e)
		r.CorrelationID, r.ReplyContext, r.ConversationID = e.ID, e.ReplyContext, e.ConversationID
		if code, v := h.post(r); code != http.StatusAccepted {
			h.Errorf("%d %v", code, v)
		}
	}
}

// The agent accepts a response that arrives before the answer to its request. The same response
// with another id is a duplicate.
func TestEarlyResponseIsAccepted(t *testing.T) {
	h := newFixture(t, nil)
	h.answers(func(e wire.Envelope) wire.Envelope {
		r := answer("msg_early", e.ID, "47 tanks")
		r.Payload.Attachments = []wire.Attachment{{Type: "inline", Data: "YSxi", Filename: "../a.csv", Size: -1}}
		return r
	})
	id := h.send(mesh.Sending{To: "hub", Type: wire.Request, Body: "how many?"})
	r := h.result(id)
	if r.Body != "47 tanks" || !slices.Equal(r.Files, []string{"a.csv"}) {
		t.Errorf("%+v", r)
	}
	if data := h.report(mesh.Order{Do: "file", ID: id, Name: "a.csv"}).Data; string(data) != "a,b" {
		t.Errorf("%q", data)
	}
	if code, _ := h.order(`{"do":"file","id":"` + id + `","name":"../../token"}`); code != http.StatusNotFound {
		t.Error(code)
	}
	h.takes(answer("msg_second", id, "other"))
	if r := h.result(id); r.Body != "47 tanks" || !h.audited("duplicate") {
		t.Errorf("%+v", r)
	}
	stranger := answer("msg_third", id, "forged")
	stranger.From = "beta"
	h.takes(stranger)
	if !h.audited("unexpected") {
		t.Error("the audit log lacks the answer of another peer")
	}
}

// A request without a response in time has failed, and its waiting client learns it. A later
// response still counts.
func TestRequestWithoutResponseFails(t *testing.T) {
	t.Parallel() // it waits
	h := newFixture(t, nil)
	id := h.send(mesh.Sending{To: "hub", Type: wire.Request, Body: "how many?", TTL: 1})
	var a mesh.Asked
	h.until("its time is over", func() bool {
		a = *h.report(mesh.Order{Do: "await", ID: id}).Asked
		return a.Failed != ""
	})
	if a.Failed != "no answer in time" || !h.audited("no_response") {
		t.Errorf("%+v", a)
	}
	h.takes(answer("msg_late", id, "47 tanks"))
	if r := h.result(id); r.Body != "47 tanks" {
		t.Errorf("%+v", r)
	}
}

// A rejected message is a dead letter that only an operator sends again.
func TestRejectedMessageIsDeadLetter(t *testing.T) {
	h := newFixture(t, nil)
	h.hub.code = http.StatusNotFound
	id := h.send(mesh.Sending{To: "hub", Type: wire.Notification, Body: "hello"})
	if a := h.delivery(id, "hub"); a.Delivery != "client_error_404" {
		t.Fatalf("%+v", a)
	}
	deadLetters := h.report(mesh.Order{Do: "letters"}).DeadLetters
	if len(deadLetters) != 1 || deadLetters[0].ID != id || deadLetters[0].Attempts != 1 || strings.Contains(string(deadLetters[0].Envelope), tokenHere) {
		t.Errorf("%+v", deadLetters)
	}
	h.hub.mu.Lock()
	h.hub.code = http.StatusAccepted
	h.hub.mu.Unlock()
	if r := h.report(mesh.Order{Do: "replay"}); r.Sent != 0 {
		t.Errorf("%+v", r)
	}
	if r := h.report(mesh.Order{Do: "replay", Final: true}); r.Sent != 1 || len(r.Failed) != 0 {
		t.Errorf("%+v", r)
	}
	if len(h.report(mesh.Order{Do: "letters"}).DeadLetters) != 0 || !h.audited("replayed") {
		t.Error("the dead letter is still stored")
	}
}

// The next run sends a message that was in progress when the program ended, with the same id.
func TestOutboxSurvivesRestart(t *testing.T) {
	h := newFixture(t, nil)
	h.hub.code = http.StatusInternalServerError
	id := h.send(mesh.Sending{To: "hub", Type: wire.Notification, Body: "hello"})
	h.hub.wait(t, func(e wire.Envelope) bool { return e.ID == id })
	h.stop()
	h.hub.mu.Lock()
	h.hub.code, h.hub.got, h.hub.hooks = http.StatusAccepted, nil, nil
	h.hub.mu.Unlock()
	h.open()
	h.hub.wait(t, func(e wire.Envelope) bool { return e.ID == id })
	h.until("it is noted", func() bool { return h.audited("sent") })
}

// A message that its peer does not accept goes through the relay.
func TestRelayDeliversMessage(t *testing.T) {
	h := newFixture(t, func(c *peers.Config) { c.Relay = "hub" })
	id := h.send(mesh.Sending{To: "beta", Type: wire.Notification, Body: "hello", NoRetry: true})
	got, _ := h.hub.wait(t, func(e wire.Envelope) bool { return e.ID == id })
	if got.To != "beta" || got.Relay == nil || *got.Relay != (wire.Relay{From: "arm_01", Via: "hub", OriginalTo: "beta"}) {
		t.Errorf("%+v", got)
	}
	if a := h.delivery(id, "beta"); a.Delivery != "relayed_via_hub" || a.Lost() || len(h.report(mesh.Order{Do: "letters"}).DeadLetters) != 0 {
		t.Errorf("%+v", a)
	}
}

// A rally asks several peers the same question; a second round supersedes the first.
func TestRallyAsksSeveralPeers(t *testing.T) {
	h := newFixture(t, func(c *peers.Config) { c.Groups = map[string][]string{"all_of_us": {"hub", "arm_01"}} })
	n := 0
	h.answers(func(e wire.Envelope) wire.Envelope {
		n++
		return answer(fmt.Sprint("msg_r", n), e.ID, fmt.Sprint("answer ", n))
	})
	id := ""
	for round := 1; round <= 2; round++ {
		c := h.report(mesh.Order{Do: "rally", Send: &mesh.Sending{To: "@all_of_us", Body: "how many?", Conversation: id}}).Conversation
		if id = c.ID; len(c.Participants) != 1 || c.CurrentRound != round {
			t.Fatalf("%+v", c)
		}
		h.until("the round is complete", func() bool {
			c = h.report(mesh.Order{Do: "conversation", ID: id}).Conversation
			return c.Status == "complete"
		})
		if c.Responses[0].Body != fmt.Sprint("answer ", round) {
			t.Errorf("%+v", c)
		}
	}
	q, _ := h.hub.wait(t, questionOf)
	if q.ConversationID != id || q.Payload.Subject != "["+id+"] how many?" || string(q.ReplyContext) != `{"conversationId":"`+id+`","participants":["hub"],"round":1}` {
		t.Errorf("%+v", q)
	}
}

// A counter question of a peer gets an answer, and makes no task.
func TestCounterQuestionGetsAnswer(t *testing.T) {
	h := newFixture(t, nil)
	id := h.send(mesh.Sending{To: "hub", Type: wire.Request, Body: "clean up"})
	h.hub.wait(t, func(e wire.Envelope) bool { return e.ID == id })
	q := h.request("msg_q", "where?")
	q.CorrelationID, q.ReplyContext = id, json.RawMessage(`{"k":1}`)
	h.takes(q)
	if a := h.report(mesh.Order{Do: "await", ID: id}).Asked; len(a.Questions) != 1 || a.Questions[0].Text != "where?" {
		t.Fatalf("%+v", a)
	}
	h.send(mesh.Sending{To: "hub", Type: wire.Response, Body: "the sink", Correlation: "msg_q"})
	got, _ := h.hub.wait(t, responseTo("msg_q"))
	if got.Payload.Body != "the sink" || string(got.ReplyContext) != `{"k":1}` || h.count("request where?") != 0 {
		t.Errorf("%+v", got)
	}
	late := h.request("msg_l", "where?")
	late.CorrelationID, late.Payload.Metadata = "msg_unknown", wire.Object{}.With("status", "needs_answer")
	h.takes(late)
	h.takes(envelope(wire.Notification, "msg_after", "x"))
	if h.count("request where?") != 0 {
		t.Error("a question became a task")
	}
}

// twoOfOurs returns two agents that know each other. with has the settings of both in addition to
// address and token.
func twoOfOurs(t *testing.T, with peers.Peer) (arm, hub *fixture) {
	arm = newFixture(t, func(c *peers.Config) {
		p := with
		p.URL, p.Token = "http://127.0.0.1:1", tokenHub
		c.Peers = map[string]peers.Peer{"hub": p}
	})
	hub = newFixture(t, func(c *peers.Config) {
		p := with
		p.URL, p.Token = arm.server.URL, tokenHere
		c.Agent, c.Token, c.Peers = "hub", tokenHub, map[string]peers.Peer{"arm_01": p}
	})
	arm.stop()
	p := arm.cfg.Peers["hub"]
	p.URL = hub.server.URL
	arm.cfg.Peers["hub"] = p
	arm.open()
	return arm, hub
}

// A MESS message that does not fit into an envelope becomes an attachment, with the encryption of
// the text. Without the attachment the task fails before it begins.
func TestLargeMessageBecomesAttachment(t *testing.T) {
	for name, with := range map[string]peers.Peer{"in clear": {}, "encrypted": {KeyFile: keyFile(t, shared), Encrypt: true}} {
		t.Run(name, func(t *testing.T) {
			arm, hub := twoOfOurs(t, with)
			words := strings.Repeat("behind the door, ", 2500)
			request, _ := json.Marshal(map[string]any{"v": "1.1.0", "MESS": []any{map[string]any{"request": map[string]any{"id": "large", "intent": "count", "context": []any{words, map[string]any{"image": mess.DataURI("image/jpeg", picture(200, 200))}}}}}})
			id := hub.send(mesh.Sending{To: "arm_01", Type: wire.Request, MESS: string(request)})
			if r := hub.result(id); r.Status != "completed" || r.MESS == "" || len(r.Notes) > 0 {
				t.Fatalf("%+v", r)
			}
			page, err := arm.x.List(t.Context(), watcher, exchange.Filter{})
			if err != nil || len(page.Threads) != 1 {
				t.Fatalf("%+v, %v", page, err)
			}
			th, err := arm.x.Thread(t.Context(), watcher, page.Threads[0].Ref)
			if err != nil {
				t.Fatal(err)
			}
			if text, _ := th.Request().Context[0].Text(); text != words || len(th.Request().Context) != 2 || th.ClientID != "large" {
				t.Errorf("%d bytes of %d, %d pieces", len(text), len(words), len(th.Request().Context))
			}
			files, _ := filepath.Glob(filepath.Join(hub.dir, "out", "*"))
			if len(files) != 1 {
				t.Fatal(files)
			}
			beside, err := os.ReadFile(files[0])
			if err != nil || strings.Contains(string(beside), "behind the door") == with.Encrypt {
				t.Errorf("%.60s, %v", beside, err)
			}
		})
	}
	h := newFixture(t, nil)
	e := h.request("msg_1", "count")
	e.Payload.Attachments = []wire.Attachment{{Type: "url", URL: h.hub.URL + "/message.mess.json", Filename: "message.mess.json", Size: -1}}
	h.takes(e) // the file is empty there
	if r, _ := h.hub.wait(t, responseTo("msg_1")); r.Payload.Metadata.Get("status") != "failed" || !strings.Contains(r.Payload.Body, "Not done: ") || len(h.Acts()) != 0 {
		t.Errorf("%+v %v", r.Payload, h.Acts())
	}
}

// Two messkit agents lose nothing of a request, its response and its image.
func TestTwoAgentsLoseNothing(t *testing.T) {
	arm, hub := twoOfOurs(t, peers.Peer{})
	const request = `{"v":"1.1.0","MESS":[{"request":{"id":"mine","intent":"photo","precision":"exact","context":["behind the door",{"location":{"lat":1.50,"lng":2}}],"response_hint":["image"],"compensation":{"shells":3},"mine":{"n":1e21,"deep":[1.0]}}}]}`
	want, err := mess.Parse([]byte(request))
	if err != nil {
		t.Fatal(err)
	}
	id := hub.send(mesh.Sending{To: "arm_01", Type: wire.Request, MESS: request})
	r := hub.result(id)
	ours, err := mess.Parse([]byte(r.MESS))
	if err != nil || r.Status != "completed" || len(r.Notes) > 0 || len(r.Files) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	th, err := arm.x.Thread(t.Context(), watcher, ours.Ref[:strings.Index(ours.Ref, "/")])
	if err != nil {
		t.Fatal(err)
	}
	asked := th.Request()
	if asked.NeededBy == "" {
		t.Error("the time to live is not in the request")
	}
	asked.NeededBy = ""
	got, _ := json.Marshal(asked)
	sent, _ := json.Marshal(want.Items[0])
	if string(got) != string(sent) {
		t.Errorf("asked\n%s\nsent\n%s", got, sent)
	}
	var items []mess.Item
	for _, m := range th.Messages {
		for _, item := range m.Items {
			if item.Kind() == mess.KindResponse {
				items = append(items, item)
			}
		}
	}
	theirs, _ := json.Marshal(items[0])
	mine, _ := json.Marshal(ours.Items[1])
	if string(theirs) != string(mine) || ours.Re[0] != "mine" {
		t.Errorf("answered\n%s\ncame\n%s", theirs, mine)
	}
	if data := hub.report(mesh.Order{Do: "file", ID: id, Name: r.Files[0]}).Data; string(data) != string(picture(640, 640)) {
		t.Errorf("the picture has %d bytes", len(data))
	}
}

// Only an operator may use the API, and errors name the problem.
func TestOnlyOperatorsUseAPI(t *testing.T) {
	h := newFixture(t, nil)
	for text, want := range map[string]int{
		`{"do":"fly"}`: 400, `{`: 400, `{"do":"send"}`: 400, `{"do":"send","send":{"to":"nobody","type":"alert","body":"x"}}`: 404,
		`{"do":"send","send":{"to":"hub","type":"alert","body":" "}}`: 400, `{"do":"send","send":{"to":"hub","type":"alert","body":"x","priority":"urgent"}}`: 400,
		`{"do":"send","send":{"to":"hub","type":"alert","body":"x","metadata":[]}}`: 400, `{"do":"send","send":{"to":"hub","type":"alert","body":"x","encrypt":true}}`: 400,
		`{"do":"send","send":{"to":"@none","type":"alert","body":"x"}}`: 404, `{"do":"await","id":"x"}`: 404, `{"do":"drop","id":"x"}`: 404, `{"do":"conversation","id":"../x"}`: 404,
		`{"do":"send","send":{"to":"hub","type":"alert","body":"` + strings.Repeat("x", 70<<10) + `"}}`: 413,
	} {
		if code, v := h.order(text); code != want || v["error"] == "" {
			t.Errorf("%.80s: %d %v, want %d", text, code, v, want)
		}
	}
	if s := h.report(mesh.Order{Do: "status"}).Status; s.Agent != "arm_01" || len(s.Peers) != 2 || s.Peers[1].Name != "hub" {
		t.Errorf("%+v", s)
	}
}
