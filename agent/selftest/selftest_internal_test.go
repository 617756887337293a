package selftest

import (
	"encoding/json"
	"reflect"
	"testing"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"devices":[{"name":"cam","settings":"ab"}]}`, `{"devices":null}`, `{}`, `{"devices":[{"name":"cam"}]}`, `[`, `{"devices":[],"x":1}`, `null`} {
		f.Add([]byte(s))
	}
	f.Add([]byte(`{"devices": [], "plan": {"intent": "turn on the lamp", "requires": ["a"], "context": ["b"]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		q, err := parse(data)
		if err != nil {
			if q.Devices != nil {
				t.Fatalf("%q fails and gives %+v", data, q)
			}
			return
		}
		text, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parse(text); err != nil || !reflect.DeepEqual(again, q) {
			t.Errorf("%q reads as %+v, prints as %s, which reads as %+v, %v", data, q, text, again, err)
		}
	})
}
