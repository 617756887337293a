package mqtt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mqtt"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/mess"
)

// forbidden is every topic that is none of a second executor's business. REF is
// the thread of another.
var forbidden = struct{ write, read []string }{
	write: []string{
		"x/status", "stop",
		"e/pi/status", "e/pi/card", "e/pi/in", "e/pi/now", "e/pi/out", "e/other/in", "e/other/now", "e/nobody/out", "e/nobody/status",
		"a/me/out", "a/me/in", "a/nobody/in", "a/exchange/out", "e/exchange/out", "a/operator/out",
		"t/REF/state", "t/REF/att/forged.jpg", "other/topic",
	},
	read: []string{
		"#", "+/+/in", "e/#", "e/+/in", "e/+/now", "e/+/out", "e/+/status", "e/pi/in", "e/pi/now", "e/pi/out", "e/pi/status", "e/pi/card",
		"a/+/in", "a/+/out", "a/me/in", "a/me/out", "t/#", "t/+/att/+", "t/REF/state", "t/REF/att/+",
		"$share/all/e/pi/in", "$share/all/a/me/in", "$share/all/#",
	},
}

// secret is a text between the other clients.
const secret = "the safe is behind the picture"

// tryForbidden has the second executor try everything, while a task of others goes
// on, and checks that nothing came of it.
func tryForbidden(t *testing.T, h *harness, connect func() *client, pi, me *client) {
	t.Helper()
	me.publish(root+"a/me/out", `{"id":"look","MESS":[{"request":{"intent":"look into the fridge; `+secret+`","requires":["take-photo"]}}]}`)
	ref := h.offeredRef(pi)
	epoch := h.claim(pi, ref)
	spy := connect()
	for _, f := range forbidden.read {
		f = strings.ReplaceAll(root+f, "REF", ref)
		if strings.HasPrefix(f, root+"#") {
			f = "#"
		}
		if group, of, is := strings.Cut(strings.TrimPrefix(f, root), "$share/all/"); is { // rule 8: no shared subscription for the topics of one actor
			f = group + "$share/all/" + root + of
		}
		spy.subscribe(f)
	}
	before := len(pi.all())
	beat := `{"id":"beat","MESS":[{"config":{"executor":{"id":"pi","holding":[{"ref":"` + ref + `","epoch":` + epoch + `}]}}}]}`
	payloads := []string{
		`{"id":"f1","re":"` + ref + `","epoch":` + epoch + `,"MESS":[{"status":{"code":"failed","reason":"forged"}}]}`,
		`{"state":"lost","epoch":9000000000000000000}`, `{"latched":true,"by":"forged"}`,
		`{"MESS":[{"config":{"stop":{"why":"forged"}}}]}`, `{"id":"f2","MESS":[{"request":{"intent":"forged"}}]}`,
	}
	for _, topic := range forbidden.write {
		pi.publish(root+"e/pi/out", beat)
		for _, text := range payloads {
			for _, retain := range []bool{false, true} {
				if !spy.IsConnectionOpen() {
					spy = connect()
				}
				spy.publishWith(root+strings.ReplaceAll(topic, "REF", ref), text, 1, retain)
			}
		}
	}
	pi.publish(root+"e/pi/out", `{"id":"p","re":"`+ref+`","epoch":`+epoch+`,"MESS":[{"status":{"code":"in_progress","message":"`+secret+`"}}]}`)
	me.waitForText(`"code":"in_progress"`)
	thread, err := h.x.Thread(t.Context(), exchange.Actor{ID: "look", Roles: exchange.Observer}, ref)
	if err != nil || thread.Status != mess.InProgress {
		t.Errorf("the thread is %s, %v", thread.Status, err)
	}
	if len(thread.Attachments()) > 0 {
		t.Errorf("files: %+v", thread.Attachments())
	}
	for _, m := range thread.Messages {
		if text, _ := m.JSON(); strings.Contains(string(text), "forged") {
			t.Errorf("in the thread: %s", text)
		}
	}
	if n := h.threads(); n != 1 {
		t.Errorf("%d threads", n)
	}
	for _, e := range h.x.Executors() {
		if len(e.UnconfirmedStops) > 0 || e.ID == "nobody" || e.ID == "pi" && !e.Live {
			t.Errorf("%+v", e)
		}
	}
	if me.count("forged") > 0 {
		t.Errorf("forged words have arrived: %v", me.all())
	}
	for _, r := range pi.all()[before:] { // the answers to its own messages and files, which count as its own at an external broker
		if !strings.Contains(r.text, `"re":"beat"`) && !strings.Contains(r.text, `"re":"p"`) && !strings.Contains(r.text, `/att/forged.jpg"`) {
			t.Errorf("the executor received %v", r)
		}
	}
	if spy.count(secret) > 0 || spy.count("pi") > 0 {
		t.Errorf("the spy received %v", spy.all())
	}
	if _, err := h.x.Attach(t.Context(), exchange.Actor{ID: "pi", Roles: exchange.ExecutorRole}, ref, "real.jpg", "", strings.NewReader("x")); err != nil {
		t.Errorf("no space left for the files of the executor with the claim: %v", err)
	}
	if h.adapter.Counts().Executors < 1 {
		t.Error("the executor counts as gone")
	}
}

func TestAccessRulesOfEmbeddedBroker(t *testing.T) {
	h := newEmbeddedHarness(t)
	pi := h.newExecutor("pi")
	me := h.connect(login{id: "me", user: "me", key: h.key("me", exchange.Requester)}).listen(root + "a/me/in")
	key := h.key("other", exchange.ExecutorRole)
	tryForbidden(t, h, func() *client { return h.connect(login{id: "other", user: "other", key: key}) }, pi, me)
	// Nor with a will.
	for _, topic := range append(forbidden.write, "e/other/out", "a/other/out") {
		if _, err := h.try(login{id: "other", user: "other", key: key, will: root + topic}); err == nil {
			t.Errorf("a will for %s is taken", topic)
		}
	}
	if _, err := h.try(login{id: "other", user: "other", key: key, will: root + "e/other/status"}); err != nil {
		t.Errorf("the client's own will: %v", err)
	}
}

// A client without a key cannot act as an actor with a key, or as an actor in this process.
func TestClientWithoutKeyIsItsTopicsActor(t *testing.T) {
	h := newEmbeddedHarness(t)
	pi := h.newExecutor("pi")
	me := h.connect(login{id: "me", user: "me", key: h.key("me", exchange.Requester)}).listen(root + "a/me/in")
	n := 0
	tryForbiddenAs := func() *client { n++; return h.connect(login{id: fmt.Sprintf("stranger-%d", n)}) }
	was := forbidden
	defer func() { forbidden = was }()
	forbidden.write = []string{
		"x/status", "stop", "e/pi/status", "e/pi/card", "e/pi/in", "e/pi/now", "e/pi/out", "a/me/out", "a/me/in", "t/REF/state", "t/REF/att/forged.jpg",
		"e/inner/out", "e/inner/status", "a/inner/out", "a/operator/out", "a/exchange/out",
	}
	forbidden.read = []string{"#", "e/+/in", "e/+/now", "e/+/out", "e/pi/in", "e/pi/now", "a/+/in", "a/me/in", "t/+/state", "t/REF/state", "e/inner/in", "a/operator/in"}
	tryForbidden(t, h, tryForbiddenAs, pi, me)
}

// Mosquitto with the printed rules rejects the same accesses.
func TestAccessRulesOfMosquitto(t *testing.T) {
	h := newHarness(t)
	text, err := mqtt.ACL("home", "messkit-home", h.keys.List(), false)
	if err != nil {
		t.Fatal(err)
	}
	config, file := mosquittoWithAccounts(t, text, "messkit-home", "pi", "me", "other")
	m := newMosquittoHarness(t, config)
	m.startAdapter(broker.Address{User: "messkit-home", PasswordFile: file})
	pi := m.connect(login{id: "pi", user: "pi", key: "pw"}).listen(root + "e/pi/in")
	me := m.connect(login{id: "me", user: "me", key: "pw"}).listen(root + "a/me/in")
	m.eventually("the executor is registered", func() bool {
		pi.publish(root+"e/pi/status", `{"state":"ready","epoch":5}`)
		pi.publish(root+"e/pi/out", `{"id":"reg","MESS":[{"config":{"executor":{"id":"pi","capabilities":["take-photo"],"versions":["1.1.0"],"holding":[]}}}]}`)
		return pi.count(`"re":"reg"`) > 0
	})
	tryForbidden(t, m.harness, func() *client { return m.connect(login{id: "other", user: "other", key: "pw"}) }, pi, me)
}
