package stop

import (
	"encoding/json"
	"reflect"
	"testing"
)

func FuzzParseQuestion(f *testing.F) {
	for _, s := range []string{`{"do":"show"}`, `{"do":"stop","order":{"id":"a","why":"x"}}`, `{"do":"clear","by":"me"}`, `{"do":"stop"}`, `{}`, `[`, `{"do":"show","x":1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		q, err := parseQuery(data)
		if err != nil {
			if q != (query{}) {
				t.Fatalf("%q fails and gives %+v", data, q)
			}
			return
		}
		text, err := json.Marshal(q)
		if err != nil {
			t.Skip() // JSON cannot represent this time
		}
		if again, err := parseQuery(text); err != nil || !reflect.DeepEqual(again, q) {
			t.Errorf("%q reads as %+v, prints as %s, which reads as %+v, %v", data, q, text, again, err)
		}
	})
}
