package httpdevice_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
)

// blind simulates a cover that needs 400 ms from one end to the other.
type blind struct {
	mu     sync.Mutex
	from   float64 // percent at the time since
	to     float64
	since  time.Time
	jammed float64 // an obstacle at this position; 0: none
	deaf   bool    // accepts commands and does nothing
	lost   bool    // has no calibration
	wild   bool    // accepts a stop and continues
	takes  time.Duration
	acts   int
	stops  int
}

const coverTakes = 400 * time.Millisecond

func either(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return a
}

// at returns the position and the direction. The caller holds mu.
func (l *blind) at() (percent float64, direction int) {
	way := 100 * float64(time.Since(l.since)) / float64(either(l.takes, coverTakes))
	if way >= math.Abs(l.to-l.from) {
		return l.to, 0
	}
	direction = 1
	if l.to < l.from {
		direction = -1
	}
	return l.from + float64(direction)*way, direction
}

func (l *blind) is() (float64, int) { l.mu.Lock(); defer l.mu.Unlock(); return l.at() }

func (l *blind) count() int { l.mu.Lock(); defer l.mu.Unlock(); return l.acts }

func (l *blind) halts() int { l.mu.Lock(); defer l.mu.Unlock(); return l.stops }

// drive starts a movement. The caller holds mu.
func (l *blind) drive(to float64) {
	l.acts++
	if l.deaf {
		return
	}
	if l.jammed > 0 {
		to = min(to, l.jammed)
	}
	l.from, _ = l.at()
	l.to, l.since = to, time.Now()
}

// halt stops the movement. The caller holds mu.
func (l *blind) halt() {
	l.stops++
	if l.wild {
		return
	}
	at, _ := l.at()
	l.from, l.to, l.since = at, at, time.Now()
}

// roller answers one request of a type of cover.
type roller func(l *blind, w http.ResponseWriter, r *http.Request, body map[string]any)

// roller1 implements https://shelly-api-docs.shelly.cloud/gen1/#shelly2-5-roller-0.
func roller1(l *blind, w http.ResponseWriter, r *http.Request, _ map[string]any) {
	q := r.URL.Query()
	if r.URL.Path != "/roller/0" || r.Method != http.MethodGet {
		http.NotFound(w, r)
		return
	}
	switch q.Get("go") {
	case "open":
		l.drive(100)
	case "close":
		l.drive(0)
	case "stop":
		l.halt()
	case "to_pos":
		if n, err := strconv.ParseFloat(q.Get("roller_pos"), 64); err == nil && !l.lost {
			l.drive(n)
		}
	}
	percent, direction := l.at()
	pos := math.Round(percent)
	if l.lost {
		pos = 101
	}
	answer(w, map[string]any{
		"state": map[int]string{-1: "close", 0: "stop", 1: "open"}[direction], "power": 0, "is_valid": true, "safety_switch": false, "overtemperature": false,
		"stop_reason": "normal", "last_direction": "open", "current_pos": pos, "calibrating": false, "positioning": !l.lost,
	})
}

// roller2 implements the documentation of the Cover component.
func roller2(l *blind, w http.ResponseWriter, r *http.Request, body map[string]any) {
	id, ok := body["id"].(float64)
	if r.Method == http.MethodPost && (!ok || id != 0) {
		w.WriteHeader(http.StatusInternalServerError)
		answer(w, map[string]any{"code": -103, "message": "Missing required argument 'id'!"})
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "POST /rpc/Cover.Open":
		l.drive(100)
	case "POST /rpc/Cover.Close":
		l.drive(0)
	case "POST /rpc/Cover.Stop":
		l.halt()
	case "POST /rpc/Cover.GoToPosition":
		pos, ok := body["pos"].(float64)
		if l.lost || !ok {
			w.WriteHeader(http.StatusInternalServerError)
			answer(w, map[string]any{"code": -109, "message": "Cover is not calibrated!"})
			return
		}
		l.drive(pos)
	case "GET /rpc/Cover.GetStatus":
		percent, direction := l.at()
		state := map[int]string{-1: "closing", 0: "stopped", 1: "opening"}[direction]
		if direction == 0 && percent == 0 {
			state = "closed"
		} else if direction == 0 && percent == 100 {
			state = "open"
		}
		status := map[string]any{"id": 0, "source": "http", "state": state, "apower": 0, "pos_control": !l.lost, "current_pos": math.Round(percent)}
		if l.lost {
			status["current_pos"] = nil
		}
		answer(w, status)
		return
	default:
		http.NotFound(w, r)
		return
	}
	answer(w, nil)
}

var rollers = map[string]roller{"shelly-gen1-cover": roller1, "shelly-gen2-cover": roller2}

// newRoller returns the configuration for a server with a cover.
func newRoller(t *testing.T, name string, l *blind) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := map[string]any{}
		if data, err := io.ReadAll(r.Body); err == nil && len(data) > 0 && json.Unmarshal(data, &body) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		rollers[name](l, w, r, body)
	}))
	t.Cleanup(s.Close)
	return "family: " + name + "\nurl: " + s.URL + "\ntimeout: 30s\n"
}

func TestCoversConform(t *testing.T) {
	for name := range rollers {
		t.Run(name, func(t *testing.T) {
			l := &blind{}
			config := newRoller(t, name, l)
			drivertest.Run(t, func(t *testing.T) drivers.Device {
				d, err := open(config)
				if err != nil {
					t.Fatal(err)
				}
				return d
			}, drivertest.Acts(l.count))
		})
	}
}

type positioned interface {
	drivers.Positioner
	drivers.Stopper
	drivers.OpeningReader
	drivers.Sensor
}

// After a successful movement the simulator has the requested position.
func TestCovers(t *testing.T) {
	for name := range rollers {
		l := &blind{}
		d := started(t, newRoller(t, name, l)).(positioned)
		for _, want := range []float64{30, 100, 65, 0} {
			if err := d.OpenTo(t.Context(), want); err != nil {
				t.Fatalf("%s: to %v: %v", name, want, err)
			}
			if is, direction := l.is(); direction != 0 || is != want {
				t.Errorf("%s: done at %v, but it moves by %d at %v", name, want, direction, is)
			}
		}
		reads, err := d.Read(t.Context())
		want := []drivers.Reading{{Quantity: "contact", Value: 1}, {Quantity: "opening", Value: 0, Unit: "%"}}
		if diff := cmp.Diff(want, reads, cmpopts.IgnoreFields(drivers.Reading{}, "At")); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// A stopped cover keeps its position, no matter which request stops it.
func TestCoversStop(t *testing.T) {
	for name := range rollers {
		l := &blind{}
		d := started(t, newRoller(t, name, l)).(positioned)
		task := make(chan error, 1)
		go func() { task <- d.Open(t.Context()) }()
		sets(t, l)
		if _, err := d.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-task; !errors.Is(err, drivers.ErrStopped) {
			t.Errorf("%s: error of the stopped task is %v, want ErrStopped", name, err)
		}
		if _, direction := l.is(); direction != 0 {
			t.Errorf("%s: it moves on", name)
		}
		if err := d.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		stops := l.halts()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { task <- d.Open(ctx) }()
		sets(t, l)
		cancel()
		if err := <-task; !errors.Is(err, context.Canceled) || l.halts() == stops {
			t.Errorf("%s: error of the cancelled task is %v, with %d stops", name, err, l.halts()-stops)
		}
	}
}

// If a cover ignores a stop, the driver repeats the stop, returns an error, and does not
// report the safe state.
func TestCoverIgnoresStop(t *testing.T) {
	t.Parallel()
	l := &blind{wild: true, takes: time.Hour}
	d := started(t, newRoller(t, "shelly-gen2-cover", l)).(positioned)
	ctx, cancel := context.WithCancel(t.Context())
	task := make(chan error, 1)
	go func() { task <- d.Open(ctx) }()
	sets(t, l)
	cancel()
	if err := <-task; err == nil || errors.Is(err, drivers.ErrNothingDone) || l.halts() < 2 {
		t.Errorf("%d stops, and the error of the task is %v", l.halts(), err)
	}
	for range 2 {
		stops := l.halts()
		if err := d.(drivers.Device).Halt(); err == nil || !strings.Contains(err.Error(), "the cover may move, and the stop command failed: the cover has the stop command, and still moves") || l.halts() < stops+2 {
			t.Errorf("halted with %d stops: %v", l.halts()-stops, err)
		}
	}
	l.mu.Lock()
	l.wild = false
	l.mu.Unlock()
	if err := d.(drivers.Device).Halt(); err != nil {
		t.Error(err)
	}
	if _, direction := l.is(); direction != 0 {
		t.Error("the cover moves after Halt")
	}
	stops := l.halts()
	if err := d.(drivers.Device).Halt(); err != nil || l.halts() != stops {
		t.Errorf("a cover at rest got a stop: %v", err)
	}
}

// Halt stops a moving cover, no matter which client moved it, and leaves a standing cover
// alone.
func TestHaltStopsCover(t *testing.T) {
	for _, moves := range []bool{true, false} {
		l := &blind{takes: time.Hour}
		d := started(t, newRoller(t, "shelly-gen2-cover", l))
		if moves {
			l.mu.Lock()
			l.drive(100) // by the wall switch
			l.mu.Unlock()
		}
		if err := d.Halt(); err != nil {
			t.Error(err)
		}
		if _, direction := l.is(); direction != 0 || (l.halts() > 0) != moves {
			t.Errorf("set moving: %t; it moves by %d after %d stops", moves, direction, l.halts())
		}
	}
}

// sets waits until the cover moves.
func sets(t *testing.T, l *blind) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; <-time.After(time.Millisecond) {
		if _, direction := l.is(); direction != 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the cover does not begin to move")
		}
	}
}

// An obstacle, a cover without reaction, or a missing calibration is an error.
func TestStuckCovers(t *testing.T) {
	for name := range rollers {
		l := &blind{jammed: 40}
		d := started(t, newRoller(t, name, l)).(positioned)
		if err := d.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "the cover stands still at 40 %") || errors.Is(err, drivers.ErrNothingDone) {
			t.Errorf("%s: error of a jammed cover is %v", name, err)
		}
		l.mu.Lock()
		l.deaf = true
		l.mu.Unlock()
		if err := d.Close(t.Context()); !errors.Is(err, drivers.ErrNotMoved) || !strings.Contains(err.Error(), "the cover stands still at 40 %") {
			t.Errorf("%s: error of a cover that does nothing is %v", name, err)
		}
		l.mu.Lock()
		l.deaf, l.lost = false, true
		l.mu.Unlock()
		if _, err := d.Opening(t.Context()); err == nil || !strings.Contains(err.Error(), "calibrate it") {
			t.Errorf("%s: error of a cover without calibration is %v", name, err)
		}
		acts := l.count()
		if err := d.OpenTo(t.Context(), 70); !errors.Is(err, drivers.ErrNothingDone) || l.count() != acts {
			t.Errorf("%s: one that is not calibrated goes part of the way: %v", name, err)
		}
	}
}
