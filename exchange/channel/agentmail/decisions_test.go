package agentmail_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail"
	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/internal/secret"
)

// uuid4 is the id of a message of this program.
var uuid4 = regexp.MustCompile(`^msg-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// TestDecisions tests the decisions about gaps of the specification that concern the adapter.
// Package format tests the others.
func TestDecisions(t *testing.T) {
	const token = `sesame-of-the-"house"`
	h := newFixture(t, nil, "", agentmail.Config{On: true, Zones: map[string][]string{"kitchen": {"lamp"}, "hall": {"door"}}, Secrets: []secret.Text{token, "plain-sesame", "1234"}})
	code, text := h.calls(orchestrator, http.MethodPost, "", assignment("msg-1", "bd-1", "wait"))
	if code != http.StatusAccepted {
		t.Fatal(code, text)
	}
	contains := func(words string) func([]format.Message) bool {
		return func(all []format.Message) bool {
			return len(all) > 0 && strings.Contains(asText(t, all[len(all)-1]), words)
		}
	}
	all := h.fetches(orchestrator, contains("in progress"))
	h.SendTo(refIn(text), `[{status: {code: in_progress, progress_pct: 12, message: 'the token is sesame-of-the-"house", and 1234 a number'}}]`)
	all = append(all, h.fetches(orchestrator, contains("1234 a number"))...)
	h.SendTo(refIn(text), `[{status: {code: completed}}, {response: {content: ['it was sesame-of-the-"house"']}}]`)
	all = append(all, h.fetches(orchestrator, ends)...)

	t.Run("D1 our ids are UUIDs", func(t *testing.T) {
		for _, m := range all {
			if !uuid4.MatchString(m.MessageID) {
				t.Errorf("%q", m.MessageID)
			}
		}
	})
	t.Run("D4 exclusive or not", func(t *testing.T) {
		anna := exchange.Actor{ID: "anna", Roles: exchange.Requester}
		for mode, want := range map[string]bool{"exclusive": true, "shared_read": false, "shared_write": false, "shared": false} {
			if code, text := h.calls(anna, http.MethodPost, "", reservation("anna", "r-1", mode, "zone/kitchen", 30, "")); code != http.StatusAccepted {
				t.Fatal(code, text)
			}
			if _, _, _, held := h.adapter.Reserved("lamp", "bert"); held != want {
				t.Errorf("%s: held %t", mode, held)
			}
		}
	})
	t.Run("D18 our times are UTC", func(t *testing.T) {
		for _, m := range all {
			if !strings.HasSuffix(string(m.Timestamp), "Z") {
				t.Errorf("%q", m.Timestamp)
			}
		}
	})
	t.Run("D20 no secrets go out", func(t *testing.T) {
		hidden, number := 0, false
		for _, m := range all {
			text := asText(t, m)
			if strings.Contains(text, "sesame") {
				t.Errorf("%s", text)
			}
			hidden += strings.Count(text, "***")
			number = number || strings.Contains(text, "1234 a number")
		}
		if c := all[len(all)-1].Body.(*format.TaskCompletion); hidden < 3 || !number || !strings.Contains(c.Summary, "it was ***") {
			t.Errorf("%d are hidden in %q", hidden, c.Summary)
		}
		// The adapter does not reject a received message because it contains a secret.
		bad := strings.Replace(assignment("msg-2", "bd-2", "wait"), "task_assignment", "plain-sesame", 1)
		if code, text := h.calls(orchestrator, http.MethodPost, "", bad); code != http.StatusUnprocessableEntity || strings.Contains(text, "sesame") || !strings.Contains(text, "unknown_message_type") {
			t.Errorf("%d %s", code, text)
		}
		if code, text := h.calls(orchestrator, http.MethodPost, "", assignment("msg-3", "bd-3", fmt.Sprintf("wait for %s", strings.ReplaceAll(token, `"`, `\"`)))); code != http.StatusAccepted {
			t.Errorf("%d %s", code, text)
		}
	})
}
