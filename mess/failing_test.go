package mess_test

import (
	"slices"
	"testing"
	"time"

	"github.com/messkit/messkit/mess"
)

// FailingDevices returns the devices that an executor reports, and ignores entries with
// another structure.
func TestFailingDevices(t *testing.T) {
	at := time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC)
	porch := mess.Failing{Device: "porch", At: at, Reason: "the wire is cut"}
	for name, c := range map[string]struct {
		item any
		want []mess.Failing
	}{
		"as reported":      {mess.FailingItems([]mess.Failing{porch}), []mess.Failing{porch}},
		"none":             {mess.FailingItems(nil), nil},
		"nothing reported": {nil, nil},
		"no list":          {"porch", nil},
		"of other things":  {[]any{"porch", 5, mess.Object{{Key: "device", Value: 5}}}, nil},
		"without a time":   {[]any{mess.Object{{Key: "device", Value: "porch"}, {Key: "at", Value: "lately"}, {Key: "why", Value: "cut"}}}, nil},
		"one of two":       {append([]any{nil}, mess.FailingItems([]mess.Failing{porch})...), []mess.Failing{porch}},
	} {
		t.Run(name, func(t *testing.T) {
			e := mess.Executor{ID: "board", Extra: mess.Object{{Key: mess.FailingField, Value: c.item}}}
			if got := e.FailingDevices(); !slices.Equal(got, c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// Battery and Software return what an executor reports, and nothing for another structure.
func TestBatteryAndSoftware(t *testing.T) {
	battery := func(fields ...mess.Field) mess.Object { return fields }
	for name, c := range map[string]struct {
		item any
		want *mess.Battery
	}{
		"as reported":      {battery(mess.Field{Key: "percent", Value: mess.Number("34.5")}, mess.Field{Key: "charging", Value: true}), &mess.Battery{Percent: 34.5, Charging: true}},
		"without charging": {battery(mess.Field{Key: "percent", Value: mess.Number("0")}), &mess.Battery{}},
		"not reported":     {nil, nil},
		"no object":        {"full", nil},
		"a text":           {battery(mess.Field{Key: "percent", Value: "34"}), nil},
		"too much":         {battery(mess.Field{Key: "percent", Value: mess.Number("101")}), nil},
		"negative":         {battery(mess.Field{Key: "percent", Value: mess.Number("-1")}), nil},
		"no number":        {battery(mess.Field{Key: "percent", Value: mess.Number("1e999")}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			e := mess.Executor{ID: "board", Extra: mess.Object{{Key: mess.BatteryField, Value: c.item}, {Key: mess.SoftwareField, Value: "messkit 1.2.0"}}}
			got := e.Battery()
			if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if e.Software() != "messkit 1.2.0" || (mess.Executor{}).Software() != "" {
				t.Errorf("software %q", e.Software())
			}
		})
	}
}
