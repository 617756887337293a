package thread_test

import (
	"encoding/json"
	"testing"

	"github.com/messkit/messkit/exchange/thread"
)

// The stores write envelopes as JSON, so the names of the keys must not change.
func TestEnvelopeKeysOnDisk(t *testing.T) {
	got, err := json.Marshal(thread.Envelope{Ref: "a", ClientID: "b", Requester: "c", Executor: "d"})
	if want := `{"Ref":"a","ClientID":"b","Requestor":"c","Executor":"d"}`; err != nil || string(got) != want {
		t.Errorf("an envelope is %s, %v; want %s", got, err, want)
	}
}
