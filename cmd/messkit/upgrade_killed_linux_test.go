package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
)

// A system of an earlier release that was killed goes on with today's messkit: the threads, files
// and keys are there, and each executor goes on with its claims.
func TestUpgradeOfKilledSystem(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes for some seconds")
	}
	s := unpackSystem(t, "killed")
	hooks := s.startReceiver("127.8.42.7:18423") // it is there before messkit tries it
	hub := s.startReceiver("127.8.42.7:18422")
	s.start()
	s.checkThreads()
	s.checkLists()
	s.checkExecutors()
	s.checkKeys()
	s.continueThreads(hooks)
	s.checkDevices()
	s.checkMQTT()
	s.checkChannels(hub)

	statuses := map[string]string{}
	for name := range s.refs {
		statuses[name] = s.status(name)
	}
	s.messkit("thread", "verify", "--data", "data", s.refs["lamp"])
	s.messkit("thread", "verify", "--data", "data", s.refs["confirms"])
	if err := s.proc.kill(); err != nil {
		t.Fatal(err)
	}
	s.messkit("journal", "check", "--data", "data")
	s.start()
	if out := s.messkit("ls", "--capability", "roof-lift"); !strings.Contains(out, s.refs["pending"]) {
		s.Errorf("messkit ls --capability roof-lift lacks %s, which has been cancelled: %s", s.refs["pending"], out)
	}
	for name, want := range statuses {
		if got := s.status(name); got != want {
			t.Errorf("%s after another kill: %s, want %s", name, got, want)
		}
	}
	for _, problem := range waitForFolders(filepath.Join(s.dir, "data"), nil, patience) {
		t.Error(problem)
	}
	s.messkit("thread", "check", "--data", "data")
}

// checkLists checks that lists by capability have the threads of the earlier release, open and ended.
func (s *upgraded) checkLists() {
	s.Helper()
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"capability=bench-test&status=completed&status=failed&status=declined&status=cancelled", []string{"completed", "failed", "declined", "cancelled"}},
		{"capability=bench-test&status=held&status=needs_input", []string{"held", "needs_input"}},
		{"capability=roof-lift", []string{"pending"}},
		{"capability=mq-lift", []string{"mqtt"}},
		{"capability=none", nil},
	} {
		var code int
		var said string
		s.waitFor("the exchange has read the capabilities of ended threads", func() bool {
			code, said = s.call("operator", http.MethodGet, "/requests?"+c.query, "")
			return code != http.StatusServiceUnavailable
		})
		var got struct{ Threads []struct{ Ref string } }
		if err := json.Unmarshal([]byte(said), &got); err != nil || code != http.StatusOK || len(got.Threads) != len(c.want) {
			s.Errorf("%s: %d %s, want %v", c.query, code, said, c.want)
		}
		for _, name := range c.want {
			if !strings.Contains(said, s.refs[name]) {
				s.Errorf("%s: %s lacks %s, %s", c.query, said, name, s.refs[name])
			}
		}
	}
}

func (s *upgraded) status(thread string) string {
	s.Helper()
	var got struct{ Thread struct{ Status string } }
	_, said := s.call("operator", http.MethodGet, "/requests/"+s.refs[thread], "")
	if err := json.Unmarshal([]byte(said), &got); err != nil {
		s.Fatal(err)
	}
	return got.Thread.Status
}

// checkExecutors checks the registrations, and the drain that one of them has.
func (s *upgraded) checkExecutors() {
	s.Helper()
	type list struct{ Executors []map[string]any }
	var want, got list
	_, said := s.call("operator", http.MethodGet, "/executors", "")
	for _, d := range []struct {
		text string
		into *list
	}{{s.recorded("executors.json"), &want}, {said, &got}} {
		if err := json.Unmarshal([]byte(d.text), d.into); err != nil {
			s.Fatal(err)
		}
	}
	now := map[string]map[string]any{}
	for _, e := range got.Executors {
		now[fmt.Sprint(e["id"])] = e
	}
	for _, e := range want.Executors {
		delete(e, "last_seen")
		delete(e, "live")
		id := fmt.Sprint(e["id"])
		if id == "kitchen-pi" { // it has registered again
			e = map[string]any{"id": e["id"], "created_at": e["created_at"]}
		}
		if at := difference("executor "+id, now[id], e); at != "" {
			s.Errorf("%s\n%s", at, said)
		}
	}
}

// checkKeys checks that each key has the roles that it had.
func (s *upgraded) checkKeys() {
	s.Helper()
	for _, actor := range []string{"operator", "helper", "bench-pi", "garage-pi", "dashboard", "orchestrator", "mq-arm"} {
		if code, said := s.call(actor, http.MethodGet, "/requests", ""); code != http.StatusOK {
			s.Errorf("the key of %s: %d %s", actor, code, said)
		}
		code, said := s.call(actor, http.MethodGet, "/status", "")
		if want := actor == "operator"; (code == http.StatusOK) != want {
			s.Errorf("the status for %s: %d %s", actor, code, said)
		}
	}
	if code, said := s.call("dashboard", http.MethodPost, "/requests", `{"intent": "is the porch light on?"}`); code != http.StatusForbidden {
		s.Errorf("a request of an observer: %d %s", code, said)
	}
	code, said := s.call("operator", http.MethodPost, "/register", `{"executor_id": "late-pi", "capabilities": ["late-test"], "enrol": "standing-code-of-the-fixture"}`)
	if code != http.StatusCreated && code != http.StatusOK || !strings.Contains(said, "api_key") {
		s.Errorf("a registration with the standing code: %d %s", code, said)
	}
}

// continueThreads has requesters and executors go on with the open threads, each with its key.
func (s *upgraded) continueThreads(hooks <-chan *http.Request) {
	s.Helper()
	const completed = `{"status": {"code": "completed"}}, {"response": {"content": ["done"]}}`
	s.report("bench-pi", "in_progress", completed, "completed")
	s.report("bench-pi", "held", `{"status": {"code": "in_progress", "instance": "bench-run-1"}}`, "in_progress")
	s.report("bench-pi", "held", completed, "completed")
	s.report("helper", "needs_input", `{"reply": {"answers": {"how_hard": "soft"}}}`, "in_progress")
	s.report("helper", "needs_confirmation", `{"reply": {"confirm": true, "action_hash": "d1"}}`, "claimed")
	s.report("bench-pi", "needs_confirmation", `{"status": {"code": "in_progress", "action_hash": "d1", "instance": "bench-run-1"}}`, "in_progress")
	s.report("helper", "pending", `{"cancel": {}}`, "cancelled")

	// the same id is the same request, and the next one gets a ref of its own
	_, said := s.call("helper", http.MethodPost, "/requests", `{"id": "completed", "intent": "test the bench", "requires": ["bench-test"]}`)
	if !strings.Contains(said, s.refs["completed"]) {
		s.Errorf("the same request again: %s", said)
	}
	code, said := s.call("helper", http.MethodPost, "/requests", `{"intent": "test the bench again", "requires": ["bench-test"]}`)
	var made struct{ Ref string }
	if err := json.Unmarshal([]byte(said), &made); err != nil || code != http.StatusCreated {
		s.Fatalf("%d %s", code, said)
	}
	for name, ref := range s.refs {
		if ref == made.Ref {
			s.Errorf("a new request has the ref of %s: %s", name, ref)
		}
	}
	r, body := s.awaitRequest(hooks, made.Ref)
	sum := hmac.New(sha256.New, []byte("a secret of the fixture"))
	fmt.Fprintf(sum, "%s.%s.%s", r.Header.Get("X-Mess-Timestamp"), r.Header.Get("X-Mess-Delivery"), body)
	if want := "sha256=" + hex.EncodeToString(sum.Sum(nil)); r.URL.Path != "/hook" || r.Header.Get("X-Mess-Event") != "thread_created" || r.Header.Get("X-Mess-Signature") != want {
		s.Errorf("the webhook: %s %v", r.URL, r.Header)
	}
}

// checkDevices checks what the executor with the devices does with its journal, its budgets and its
// pending switch-offs.
func (s *upgraded) checkDevices() {
	s.Helper()
	if text := s.until("cut", "failed"); !strings.Contains(text, `"effect":"unknown"`) {
		s.Errorf("the task that was cut off: %s", text)
	}
	s.waitFor("the light goes off, whose time was over", func() bool {
		line, err := os.ReadFile(filepath.Join(s.dir, "porch-light.line"))
		return err == nil && strings.Contains(string(line), " off ")
	})
	s.report("helper", "asks", `{"reply": {"answers": {"area": "both"}}}`, "in_progress")
	if text := s.until("asks", "failed"); !strings.Contains(text, `"type":"disarmed"`) {
		s.Errorf("motion after a kill: %s", text)
	}
	s.until("confirms", "needs_confirmation")
	s.report("helper", "confirms", `{"reply": {"confirm": true}}`, "claimed")
	if text := s.until("confirms", "completed"); !strings.Contains(text, `"evidence":"read_back"`) {
		s.Errorf("the confirmed task: %s", text)
	}
}

// checkMQTT has an executor end its task over MQTT, and waits for the result at the requester.
func (s *upgraded) checkMQTT() {
	s.Helper()
	connect := func(actor string) mqtt.Client {
		c := mqtt.NewClient(mqtt.NewClientOptions().AddBroker("tcp://" + s.mqtt).SetClientID(actor).SetUsername(actor).SetPassword(s.key(actor)))
		s.mustFinish(c.Connect())
		s.Cleanup(func() { c.Disconnect(0) })
		return c
	}
	ref, messages := s.refs["mqtt"], make(chan string, 64)
	helper, arm := connect("helper"), connect("mq-arm")
	s.mustFinish(helper.Subscribe("mess/1/home/a/helper/in", 1, func(_ mqtt.Client, m mqtt.Message) {
		if text := string(m.Payload()); strings.Contains(text, "The crate is up.") {
			messages <- text
		}
	}))
	s.mustFinish(arm.Publish("mess/1/home/e/mq-arm/out", 1, false, fmt.Sprintf(
		`{"id": "m3", "re": %q, "MESS": [{"status": {"re": %[1]q, "code": "completed"}}, {"response": {"re": %[1]q, "content": ["The crate is up."]}}]}`, ref)))
	select {
	case text := <-messages:
		if !strings.Contains(text, ref) {
			s.Errorf("message to the requester over MQTT is %s, want the ref in it", text)
		}
	case <-time.After(patience):
		s.Errorf("the requester over MQTT got no message within %v", patience)
	}
	s.until("mqtt", "completed")
}

func (s *upgraded) mustFinish(token mqtt.Token) {
	s.Helper()
	if !token.WaitTimeout(patience) || token.Error() != nil {
		s.Fatal("MQTT: ", token.Error())
	}
}

// checkChannels checks that the MESH peer and the mail agent go on.
func (s *upgraded) checkChannels(hub <-chan *http.Request) {
	s.Helper()
	_, said := s.call("orchestrator", http.MethodGet, "//agentmail?after=0", "")
	for _, want := range []string{"bd-42", "status_update", "task_completion"} {
		if !strings.Contains(said, want) {
			s.Errorf("the mail of an agent lacks %s: %s", want, said)
		}
	}
	if text := s.messkit("mesh", "audit"); !strings.Contains(text, "msg_of_the_fixture_1") {
		s.Errorf("the audit log: %s", text)
	}
	s.messkit("mesh", "send", "hub", "notification", "The fridge is empty", "--no-wait")
	if r, _ := s.awaitRequest(hub, "The fridge is empty"); r.Header.Get("Authorization") != "Bearer what-peers-show-to-the-hub" || r.URL.Path != "/hooks/arm_01" {
		s.Errorf("the message to the peer: %s %v", r.URL, r.Header)
	}
}
