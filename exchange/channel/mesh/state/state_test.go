package state_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/channel/mesh/state"
)

// clock is a store with a clock that the test sets.
type clock struct {
	*state.Store
	dir string
	at  time.Time
}

func open(t *testing.T) *clock {
	t.Helper()
	c := &clock{dir: t.TempDir(), at: time.Date(2026, 2, 21, 17, 30, 0, 0, time.UTC)}
	c.again(t)
	return c
}

// again opens the files as the next run does.
func (c *clock) again(t *testing.T) {
	t.Helper()
	s, err := state.Open(c.dir, func() time.Time { return c.at }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	c.Store = s
}

// file parses a file as other tools do.
func (c *clock) file(t *testing.T, name string) (v map[string]any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(c.dir, name))
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(c.dir, name)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", name, info.Mode(), err)
	}
	return v
}

// judge judges an alert of the current time.
func (c *clock) judge(t *testing.T, a state.Alert) (state.AlertEffect, state.Incident) {
	t.Helper()
	if a.At.IsZero() {
		a.At = c.at
	}
	if a.Key == "" {
		a.Key = a.Host + "_" + a.Check
	}
	v, i, err := c.Judge(state.DefaultPolicy(), a)
	if err != nil {
		t.Fatal(err)
	}
	return v, i
}

// The flood in the specification is one outage with alerts every four minutes for six hours. The
// operator gets a notification at once, after an hour, then every two hours, and at its end.
func TestFloodOfAlertsIsOneOutage(t *testing.T) {
	c := open(t)
	var notified []string
	begin := c.at
	for ; c.at.Sub(begin) < 6*time.Hour; c.at = c.at.Add(4 * time.Minute) {
		if v, _ := c.judge(t, state.Alert{Host: "worker-1", Check: "ping"}); v != state.Suppressed {
			notified = append(notified, fmt.Sprint(v, " ", c.at.Sub(begin)))
		}
	}
	v, i := c.judge(t, state.Alert{Host: "worker-1", Check: "ping", Recovery: true})
	notified = append(notified, fmt.Sprint(v, " ", c.at.Sub(begin)))
	want := []string{"new 0s", "escalate 1h0m0s", "escalate 3h0m0s", "escalate 5h0m0s", "recovery 6h0m0s"}
	if diff := cmp.Diff(want, notified); diff != "" {
		t.Error(diff)
	}
	if i.AlertCount != 90 || i.Status != "resolved" || !i.Escalated || i.ID != "inc_20260221_worker-1_ping" {
		t.Errorf("%+v", i)
	}
	one := c.file(t, "active-incidents.json")["incidents"].([]any)[0].(map[string]any)
	for _, key := range []string{"id", "dedupKey", "type", "scope", "firstSeen", "lastSeen", "alertCount", "affectedHosts", "status", "escalated", "lastNotifiedOperator", "resolvedAt"} {
		if one[key] == nil {
			t.Errorf("the file has no %s: %v", key, one)
		}
	}
}

// An alert that is older than the end of its incident is a repeated dead letter, and opens no
// incident. A newer alert opens one with another id.
func TestOldAlertOpensNoIncident(t *testing.T) {
	c := open(t)
	made := c.at.Add(time.Minute)
	_, first := c.judge(t, state.Alert{Host: "a", Check: "disk"})
	c.at = c.at.Add(10 * time.Minute)
	if v, _ := c.judge(t, state.Alert{Host: "a", Check: "disk", Recovery: true}); v != state.Recovery {
		t.Fatal(v)
	}
	c.at = c.at.Add(time.Hour)
	c.again(t)
	if v, _ := c.judge(t, state.Alert{Host: "a", Check: "disk", At: made}); v != state.Suppressed || c.Incidents()[0].Status != "resolved" || len(c.Incidents()) != 1 {
		t.Errorf("%s, %+v", v, c.Incidents())
	}
	v, second := c.judge(t, state.Alert{Host: "a", Check: "disk"})
	if v != state.New || second.ID == first.ID {
		t.Errorf("%s %s", v, second.ID)
	}
	if v, _ := c.judge(t, state.Alert{Host: "a", Check: "disk", Recovery: true, At: made.Add(time.Minute)}); v != state.Suppressed {
		t.Errorf("an old recovery: %s", v)
	}
	if v, _ := c.judge(t, state.Alert{Host: "b", Check: "disk", Recovery: true}); v != state.Suppressed {
		t.Errorf("a recovery of nothing: %s", v)
	}
}

// Three hosts of one group that fail within five minutes are one outage. It ends when the last of
// them has recovered.
func TestHostsOfGroupAreOneOutage(t *testing.T) {
	c := open(t)
	alert := func(host string, over bool) (state.AlertEffect, state.Incident) {
		c.at = c.at.Add(time.Minute)
		return c.judge(t, state.Alert{Host: host, Check: "ping", Group: "lan", Recovery: over})
	}
	alert("a", false)
	alert("b", false)
	v, i := alert("c", false)
	if v != state.Escalate || i.Type != "network_outage" || i.Scope != "lan" || len(i.AffectedHosts) != 3 || len(c.Incidents()) != 1 || i.AlertCount != 3 {
		t.Errorf("%s %+v", v, i)
	}
	if v, i := alert("d", false); v != state.Suppressed || len(i.AffectedHosts) != 4 {
		t.Errorf("%s %+v", v, i)
	}
	for n, host := range []string{"b", "a", "c", "d"} {
		v, i := alert(host, true)
		if want := map[bool]state.AlertEffect{true: state.Recovery, false: state.Escalate}[n == 3]; v != want || (i.Status == "resolved") != (n == 3) {
			t.Errorf("%s is back: %s %+v", host, v, i)
		}
	}
}

// The policy sets the number of hosts that make an outage, and the time. A dead letter of another
// day belongs to no outage.
func TestPolicyDefinesOutage(t *testing.T) {
	for name, c := range map[string]struct {
		hosts  int
		within time.Duration
		old    time.Duration // the second alert is older than the first by that
		want   string
	}{
		"two are enough": {2, 5 * time.Minute, 0, "network_outage"}, "three are wanted": {3, 5 * time.Minute, 0, "service_alert"},
		"never": {0, 5 * time.Minute, 0, "service_alert"}, "too late": {2, 30 * time.Second, 0, "service_alert"}, "an old dead letter": {2, 5 * time.Minute, 24 * time.Hour, "service_alert"},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := open(t), state.DefaultPolicy()
			p.OutageHosts, p.OutageTime = c.hosts, c.within
			var last state.Incident
			for n, host := range []string{"a", "b"} {
				s.at = s.at.Add(time.Minute)
				at := s.at
				if n > 0 {
					at = at.Add(-c.old)
				}
				var err error
				if _, last, err = s.Judge(p, state.Alert{Host: host, Check: "ping", Key: host, Group: "lan", At: at}); err != nil {
					t.Fatal(err)
				}
			}
			if last.Type != c.want {
				t.Errorf("%+v", last)
			}
		})
	}
}

// A breaker of a wrong clock is not open for years.
func TestBreakerOfWrongClockCloses(t *testing.T) {
	c := open(t)
	for range 3 {
		c.Failed("hub")
	}
	if ok, _ := c.Enter("hub"); ok {
		t.Fatal("the breaker is closed, want open")
	}
	c.at = c.at.Add(-48 * time.Hour)
	c.again(t)
	if ok, probe := c.Enter("hub"); !ok || !probe {
		t.Error("no probe is allowed, want one")
	}
}

// A large log starts anew, and the store keeps the previous one and returns its last lines.
func TestAuditLogRotates(t *testing.T) {
	c := open(t)
	name := filepath.Join(c.dir, "mesh-audit.jsonl")
	full := []byte(strings.Repeat(strings.Repeat(" ", 1023)+"\n", 16<<10))
	if err := os.WriteFile(name, full, 0o600); err != nil {
		t.Fatal(err)
	}
	c.Audit(state.Line{ID: "msg_last", Status: "sent"})
	c.Audit(state.Line{ID: "msg_first", Status: "sent"})
	before, err := os.ReadFile(name + ".1")
	if err != nil || len(before) <= len(full) || !strings.Contains(string(before[len(full):]), "msg_last") {
		t.Errorf("%d bytes, %v", len(before), err)
	}
	if now, err := os.ReadFile(name); err != nil || strings.Contains(string(now), "msg_last") || !strings.HasSuffix(string(now), "}\n") {
		t.Errorf("%s, %v", now, err)
	}
	lines, err := c.Tail(10, func(state.Line) bool { return true })
	if err != nil || len(lines) != 2 || lines[0].ID != "msg_last" || lines[1].ID != "msg_first" {
		t.Errorf("%+v, %v", lines, err)
	}
}

// Without further alerts the operator gets a summary after an hour, then every two hours.
func TestSummariesWithoutAlerts(t *testing.T) {
	c := open(t)
	c.judge(t, state.Alert{Host: "a", Check: "ping"})
	begin := c.at
	var notified []time.Duration
	for c.at.Sub(begin) < 6*time.Hour {
		due, next, err := c.Summaries(state.DefaultPolicy())
		if err != nil || next.IsZero() {
			t.Fatal(next, err)
		}
		if len(due) > 0 {
			notified = append(notified, c.at.Sub(begin))
			continue
		}
		c.at = next
	}
	if diff := cmp.Diff([]time.Duration{time.Hour, 3 * time.Hour, 5 * time.Hour}, notified); diff != "" {
		t.Error(diff)
	}
}

func TestDeadLettersAreStored(t *testing.T) {
	c := open(t)
	for n := range 1001 {
		l := state.DeadLetter{ID: fmt.Sprint("msg_", n), To: "hub", FailReason: "circuit_open", Envelope: json.RawMessage(`{"id":1}`)}
		if n < 995 && n > 3 { // the test is not about the disk
			continue
		}
		if _, err := c.AddDeadLetter(l); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.AddDeadLetter(state.DeadLetter{ID: "msg_1", To: "hub", FailReason: "client_error_404", Attempts: 5, Envelope: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
	c.again(t)
	if l := c.DeadLetters(); len(l) != 10 || l[1].Attempts != 5 || !l[1].Final() || l[0].Final() {
		t.Errorf("%+v", l)
	}
	one := c.file(t, "dead-letters.json")["messages"].([]any)[1].(map[string]any)
	if one["failReason"] != "client_error_404" || one["attempts"] != 5.0 || one["to"] != "hub" || one["timestamp"] != "2026-02-21T17:30:00Z" {
		t.Errorf("%v", one)
	}
	if l, ok, err := c.RemoveDeadLetter("msg_1", "hub"); !ok || err != nil || l.ID != "msg_1" || len(c.DeadLetters()) != 9 {
		t.Error(l, ok, err)
	}
	if _, ok, err := c.RemoveDeadLetter("msg_1", "hub"); ok || err != nil {
		t.Error(ok, err)
	}
}

func TestAuditLog(t *testing.T) {
	c := open(t)
	name := filepath.Join(c.dir, "mesh-audit.jsonl")
	if err := os.WriteFile(name, []byte(`{"ts":"half a`), 0o600); err != nil { // as a power failure leaves it
		t.Fatal(err)
	}
	c.Audit(state.Line{From: "hub", To: "arm_01", Type: "request", ID: "msg_1", Body: "<b>", Status: "received"})
	c.Audit(state.Line{From: "arm_01", To: "hub", Type: "response", ID: "msg_2", CorrelationID: "msg_1", Status: "sent"})
	data, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(data), `"correlationId":"msg_1"`) || !strings.Contains(string(data), `"body":"<b>"`) {
		t.Errorf("%s, %v", data, err)
	}
	lines, err := c.Tail(1, func(l state.Line) bool { return l.Status == "received" })
	if err != nil || len(lines) != 1 || lines[0].ID != "msg_1" {
		t.Errorf("%+v, %v", lines, err)
	}
}

func TestRounds(t *testing.T) {
	c := open(t)
	begin := state.Conversation{From: "hub", Question: "how many?", Participants: []string{"a", "b"}, Life: time.Minute}
	if _, err := c.Begin("conv_1_ab", begin); err != nil {
		t.Fatal(err)
	}
	say := func(from, body string) state.Conversation {
		if err := c.Answered("conv_1_ab", state.Answer{From: from, Body: body, Status: "response"}); err != nil {
			t.Fatal(err)
		}
		got, err := c.Conversation("conv_1_ab")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := say("a", "1"); got.Status != "active" || got.Rounds[0].Status != "partial" {
		t.Errorf("%+v", got)
	}
	if got := say("stranger", "7"); got.ReceivedResponses != 1 {
		t.Errorf("%+v", got)
	}
	if got := say("a", "2"); got.ReceivedResponses != 1 || got.Responses[0].Body != "2" {
		t.Errorf("%+v", got)
	}
	got, err := c.Begin("conv_1_ab", begin)
	if err != nil || got.CurrentRound != 2 || got.Rounds[0].Status != "superseded" {
		t.Errorf("%+v, %v", got, err)
	}
	say("a", "1")
	if got := say("b", strings.Repeat("ü", 300)); got.Status != "complete" || len([]rune(got.Responses[1].Summary)) != 200 || got.Rounds[1].Status != "complete" {
		t.Errorf("%+v", got)
	}
	if err := c.TimedOut("conv_1_ab"); err != nil {
		t.Fatal(err)
	}
	if v := c.file(t, "conversations/conv_1_ab.json"); v["status"] != "complete" || v["receivedResponses"] != 2.0 {
		t.Errorf("%v", v)
	}
}

func TestSessions(t *testing.T) {
	c := open(t)
	for _, key := range []string{"agent:main:slack", "agent_main_slack", "agent:main:slack"} {
		if err := c.InSession(key, state.InSession{From: "hub", To: "arm_01", Body: key}); err != nil {
			t.Fatal(err)
		}
	}
	if v := c.file(t, "sessions/agent_main_slack.json"); len(v["messages"].([]any)) != 1 || v["sessionKey"] != "agent_main_slack" {
		t.Errorf("%v", v)
	}
	names, _ := filepath.Glob(filepath.Join(c.dir, "sessions", "*.json"))
	if len(names) != 2 {
		t.Errorf("%v", names)
	}
}

// The store renames a file that it cannot parse, and loses nothing else.
func TestUnreadableFileIsRenamed(t *testing.T) {
	c := open(t)
	if err := os.WriteFile(filepath.Join(c.dir, "dead-letters.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.again(t)
	if _, err := os.Stat(filepath.Join(c.dir, "dead-letters.json.unreadable")); err != nil || len(c.DeadLetters()) != 0 {
		t.Error(err, c.DeadLetters())
	}
}
