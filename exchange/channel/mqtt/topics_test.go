package mqtt_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/remote/mqttclient"
	"github.com/messkit/messkit/internal/broker"
)

// Each of the eleven topics carries its documented messages in one task with an image, and a
// stop. The broker retains only documented messages, and no command among them. The external broker
// has no access rules.
func TestEachTopicHasItsMessages(t *testing.T) {
	m := newMosquittoHarness(t, "allow_anonymous true\n")
	watch := m.connect(login{id: "watch"}).listen(root + "#")
	m.startAdapter(broker.Address{})
	pi, err := mqttclient.New(mqttclient.Config{Address: broker.Address{URL: "mqtt://" + m.addr}, Executor: "pi"}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	runUntilStopped(t, pi.Run)
	m.runDevices("pi", pi)
	watch.waitFor("the executor is ready", matchTopic("e/pi/status", `"state":"ready"`))
	me := m.connect(login{id: "me"}).listen(root + "a/me/in")
	me.publish(root+"a/me/out", `{"id":"look","MESS":[{"request":{"intent":"take a picture with the fridge camera","requires":["take-photo"],"constraints":{"timing":{"expires":"PT10M"}}}}]}`)
	done := me.waitForText(`"code":"completed"`)
	_, ref, _ := strings.Cut(done.text, `"re":"`)
	ref, _, _ = strings.Cut(ref, `"`)
	me.publishWith(root+"stop", `{"latched":true,"epoch":1,"by":"anna"}`, 1, true)
	rows := []struct {
		topic    string
		retained bool
		content  []string // of one message
	}{
		{"x/status", true, []string{`"state":"ready"`, `"epoch":`, `"v":`, `"max_attachment":`}},
		{"e/pi/status", true, []string{`"state":"`, `"epoch":`, `"since":`, `"card":`, `"queue":0`}},
		{"e/pi/card", true, []string{`{"config":{"executor":{"id":"pi"`, `"take-photo"`, `"hash":`}},
		{"e/pi/in", false, []string{`{"request":`, `"re":"` + ref + `"`, `"expires_in":"`}}, // the rest of the time, by the exchange's clock
		{"e/pi/in", false, []string{`{"ack":`, `"re":"`}},
		{"e/pi/now", false, []string{`{"stop":`, "by anna"}},
		{"e/pi/out", false, []string{`{"status":{`, `"code":"claimed"`, `"id":"`}},
		{"e/pi/out", false, []string{`{"response":`, `"sha256":`, `"size":`, `"mime":"image/jpeg"`}},
		{"a/me/out", false, []string{`{"request":`}},
		{"a/me/in", false, []string{`{"ack":`, `"re":"look"`}},
		{"a/me/in", false, []string{`{"response":`}},
		{"t/" + ref + "/state", true, []string{`"status":"completed"`, `"requestor":"me"`, `"executor":"pi"`}},
		{"t/" + ref + "/att/", false, []string{"the fridge"}},
		{"stop", true, []string{`"latched":true`}},
	}
	for _, row := range rows {
		watch.waitFor(row.topic+" "+strings.Join(row.content, " "), matchTopic(row.topic, row.content...))
	}
	late := m.connect(login{id: "late"}).listen(root + "#")
	for _, row := range rows {
		if row.retained {
			late.waitFor(row.topic+" is retained", func(r received) bool { return r.retained && r.topic == root+row.topic })
		}
	}
	for _, r := range late.all() {
		for _, row := range rows {
			if r.retained && !row.retained && strings.HasPrefix(r.topic, root+row.topic) {
				t.Errorf("%s is retained: %s", r.topic, r.text)
			}
		}
	}
}

// matchTopic is a message on a topic, or below one that ends with a slash, with all of
// some texts in it.
func matchTopic(topic string, content ...string) func(received) bool {
	return func(r received) bool {
		if r.topic != root+topic && (!strings.HasSuffix(topic, "/") || !strings.HasPrefix(r.topic, root+topic)) {
			return false
		}
		for _, text := range content {
			if !strings.Contains(r.text, text) {
				return false
			}
		}
		return true
	}
}
