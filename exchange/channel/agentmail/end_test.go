package agentmail_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail"
	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/mess"
)

var garage = exchange.Actor{ID: "garage-pi", Roles: exchange.ExecutorRole}

// as posts a message as another executor.
func (h *fixture) as(who exchange.Actor, text string) {
	h.Helper()
	m, err := mess.Parse([]byte(text))
	if err == nil {
		_, err = h.x.Post(h.ctx, exchange.Inbound{Actor: who, Channel: "local", Message: m})
	}
	if err != nil {
		h.Fatalf("post by %s of %s: %v", who.ID, text, err)
	}
}

// twoExecutors returns a fixture with two executors that the test scripts.
func twoExecutors(t *testing.T) *fixture {
	h := bare(t, nil, "", agentmail.Config{On: true})
	for _, who := range []exchange.Actor{kitchen, garage} {
		h.as(who, "config: {executor: {id: "+who.ID+", versions: [1.1.0], capabilities: [take-photo]}}")
		h.run(func(ctx context.Context) { _ = h.x.As(who, "local").Receive(ctx, func(mess.Message) {}) })
	}
	h.open()
	return h
}

// kinds are the types of messages, without status updates.
func kinds(all []format.Message) (list []format.Type) {
	for _, m := range all {
		if m.Type != format.TypeStatusUpdate {
			list = append(list, m.Type)
		}
	}
	return list
}

// A task ends for its agent when its thread ends. The agent gets at most one error report and one
// completion, for any earlier reports of single executors.
func TestTaskEndsOnce(t *testing.T) {
	const task = "bd-1"
	for name, one := range map[string]struct {
		messages []string // "kitchen" or "garage", and its message
		ends     []format.Type
		want     []string // in the last message
	}{
		"one declines before the other begins": {
			[]string{"kitchen status: {code: declined, reason: {detail: no camera}}", "garage status: {code: claimed}", "garage status: {code: in_progress}", "garage response: {content: [here it is]}"},
			[]format.Type{format.TypeTaskCompletion},
			[]string{`"status":"complete"`, "here it is"},
		},
		"one declines its claim": {
			[]string{"kitchen status: {code: claimed}", "kitchen status: {code: delegated}", "garage status: {code: claimed}", "garage response: {content: [done]}"},
			[]format.Type{format.TypeTaskCompletion},
			[]string{`"status":"complete"`},
		},
		"both decline": {
			[]string{"kitchen status: {code: declined, reason: {detail: no camera}}", "garage status: {code: declined, reason: {detail: no light}}"},
			[]format.Type{format.TypeErrorReport, format.TypeTaskCompletion},
			[]string{`"status":"blocked"`, "no camera", "no light", `"declined"`},
		},
		"it fails": {
			[]string{"kitchen status: {code: declined, reason: busy}", "garage status: {code: claimed}", "garage status: {code: failed, reason: {detail: stuck, effect: none}}", "garage status: {code: completed}"},
			[]format.Type{format.TypeErrorReport, format.TypeTaskCompletion},
			[]string{`"status":"blocked"`, "stuck"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := twoExecutors(t)
				_, text := h.calls(orchestrator, "POST", "", assignment("msg-1", task, "photo"))
				ref := refIn(text)
				for _, line := range one.messages {
					who, message, _ := strings.Cut(line, " ")
					actor := map[string]exchange.Actor{"kitchen": kitchen, "garage": garage}[who]
					h.as(actor, "re: "+ref+"\nMESS: [{"+message+"}]")
					time.Sleep(time.Second) // fake time, so that the adapter reports each message before the next
				}
				all := h.fetches(orchestrator, ends)
				_, rest := h.calls(orchestrator, "GET", "?wait=5s", "")
				if got := fmt.Sprint(kinds(all)); got != fmt.Sprint(one.ends) {
					t.Errorf("messages about the end are %s, want %v", got, one.ends)
				}
				if n := strings.Count(rest, `"type":"task_completion"`); n != 1 {
					t.Errorf("%d completions: %s", n, rest)
				}
				last := asText(t, all[len(all)-1])
				for _, want := range one.want {
					if !strings.Contains(last, want) {
						t.Errorf("%s misses %s", last, want)
					}
				}
			})
		})
	}
}

// A cancel ends the task for its agent, also during a question or a confirmation: the last message
// is no blocker.
func TestCancelDuringQuestion(t *testing.T) {
	for _, intent := range []string{"ask", "confirm"} {
		t.Run(intent, func(t *testing.T) {
			h := overHTTP(t)
			_, text := h.calls(orchestrator, "POST", "", assignment("msg-1", "bd-1", intent))
			h.fetches(orchestrator, func(all []format.Message) bool {
				return len(all) > 0 && strings.Contains(asText(t, all[len(all)-1]), `"blocker"`)
			})
			if code, text := h.calls(orchestrator, "POST", "", saying("m-1", "bd-1", now(), `"cancel":{"reason":"enough"}`)); code != 202 {
				t.Fatal(code, text)
			}
			all := h.fetches(orchestrator, ends)
			c := all[len(all)-1].Body.(*format.TaskCompletion)
			if c.Status != "blocked" || len(c.Errors) == 0 || c.Errors[0] != "cancelled" || !strings.Contains(c.Summary, "enough") {
				t.Errorf("%+v", c)
			}
			if len(h.adapter.Status().Refused) != 0 || h.adapter.Status().Mailbox.Tasks != 0 || refIn(text) == "" {
				t.Errorf("%+v", h.adapter.Status())
			}
		})
	}
}

// The example in the specification depends on tasks that do not exist yet. It waits for them and
// starts after them, and the agent learns of a failed dependency.
func TestTaskWaitsForDependencies(t *testing.T) {
	h := newFixture(t, server(t), "Kitchen-1", bossOnly)
	depends := func(id, task, on string) string {
		return assignment(id, task, "photo", `,"dependencies":[`+on+`]`)
	}
	h.assign("bd-42", depends("msg-42", "bd-42", `"bd-41","bd-40"`))
	blocked := body[*format.StatusUpdate](t, h.until(boss, "bd-42", format.TypeStatusUpdate))
	if blocked.UpdateType != "blocker" || len(blocked.Blockers) != 1 || !strings.Contains(blocked.Summary, "bd-4") {
		t.Errorf("%+v", blocked)
	}
	h.end()
	h.open()
	h.assign("bd-40", assignment("msg-40", "bd-40", "photo"))
	h.until(boss, "bd-40", format.TypeTaskCompletion)
	if n := len(h.Acts()); n != 1 {
		t.Fatalf("%d are done before bd-41", n)
	}
	h.assign("bd-41", assignment("msg-41", "bd-41", "photo"))
	if c := body[*format.TaskCompletion](t, h.until(boss, "bd-42", format.TypeTaskCompletion)); c.Status != "complete" || len(h.Acts()) != 3 {
		t.Errorf("%+v %v", c, h.Acts())
	}
	h.assign("bd-50", depends("msg-50", "bd-50", `"bd-49"`))
	h.assign("bd-49", assignment("msg-49", "bd-49", "fail"))
	r := body[*format.ErrorReport](t, h.until(boss, "bd-50", format.TypeErrorReport))
	if r.Error.Code != "dependency" || r.NeedsHumanIntervention {
		t.Errorf("%+v", r)
	}
	if c := body[*format.TaskCompletion](t, h.until(boss, "bd-50", format.TypeTaskCompletion)); c.Status != "blocked" || len(h.Acts()) != 3 {
		t.Errorf("%+v %v", c, h.Acts())
	}
}

// example is the task_assignment of the specification, unchanged.
const example = `{
  "version": "1.0.0",
  "timestamp": "2025-12-25T12:00:00Z",
  "sender_id": "orchestrator",
  "message_id": "msg-123e4567-e89b-12d3-a456-426614174000",
  "type": "task_assignment",
  "task_id": "bd-42",
  "description": "Implement user authentication UI with login form",
  "specification": {
    "acceptance_criteria": [
      "Login form displays correctly",
      "Password validation (min 8 chars)",
      "Error messages for failed login",
      "OAuth integration for Google/GitHub"
    ],
    "technical_requirements": [
      "Use React Hook Form",
      "Integrate with backend API /api/auth/login",
      "Store JWT token in secure cookie"
    ]
  },
  "file_patterns": [
    "src/frontend/auth/**/*.ts",
    "src/frontend/components/auth/**/*.tsx",
    "src/frontend/services/auth.ts"
  ],
  "priority": "high",
  "priority_value": 1,
  "dependencies": [
    "bd-41",
    "bd-40"
  ],
  "estimated_duration_minutes": 120,
  "deadline": "2025-12-31T23:59:59Z",
  "metadata": {
    "labels": ["frontend", "authentication"],
    "component": "auth-system",
    "epic": "user-onboarding"
  }
}`

// The adapter accepts the example in the specification, which waits for its dependencies. With its
// own deadline, which has passed, it expires.
func TestSpecificationExampleIsAccepted(t *testing.T) {
	h := overHTTP(t)
	who := exchange.Actor{ID: "orchestrator", Roles: exchange.Requester}
	later := strings.NewReplacer("2025-12-31T23:59:59Z", time.Now().Add(time.Hour).UTC().Format(time.RFC3339), "bd-42", "bd-1042", "msg-123e", "msg-223e").Replace(example)
	if code, text := h.calls(who, "POST", "", later); code != 202 || !strings.Contains(text, "it waits: depends on bd-4") || !strings.Contains(text, `"status":"pending"`) {
		t.Errorf("%d %s", code, text)
	}
	if code, text := h.calls(who, "POST", "", example); code != 202 {
		t.Errorf("%d %s", code, text)
	}
	all := h.fetches(who, ends)
	r, ok := all[len(all)-2].Body.(*format.ErrorReport)
	if !ok || r.TaskID != "bd-42" || r.Error.Code != "expired" {
		t.Errorf("%+v", all[len(all)-2])
	}
}
