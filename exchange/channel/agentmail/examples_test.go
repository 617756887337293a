package agentmail_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail"
)

// The adapter gets all example messages of Agent Mail 1.0, in the order of the specification (see
// ../testdata for their source), each from its sender. It rejects the shortened ones of the
// scenarios, which lack fields.
func TestSpecificationExamples(t *testing.T) {
	h := newFixture(t, nil, "", agentmail.Config{On: true})
	data, err := os.ReadFile(filepath.Join("format", "testdata", "messages.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(data)) {
		var one struct{ Name, Body string }
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(one.Name, "recorded") {
			continue
		}
		var head struct {
			SenderID string `json:"sender_id"`
		}
		if err := json.Unmarshal([]byte(one.Body), &head); err != nil {
			t.Fatalf("%s: %v", one.Name, err)
		}
		who := exchange.Actor{ID: head.SenderID, Roles: exchange.Requester}
		if who.ID == "" {
			who = orchestrator
		}
		code, text := h.calls(who, http.MethodPost, "", one.Body)
		got = append(got, fmt.Sprintf("%s: %d", one.Name, code))
		if code >= http.StatusInternalServerError {
			t.Errorf("%s: %d %s", one.Name, code, text)
		}
	}
	want := []string{
		"section task_assignment: 202",      // it waits for bd-40 and bd-41; its deadline has passed
		"section task_completion: 404",      // this exchange has not assigned the task to its sender
		"section error_report: 202",         // noted
		"section status_update: 404",        // its sender has no such task
		"section coordination_request: 422", // files are no device zones
		"section file_reservation: 422",     // the same
		"common fields: 422",                // "message_type" is no type
		"scenario task_assignment: 422",     // shortened
		"scenario task_completion: 422",
		"scenario error_report: 422",
		"scenario status_update: 422",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
