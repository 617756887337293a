package printer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
)

// key is the API key of the simulated servers.
const key = "open-sesame-42"

// machine is a simulated printer. It records its real state. A print has ten layers, one
// for each read of the state.
type machine struct {
	mu         sync.Mutex
	files      []string
	phase      string // idle, printing, paused, finished, cancelled, failed, attention, offline
	file       string
	id         int
	layer      int
	began      time.Time
	message    string
	bed        float64
	heats      bool
	frozen     bool // prints no layer
	acts       []string
	history    []map[string]any // history of Moonraker
	deaf       bool             // accepts commands and does nothing
	lost       int              // number of commands that it executes without an answer
	unreceived int              // number of commands that get lost before the server
	ended      time.Time        // end of the last print
	acted      drivers.Signal   // notified of each command
}

const layers = 10

func newMachine() *machine {
	return &machine{files: []string{"benchy_0.2mm_PLA_1h35m.gcode", "toys/cube.gcode", "toys/dragon.gcode", "old/dragon.gcode"}, phase: "idle", bed: 21}
}

func (m *machine) log() []string { m.mu.Lock(); defer m.mu.Unlock(); return slices.Clone(m.acts) }

func (m *machine) set(f func(*machine)) { m.mu.Lock(); defer m.mu.Unlock(); f(m) }

func (m *machine) is() (phase string, heats bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.phase, m.heats
}

// act executes a command. The caller holds mu.
func (m *machine) act(what string) bool {
	m.acts = append(m.acts, what)
	m.acted.Notify()
	return !m.deaf
}

// await returns when the commands so far satisfy ready, or at the end of ctx.
func (m *machine) await(ctx context.Context, ready func(acts []string) bool) {
	for {
		acted := m.acted.Changes()
		if ready(m.log()) {
			return
		}
		select {
		case <-acted:
		case <-ctx.Done():
			return
		}
	}
}

func (m *machine) step() {
	if m.phase == "printing" && !m.frozen {
		if m.layer++; m.layer == layers {
			m.end("finished", "completed")
		}
	}
}

// elapsed returns the duration of the print.
func (m *machine) elapsed() float64 {
	if m.ended.After(m.began) {
		return m.ended.Sub(m.began).Seconds()
	}
	return time.Since(m.began).Seconds()
}

func (m *machine) begin(file string) {
	m.phase, m.file, m.layer, m.began, m.heats, m.bed = "printing", file, 0, time.Now(), true, 60
	m.id++
}

func (m *machine) end(phase, status string) {
	m.phase, m.heats, m.ended = phase, false, time.Now()
	m.history = append([]map[string]any{{
		"job_id": fmt.Sprintf("%06X", m.id), "filename": m.file, "status": status, "start_time": float64(m.began.UnixNano()) / 1e9,
		"end_time": float64(time.Now().UnixNano()) / 1e9, "print_duration": 3.0, "total_duration": 4.0,
	}}, m.history...)
}

// steer executes pause, resume and cancel; it returns false for an impossible command.
func (m *machine) steer(what string) bool {
	busy := m.phase == "printing" || m.phase == "paused" || m.phase == "attention"
	if !busy {
		return false
	}
	if !m.act(what) {
		return true
	}
	switch what {
	case "pause":
		m.phase = "paused"
	case "resume":
		m.phase, m.message = "printing", ""
	case "cancel":
		m.end("cancelled", "cancelled")
		m.heats = true // the end code of the slicer did not run
	}
	return true
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a disconnected client has its error already
}

// face is the API of one type of server; it reports whether the path exists. The caller
// holds mu.
type face func(m *machine, w http.ResponseWriter, r *http.Request, body map[string]any) bool

var faces = map[string]face{"moonraker": moonraker, "octoprint": octoprint, "prusalink": prusalink}

// bench is a server whose machine a test can replace.
type bench struct {
	*httptest.Server
	kind string
	mu   sync.Mutex
	now  *machine
}

func newBench(t *testing.T, kind string) *bench {
	t.Helper()
	b := &bench{kind: kind, now: newMachine()}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := b.machine()
		m.mu.Lock()
		defer m.mu.Unlock()
		if r.Header.Get("X-Api-Key") != key {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body) // a GET has no body
		if r.Method != http.MethodGet && m.lost > 0 {
			m.lost--
			faces[kind](m, httptest.NewRecorder(), r, body)
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		if r.Method != http.MethodGet && m.unreceived > 0 {
			m.unreceived--
			m.act("lost")
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		if !faces[kind](m, w, r, body) {
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(b.Close)
	return b
}

func (b *bench) machine() *machine { b.mu.Lock(); defer b.mu.Unlock(); return b.now }

func (b *bench) renew() *machine {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = newMachine()
	return b.now
}
