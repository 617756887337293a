package mesh_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh/wire"
)

// specified is the standard envelope of MESH 1.0 section 5, except for the placeholders of choices
// ("request|response|...") and the addresses of the test. The specification states no license.
const specified = `{
  "protocol": "mesh/1.0",
  "id": "msg_<uuid>",
  "timestamp": "TIME",
  "from": "hub",
  "to": "arm_01",
  "type": "TYPE",
  "correlationId": null,
  "replyTo": {
    "url": "http://192.168.1.10:18789/hooks/worker-a",
    "token": "hub-hook-token"
  },
  "replyContext": null,
  "priority": "PRIORITY",
  "ttl": 300,
  "idempotencyKey": null,
  "payload": {
    "subject": "Short description for logging",
    "body": "The actual message/query for the agent",
    "attachments": [],
    "metadata": {}
  }
}`

// The agent accepts the example envelope with each type and priority that it offers, in their
// order.
func TestSpecifiedEnvelopeIsAccepted(t *testing.T) {
	h := newFixture(t, nil)
	for i, kind := range []string{"request", "response", "notification", "alert", "ack"} {
		for k, priority := range []string{"normal", "high", "low"} {
			text := strings.NewReplacer("TYPE", kind, "PRIORITY", priority, "TIME", time.Now().UTC().Format(time.RFC3339Nano), "<uuid>", strings.Repeat("a", 3*i+k+1)).Replace(specified)
			want := http.StatusAccepted
			if kind == "response" || kind == "ack" {
				want = http.StatusBadRequest // it answers no message: correlationId is null
			}
			if code, v := h.raw("/hooks/hub", tokenHere, string(wire.Hook{Message: text}.Text())); code != want {
				t.Errorf("%s, %s: %d %v", kind, priority, code, v)
			}
		}
	}
}

// called is the call with curl in section 5, unchanged.
const called = `{
    "message": "{\"protocol\":\"mesh/1.0\",\"id\":\"msg_a1b2c3d4\",\"timestamp\":\"2026-02-21T20:45:00Z\",\"from\":\"hub\",\"to\":\"worker-a\",\"type\":\"request\",\"replyTo\":{\"url\":\"http://192.168.1.10:18789/hooks/worker-a\",\"token\":\"hub-hook-token\"},\"priority\":\"normal\",\"ttl\":300,\"payload\":{\"subject\":\"Tank count query\",\"body\":\"How many active tanks are in Zone 5?\"}}"
  }`

// attached are the attachments of section 12, except for the data that the specification leaves
// out and the address of the test.
const attached = `[
      {
        "type": "url",
        "url": "http://192.168.1.10:8890/report.xlsx",
        "filename": "zone5-report.xlsx",
        "mimeType": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "size": 245760,
        "description": "Zone 5 tank analysis - Q1 2026"
      },
      {
        "type": "inline",
        "encoding": "base64",
        "data": "UEsDBBQAAAA=",
        "filename": "summary.csv",
        "mimeType": "text/csv",
        "description": "Quick summary table"
      },
      {
        "type": "path",
        "path": "/tmp/shared/chart.png",
        "filename": "production-chart.png",
        "mimeType": "image/png",
        "description": "Production trend chart"
      }
    ]`

// The agent accepts the call with curl until it expires, and the attachments in an envelope.
func TestSpecifiedCallsAreAccepted(t *testing.T) {
	h := newFixture(t, nil)
	post := func(want int, text string) {
		t.Helper()
		if code, v := h.raw("/hooks/hub", tokenHere, text); code != want {
			t.Errorf("%d %v, want %d", code, v, want)
		}
	}
	here := strings.Replace(called, "worker-a", "arm_01", 1)
	post(http.StatusBadRequest, called) // its recipient is worker-a
	if code, v := h.raw("/hooks/hub", tokenHere, here); code != http.StatusAccepted || v["expired"] != true {
		t.Errorf("%d %v, want a word that its 300 seconds are over", code, v)
	}
	now := strings.Replace(strings.Replace(here, "msg_a1b2c3d4", "msg_now", 1), "2026-02-21T20:45:00Z", time.Now().UTC().Format(time.RFC3339), 1)
	post(http.StatusAccepted, now)
	envelope := strings.NewReplacer("TYPE", "request", "PRIORITY", "normal", "TIME", time.Now().UTC().Format(time.RFC3339Nano), "<uuid>", "attached", `"attachments": []`, `"attachments": `+attached).Replace(specified)
	post(http.StatusAccepted, string(wire.Hook{Message: envelope}.Text()))
}
