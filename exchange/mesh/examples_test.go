package mesh_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/mesh/wire"
)

// specified is the standard envelope of MESH 1.0 section 5, word for word but for what a
// choice stands for ("request|response|...") and the addresses of the test. The document
// states no license.
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

// The example envelope is taken with each type and priority that it offers, in their order.
func TestSpecifiedEnvelope(t *testing.T) {
	h := inHouse(t, nil)
	for i, kind := range []string{"request", "response", "notification", "alert", "ack"} {
		for k, priority := range []string{"normal", "high", "low"} {
			text := strings.NewReplacer("TYPE", kind, "PRIORITY", priority, "TIME", time.Now().UTC().Format(time.RFC3339Nano), "<uuid>", strings.Repeat("a", 3*i+k+1)).Replace(specified)
			want := http.StatusAccepted
			if kind == "response" || kind == "ack" {
				want = http.StatusBadRequest // it answers nothing: correlationId is null
			}
			if code, v := h.raw("/hooks/hub", tokenHere, string(wire.Hook{Message: text}.Text())); code != want {
				t.Errorf("%s, %s: %d %v", kind, priority, code, v)
			}
		}
	}
}
