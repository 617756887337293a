package httpdevice_test

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// bright returns the brightness of a simulated lamp in percent.
func (f *fake) bright() float64 {
	if f.extra == nil {
		f.extra = map[string]any{"level": 100.0}
	}
	return f.extra["level"].(float64)
}

func (f *fake) dim(level float64) {
	f.bright()
	if !f.wrong {
		f.extra["level"] = level
	}
}

// shelly1Light implements
// https://shelly-api-docs.shelly.cloud/gen1/#shelly-dimmer-1-2-light-0.
func shelly1Light(f *fake, w http.ResponseWriter, r *http.Request, _ map[string]any) {
	switch r.URL.Path {
	case "/light/0":
		q := r.URL.Query()
		if turn := q.Get("turn"); turn != "" {
			f.set(turn == "on")
			seconds, _ := strconv.Atoi(q.Get("timer"))
			f.timer = time.Duration(seconds) * time.Second
		}
		if level, err := strconv.ParseFloat(q.Get("brightness"), 64); err == nil {
			f.dim(level)
		}
		answer(w, map[string]any{
			"ison": f.on, "has_timer": f.timer > 0, "timer_started": 0, "timer_duration": f.timer.Seconds(), "timer_remaining": f.timer.Seconds(),
			"mode": "white", "brightness": f.bright(), "transition": 0, "source": "http",
		})
	case "/status":
		answer(w, map[string]any{"wifi_sta": map[string]any{"connected": true, "rssi": -58}})
	default:
		http.NotFound(w, r)
	}
}

// shelly2Light implements the documentation of the Light component.
func shelly2Light(f *fake, w http.ResponseWriter, r *http.Request, body map[string]any) {
	switch r.URL.Path {
	case "/rpc/Light.Set":
		id, ok := body["id"].(float64)
		on, yes := body["on"].(bool)
		if !ok || !yes || id != 0 || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusInternalServerError)
			answer(w, map[string]any{"code": -105, "message": "Argument 'id', value 7 not found!"})
			return
		}
		f.set(on)
		if level, given := body["brightness"].(float64); given {
			f.dim(level)
		}
		seconds, _ := body["toggle_after"].(float64)
		f.timer = time.Duration(seconds * float64(time.Second))
		answer(w, nil)
	case "/rpc/Light.GetStatus":
		answer(w, map[string]any{"id": 0, "source": "HTTP_in", "output": f.on, "brightness": f.bright()})
	case "/rpc/WiFi.GetStatus":
		answer(w, map[string]any{"status": "got ip", "ssid": "home", "rssi": -66})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// shelly2White implements the documentation of the CCT component.
func shelly2White(f *fake, w http.ResponseWriter, r *http.Request, body map[string]any) {
	f.bright()
	if f.extra["ct"] == nil {
		f.extra["ct"] = 2700.0
	}
	switch r.URL.Path {
	case "/rpc/CCT.Set":
		if ct, given := body["ct"].(float64); given && !f.wrong {
			f.extra["ct"] = ct
		}
		r.URL.Path = "/rpc/Light.Set"
	case "/rpc/CCT.GetStatus":
		answer(w, map[string]any{"id": 0, "source": "HTTP_in", "output": f.on, "brightness": f.bright(), "ct": f.extra["ct"]})
		return
	}
	shelly2Light(f, w, r, body)
}

// tasmotaLight is a Tasmota with a dimmer: https://tasmota.github.io/docs/Lights/.
func tasmotaLight(f *fake, w http.ResponseWriter, r *http.Request, body map[string]any) {
	q := r.URL.Query()
	command, argument, _ := strings.Cut(q.Get("cmnd"), " ")
	if level, err := strconv.ParseFloat(argument, 64); command == "Dimmer" && err == nil && q.Get("password") == "open sesame" {
		f.set(level > 0)
		f.dim(level)
		answer(w, map[string]any{"POWER": map[bool]string{true: "ON", false: "OFF"}[f.on], "Dimmer": f.bright()})
		return
	}
	if command == "Status" && q.Get("password") == "open sesame" {
		answer(w, map[string]any{"StatusSTS": map[string]any{"Dimmer": f.bright(), "Wifi": map[string]any{"AP": 1, "RSSI": 74, "Signal": -63}}})
		return
	}
	tasmota(f, w, r, body)
}
