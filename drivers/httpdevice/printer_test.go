package httpdevice_test

import (
	"net/http"
)

// key is the API key of the simulated printers.
const key = "open-sesame-42"

// printing adds an API key to a printer, and accepts only read requests.
func printing(m maker) maker {
	return func(f *fake, w http.ResponseWriter, r *http.Request, body map[string]any) {
		switch {
		case r.Header.Get("X-Api-Key") != key:
			w.WriteHeader(http.StatusForbidden)
		case r.Method != http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
		default:
			m(f, w, r, body)
		}
	}
}

// moonraker: the printer objects of a running print, from Klipper's status reference.
func moonraker(_ *fake, w http.ResponseWriter, r *http.Request, _ map[string]any) {
	if r.URL.Path != "/printer/objects/query" || !r.URL.Query().Has("print_stats") {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	answer(w, map[string]any{"result": map[string]any{"eventtime": 578243.57824499, "status": map[string]any{
		"print_stats": map[string]any{
			"filename": "benchy.gcode", "total_duration": 1221.5, "print_duration": 1200.25, "filament_used": 11.7, "state": "printing", "message": "",
			"info": map[string]any{"total_layer": 240, "current_layer": 60},
		},
		"virtual_sdcard": map[string]any{"progress": 0.25, "is_active": true, "file_position": 2500},
		"extruder":       map[string]any{"temperature": 214.8, "target": 215.0},
		"heater_bed":     map[string]any{"temperature": 60.1, "target": 60.0},
	}}})
}

// octoprint: https://docs.octoprint.org/en/master/api/job.html and printer.html.
func octoprint(_ *fake, w http.ResponseWriter, r *http.Request, _ map[string]any) {
	switch r.URL.Path {
	case "/api/job":
		answer(w, map[string]any{
			"job":      map[string]any{"file": map[string]any{"name": "whistle_v2.gcode", "origin": "local", "size": 1468987, "date": 1378847754}, "estimatedPrintTime": 8811},
			"progress": map[string]any{"completion": 22.5, "filepos": 337942, "printTime": 276, "printTimeLeft": 912}, "state": "Printing",
		})
	case "/api/printer":
		answer(w, map[string]any{
			"temperature": map[string]any{"tool0": map[string]any{"actual": 214.8821, "target": 220.0, "offset": 0}, "bed": map[string]any{"actual": 50.221, "target": 70.0, "offset": 5}},
			"state":       map[string]any{"text": "Printing"},
		})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// prusalink: /api/v1/status of its specification.
func prusalink(_ *fake, w http.ResponseWriter, r *http.Request, _ map[string]any) {
	if r.URL.Path != "/api/v1/status" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	answer(w, map[string]any{
		"job":     map[string]any{"id": 420, "progress": 50.0, "time_remaining": 520, "time_printing": 526},
		"printer": map[string]any{"state": "PRINTING", "temp_bed": 59.9, "target_bed": 60.0, "temp_nozzle": 209.9, "target_nozzle": 210.0, "axis_z": 22.4, "flow": 100, "speed": 100},
	})
}
