package homeassistant_test

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
)

// robotMap returns the state of a map of 32 by 32 pixels. A pixel is 100 units of the robot, whose y goes up.
func robotMap(state string) map[string]any {
	at := func(x, y float64) map[string]any { return map[string]any{"x": x, "y": y} }
	calibration := func(vx, vy, mx, my float64) map[string]any {
		return map[string]any{"vacuum": at(vx, vy), "map": at(mx, my)}
	}
	room := func(name string, x0, y0, x1, y1 float64) map[string]any {
		return map[string]any{"name": name, "x0": x0, "y0": y0, "x1": x1, "y1": y1}
	}
	return map[string]any{
		"state":              state,
		"calibration_points": []any{calibration(1000, 1000, 0, 32), calibration(2000, 1000, 10, 32), calibration(1000, 2000, 0, 22)},
		"rooms":              map[string]any{"16": room("Kitchen", 1000, 1000, 2000, 3000), "17": room("hall", 2000, 1000, 4000, 3000), "18": room("attic", 1000, 3000, 2000, 4000), "19": room("kitchen", 1000, 1000, 9000, 3000)},
		"vacuum_position":    at(1500, 1500), "charger": at(-900, 0),
	}
}

// floorMap returns the map of a robot with more keys.
func floorMap(t *testing.T, h *home, more string) (drivers.FloorMap, error) {
	t.Helper()
	m, ok := started(t, config(h, "vacuum.robo")+more).(drivers.FloorMapper)
	if !ok {
		t.Fatalf("%s: the vacuum has no map", more)
	}
	return m.FloorMap(t.Context())
}

// The map of an image or a camera has the rooms of the configuration at their pixels. Rooms that the map
// or the configuration does not have, and positions outside of the picture, are not there.
func TestFloorMapHasRooms(t *testing.T) {
	h := newHome(t)
	want := []drivers.MapRoom{{Name: "kitchen", X: 0, Y: 12, Width: 10, Height: 20}, {Name: "hall", X: 10, Y: 12, Width: 20, Height: 20}}
	for _, id := range []string{"camera.robo_map", "image.robo_map"} {
		m, err := floorMap(t, h, rooms+"map: "+id+"\n")
		if err != nil || m.Width != 32 || m.Height != 32 || m.MIME != "image/jpeg" || len(m.Data) == 0 {
			t.Fatalf("%s: %d by %d, %s: %v", id, m.Width, m.Height, m.MIME, err)
		}
		if len(m.Rooms) != 2 || m.Rooms[0] != want[0] || m.Rooms[1] != want[1] {
			t.Errorf("%s: the rooms are %+v, want %+v", id, m.Rooms, want)
		}
		if m.Robot == nil || *m.Robot != (drivers.MapPoint{X: 5, Y: 27}) || m.Dock != nil {
			t.Errorf("%s: the robot is at %v and the dock at %v", id, m.Robot, m.Dock)
		}
		if made := time.Date(2026, 11, 20, 8, 0, 0, 5e8, time.UTC); id == "image.robo_map" && !m.CapturedAt.Equal(made) {
			t.Errorf("the map is of %v, want %v", m.CapturedAt, made)
		}
	}
}

// A map without positions, or of a vacuum without rooms, is a picture. An entity that is not there gives an error.
func TestFloorMapWithoutRooms(t *testing.T) {
	h := newHome(t)
	for _, more := range []string{rooms + "map: image.odd_map\n", "map: image.robo_map\n", rooms + "map: camera.door\n"} {
		if m, err := floorMap(t, h, more); err != nil || m.Width != 32 || len(m.Rooms) != 0 {
			t.Errorf("%s: %d by %d with %v: %v", more, m.Width, m.Height, m.Rooms, err)
		}
	}
	for more, want := range map[string]string{"map: camera.gone\n": `camera.gone is "unavailable"`, "map: image.none\n": "has no entity image.none"} {
		if _, err := floorMap(t, h, more); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %s", more, err, want)
		}
	}
	for _, bad := range []string{config(h, "vacuum.robo") + "map: sensor.map\n", config(h, "light.hall") + "map: image.robo_map\n"} {
		if _, err := open(bad); err == nil || !strings.Contains(err.Error(), "map: ") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
