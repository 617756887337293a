package mesh_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/mess"
)

var asker = exchange.Actor{ID: "asker", Roles: exchange.Requester}

// withWorker returns a fixture in which the hub is an executor.
func withWorker(t testing.TB) *fixture {
	return newFixture(t, func(c *peers.Config) {
		p := c.Peers["hub"]
		p.Capabilities = []string{"pick-and-place"}
		c.Peers["hub"] = p
	})
}

// as posts a message as a requester.
func (h *fixture) as(who exchange.Actor, text string) string {
	h.Helper()
	m, err := mess.Parse([]byte(text))
	if err != nil {
		h.Fatal(err)
	}
	answer, err := h.x.Post(h.Context(), exchange.Inbound{Actor: who, Channel: "test", Message: m})
	if err != nil {
		h.Fatalf("%s: %v", text, err)
	}
	return answer.Items[0].(*mess.Ack).Ref
}

// waitStatus waits until a thread has a status.
func (h *fixture) waitStatus(ref string, want mess.Code) exchange.Thread {
	h.Helper()
	var th exchange.Thread
	h.until(ref+" is "+string(want), func() bool {
		var err error
		if th, err = h.x.Thread(h.Context(), watcher, ref); err != nil {
			h.Fatal(err)
		}
		return th.Status == want
	})
	return th
}

// textOfThread returns all messages of a thread as text.
func textOfThread(th exchange.Thread) string {
	var all strings.Builder
	for _, m := range th.Messages {
		text, _ := m.JSON()
		all.Write(text)
	}
	return all.String()
}

// task waits for a request to the peer, and returns it with a function that answers it.
func (h *fixture) task() (wire.Envelope, func(wire.Type, string, string, wire.Object)) {
	h.Helper()
	e, _ := h.hub.wait(h, questionOf)
	n := 0
	return e, func(kind wire.Type, id, body string, meta wire.Object) {
		h.Helper()
		n++
		a := answer(fmt.Sprint(id, "_", n), e.ID, body)
		a.Type, a.Payload.Metadata = kind, meta
		if kind == wire.Request {
			a.ReplyTo = &wire.ReplyTo{URL: h.hub.URL + "/hooks/arm_01", Token: tokenHub}
		}
		h.takes(a)
	}
}

// A peer carries out the requests that the exchange offers it. The thread contains its acks and
// questions, and its response ends the thread with its files and metadata.
func TestPeerExecutesRequests(t *testing.T) {
	h := withWorker(t)
	ref := h.as(asker, `request: {id: r1, intent: pick up the cup, requires: [pick-and-place], priority: urgent}`)
	e, respond := h.task()
	if e.Payload.Body != "pick up the cup" || e.ReplyTo == nil || e.Priority != "high" || !strings.Contains(e.Payload.Metadata.Get("mess"), "pick-and-place") || strings.Contains(e.Payload.Metadata.Get("mess"), `"r1"`) {
		t.Errorf("%+v", e)
	}
	respond(wire.Ack, "msg_ack", "on its way", nil)
	h.until("the ack", func() bool { return strings.Contains(textOfThread(h.waitStatus(ref, mess.InProgress)), "on its way") })
	respond(wire.Request, "msg_q", "which cup?", nil)
	h.waitStatus(ref, mess.NeedsInput)
	h.as(asker, "reply: {re: "+ref+", answers: {answer: the red one}}")
	if r, _ := h.hub.wait(t, func(e wire.Envelope) bool { return e.Type == wire.Response }); r.Payload.Body != "the red one" || !strings.HasPrefix(r.CorrelationID, "msg_q") {
		t.Errorf("%+v", r)
	}
	respond(wire.Request, "msg_c", "Shall this be done?", wire.Object{}.With("mess", `{"re":"last","MESS":[{"status":{"code":"needs_confirmation","action":"lift it","action_hash":"abc"}}]}`))
	th := h.waitStatus(ref, mess.NeedsConfirmation)
	h.as(asker, "reply: {re: "+ref+", confirm: true, action_hash: "+th.Confirm.ActionHash+"}")
	h.hub.wait(t, func(e wire.Envelope) bool { return e.Type == wire.Response && e.Payload.Body == "yes" })
	r := answer("msg_end", e.ID, "it is on the table")
	r.Payload.Metadata = wire.Object{{Key: "grip", Value: json.RawMessage(`3`)}}
	r.Payload.Attachments = []wire.Attachment{{Type: "inline", Data: "YSxi", Filename: "log.csv", MIME: "text/csv", Size: -1, Description: "forces"}}
	h.takes(r)
	th = h.waitStatus(ref, mess.Completed)
	for _, want := range []string{"it is on the table", "log.csv", `"description":"forces"`, `"mesh":{"metadata":{"grip":3}}`, `"evidence":"acknowledged"`} {
		if !strings.Contains(textOfThread(th), want) {
			t.Errorf("the thread misses %s: %s", want, textOfThread(th))
		}
	}
	if th.Executor != "hub" || h.count("request pick up the cup") != 0 {
		t.Errorf("executor is %s, want hub", th.Executor)
	}
}

// A task ends with the status of the peer: declined, failed or rejected. The agent sends a request
// that needs a confirmation only after the confirmation.
func TestPeerStatusEndsTask(t *testing.T) {
	for _, one := range []struct {
		mess   string
		code   mess.Code
		effect mess.Effect
	}{
		{`{"re":"last","MESS":[{"status":{"code":"declined","reason":{"detail":"no arm"}}}]}`, mess.Failed, ""},
		{`{"re":"last","MESS":[{"stat`, mess.Failed, mess.EffectUnknown},
		{`{"re":"last","MESS":[{"status":{"code":"failed","reason":{"detail":"stuck","effect":"partial"}}}]}`, mess.Failed, mess.EffectPartial},
		{`{"re":"last","MESS":[{"status":{"code":"completed","evidence":"read_back"}},{"response":{"content":["done"]}}]}`, mess.Completed, ""},
	} {
		h := withWorker(t)
		ref := h.as(asker, `request: {intent: pick, requires: [pick-and-place], confirm_before: true}`)
		th := h.waitStatus(ref, mess.NeedsConfirmation)
		if n := len(h.hub.all()); n != 0 {
			t.Fatalf("%d messages before the confirmation, want 0", n)
		}
		h.as(asker, "reply: {re: "+ref+", confirm: true, action_hash: '"+th.Confirm.ActionHash+"'}")
		_, respond := h.task()
		respond(wire.Response, "msg_end", "see there", wire.Object{}.With("mess", one.mess))
		th = h.waitStatus(ref, one.code)
		var last *mess.Status
		for _, m := range th.Messages {
			for _, item := range m.Items {
				if s, ok := item.(*mess.Status); ok {
					last = s
				}
			}
		}
		if one.effect != "" && (last.Reason == nil || last.Reason.Effect != one.effect) {
			t.Errorf("%s: %+v", one.mess, last)
		}
	}
	h := withWorker(t)
	h.hub.mu.Lock()
	h.hub.code = http.StatusForbidden
	h.hub.mu.Unlock()
	ref := h.as(asker, `request: {intent: pick, requires: [pick-and-place]}`)
	if text := textOfThread(h.waitStatus(ref, mess.Failed)); !strings.Contains(text, `"effect":"none"`) {
		t.Error(text)
	}
	if n := len(h.report(mesh.Order{Do: "letters"}).DeadLetters); n != 0 {
		t.Errorf("%d dead letters may still be sent after the end", n)
	}
}

// After a restart during a task the agent sends nothing again, and receives the response. A cancel
// goes to the peer, and the peer reports the end.
func TestPeerTaskSurvivesRestart(t *testing.T) {
	h := withWorker(t)
	ref := h.as(asker, `request: {intent: pick, requires: [pick-and-place]}`)
	_, respond := h.task()
	h.until("the task is delivered", func() bool { return h.audited("sent") })
	h.stop()
	h.open()
	respond(wire.Ack, "msg_ack", "still at it", nil)
	h.until("the ack", func() bool { return strings.Contains(textOfThread(h.waitStatus(ref, mess.InProgress)), "still at it") })
	h.as(asker, "cancel: {re: "+ref+", reason: enough}")
	h.hub.wait(t, func(e wire.Envelope) bool { return e.Type == wire.Notification && e.Payload.Body == "cancel" })
	respond(wire.Response, "msg_end", "stopped", wire.Object{}.With("status", "cancelled"))
	h.waitStatus(ref, mess.Cancelled)
	n := 0
	for _, e := range h.hub.all() {
		if e.Type == wire.Request {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the task was sent %d times", n)
	}
}

// A peer that does not answer within an hour leaves an unknown outcome. A request that has not
// reached it by then never does.
func TestSilentPeerHasUnknownOutcome(t *testing.T) {
	for _, down := range []bool{false, true} {
		inTimeWith(t, []string{"pick-and-place"}, func(h *fixture, hub *far) {
			hub.mu.Lock()
			hub.down = down
			hub.mu.Unlock()
			ref := h.as(asker, `request: {intent: pick, requires: [pick-and-place]}`)
			time.Sleep(59 * time.Minute)
			if th, _ := h.x.Thread(t.Context(), watcher, ref); th.Status.Terminal() {
				t.Errorf("status is %s after 59 minutes, want it open", th.Status)
			}
			time.Sleep(2 * time.Minute)
			th, _ := h.x.Thread(t.Context(), watcher, ref)
			if text := textOfThread(th); th.Status != mess.Failed || !strings.Contains(text, `"effect":"unknown"`) || !strings.Contains(text, "has not answered in time") {
				t.Errorf("%s: %s", th.Status, text)
			}
			hub.mu.Lock()
			hub.down = false
			hub.mu.Unlock()
			time.Sleep(time.Hour)
			came, _ := hub.all()
			if n := len(came); down && n != 0 || !down && n != 1 {
				t.Errorf("came: %q", came)
			}
		})
	}
}

// In a relay chain the executing peer gets the metadata of the request, and the first requester
// those of the response. Encrypted messages have no metadata.
func TestMetadataPassesRelayChain(t *testing.T) {
	for _, encrypt := range []bool{false, true} {
		first := newHub(t)
		h := newFixture(t, func(c *peers.Config) {
			p := peers.Peer{Token: tokenHub, Encrypt: encrypt, KeyFile: keyFile(t, shared)}
			p.URL = first.URL
			c.Peers["beta"] = p
			p.URL, p.Capabilities = c.Peers["hub"].URL, []string{"pick-and-place"}
			c.Peers["hub"] = p
		})
		e := envelope(wire.Request, "msg_1", "pick")
		e.From = "beta"
		e.Payload.Metadata = wire.Object{{Key: "team", Value: json.RawMessage(`"red"`)}}.With("mess", `{"MESS":[{"request":{"intent":"pick","requires":["pick-and-place"]}}]}`)
		h.takes(e)
		got, respond := h.task()
		if team := got.Payload.Metadata.Get("team"); team != "" == encrypt {
			t.Errorf("encrypt %t: the peer gets team %q", encrypt, team)
		}
		respond(wire.Response, "msg_r", "done", wire.Object{{Key: "changesFound", Value: json.RawMessage(`true`)}, {Key: "ref", Value: json.RawMessage(`"theirs"`)}})
		r, _ := first.wait(t, responseTo("msg_1"))
		if m := r.Payload.Metadata; (m.Raw("changesFound") != nil) == encrypt || m.Get("status") != "completed" || m.Get("ref") == "theirs" {
			t.Errorf("encrypt %t: the requester gets %v", encrypt, m)
		}
	}
}
