package agentmail_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/channel/agentmail/format"
)

// A completion has a verdict on each acceptance criterion as far as the executor has given one,
// and names the fields that the exchange does not use.
func TestAcceptanceCriteriaAndUnusedFields(t *testing.T) {
	h := overHTTP(t)
	task := strings.Replace(assignment("msg-1", "bd-1", "wait", `,"estimated_duration_minutes":120`), `"acceptance_criteria":[]`, `"acceptance_criteria":["it is clean","it is dry"]`, 1)
	code, text := h.calls(orchestrator, "POST", "", task)
	if code != 202 || !strings.Contains(text, "not used: estimated_duration_minutes") {
		t.Fatal(code, text)
	}
	h.fetches(orchestrator, func(all []format.Message) bool {
		return len(all) > 0 && strings.Contains(asText(t, all[len(all)-1]), "begun")
	})
	h.SendTo(refIn(text), `[{status: {code: completed}}, {response: {content: [done], acceptance_criteria: [{criterion: it is clean, met: true}]}}]`)
	all := h.fetches(orchestrator, ends)
	c := all[len(all)-1].Body.(*format.TaskCompletion)
	data, _ := json.Marshal(c.Metadata)
	for _, want := range []string{`{"criterion":"it is clean","met":true}`, `{"criterion":"it is dry","met":"not_checked"}`, `"unused":["estimated_duration_minutes"]`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s misses %s", data, want)
		}
	}
	if w := fmt.Sprint(c.Warnings); !strings.Contains(w, "unchecked acceptance criteria: it is dry") || strings.Contains(w, "clean") {
		t.Error(w)
	}
}

// A thread contains the reservations and arrangements for its task, also those from before the
// task.
func TestThreadContainsReservations(t *testing.T) {
	h := overHTTP(t)
	post := func(body string) string {
		t.Helper()
		code, text := h.calls(orchestrator, "POST", "", body)
		if code != 202 {
			t.Fatal(code, text)
		}
		return text
	}
	post(strings.Replace(reservation(boss, "r-1", "exclusive", "zone/kitchen", 30, ""), "job-"+boss, "bd-1", 1))
	ref := refIn(post(assignment("msg-1", "bd-1", "wait")))
	post(reservation(boss, "r-2", "shared_read", "zone/hall", 30, ""))
	start := time.Now().Add(2 * time.Hour).UTC().Truncate(time.Second)
	share := `{"version":"1.0.0","timestamp":"` + now() + `","sender_id":"` + boss + `","message_id":"%s","type":"coordination_request","request_type":"parallel_execution","participants":["home"],"coordination_topic":"release",
"schedule":{"start_time":"` + start.Format(time.RFC3339) + `","duration_minutes":30,"checkpoint_interval_minutes":30},"communication_protocol":{"primary_channel":"mail"},"metadata":{"task_id":"bd-1"}%s}`
	text := post(fmt.Sprintf(share, "c-1", `,"shared_resources":[{"type":"zone","patterns":["zone/hall"],"access_mode":"read_write"}]`))
	for _, want := range []string{"reserved from " + start.Format(time.RFC3339), "until " + start.Add(30*time.Minute).Format(time.RFC3339), "not used: communication_protocol, schedule.checkpoint_interval_minutes"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s misses %s", text, want)
		}
	}
	if strings.Contains(text, "schedule.start_time") {
		t.Error(text)
	}
	if text := post(fmt.Sprintf(share, "c-2", "")); !strings.Contains(text, "schedule.start_time, schedule.duration_minutes") {
		t.Error(text)
	}
	th, err := h.x.Thread(t.Context(), operator, ref)
	if err != nil {
		t.Fatal(err)
	}
	var record strings.Builder
	for _, m := range th.Messages {
		data, _ := m.JSON()
		record.Write(data)
	}
	for _, want := range []string{`"zone/kitchen"`, `"mode": "exclusive"`, `"reservation"`, `"zone/hall"`, `"coordination"`, `"parallel_execution"`} {
		if !strings.Contains(strings.ReplaceAll(record.String(), `":"`, `": "`), want) {
			t.Errorf("the thread misses %s: %s", want, record.String())
		}
	}
}
