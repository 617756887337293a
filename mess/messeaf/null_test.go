package messeaf_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// An envelope without a claim has executor: null ("null if unclaimed").
func TestUnclaimedThreadHasNullExecutor(t *testing.T) {
	e := messeaf.Envelope{Ref: "2026-02-01-001", Requester: "agent", Status: mess.Pending, Intent: "look"}
	text, err := messeaf.PrintEnvelope(e)
	if err != nil || !strings.Contains(string(text), "requestor: agent\nexecutor: null\nstatus: pending\n") {
		t.Errorf("%s%v", text, err)
	}
	back, err := messeaf.ParseEnvelope(messeaf.Split(text)[0])
	if err != nil || back.Executor != "" || len(back.Extra) > 0 {
		t.Errorf("%+v, %v", back, err)
	}
	again, err := messeaf.PrintEnvelope(back)
	if err != nil || string(again) != string(text) {
		t.Errorf("%s%v", again, err)
	}
}
