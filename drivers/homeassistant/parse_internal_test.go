package homeassistant

import (
	"math"
	"testing"
)

func FuzzState(f *testing.F) {
	for _, s := range []string{
		`{"entity_id":"sensor.a","state":"1e3","last_updated":"2026-11-21T09:44:50Z","attributes":{"device_class":"temperature"}}`,
		`{"entity_id":"sensor.a","state":"nan"}`, `{"entity_id":"sensor.a","state":"on","attributes":{"rgb_color":[1,2,999]}}`, `{}`, `[]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseState(data, "sensor.a")
		if err != nil {
			if s.State != "" {
				t.Errorf("%+v beside %v", s, err)
			}
			return
		}
		r, err := s.reading("sensor.a")
		if err == nil && (math.IsNaN(r.Value) || math.IsInf(r.Value, 0) || r.Quantity == "" || r.At.IsZero() || r.Unit == "") {
			t.Errorf("%+v", r)
		}
	})
}
