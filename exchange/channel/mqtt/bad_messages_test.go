package mqtt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/mess"
)

const photo = `{"id":"%s","MESS":[{"request":{"intent":"look into the fridge","requires":["take-photo"]}}]}`

// Rule 1: a retained message is no command. The exchange discards, counts and logs it, and the
// broker forgets it.
func TestRetainedCommandIsDiscarded(t *testing.T) {
	h := newEmbeddedHarness(t)
	me := h.connect(login{id: "me"}).listen(root + "a/me/in")
	me.publishWith(root+"a/me/out", fmt.Sprintf(photo, "shutter"), 1, true)
	me.publish(root+"a/me/out", fmt.Sprintf(photo, "real"))
	me.waitForText(`"re":"real"`)
	if n := h.threads(); n != 1 || h.adapter.Counts().Retained != 1 || !h.log.has("discards a retained command") {
		t.Errorf("%d threads, %+v", n, h.adapter.Counts())
	}
	boss := h.connect(login{id: "operator:x", user: "operator", key: h.operator()})
	pi := h.newExecutor("pi")
	boss.publishWith(root+"e/pi/now", `{"MESS":[{"config":{"stop":{"why":"old"}}}]}`, 1, true)
	boss.publish(root+"e/pi/now", `{"MESS":[{"config":{"stop":{"why":"new"}}}]}`)
	pi.waitForText("new")
	if pi.count("old") != 0 || h.adapter.Counts().Retained != 2 {
		t.Errorf("%v, %+v", pi.all(), h.adapter.Counts())
	}
}

// At an external broker, the exchange discards a retained command when it connects.
func TestRetainedCommandAtExternalBrokerIsDiscarded(t *testing.T) {
	m := newMosquittoHarness(t, "allow_anonymous true\n")
	me := m.connect(login{id: "me"}).listen(root + "a/me/in")
	me.publishWith(root+"a/me/out", fmt.Sprintf(photo, "shutter"), 1, true)
	m.startAdapter(broker.Address{})
	m.eventually("it is counted", func() bool { return m.adapter.Counts().Retained == 1 })
	me.publish(root+"a/me/out", fmt.Sprintf(photo, "real"))
	me.waitForText(`"re":"real"`)
	if n := m.threads(); n != 1 {
		t.Errorf("%d threads", n)
	}
	late := m.connect(login{id: "late"}).listen(root+"a/me/out", root+"x/status")
	late.waitForText("ready")
	if late.count("shutter") != 0 {
		t.Error("the broker still has it")
	}
}

// No message delays a drain, from any actor that may stop.
func TestDrainIsNotDelayedByInbox(t *testing.T) {
	h := newEmbeddedHarness(t)
	key := h.key("pi", exchange.ExecutorRole)
	now := h.connect(login{id: "pi:now", user: "pi", key: key}).listen(root + "e/pi/now")
	pi := h.connect(login{id: "pi", user: "pi", key: key}).listen(root + "e/pi/in")
	pi.publish(root+"e/pi/out", `{"id":"reg","MESS":[{"config":{"executor":{"id":"pi","capabilities":["take-photo"],"holding":[]}}}]}`)
	pi.waitForText(`"re":"reg"`)
	me := h.connect(login{id: "me"}).listen(root + "a/me/in")
	me.publish(root+"a/me/out", `{"id":"h","MESS":[{"config":{"hold":{"why":"wet"}}}]}`)
	me.waitForText(`"re":"h"`)
	now.waitForText(`"hold":{"id":`)
	me.publish(root+"a/me/out", `{"id":"r","MESS":[{"config":{"resume":true}}]}`)
	me.waitForText(`"re":"r"`)
	now.waitForText(`"resume":{"id":`)
}

// Rule 2: the same message twice is one message, with one answer.
func TestDuplicateRequestHasOneThread(t *testing.T) {
	h := newEmbeddedHarness(t)
	me := h.connect(login{id: "me"}).listen(root + "a/me/in")
	for range 3 {
		me.publish(root+"a/me/out", fmt.Sprintf(photo, "once"))
	}
	h.eventually("three answers", func() bool { return me.count(`"re":"once"`) == 3 })
	if n := h.threads(); n != 1 {
		t.Errorf("%d threads", n)
	}
	// A request that may arrive twice and has no id does not begin.
	me.publish(root+"a/me/out", `[{"request":{"intent":"look into the fridge"}}]`)
	me.waitForText("id: is missing")
	me.publishWith(root+"a/me/out", `[{"request":{"intent":"look into the fridge"}}]`, 0, false)
	h.eventually("with QoS 0 it comes once, and is taken", func() bool { return h.threads() == 2 })
}

// Rule 3: the will of an earlier session does not apply to this one.
func TestWillOfEarlierSessionIsIgnored(t *testing.T) {
	h := newEmbeddedHarness(t)
	pi := h.newExecutor("pi")
	pi.publish(root+"e/pi/status", `{"state":"lost","epoch":4}`)
	ref := h.request(`request: {intent: look, requires: [take-photo]}`)
	pi.waitForText(ref)
	if c := h.adapter.Counts(); c.Stale != 1 || c.Executors != 1 {
		t.Errorf("%+v", c)
	}
	pi.publish(root+"e/pi/status", `{"state":"lost","epoch":5}`)
	h.eventually("its own will counts", func() bool { return h.adapter.Counts().Executors == 0 })
	pi.publish(root+"e/pi/status", `{"state":"ready","epoch":6}`)
	h.eventually("it is back, and has the open question", func() bool { return pi.count(ref) > 1 })
}

// A client sends a payload that is no message: it gets an error, and its next request works.
func TestInvalidMessageIsRejected(t *testing.T) {
	h := newEmbeddedHarness(t)
	me := h.connect(login{id: "me"}).listen(root + "a/me/in")
	for i, text := range []string{"{", "hello", "\x00\xff", "[]", `{"id":"x","MESS":[{"request":{"intent":7}}]}`, strings.Repeat("[", 10_000), "a: &a [*a]"} {
		me.publish(root+"a/me/out", text)
		h.eventually(text, func() bool { return me.count(`"why":"invalid"`) == i+1 })
	}
	// an error names the id of the message, wherever the parser stopped
	me.waitForText(`"re":"x"`)
	for id, text := range map[string]string{
		"no-re":     `{"id":"no-re","MESS":[{"reply":{"confirm":true}}]}`,
		"no-intent": `{"id":"no-intent","MESS":[{"request":{}}]}`,
		"no-list":   "id: no-list\nMESS: 7",
	} {
		me.publish(root+"a/me/out", text)
		me.waitForText(`"re":"` + id + `"`)
	}
	me.publish(root+"e/me/status", "nonsense")
	me.publish(root+"a/me/out", fmt.Sprintf(photo, "fine"))
	me.waitForText(`"re":"fine"`)
	if c := h.adapter.Counts(); c.Unreadable < 5 || !h.log.has("a payload is no message") {
		t.Errorf("%+v", c)
	}
}

// Ten megabytes where a message belongs.
func TestTooLargePayloadIsRejected(t *testing.T) {
	h := newEmbeddedHarness(t)
	me := h.connect(login{id: "me"}).listen(root + "a/me/in")
	me.publish(root+"a/me/out", strings.Repeat("x", 10<<20+1))
	me.waitForText("too_large")
	big := h.connect(login{id: "big"})
	if big.publish(root+"a/big/out", strings.Repeat("x", 11<<20)) {
		t.Error("the broker takes what is larger than anything it may get")
	}
	me.publish(root+"a/me/out", fmt.Sprintf(photo, "fine"))
	me.waitForText(`"re":"fine"`)
}

// A requester that was away gets its messages when it is back: all, in order, once.
func TestRequesterGetsMessagesAfterReturn(t *testing.T) {
	h := newEmbeddedHarness(t)
	pi := h.newExecutor("pi")
	me := h.connect(login{id: "me"}).listen(root + "a/me/in")
	me.publish(root+"a/me/out", fmt.Sprintf(photo, "look"))
	me.waitForText(`"re":"look"`)
	ref := h.offeredRef(pi)
	epoch := h.claim(pi, ref)
	me.waitForText("claimed")
	me.Disconnect(uint(patience.Milliseconds())) // with 0 it continues to read for a while
	const n = 50
	for i := range n {
		pi.publish(root+"e/pi/out", fmt.Sprintf(`{"id":"p%d","re":"%s","epoch":%s,"MESS":[{"status":{"code":"in_progress","message":"step %d."}}]}`, i, ref, epoch, i))
	}
	pi.waitForText(fmt.Sprintf(`"re":"p%d"`, n-1))
	h.close() // the adapter and its broker stop too
	h.serve()
	me = h.connect(login{id: "me"}).listen(root + "a/me/in")
	me.waitForText(fmt.Sprintf("step %d.", n-1))
	next := 0
	for _, r := range me.all() {
		if strings.Contains(r.text, fmt.Sprintf("step %d.", next)) {
			next++
		}
	}
	if next != n || me.count("step ") != n {
		t.Errorf("%d in order, %d in all", next, me.count("step "))
	}
}

// offeredRef is the thread of the first offer that a peer has.
func (h *harness) offeredRef(pi *client) string {
	h.Helper()
	r := pi.waitFor("an offer", func(r received) bool { return strings.Contains(r.text, `{"request":`) })
	m, err := mess.Parse([]byte(r.text))
	if err != nil {
		h.Fatal(err)
	}
	return m.Re[0]
}

// claim claims a thread, and returns the epoch.
func (h *harness) claim(pi *client, ref string) string {
	h.Helper()
	pi.publish(root+"e/pi/out", `{"id":"c-`+ref+`","re":"`+ref+`","MESS":[{"status":{"code":"claimed"}}]}`)
	r := pi.waitForText(`"re":"c-` + ref + `"`)
	m, err := mess.Parse([]byte(r.text))
	if err != nil {
		h.Fatal(err)
	}
	return fmt.Sprint(m.Items[0].(*mess.Ack).Epoch)
}

// An external broker stops in the middle of a task, and restarts without its state: the actors get
// each message once.
func TestBrokerRestartLosesNothing(t *testing.T) {
	m := newMosquittoHarness(t, "allow_anonymous true\n")
	m.startAdapter(broker.Address{})
	join := func() (pi, me *client) {
		pi = m.connect(login{id: "pi"}).listen(root + "e/pi/in")
		pi.publishWith(root+"e/pi/status", `{"state":"ready","epoch":`+fmt.Sprint(time.Now().UnixNano())+`}`, 1, true)
		return pi, m.connect(login{id: "me"}).listen(root + "a/me/in")
	}
	pi, me := join()
	m.eventually("the exchange is there", func() bool {
		pi.publish(root+"e/pi/out", `{"id":"reg","MESS":[{"config":{"executor":{"id":"pi","capabilities":["take-photo"],"versions":["1.1.0"],"holding":[]}}}]}`)
		return pi.count(`"re":"reg"`) > 0
	})
	me.publish(root+"a/me/out", fmt.Sprintf(photo, "look"))
	ref := m.offeredRef(pi)
	epoch := m.claim(pi, ref)
	me.waitForText("claimed")
	m.stop()
	// The executor asks, and the requester answers, while there is no broker.
	post := func(actor exchange.Actor, text string) {
		t.Helper()
		one, err := mess.Parse([]byte(text))
		if err == nil {
			_, err = m.x.Post(t.Context(), exchange.Inbound{Actor: actor, Channel: "test", Message: one})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	post(exchange.Actor{ID: "pi", Roles: exchange.ExecutorRole}, `{re: `+ref+`, epoch: `+epoch+`, MESS: [{status: {code: needs_input, questions: [{field: shelf, question: which one}]}}]}`)
	post(exchange.Actor{ID: "me", Roles: exchange.Requester}, `{re: `+ref+`, MESS: [{reply: {answers: {shelf: upper}}}]}`)
	// They are back before the exchange, so its first messages have no reader.
	m.way <- struct{}{}
	m.start()
	pi, me = join()
	<-m.way
	pi.waitForText("upper")
	me.waitForText("which one")
	if n := me.count("which one"); n != 1 {
		t.Errorf("%d questions, want 1: %v", n, me.all())
	}
}

// A client takes over a session with the same id only with the same key. The adapter logs the
// takeover.
func TestTakenOverSessionIsLogged(t *testing.T) {
	h := newEmbeddedHarness(t)
	key := h.key("pi", exchange.ExecutorRole)
	first := h.connect(login{id: "pi", user: "pi", key: key, keep: true})
	other := h.key("other", exchange.ExecutorRole)
	for _, a := range []login{{id: "pi"}, {id: "pi", user: "other", key: other}, {id: "pi", user: "pi", key: other}, {id: "pi:x", user: "other", key: other}, {id: "pi:x"}} {
		if _, err := h.try(a); err == nil {
			t.Errorf("%+v is let in", a)
		}
	}
	if !first.IsConnectionOpen() {
		t.Fatal("another client has ended the session")
	}
	h.connect(login{id: "pi", user: "pi", key: key, keep: true})
	if err := <-first.lost; err == nil {
		t.Error("no reason")
	}
	h.eventually("the log contains it", func() bool { return h.log.has("takes over a session") })
}

// The revocation of a key ends the connection of its client.
func TestRevokedKeyEndsConnection(t *testing.T) {
	h := newEmbeddedHarness(t)
	pi := h.newExecutor("pi")
	if was, err := h.keys.Revoke("pi"); !was || err != nil {
		t.Fatal(err)
	}
	select {
	case <-pi.lost:
	case <-time.After(patience):
		t.Error("the task does not end")
	}
}

// The latch stops all executors at once, and a later client gets it as a retained message. Only an
// operator may reset it.
func TestStopLatchStopsOnce(t *testing.T) {
	h := newEmbeddedHarness(t)
	pi := h.newExecutor("pi")
	boss := h.connect(login{id: "operator", user: "operator", key: h.operator()})
	latch := `{"latched":true,"epoch":3,"by":"anna"}`
	boss.publishWith(root+"stop", latch, 1, true)
	pi.waitForText("by anna")
	late := h.connect(login{id: "late"}).listen(root + "stop")
	if r := late.waitForText("latched"); r.text != latch || !r.retained {
		t.Errorf("%+v", r)
	}
	me := h.connect(login{id: "me"})
	if me.publish(root+"stop", `{"latched":false}`) {
		t.Error("anybody may let go of the latch")
	}
}

// Every state of a thread is at the broker, and cleared in the end.
func TestStatesAreRetainedAndCleared(t *testing.T) {
	h := newEmbeddedHarness(t)
	key := h.key("me", exchange.Requester)
	me := h.connect(login{id: "me", user: "me", key: key}).listen(root+"a/me/in", root+"t/+/state")
	me.publish(root+"a/me/out", fmt.Sprintf(photo, "mine"))
	me.waitForText(`"status":"pending"`)
	h.request(`request: {intent: somebody else asks}`)
	me.publish(root+"a/me/out", `{"id":"c","MESS":[{"cancel":{"re":"mine"}}]}`)
	me.waitForText(`"status":"cancelled"`)
	for _, one := range me.all() {
		if strings.Contains(one.text, "somebody else") {
			t.Errorf("the thread of another requester is shown: %s", one.text)
		}
	}
}

func (h *harness) operator() string {
	h.Helper()
	key, err := h.keys.Renew("operator", 0)
	if err != nil {
		h.Fatal(err)
	}
	return key
}
