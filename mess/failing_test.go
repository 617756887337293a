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
