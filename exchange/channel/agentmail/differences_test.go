package agentmail_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/internal/test/pagetest"
)

// TestDifferences covers each difference from Agent Mail 1.0 that docs/how-to/agentmail.md lists.
func TestDifferences(t *testing.T) {
	here := func(tests ...string) func(*testing.T) { return pagetest.Elsewhere(".", tests...) }
	formats := func(tests ...string) func(*testing.T) { return pagetest.Elsewhere("format", tests...) }
	pagetest.Differences(t, "../../../docs/how-to/agentmail.md", map[string]func(*testing.T){
		"Messages travel over a mail server":              here("TestOverHTTP"),
		"Abridged messages":                               formats("TestDecisions"), // D2
		"A `message_id` is a UUID v4":                     formats("TestDecisions"), // D1
		"Times are in UTC":                                formats("TestDecisions"), // D18
		"`priority` and `priority_value`":                 formats("TestDecisions"), // D5
		"`metadata` has any content":                      formats("TestInvalidMessagesAreRejected"),
		"A rejection and a report":                        here("TestInvalidMessagesAreReported", "TestInvalidHTTPRequests"),
		"A report for each invalid message":               here("TestInvalidMessagesAreReported"),
		"No secrets in messages":                          here("TestDecisions"), // D20
		"A task ends by its `deadline`":                   taskAfterDeadline,
		"`dependencies` lists dependent tasks":            here("TestTaskWaitsForDependencies"),
		"`file_patterns` of a task":                       patternsReserveNothing,
		"`estimated_duration_minutes`":                    here("TestAcceptanceCriteriaAndUnusedFields"),
		"`labels`, `component` and `epic`":                here("TestPhotoByMail"),
		"Acceptance criteria":                             here("TestAcceptanceCriteriaAndUnusedFields", "TestCriteriaWithMESSContext"),
		"`files_modified` and `test_results`":             emptyResults,
		"A completion is complete, partial or blocked":    formats("TestDecisions"), // D13
		"Optional fields of an error report":              shortErrorReport,
		"Periodic updates":                                periodicUpdates,
		"No type for questions":                           here("TestQuestionInPlainText", "TestConfirmationIsForOnePlan"),
		"Reports of an agent that has a task":             reportsInShort,
		"`handoff`":                                       coordinated(`"request_type":"handoff"`, http.StatusUnprocessableEntity, "send one"),
		"`parallel_execution`":                            sharingStartsNothing,
		"`participants`":                                  sharingStartsNothing,
		"`shared_resources`":                              sharedForReading,
		"`schedule`":                                      coordinated(`"request_type":"sync",`+zones+`,"schedule":{"start_time":"2999-01-01T00:00:00Z"}`, http.StatusUnprocessableEntity, "more than 7 days ahead"),
		"`communication_protocol` and `success_criteria`": coordinated(`"request_type":"sync",`+zones+`,"success_criteria":["x"],"communication_protocol":{"primary_channel":"y"}`, http.StatusAccepted, "not used: communication_protocol, success_criteria"),
		"A reservation of files":                          here("TestZones"),
		"One writer with `shared_read`":                   here("TestDecisions"),    // D4
		"Mode `shared`":                                   formats("TestDecisions"), // D3
		"Any `duration_minutes`":                          cutReservation,
		"Exclusive means only this agent":                 pagetest.Elsewhere("../../../agent/policy", "TestTaskWaitsForReservation"),
	})
}

// posts sends a message of the orchestrator, and returns the answer.
func (h *fixture) posts(want int, body string) string {
	h.Helper()
	code, text := h.calls(orchestrator, http.MethodPost, "", body)
	if code != want {
		h.Fatalf("%d %s, want %d", code, text, want)
	}
	return text
}

const zones = `"shared_resources":[{"type":"zone","patterns":["zone/kitchen"],"access_mode":"read_write"}]`

func coordination(members string) string {
	return `{"version":"1.0.0","timestamp":"` + now() + `","sender_id":"` + boss + `","message_id":"c-1","type":"coordination_request","participants":["anna","home"],"coordination_topic":"release",` + members + `}`
}

// coordinated tests a coordination request: the status code and a part of the answer.
func coordinated(members string, want int, part string) func(*testing.T) {
	return func(t *testing.T) {
		if text := overHTTP(t).posts(want, coordination(members)); !strings.Contains(text, part) {
			t.Errorf("%s misses %q", text, part)
		}
	}
}

func taskAfterDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := overHTTP(t)
		ref := refIn(h.posts(http.StatusAccepted, assignment("msg-1", "bd-1", "wait", `,"deadline":"`+time.Now().Add(time.Minute).UTC().Format(time.RFC3339)+`"`)))
		time.Sleep(2 * time.Minute) // fake time
		h.SendTo(ref, `[{status: {code: completed}}, {response: {content: [done]}}]`)
		all := h.fetches(orchestrator, ends)
		if c := all[len(all)-1].Body.(*format.TaskCompletion); c.Status != "complete" {
			t.Errorf("%+v", c)
		}
	})
}

func patternsReserveNothing(t *testing.T) {
	h := overHTTP(t)
	task := strings.Replace(assignment("msg-1", "bd-1", "wait"), `"file_patterns":[]`, `"file_patterns":["zone/kitchen/**"]`, 1)
	if text := h.posts(http.StatusAccepted, task); !strings.Contains(text, "not used: file_patterns") {
		t.Error(text)
	}
	if by, _, _, held := h.adapter.Reserved("lamp", "bert"); held {
		t.Errorf("the lamp is reserved by %s", by)
	}
}

func emptyResults(t *testing.T) {
	h := overHTTP(t)
	h.posts(http.StatusAccepted, assignment("msg-1", "bd-1", "photo"))
	all := h.fetches(orchestrator, ends)
	if text := asText(t, all[len(all)-1]); !strings.Contains(text, `"files_modified":[]`) || !strings.Contains(text, `"test_results":{}`) {
		t.Error(text)
	}
}

func shortErrorReport(t *testing.T) {
	h := overHTTP(t)
	h.posts(http.StatusAccepted, assignment("msg-1", "bd-1", "fail"))
	all := h.fetches(orchestrator, ends)
	text := asText(t, all[len(all)-2])
	for _, member := range []string{"attempted_solutions", "stack_trace", "impact", "attachments"} {
		if strings.Contains(text, `"`+member+`"`) {
			t.Errorf("%s has %s", text, member)
		}
	}
	if !strings.Contains(text, `"reproduction_steps":["give the task again"]`) {
		t.Error(text)
	}
}

func periodicUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := overHTTP(t)
		h.ctx = context.Background() // the test takes longer
		box := h.byMail("wait")
		h.posts(http.StatusAccepted, assignment("msg-1", "bd-1", "wait"))
		time.Sleep(time.Minute) // fake time, as below
		h.fetches(orchestrator, func([]format.Message) bool { return true })
		begun := time.Now()
		time.Sleep(41 * time.Minute)
		if _, text := h.calls(orchestrator, http.MethodGet, "?after=100", ""); !strings.Contains(text, `"messages":[]`) {
			t.Errorf("over HTTP: %s", text)
		}
		box.mu.Lock()
		defer box.mu.Unlock()
		n := 0
		for i, at := range box.times {
			if at.After(begun) {
				n++
			}
			if i > 0 && at.Sub(box.times[i-1]) > 11*time.Minute {
				t.Errorf("%v pass without an update", at.Sub(box.times[i-1]))
			}
		}
		if n < 3 {
			t.Errorf("%d updates by mail in 41 minutes", n)
		}
	})
}

func reportsInShort(t *testing.T) {
	keeps, drops := []string{"E1", "it broke", "call support"}, []string{"tried", "step one", "trace", "everyone", "a.log"}
	m, err := format.Parse(`{"version":"1.0.0","timestamp":"`+now()+`","sender_id":"a","message_id":"m","type":"error_report","task_id":"t","severity":"high","needs_human_intervention":false,
"error":{"code":"E1","message":"it broke","stack_trace":"trace"},"attempted_solutions":[{"solution":"tried"}],"reproduction_steps":["step one"],"suggested_actions":["call support"],
"impact":{"affected_users":"everyone"},"attachments":[{"filename":"a.log"}]}`, format.Mail{}, format.Strict)
	if err != nil {
		t.Fatal(err)
	}
	items, err := format.Reports(m, time.Now())
	data, _ := json.Marshal(items)
	for _, text := range keeps {
		if err != nil || !strings.Contains(string(data), text) {
			t.Errorf("%s misses %s: %v", data, text, err)
		}
	}
	for _, text := range drops {
		if strings.Contains(string(data), text) {
			t.Errorf("%s has %s", data, text)
		}
	}
}

func sharingStartsNothing(t *testing.T) {
	h := overHTTP(t)
	h.posts(http.StatusAccepted, coordination(`"request_type":"parallel_execution",`+zones))
	if code, text := h.calls(anna, http.MethodGet, "", ""); code != http.StatusOK || !strings.Contains(text, `"messages":[]`) {
		t.Errorf("anna is notified: %s", text)
	}
	if code, text := h.calls(anna, http.MethodPost, "", reservation("anna", "r-1", "exclusive", "zone/kitchen", 30, "")); code != http.StatusConflict || !strings.Contains(text, "reserved by "+boss) {
		t.Errorf("%d %s", code, text)
	}
	page, err := h.x.List(t.Context(), operator, exchange.Filter{})
	if err != nil || len(page.Threads) != 0 {
		t.Errorf("%d tasks have started, %v", len(page.Threads), err)
	}
}

func sharedForReading(t *testing.T) {
	h := overHTTP(t)
	text := h.posts(http.StatusAccepted, coordination(`"request_type":"sync","shared_resources":[{"type":"zone","patterns":["zone/kitchen"],"access_mode":"read_only"},{"type":"database","schema":"users"}]`))
	if !strings.Contains(text, "shared: zone/kitchen") || !strings.Contains(text, "not used: shared_resources[1]") {
		t.Error(text)
	}
}

func cutReservation(t *testing.T) {
	h := overHTTP(t) // this adapter reserves for an hour at most
	h.posts(http.StatusAccepted, reservation(boss, "r-1", "exclusive", "zone/kitchen", 6000, ""))
	if _, until, _, held := h.adapter.Reserved("lamp", "bert"); !held || time.Until(until) > time.Hour {
		t.Errorf("held %t until %v", held, until)
	}
}

// TestCriteriaWithMESSContext covers a task with a MESS context: its own criteria and
// requirements count too, and the completion judges the criteria.
func TestCriteriaWithMESSContext(t *testing.T) {
	h := overHTTP(t)
	task := strings.NewReplacer(`"acceptance_criteria":[]`, `"acceptance_criteria":["it is clean"],"technical_requirements":["use the soft brush"]`).Replace(
		assignment("msg-1", "bd-1", "wait", `,"metadata":{"mess":{"context":["near the sink"]}}`))
	ref := refIn(h.posts(http.StatusAccepted, task))
	th, err := h.x.Thread(t.Context(), operator, ref)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, e := range th.Request().Context {
		text, _ := e.Text()
		texts = append(texts, text)
	}
	if got := fmt.Sprintf("%q", texts); got != `["near the sink" "use the soft brush" "it is clean"]` {
		t.Errorf("the context is %s", got)
	}
	h.fetches(orchestrator, func(all []format.Message) bool {
		return len(all) > 0 && strings.Contains(asText(t, all[len(all)-1]), "begun")
	})
	h.SendTo(ref, `[{status: {code: completed}}]`)
	all := h.fetches(orchestrator, ends)
	if text := asText(t, all[len(all)-1]); !strings.Contains(text, `{"criterion":"it is clean","met":"not_checked"}`) {
		t.Error(text)
	}
}
