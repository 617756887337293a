package homeassistant

import (
	"encoding/json"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
)

// The hub stores only watched entities, and a stored state is complete or has a fault.
func FuzzMessages(f *testing.F) {
	for _, s := range []string{
		`{"id":1,"type":"event","event":{"event_type":"state_changed","data":{"entity_id":"sensor.a","new_state":{"entity_id":"sensor.a","state":"1"}}}}`,
		`{"id":1,"type":"event","event":{"event_type":"state_changed","data":{"entity_id":"sensor.a","new_state":null}}}`,
		`{"id":1,"type":"event","event":{"event_type":"state_changed","data":{"entity_id":"sensor.b","new_state":{"entity_id":"sensor.b","state":"1"}}}}`,
		`{"id":7,"type":"result","success":false,"error":{"code":"not_found","message":"no"}}`, `{"id":7,"type":"pong"}`, `[]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h := newConnection("http://x", "", time.Second, slog.New(slog.DiscardHandler))
		h.watched["sensor.a"], h.states = 1, map[string]state{}
		waits := make(chan result, 1)
		s := &socket{waiting: map[uint64]chan result{7: waits}, events: h.applyEvent}
		var m incoming
		if json.Unmarshal(data, &m) != nil {
			return
		}
		s.take(m)
		for id, one := range h.states {
			if id != "sensor.a" || one.fault == nil && (one.State == "" || one.ID != id) || one.fault != nil && one.State != "" {
				t.Errorf("%s: %+v", id, one)
			}
		}
		if len(s.waiting) == 0 && len(waits) != 1 {
			t.Error("a waiting caller has no answer")
		}
	})
}

func FuzzState(f *testing.F) {
	for _, s := range []string{
		`{"entity_id":"sensor.a","state":"1e3","last_updated":"2026-11-21T09:44:50Z","attributes":{"device_class":"temperature"}}`,
		`{"entity_id":"sensor.a","state":"nan"}`,
		`{"entity_id":"scene.a","state":"2026-11-20T08:00:00.123456+00:00"}`, `{"entity_id":"scene.a","state":"unknown"}`,
		`{"entity_id":"script.a","state":"on","attributes":{"last_triggered":"2026-11-20T08:00:00+00:00","mode":"queued","current":1,"max":10}}`, `{"entity_id":"sensor.a","state":"on","attributes":{"rgb_color":[1,2,999]}}`, `{}`, `[]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, id := range []string{"scene.a", "script.a"} {
			one, err := parseState(data, id)
			if err != nil {
				continue
			}
			if p, err := one.pressed(id); err != nil && (p.Running || !p.At.IsZero()) || p.Running && one.State != "on" {
				t.Errorf("%+v is %+v, %v", one, p, err)
			}
		}
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

// No state of a map makes place fail, and each position is on the picture.
func FuzzMapState(f *testing.F) {
	f.Add([]byte(`{"entity_id":"image.m","state":"x","attributes":{"calibration_points":[{"vacuum":{"x":0,"y":0},"map":{"x":0,"y":0}},{"vacuum":{"x":1,"y":0},"map":{"x":1,"y":0}},{"vacuum":{"x":0,"y":1},"map":{"x":0,"y":1}}],"rooms":{"1":{"name":"hall","x0":1,"y0":1,"x1":9,"y1":9}},"vacuum_position":{"x":3,"y":4}}}`))
	f.Add([]byte(`{"entity_id":"image.m","state":"x","attributes":{"calibration_points":[{},{},{}],"rooms":{"1":{"x0":1e308}}}}`))
	f.Add([]byte(`{"entity_id":"image.m","state":"unavailable"}`))
	f.Add([]byte(`{"entity_id":"image.m","state":"x","attributes":{"rooms":[]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseMapState(data, "image.m")
		if err != nil {
			return
		}
		m := drivers.FloorMap{Width: 20, Height: 10}
		s.place(&m, []string{"hall"})
		for _, r := range m.Rooms {
			if r.Name != "hall" || !(r.X >= 0 && r.Y >= 0 && r.X+r.Width <= 20.001 && r.Y+r.Height <= 10.001) {
				t.Errorf("%s: the room %+v is not on the map", data, r)
			}
		}
		for _, p := range []*drivers.MapPoint{m.Robot, m.Dock} {
			if p != nil && !(p.X >= 0 && p.Y >= 0 && p.X <= 20 && p.Y <= 10) {
				t.Errorf("%s: the point %+v is not on the map", data, *p)
			}
		}
	})
}
