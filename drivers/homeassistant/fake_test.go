package homeassistant_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"image"
	"image/jpeg"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const token = "eyJhbGciOiJIUzI1NiJ9.open.sesame"

// home simulates a Home Assistant by the documentation of its REST and WebSocket APIs. It
// records the real state of its entities.
type home struct {
	*httptest.Server
	mu      stateLock
	sits    []*sitting // logged-in WebSocket connections
	shut    bool       // rejects WebSocket connections
	deaf    bool       // closes the connection during a service call, after its execution
	mute    string     // the service that gets no answer, or a late one
	held    chan struct{}
	leaves  string // the entity that disappears while the home lists its states
	message string // message of a rejected service call over REST
	joined  int    // number of subscriptions
	states  map[string]map[string]any
	calls   []string
	asked   map[string]bool // entities that a client has requested
	slow    int             // number of reads until a change is visible
	unit    string          // unit of temperatures
	stays   bool            // robots do not finish by themselves
	dead    bool            // services answer without an effect
	denies  string          // error code of a service call that the home has executed
	next    func()
}

func newHome(t *testing.T) *home {
	t.Helper()
	h := &home{}
	h.renew()
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *home) renew() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls, h.asked, h.next, h.slow, h.dead = nil, map[string]bool{}, nil, 0, false
	h.unit = "°C"
	h.stays, h.shut, h.deaf, h.joined, h.mute, h.held, h.leaves, h.message, h.denies = false, false, false, 0, "", nil, "", "", ""
	h.states = map[string]map[string]any{
		"light.hall":               {"state": "off", "brightness": 255.0, "rgb_color": []any{255.0, 255.0, 255.0}},
		"light.desk":               {"state": "off", "brightness": 255.0, "color_mode": "color_temp", "color_temp_kelvin": 2702.0},
		"switch.pump":              {"state": "off"},
		"fan.bath":                 {"state": "off"},
		"sensor.balcony":           {"state": "21.5", "unit_of_measurement": "°C", "device_class": "temperature"},
		"sensor.visits":            {"state": "7"},
		"sensor.asleep":            {"state": "unknown", "device_class": "temperature"},
		"sensor.words":             {"state": "fine"},
		"binary_sensor.front_door": {"state": "on", "device_class": "door"},
		"binary_sensor.hall":       {"state": "on", "device_class": "motion"},
		"switch.gone":              {"state": "unavailable"},
		"cover.blind":              {"state": "closed", "current_position": 0.0, "supported_features": 15.0},
		"cover.gate":               {"state": "closed", "supported_features": 11.0},
		"cover.shade":              {"state": "closed", "supported_features": 3.0},
		"climate.living":           {"state": "off", "supported_features": 385.0, "hvac_modes": []any{"off", "heat"}, "temperature": 19.0, "current_temperature": 18.5, "current_humidity": 48.0, "min_temp": 7.0, "max_temp": 35.0, "target_temp_step": 0.5},
		"climate.ac":               {"state": "cool", "supported_features": 387.0, "hvac_modes": []any{"off", "cool", "heat_cool"}, "temperature": 72.0, "current_temperature": 77.0, "min_temp": 60.0, "max_temp": 86.0},
		"climate.valve":            {"state": "off", "supported_features": 1.0, "hvac_modes": []any{"off", "heat"}, "temperature": nil, "min_temp": 7.0, "max_temp": 35.0},
		"climate.range":            {"state": "heat_cool", "supported_features": 3.0, "hvac_modes": []any{"off", "heat_cool"}, "temperature": nil, "target_temp_low": 19.0, "target_temp_high": 24.0},
		"climate.fan":              {"state": "fan_only", "supported_features": 8.0, "hvac_modes": []any{"off", "fan_only"}},
		"climate.odd":              {"state": "heat", "temperature": "warm"},
		"humidifier.bed":           {"state": "off"},
		"media_player.tv":          {"state": "off", "supported_features": 384.0},
		"media_player.radio":       {"state": "playing", "supported_features": 256.0},
		"lock.front":               {"state": "locked"},
		"lock.jams":                {"state": "locked"},
		"scene.movie":              {"state": "unknown"},
		"scene.gone":               {"state": "unavailable"},
		"scene.odd":                {"state": "scening"},
		"script.night":             {"state": "off", "last_triggered": nil, "mode": "single", "current": 0.0},
		"script.long":              {"state": "off", "last_triggered": "2026-11-20T22:00:00.5+00:00", "mode": "single", "current": 0.0},
		"script.odd":               {"state": "off", "last_triggered": 7.0},
		"script.often":             {"state": "on", "last_triggered": "2026-11-20T22:00:00.5+00:00", "mode": "parallel", "current": 2.0, "max": 2.0},
		"button.bell":              {"state": "2026-11-20T08:00:00.123456+00:00"},
		"input_button.test":        {"state": "unknown"},
		"vacuum.robo":              {"state": "docked", "supported_features": 30044.0, "battery_level": 80.0},
		"vacuum.plain":             {"state": "idle", "supported_features": 12312.0},
		"vacuum.busy":              {"state": "cleaning", "supported_features": 30044.0},
		"vacuum.gone":              {"state": "unavailable"},
		"camera.door":              {"state": "idle"},
		"camera.gone":              {"state": "unavailable"},
		"camera.robo_map":          robotMap("idle"),
		"image.robo_map":           robotMap("2026-11-20T08:00:00.5+00:00"),
		"image.odd_map":            {"state": "2026-11-20T08:00:00.5+00:00", "rooms": []any{7.0}, "calibration_points": "none"},
	}
}

func (h *home) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/websocket" {
		h.socket(w, r)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+token {
		http.Error(w, "401: Unauthorized", http.StatusUnauthorized)
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/api/")
	kind, id, _ := strings.Cut(path, "/")
	switch {
	case r.Method == http.MethodGet && kind == "states" && h.states[id] != nil:
		h.asked[id] = true
		if h.slow--; h.slow < 0 && h.next != nil {
			h.next()
			h.next = nil
		}
		answer(w, h.entity(id))
	case r.Method == http.MethodGet && kind == "config":
		answer(w, h.settings())
	case r.Method == http.MethodGet && (kind == "camera_proxy" || kind == "image_proxy") && h.states[id] != nil:
		var b bytes.Buffer
		_ = jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 32, 32)), nil) // a write to a buffer cannot fail
		_, _ = w.Write(b.Bytes())
	case r.Method == http.MethodPost && kind == "services":
		h.service(w, r, id)
	default:
		w.WriteHeader(http.StatusNotFound)
		answer(w, map[string]string{"message": "Entity not found."})
	}
}

// settings returns the settings. The caller holds mu.
func (h *home) settings() map[string]any {
	return map[string]any{"location_name": "Home", "unit_system": map[string]any{"length": "km", "temperature": h.unit}, "version": "2026.11.1"}
}

func (h *home) entity(id string) map[string]any {
	attributes := map[string]any{"friendly_name": id}
	for k, v := range h.states[id] {
		if k != "state" && (strings.HasPrefix(id, "climate.") || strings.HasPrefix(id, "script.") || strings.HasPrefix(id, "vacuum.") || strings.HasSuffix(id, "_map") || h.states[id]["state"] == "on" || k == "device_class" || k == "unit_of_measurement" || k == "current_position" || k == "supported_features") {
			attributes[k] = v
		}
	}
	return map[string]any{
		"entity_id": id, "state": h.states[id]["state"], "attributes": attributes, "context": map[string]any{"id": "01", "parent_id": nil, "user_id": nil},
		"last_changed": "2026-11-21T09:44:50.123456+00:00", "last_updated": "2026-11-21T09:44:50.123456+00:00", "last_reported": "2026-11-21T09:45:50.123456+00:00",
	}
}

func (h *home) service(w http.ResponseWriter, r *http.Request, name string) {
	var body map[string]any
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		http.Error(w, "400: Bad Request", http.StatusBadRequest)
		return
	}
	id, _ := body["entity_id"].(string)
	domain, _, _ := strings.Cut(name, "/")
	if h.message != "" {
		http.Error(w, h.message, http.StatusBadRequest)
		return
	}
	if h.states[id] == nil || !strings.HasPrefix(id, domain+".") {
		http.Error(w, "400: Bad Request", http.StatusBadRequest)
		return
	}
	h.does(name, id, body)
	if h.denies != "" {
		http.Error(w, "400: Bad Request", http.StatusBadRequest)
		return
	}
	if h.mute == name {
		held := h.held
		h.mu.Unlock()
		defer h.mu.Lock()
		select {
		case <-r.Context().Done():
			return
		case <-held:
		}
		answer(w, []any{})
		return
	}
	answer(w, []any{h.entity(id)})
}

// does executes a service call. The caller holds mu.
func (h *home) does(name, id string, body map[string]any) {
	_, service, _ := strings.Cut(name, "/")
	h.calls = append(h.calls, name+" "+id)
	change := func() {
		if strings.HasPrefix(id, "vacuum.") {
			h.robot(id, service, body)
			return
		}
		defer h.publish(id)
		is := map[string]string{"turn_on": "on", "turn_off": "off", "open_cover": "open", "close_cover": "closed", "lock": "locked", "unlock": "unlocked"}[service]
		at := map[string]float64{"open_cover": 100, "stop_cover": 40}[service]
		if service == "set_cover_position" {
			at, _ = body["position"].(float64)
			is = "open"
			if at == 0 {
				is = "closed"
			}
		}
		called := reportedAt.Add(time.Duration(len(h.calls)) * time.Second).Format("2006-01-02T15:04:05.000000-07:00")
		switch {
		case strings.HasPrefix(id, "script."):
			h.states[id]["last_triggered"] = called
			if id != "script.long" { // ends at once
				is = "off"
			}
		case strings.HasPrefix(id, "scene.") || service == "press":
			is = called
		case service == "set_hvac_mode":
			is, _ = body["hvac_mode"].(string)
		case service == "set_temperature":
			is, _ = h.states[id]["state"].(string)
			h.states[id]["temperature"] = body["temperature"]
		case strings.HasPrefix(id, "media_player.") && is == "on":
			is = "idle"
		case service == "stop_cover":
			is = "open"
		case id == "lock.jams":
			is = "jammed"
		case id == "lock.front" && body["code"] != "4711":
			is = "locked"
		}
		if _, has := h.states[id]["current_position"]; has {
			h.states[id]["current_position"] = at
		}
		h.states[id]["state"] = is
		for _, k := range []string{"brightness", "rgb_color", "color_temp_kelvin"} {
			if v, ok := body[k]; ok {
				h.states[id][k] = v
			}
		}
	}
	switch {
	case h.dead:
	case h.slow > 0:
		h.next = change
	default:
		change()
	}
}

func (h *home) is(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.states[id]["state"] != "off"
}

func (h *home) count() int { h.mu.Lock(); defer h.mu.Unlock(); return len(h.calls) }

func (h *home) force(id string, on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	way := map[string]string{"climate": "heat", "media_player": "playing"}
	domain, _, _ := strings.Cut(id, ".")
	h.states[id]["state"] = map[bool]string{true: cmp.Or(way[domain], "on"), false: "off"}[on]
	h.publish(id)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a disconnected client has its error already
}

var reportedAt = time.Date(2026, 11, 21, 9, 45, 50, 123456000, time.UTC)
