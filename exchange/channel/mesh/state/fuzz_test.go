package state_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/channel/mesh/state"
)

// kinds are the files that other tools of a mesh may write too.
var kinds = []string{
	"circuit-breakers.json", "dead-letters.json", "active-incidents.json", "peer-health.json", "conversations/conv_1.json", "sessions/s.json", "mesh-audit.jsonl",
}

// FuzzFiles writes any content into the files: the store opens, works, and has the same state
// after a second Open. It renames a file that it cannot parse.
func FuzzFiles(f *testing.F) {
	for kind, text := range []string{
		`{"hub":{"state":"open","failures":3,"lastFailure":"2026-02-21T20:00:00Z","openUntil":"2026-02-21T20:01:00Z"},"a":null}`,
		`{"messages":[{"id":"msg_1","timestamp":"2026-02-21T20:45:00Z","to":"hub","failReason":"circuit_open","attempts":4,"envelope":{"id":1}},{}]}`,
		`{"incidents":[{"id":"inc_1","dedupKey":"a_ping","type":"network_outage","scope":"lan","group":"lan","firstSeen":"2026-02-21T17:30:00Z","lastSeen":"2026-02-21T17:31:00Z","alertCount":42,"affectedHosts":["a",""],"status":"active","escalated":true,"lastNotifiedOperator":null}]}`,
		`{"hub":{"ip":"192.168.1.10","port":18789,"lastProbe":"2026-02-21T17:30:00Z","httpCode":"200","latencyMs":3,"reachable":true,"consecutiveFailures":0}}`,
		`{"conversationId":"conv_1","type":"rally","participants":["a"],"rounds":[{"round":1,"responses":null,"status":"pending"}],"currentRound":1,"status":"active"}`,
		`{"sessionKey":"s","messages":[{"from":"hub"}],"participants":null}`,
		`{"ts":"2026-02-21T20:45:00Z","from":"hub","to":"a","type":"request","id":"msg_1","status":"sent"}` + "\n{\"ts\":",
	} {
		f.Add(kind, text)
	}
	for kind := range kinds {
		f.Add(kind, "null")
		f.Add(kind, `{"hub":{"state":7},"messages":7,"incidents":[7]}`)
	}
	f.Fuzz(func(t *testing.T, kind int, text string) {
		name := kinds[uint(kind)%uint(len(kinds))]
		dir, now := t.TempDir(), time.Date(2026, 2, 21, 17, 40, 0, 0, time.UTC)
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := opened(t, dir, now)
		if _, err := os.Stat(filepath.Join(dir, name+".unreadable")); err == nil && len(s.Breakers())+len(s.DeadLetters())+len(s.Incidents())+len(s.Health()) > 0 {
			t.Error("half of what was set aside is known")
		}
		works(t, s)
		again := opened(t, dir, now)
		for what, pair := range map[string][2]any{
			"breakers": {s.Breakers(), again.Breakers()}, "letters": {s.DeadLetters(), again.DeadLetters()}, "incidents": {s.Incidents(), again.Incidents()}, "health": {s.Health(), again.Health()},
		} {
			was, err := json.Marshal(pair[0])
			is, err2 := json.Marshal(pair[1])
			if diff := cmp.Diff(string(was), string(is)); err != nil || err2 != nil || diff != "" {
				t.Errorf("%s: %v %v %s", what, err, err2, diff)
			}
		}
	})
}

func opened(t *testing.T, dir string, now time.Time) *state.Store {
	t.Helper()
	s, err := state.Open(dir, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// works uses all functions of a store.
func works(t *testing.T, s *state.Store) {
	t.Helper()
	now := time.Date(2026, 2, 21, 17, 40, 0, 0, time.UTC)
	if _, probe := s.Enter("hub"); probe {
		s.Leave("hub")
	}
	s.Failed("hub")
	s.Probed("hub", state.Health{})
	s.Audit(state.Line{From: "a", ID: "msg_9"})
	lines, err := s.Tail(10, func(l state.Line) bool { return l.ID == "msg_9" })
	if err != nil || len(lines) < 1 {
		t.Errorf("%v, %v", lines, err)
	}
	if _, err := s.AddDeadLetter(state.DeadLetter{ID: "msg_9", To: "hub", Envelope: json.RawMessage("{}")}); err != nil {
		t.Error(err)
	}
	if _, _, err := s.Judge(state.DefaultPolicy(), state.Alert{Host: "a", Check: "ping", Key: "a_ping", Group: "lan", At: now}); err != nil {
		t.Error(err)
	}
	if _, _, err := s.Summaries(state.DefaultPolicy()); err != nil {
		t.Error(err)
	}
	if _, err := s.Begin("conv_1", state.Conversation{Participants: []string{"a"}, Life: time.Minute}); err != nil {
		t.Error(err)
	}
	if err := s.Answered("conv_1", state.Answer{From: "a", Body: "1"}); err != nil {
		t.Error(err)
	}
	if c, err := s.Conversation("conv_1"); err != nil || c.Status != "complete" {
		t.Errorf("%+v, %v", c, err)
	}
	if err := s.InSession("s", state.InSession{From: "a", To: "b"}); err != nil {
		t.Error(err)
	}
}
