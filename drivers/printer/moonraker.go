package printer

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// moonraker is the API of Klipper's server
// (https://moonraker.readthedocs.io/en/latest/external_api/printer/).
type moonraker struct{ server }

const moonrakerObjects = "/printer/objects/query?print_stats&virtual_sdcard&extruder&heater_bed"

func (m moonraker) files(ctx context.Context) ([]listed, error) {
	var answer struct {
		Result []struct {
			Path string `json:"path"`
		} `json:"result"`
	}
	err := m.get(ctx, "/server/files/list?root=gcodes", &answer)
	list := make([]listed, len(answer.Result))
	for i, f := range answer.Result {
		list[i] = listed{f.Path, f.Path}
	}
	return list, err
}

// heater is one heater of Klipper.
type heater struct {
	Temperature *float64 `json:"temperature"`
	Target      float64  `json:"target"`
}

type moonrakerStatus struct {
	Stats struct {
		State    string  `json:"state"`
		Filename string  `json:"filename"`
		Message  string  `json:"message"`
		Total    float64 `json:"total_duration"`
		Printed  float64 `json:"print_duration"`
		Info     struct {
			Layers *float64 `json:"total_layer"`
			Layer  *float64 `json:"current_layer"`
		} `json:"info"`
	} `json:"print_stats"`
	Card struct {
		Progress float64 `json:"progress"`
	} `json:"virtual_sdcard"`
	Extruder *heater `json:"extruder"`
	Bed      *heater `json:"heater_bed"`
}

func (m moonraker) state(ctx context.Context) (state, error) {
	var answer struct {
		Result struct {
			Status json.RawMessage `json:"status"`
		} `json:"result"`
	}
	err := m.get(ctx, moonrakerObjects, &answer)
	if answered(err, http.StatusServiceUnavailable) || answered(err, http.StatusBadGateway) || answered(err, http.StatusNotFound) {
		return m.info(ctx)
	}
	if err != nil {
		return state{}, err
	}
	s, err := parseMoonraker(answer.Result.Status)
	if err != nil || s.Phase == printing || s.Phase == paused {
		return s, err
	}
	// Klipper may have shut down, which print_stats does not show.
	if now, err := m.info(ctx); err == nil && now.Phase == failed {
		return now, nil
	}
	return s, nil
}

// info returns the state of Klipper itself. While Moonraker has no connection, for example
// during its restart, Klipper may continue to print, so the state is unknown.
func (m moonraker) info(ctx context.Context) (state, error) {
	var answer struct {
		Result struct {
			State   string `json:"state"`
			Message string `json:"state_message"`
		} `json:"result"`
	}
	err := m.get(ctx, "/printer/info", &answer)
	switch {
	case answered(err, http.StatusServiceUnavailable) || answered(err, http.StatusBadGateway):
		return state{}, state{Phase: offline, Says: "Klipper is not connected"}.neededHelp()
	case err != nil:
		return state{}, err
	}
	switch answer.Result.State {
	case "shutdown", "error":
		return state{Phase: failed, Says: firstLine(answer.Result.Message)}, nil
	case "startup":
		return state{Phase: busy}, nil
	}
	return state{Phase: idle}, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

var moonrakerPhases = map[string]phase{
	"standby": idle, "printing": printing, "paused": paused, "complete": finished, "cancelled": cancelled, "error": failed,
}

func parseMoonraker(data []byte) (state, error) {
	var now moonrakerStatus
	if json.Unmarshal(data, &now) != nil || moonrakerPhases[now.Stats.State] == "" {
		return state{}, errors.New("the answer is not a print state of Moonraker; check server: and the version of Moonraker")
	}
	s := state{
		Phase: moonrakerPhases[now.Stats.State], File: now.Stats.Filename, Says: firstLine(now.Stats.Message),
		Percent: percent(100 * now.Card.Progress), Elapsed: seconds(now.Stats.Total),
	}
	if s.Phase == finished {
		s.Percent = 100
	}
	if l := now.Stats.Info; l.Layer != nil && l.Layers != nil && *l.Layers >= 1 && *l.Layers < 1e6 && *l.Layer >= 0 && *l.Layer <= *l.Layers {
		s.Layer, s.Layers = int(*l.Layer), int(*l.Layers)
	}
	if p := now.Card.Progress; p > 0.01 && p < 1 && s.active() {
		s.Left = seconds(now.Stats.Printed * (1 - p) / p)
	}
	if now.Extruder != nil {
		s.Nozzle, s.Heated = now.Extruder.Temperature, now.Extruder.Target
	}
	if now.Bed != nil {
		s.Bed, s.Heated = now.Bed.Temperature, max(s.Heated, now.Bed.Target)
	}
	return s, nil
}

func (m moonraker) start(ctx context.Context, path string) error {
	return m.post(ctx, "/printer/print/start?filename="+url.QueryEscape(path), nil)
}

func (m moonraker) pause(ctx context.Context, _ state) error {
	return m.post(ctx, "/printer/print/pause", nil)
}

func (m moonraker) resume(ctx context.Context, _ state) error {
	return m.post(ctx, "/printer/print/resume", nil)
}

func (m moonraker) cancel(ctx context.Context, _ state) error {
	return m.post(ctx, "/printer/print/cancel", nil)
}

func (m moonraker) cools() bool { return true }

func (m moonraker) cool(ctx context.Context) error {
	return m.post(ctx, "/printer/gcode/script?script=TURN_OFF_HEATERS", nil)
}

// last reads the history of Moonraker.
func (m moonraker) last(ctx context.Context, path string, since time.Time) (*ending, bool, error) {
	var answer struct {
		Result struct {
			Jobs []struct {
				ID       string  `json:"job_id"`
				Filename string  `json:"filename"`
				Status   string  `json:"status"`
				Start    float64 `json:"start_time"`
			} `json:"jobs"`
		} `json:"result"`
	}
	if err := m.get(ctx, "/server/history/list?limit=20&order=desc", &answer); answered(err, http.StatusNotFound) {
		return nil, false, nil // the history is disabled
	} else if err != nil {
		return nil, false, err
	}
	for _, j := range answer.Result.Jobs {
		began := unix(j.Start)
		if j.Filename != path || j.Status == "in_progress" || !mayBeSamePrint(began, since) {
			continue
		}
		return &ending{id: "", began: began, whole: j.Status == "completed", reason: j.Status}, true, nil
	}
	return nil, true, nil
}

// unix converts a time in seconds since 1970.
func unix(s float64) time.Time {
	if !(s > 0 && s < 1e11) {
		return time.Time{}
	}
	whole, part := math.Modf(s)
	return time.Unix(int64(whole), int64(part*1e9))
}
