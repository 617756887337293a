package printer_test

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
)

// moonraker implements its documentation of printer administration, files and history.
func moonraker(m *machine, w http.ResponseWriter, r *http.Request, _ map[string]any) bool {
	if m.phase == "offline" && strings.HasPrefix(r.URL.Path, "/printer/") {
		w.WriteHeader(http.StatusServiceUnavailable)
		answer(w, map[string]any{"error": map[string]any{"code": 503, "message": "Klippy Host not connected", "traceback": ""}})
		return true
	}
	refuse := func(why string) bool {
		w.WriteHeader(http.StatusBadRequest)
		answer(w, map[string]any{"error": map[string]any{"code": 400, "message": why}})
		return true
	}
	ok := func() bool { answer(w, map[string]string{"result": "ok"}); return true }
	switch r.Method + " " + r.URL.Path {
	case "GET /server/files/list":
		var list []any
		for _, f := range m.files {
			list = append(list, map[string]any{"path": f, "modified": 1615077020.2, "size": 4926481, "permissions": "rw"})
		}
		answer(w, map[string]any{"result": list})
	case "GET /printer/objects/query":
		m.step()
		info := map[string]any{"total_layer": nil, "current_layer": nil}
		if m.file != "" {
			info = map[string]any{"total_layer": layers, "current_layer": m.layer}
		}
		elapsed := 0.0
		if m.phase != "idle" {
			elapsed = m.elapsed()
		}
		state := map[string]string{"idle": "standby", "finished": "complete", "failed": "error"}[m.phase]
		if state == "" {
			state = m.phase
		}
		target := map[bool]float64{true: 60}[m.heats]
		answer(w, map[string]any{"result": map[string]any{"eventtime": 578243.5, "status": map[string]any{
			"print_stats":    map[string]any{"filename": m.file, "total_duration": elapsed, "print_duration": elapsed, "filament_used": 11.7, "state": state, "message": m.message, "info": info},
			"virtual_sdcard": map[string]any{"progress": float64(m.layer) / layers, "is_active": m.phase == "printing", "file_position": 2500},
			"extruder":       map[string]any{"temperature": 214.8, "target": target}, "heater_bed": map[string]any{"temperature": m.bed, "target": target},
		}}})
	case "GET /printer/info":
		answer(w, map[string]any{"result": map[string]any{"state": "ready", "state_message": "Printer is ready", "hostname": "voron"}})
	case "GET /server/history/list":
		answer(w, map[string]any{"result": map[string]any{"count": len(m.history), "jobs": m.history}})
	case "POST /printer/print/start":
		file := r.URL.Query().Get("filename")
		if !slices.Contains(m.files, file) || m.phase == "printing" || m.phase == "paused" {
			return refuse("Unable to open file")
		}
		if m.act("start " + file) {
			m.begin(file)
		}
		return ok()
	case "POST /printer/print/pause", "POST /printer/print/resume", "POST /printer/print/cancel":
		if !m.steer(path.Base(r.URL.Path)) {
			return refuse("Not printing")
		}
		return ok()
	case "POST /printer/gcode/script":
		if r.URL.Query().Get("script") != "TURN_OFF_HEATERS" {
			return refuse("Unknown command")
		}
		if m.act("cool") {
			m.heats = false
		}
		return ok()
	default:
		return false
	}
	return true
}

// octoprint implements https://docs.octoprint.org/en/master/api/.
func octoprint(m *machine, w http.ResponseWriter, r *http.Request, body map[string]any) bool {
	status := func(code int) bool { w.WriteHeader(code); return true }
	file, one := strings.CutPrefix(r.URL.Path, "/api/files/local/")
	switch {
	case r.Method == "GET" && r.URL.Path == "/api/files/local":
		folders := map[string][]any{}
		for _, f := range m.files {
			folders[path.Dir(f)] = append(folders[path.Dir(f)], map[string]any{"name": path.Base(f), "path": f, "type": "machinecode", "typePath": []string{"machinecode", "gcode"}, "origin": "local"})
		}
		list := folders["."]
		for dir, inside := range folders {
			if dir != "." {
				list = append(list, map[string]any{"name": dir, "path": dir, "type": "folder", "children": inside})
			}
		}
		answer(w, map[string]any{"files": list, "free": "3.2GB"})
	case r.Method == "GET" && one:
		prints := map[string]any{"success": 0, "failure": 0}
		for _, h := range m.history {
			if h["filename"] == file {
				prints["last"] = map[string]any{"date": h["end_time"], "printTime": 3.0, "success": h["status"] == "completed"}
				break
			}
		}
		answer(w, map[string]any{"name": path.Base(file), "path": file, "prints": prints})
	case r.Method == "POST" && one:
		if !slices.Contains(m.files, file) {
			return status(http.StatusNotFound)
		}
		if m.phase == "printing" || m.phase == "paused" || m.phase == "offline" || body["command"] != "select" || body["print"] != true {
			return status(http.StatusConflict)
		}
		if m.act("start " + file) {
			m.begin(file)
		}
		return status(http.StatusNoContent)
	case r.Method == "GET" && r.URL.Path == "/api/job":
		m.step()
		state := map[string]string{"idle": "Operational", "printing": "Printing", "paused": "Paused", "finished": "Operational", "cancelled": "Operational", "failed": "Error", "offline": "Offline"}[m.phase]
		job := map[string]any{"job": map[string]any{"file": map[string]any{"name": nil, "path": nil}}, "progress": map[string]any{"completion": nil, "printTime": nil, "printTimeLeft": nil}, "state": state}
		if m.file != "" {
			job["job"] = map[string]any{"file": map[string]any{"name": path.Base(m.file), "path": m.file, "origin": "local"}}
			job["progress"] = map[string]any{"completion": 100.0 * float64(m.layer) / layers, "printTime": m.elapsed(), "printTimeLeft": 60 * (layers - m.layer)}
		}
		if m.phase == "failed" || m.phase == "offline" {
			job["error"] = m.message
		}
		answer(w, job)
	case r.Method == "GET" && r.URL.Path == "/api/printer":
		if m.phase == "offline" || m.phase == "failed" {
			return status(http.StatusConflict)
		}
		target := map[bool]float64{true: 60}[m.heats]
		answer(w, map[string]any{"temperature": map[string]any{"tool0": map[string]any{"actual": 214.8, "target": target, "offset": 0}, "bed": map[string]any{"actual": m.bed, "target": target, "offset": 0}}})
	case r.Method == "POST" && r.URL.Path == "/api/job":
		what, _ := body["command"].(string)
		if what == "pause" {
			what, _ = body["action"].(string)
		}
		if !m.steer(what) {
			return status(http.StatusConflict)
		}
		return status(http.StatusNoContent)
	case r.Method == "POST" && (r.URL.Path == "/api/printer/tool" || r.URL.Path == "/api/printer/bed"):
		if body["command"] != "target" {
			return status(http.StatusBadRequest)
		}
		if m.act("cool " + path.Base(r.URL.Path)) {
			m.heats = false
		}
		return status(http.StatusNoContent)
	default:
		return false
	}
	return true
}

// long returns the long name of a file with a short name.
func long(f string) string {
	if f == "VASE~1.BGC" {
		return "vase_0.2mm_PLA_2h10m.bgcode"
	}
	return f
}

// prusalink implements its specification.
func prusalink(m *machine, w http.ResponseWriter, r *http.Request, _ map[string]any) bool {
	status := func(code int) bool { w.WriteHeader(code); return true }
	job, steers := strings.CutPrefix(r.URL.Path, "/api/v1/job/")
	file, one := strings.CutPrefix(r.URL.Path, "/api/v1/files/usb/")
	words := map[string]string{"idle": "IDLE", "printing": "PRINTING", "paused": "PAUSED", "finished": "FINISHED", "cancelled": "STOPPED", "failed": "ERROR", "attention": "ATTENTION", "offline": "ERROR"}
	switch {
	case r.Method == "GET" && r.URL.Path == "/api/v1/files/usb":
		var list []any
		for _, f := range m.files {
			if path.Dir(f) == "." {
				list = append(list, map[string]any{"name": f, "display_name": long(f), "type": "PRINT_FILE", "ro": false})
			}
		}
		answer(w, map[string]any{"type": "FOLDER", "name": "usb", "children": append(list, map[string]any{"name": "toys", "type": "FOLDER"})})
	case r.Method == "POST" && one:
		if !slices.Contains(m.files, file) {
			return status(http.StatusNotFound)
		}
		if m.phase == "printing" || m.phase == "paused" {
			return status(http.StatusConflict)
		}
		if m.act("start " + file) {
			m.begin(file)
		}
		return status(http.StatusNoContent)
	case r.Method == "GET" && r.URL.Path == "/api/v1/status":
		m.step()
		target := map[bool]float64{true: 60}[m.heats]
		out := map[string]any{"printer": map[string]any{
			"state": words[m.phase], "temp_bed": m.bed, "target_bed": target, "temp_nozzle": 209.9, "target_nozzle": target, "axis_z": 22.4, "flow": 100, "speed": 100,
			"status_printer": map[string]any{"ok": m.message == "", "message": m.message},
		}}
		if m.file != "" {
			out["job"] = map[string]any{"id": m.id, "progress": 100.0 * float64(m.layer) / layers, "time_remaining": 60 * (layers - m.layer), "time_printing": int(m.elapsed())}
		}
		answer(w, out)
	case r.Method == "GET" && r.URL.Path == "/api/v1/job":
		if m.file == "" {
			return status(http.StatusNoContent)
		}
		folder := "/usb"
		if dir := path.Dir(m.file); dir != "." {
			folder += "/" + dir
		}
		answer(w, map[string]any{"id": m.id, "state": words[m.phase], "progress": 10.0 * float64(m.layer), "file": map[string]any{"name": path.Base(m.file), "display_name": long(path.Base(m.file)), "path": folder, "size": 19911}})
	case steers:
		id, what, _ := strings.Cut(job, "/")
		if r.Method == "DELETE" {
			what = "cancel"
		}
		if id != fmt.Sprint(m.id) || r.Method != "DELETE" && r.Method != "PUT" {
			return status(http.StatusNotFound)
		}
		if !m.steer(what) {
			return status(http.StatusConflict)
		}
		if what == "cancel" {
			m.heats = false // the firmware does that
		}
		return status(http.StatusNoContent)
	default:
		return false
	}
	return true
}
