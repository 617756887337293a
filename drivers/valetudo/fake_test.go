package valetudo_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// robot simulates a robot from Valetudo's documentation. It records its commands and
// whether it moves. It makes one step for each read of its state.
type robot struct {
	mu       sync.Mutex
	status   string
	flag     string
	problem  map[string]any
	left     int // steps until the end of the task
	steps    int // steps of a task
	done     int
	acts     []string
	deaf     bool // accepts commands and does not move
	failures int  // number of lost answers
	gone     bool // unreachable
	zoneless bool // without zone cleaning
	lost     bool // absent from its map
	cut      bool // commands get no answer and have no effect yet
}

func newRobot() *robot { return &robot{status: "docked", flag: "none", steps: 4} }

func (r *robot) moves() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status == "cleaning" || r.status == "returning"
}

func (r *robot) log() []string { r.mu.Lock(); defer r.mu.Unlock(); return slices.Clone(r.acts) }

func (r *robot) set(f func(*robot)) { r.mu.Lock(); defer r.mu.Unlock(); f(r) }

// step makes one step. The caller holds mu.
func (r *robot) step() {
	switch r.status {
	case "cleaning":
		r.done++
		if r.left--; r.left <= 0 {
			r.status, r.flag = "returning", "none"
		}
	case "returning":
		r.status = "docked"
	}
}

func (r *robot) attributes() []any {
	status := map[string]any{"__class": "StatusStateAttribute", "metaData": map[string]any{}, "value": r.status, "flag": r.flag}
	if r.status == "error" {
		status["error"] = r.problem
	}
	return []any{
		status,
		map[string]any{"__class": "BatteryStateAttribute", "metaData": map[string]any{}, "level": 87, "flag": "charging"},
		map[string]any{"__class": "PresetSelectionStateAttribute", "metaData": map[string]any{}, "type": "fan_speed", "value": "medium", "customValue": nil},
		map[string]any{"__class": "AttachmentStateAttribute", "metaData": map[string]any{}, "type": "dustbin", "attached": true},
	}
}

func (r *robot) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	path, ok := strings.CutPrefix(q.URL.Path, "/api/v2/robot/")
	if !ok {
		http.NotFound(w, q)
		return
	}
	if r.gone || r.cut && q.Method == http.MethodPut {
		panic(http.ErrAbortHandler)
	}
	var body map[string]any
	_ = json.NewDecoder(q.Body).Decode(&body) // a GET has no body
	switch q.Method + " " + path {
	case "GET state/attributes":
		if r.failures > 0 {
			r.failures--
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		r.step()
		answer(w, r.attributes())
	case "GET state/map":
		m := maps.Clone(homeMap)
		if r.lost {
			m["entities"] = []any{}
		}
		answer(w, m)
	case "GET capabilities/MapSegmentationCapability":
		answer(w, []any{
			map[string]any{"__class": "ValetudoMapSegment", "metaData": map[string]any{}, "id": "16", "name": "Küche"},
			map[string]any{"__class": "ValetudoMapSegment", "metaData": map[string]any{}, "id": "17", "name": "Wohnzimmer"},
			map[string]any{"__class": "ValetudoMapSegment", "metaData": map[string]any{}, "id": "18"},
		})
	case "PUT capabilities/ZoneCleaningCapability":
		if r.zoneless {
			http.NotFound(w, q)
			return
		}
		zones, _ := json.Marshal(body["zones"])
		r.act(fmt.Sprint(body["action"], " ", string(zones)), "cleaning", "zone")
		_, _ = w.Write([]byte("OK"))
	case "GET capabilities/CurrentStatisticsCapability":
		answer(w, []any{
			map[string]any{"__class": "ValetudoDataPoint", "timestamp": "2026-11-21T09:44:50.000Z", "type": "time", "value": 60 * r.done},
			map[string]any{"__class": "ValetudoDataPoint", "timestamp": "2026-11-21T09:44:50.000Z", "type": "area", "value": 50000 * r.done},
		})
	case "PUT capabilities/BasicControlCapability":
		r.control(w, body)
	case "PUT capabilities/MapSegmentationCapability":
		ids, _ := json.Marshal(body["segment_ids"])
		r.act("start_segment_action "+string(ids), "cleaning", "segment")
		_, _ = w.Write([]byte("OK"))
	default:
		http.NotFound(w, q)
	}
}

func (r *robot) control(w http.ResponseWriter, body map[string]any) {
	switch action, _ := body["action"].(string); action {
	case "start":
		left := r.left
		resumed := r.status == "paused"
		r.act(action, "cleaning", "none")
		if resumed {
			r.left = left
		}
	case "pause":
		left := r.left
		r.act(action, "paused", "resumable")
		r.left = left
	case "stop":
		r.act(action, "idle", "none")
	case "home":
		r.act(action, "returning", "none")
	default:
		http.Error(w, "Invalid action in request body", http.StatusBadRequest)
		return
	}
	_, _ = w.Write([]byte("OK"))
}

func (r *robot) act(what, status, flag string) {
	r.acts = append(r.acts, what)
	if r.deaf {
		return
	}
	r.status, r.flag, r.left, r.done = status, flag, r.steps, 0
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a disconnected client has its error already
}

// homeMap is a map of two rooms in the documented format.
var homeMap = map[string]any{
	"__class": "ValetudoMap", "metaData": map[string]any{"version": 2, "nonce": "a"}, "size": map[string]int{"x": 1000, "y": 1000}, "pixelSize": 5,
	"layers": []any{
		mapLayer("floor", "", 0, 10, 10, 40, 10, 11, 40),
		mapLayer("segment", "16", 100000, 10, 12, 20, 10, 13, 20),
		mapLayer("segment", "17", 100000, 30, 12, 20, 30, 13, 20),
		mapLayer("wall", "", 0, 9, 9, 42, 9, 14, 42),
	},
	"entities": []any{
		map[string]any{"__class": "PathMapEntity", "metaData": map[string]any{}, "type": "path", "points": []int{60, 55, 200, 65}},
		map[string]any{"__class": "PointMapEntity", "metaData": map[string]any{}, "type": "charger_location", "points": []int{60, 55}},
		map[string]any{"__class": "PointMapEntity", "metaData": map[string]any{"angle": 90}, "type": "robot_position", "points": []int{200, 65}},
	},
}

func mapLayer(kind, id string, area int, runs ...int) map[string]any {
	meta := map[string]any{}
	if id != "" {
		meta = map[string]any{"segmentId": id, "active": false, "area": area}
	}
	return map[string]any{"__class": "MapLayer", "metaData": meta, "type": kind, "pixels": []int{}, "compressedPixels": runs}
}

// fakeServer is a server whose robot a test can replace.
type fakeServer struct {
	*httptest.Server
	mu  sync.Mutex
	now *robot
}

func newFakeServer(t *testing.T) *fakeServer {
	t.Helper()
	h := &fakeServer{now: newRobot()}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.robot().ServeHTTP(w, r) }))
	t.Cleanup(h.Close)
	return h
}

func (h *fakeServer) robot() *robot { h.mu.Lock(); defer h.mu.Unlock(); return h.now }

func (h *fakeServer) renew() *robot {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = newRobot()
	return h.now
}
