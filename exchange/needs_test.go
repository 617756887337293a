package exchange_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// Needs, which decide the candidates of a request, are the same after a write and a read.
func TestNeedsRoundTrip(t *testing.T) {
	confirmation, lat := true, 48.5
	for _, r := range []mess.Request{
		{},
		{Requires: []mess.Capability{{ID: "take-photo"}, {ID: "vacuum"}}, Precision: mess.Exact, ConfirmBefore: &confirmation},
		{Requires: []mess.Capability{{ID: "vacuum", Meta: mess.Object{{Key: "modes", Value: []any{"dry", "wet"}}, {Key: "max", Value: mess.Number("3")}}}}},
		{Constraints: &mess.Constraints{Location: &mess.TargetArea{Name: "kitchen"}, Timing: &mess.Timing{Urgency: "now"}}},
		{Requires: []mess.Capability{{ID: "fly"}}, Constraints: &mess.Constraints{Location: &mess.TargetArea{Lat: &lat, Lng: &lat, RadiusKM: &lat}}},
	} {
		want := exchange.NeedsOf(r)
		data, err := json.Marshal(exchange.Envelope{Needs: want})
		if err != nil {
			t.Fatal(err)
		}
		var got exchange.Envelope
		if err := json.Unmarshal(data, &got); err != nil || !reflect.DeepEqual(got.Needs, want) {
			t.Errorf("%+v comes back as %+v, %v (%s)", want, got.Needs, err, data)
		}
	}
}
