package localpolicy

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/messkit/messkit/capabilities"
)

func FuzzParse(f *testing.F) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, d := range []decisions{
		{},
		{Devices: []string{"lamp"}, Locked: map[string]decision{"lamp": {"wet", at}}, Classes: map[capabilities.Risk]decision{"motion": {"", at}}, Armed: []string{"saw"}},
		{Classes: map[capabilities.Risk]decision{"noise": {}}},
		{Locked: map[string]decision{"../x": {}}},
	} {
		f.Add(d.print())
	}
	for _, body := range []string{"{}\n{}", `{"locket":{}}`, "null", "[]", `{"locked":null}`} {
		f.Add([]byte(header + sum([]byte(body)) + "\n" + body))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := parse(data)
		if err != nil {
			if !reflect.DeepEqual(d, decisions{}) {
				t.Errorf("%q: an error and %+v", data, d)
			}
			return
		}
		printed := d.print()
		again, err := parse(printed)
		if err != nil || !bytes.Equal(again.print(), printed) || !reflect.DeepEqual(again.policyForm(), d.policyForm()) {
			t.Errorf("%q prints as %q: %v", data, printed, err)
		}
	})
}

func FuzzParseDues(f *testing.F) {
	for _, s := range []string{`{}`, `null`, `{"lamp": {"at": "2026-11-21T12:01:00Z", "on": "2026-11-21T12:00:00Z", "within": 60000000000}}`, `{"../x": {}}`, `{"lamp": {"within": -1}}`, `{} {}`, `[]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		due, err := parseOldPendingOffs(data)
		if err != nil {
			if due != nil {
				t.Errorf("%q: an error and %+v", data, due)
			}
			return
		}
		printed, err := json.Marshal(due)
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		again, err := parseOldPendingOffs(printed)
		if err != nil || len(again) != len(due) {
			t.Errorf("%q prints as %q: %v", data, printed, err)
		}
	})
}
