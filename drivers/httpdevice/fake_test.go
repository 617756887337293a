package httpdevice_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is a simulated device. It records its real state.
type fake struct {
	mu    sync.Mutex
	on    bool
	timer time.Duration // last timer value; 0 for none
	acts  int
	log   []string // "GET /relay/0?turn=on"
	wrong bool     // accepts commands and does nothing
	extra map[string]any
}

func (f *fake) set(on bool) {
	f.acts++
	if !f.wrong {
		f.on = on
	}
}

func (f *fake) is() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.on }

func (f *fake) count() int { f.mu.Lock(); defer f.mu.Unlock(); return f.acts }

func (f *fake) lastTimer() time.Duration { f.mu.Lock(); defer f.mu.Unlock(); return f.timer }

func (f *fake) force(on bool) { f.mu.Lock(); defer f.mu.Unlock(); f.on = on }

func (f *fake) requests() string { f.mu.Lock(); defer f.mu.Unlock(); return strings.Join(f.log, "\n") }

// maker answers one request of a type of device.
type maker func(f *fake, w http.ResponseWriter, r *http.Request, body map[string]any)

// bench is a server whose device a test can replace.
type bench struct {
	*httptest.Server
	mu  sync.Mutex
	now *fake
}

func newBench(t *testing.T, m maker) *bench {
	t.Helper()
	b := &bench{now: &fake{}}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := b.device()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.log = append(f.log, r.Method+" "+r.URL.RequestURI())
		body := map[string]any{}
		if data, err := io.ReadAll(r.Body); err == nil && len(data) > 0 {
			if r.Header.Get("Content-Type") != "application/json" || json.Unmarshal(data, &body) != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			f.log[len(f.log)-1] += " " + string(data)
		}
		m(f, w, r, body)
	}))
	t.Cleanup(b.Close)
	return b
}

func (b *bench) device() *fake { b.mu.Lock(); defer b.mu.Unlock(); return b.now }

func (b *bench) renew() *fake {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = &fake{}
	return b.now
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a disconnected client has its error already
}

// shelly1 implements https://shelly-api-docs.shelly.cloud/gen1/#shelly1-1pm.
func shelly1(f *fake, w http.ResponseWriter, r *http.Request, _ map[string]any) {
	switch r.URL.Path {
	case "/relay/0":
		q := r.URL.Query()
		if turn := q.Get("turn"); turn != "" {
			f.set(turn == "on")
			seconds, _ := strconv.Atoi(q.Get("timer"))
			f.timer = time.Duration(seconds) * time.Second
		}
		answer(w, map[string]any{
			"ison": f.on, "has_timer": f.timer > 0, "timer_started": 0, "timer_duration": f.timer.Seconds(),
			"timer_remaining": f.timer.Seconds(), "overpower": false, "source": "http",
		})
	case "/status":
		answer(w, map[string]any{
			"wifi_sta": map[string]any{"connected": true, "ssid": "home", "ip": "192.168.1.40", "rssi": -58},
			"relays":   []any{map[string]any{"ison": f.on}},
			"meters":   []any{map[string]any{"power": 12.5, "is_valid": true, "timestamp": 1, "counters": []any{0, 0, 0}, "total": 120000}},
		})
	default:
		http.NotFound(w, r)
	}
}

// shelly2 implements the documentation of the Switch component.
func shelly2(f *fake, w http.ResponseWriter, r *http.Request, body map[string]any) {
	switch r.URL.Path {
	case "/rpc/Switch.Set":
		id, ok := body["id"].(float64)
		on, yes := body["on"].(bool)
		if !ok || !yes || id != 0 || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusInternalServerError)
			answer(w, map[string]any{"code": -105, "message": "Argument 'id', value 7 not found!"})
			return
		}
		was := f.on
		f.set(on)
		seconds, _ := body["toggle_after"].(float64)
		f.timer = time.Duration(seconds * float64(time.Second))
		answer(w, map[string]any{"was_on": was})
	case "/rpc/Switch.GetStatus":
		answer(w, map[string]any{
			"id": 0, "source": "HTTP_in", "output": f.on, "apower": 8.9, "voltage": 230.1, "current": 0.08,
			"aenergy": map[string]any{"total": 6532.0, "by_minute": []any{45.2, 47.1, 88.4}, "minute_ts": 1626935779}, "temperature": map[string]any{"tC": 23.5, "tF": 74.4},
		})
	case "/rpc/WiFi.GetStatus":
		answer(w, map[string]any{"sta_ip": "192.168.1.41", "status": "got ip", "ssid": "home", "rssi": -66})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// tasmota implements https://tasmota.github.io/docs/Commands/#with-web-requests, with a
// password.
func tasmota(f *fake, w http.ResponseWriter, r *http.Request, _ map[string]any) {
	q := r.URL.Query()
	if q.Get("user") != "admin" || q.Get("password") != "open sesame" {
		w.WriteHeader(http.StatusUnauthorized)
		answer(w, map[string]string{"WARNING": "Need user=<username>&password=<password>"})
		return
	}
	command, argument, _ := strings.Cut(q.Get("cmnd"), " ")
	onOff := map[bool]string{true: "ON", false: "OFF"}
	switch command {
	case "Power":
		if argument != "" {
			f.set(argument == "On")
		}
		answer(w, map[string]string{"POWER": onOff[f.on]})
	case "PulseTime":
		n, err := strconv.Atoi(argument)
		if err != nil || n < 0 {
			answer(w, map[string]string{"Command": "Error"})
			return
		}
		f.timer = pulse(n)
		answer(w, map[string]any{"PulseTime1": map[string]any{"Set": n, "Remaining": 0}})
	case "Status":
		if argument == "8" {
			answer(w, map[string]any{"StatusSNS": map[string]any{"Time": "2026-11-21T09:44:50", "ENERGY": map[string]any{"Total": 3.185, "Power": 60, "Voltage": 231}}})
			return
		}
		answer(w, map[string]any{"StatusSTS": map[string]any{"Wifi": map[string]any{"AP": 1, "RSSI": 74, "Signal": -63}}})
	default:
		answer(w, map[string]string{"Command": "Unknown"})
	}
}

// wled implements https://kno.wled.ge/interfaces/json-api/.
func wled(f *fake, w http.ResponseWriter, r *http.Request, body map[string]any) {
	if r.URL.Path != "/json/state" && r.URL.Path != "/json/info" {
		http.NotFound(w, r)
		return
	}
	if f.extra == nil {
		f.extra = map[string]any{"bri": 128.0, "col": []any{255.0, 160.0, 0.0}}
	}
	if r.URL.Path == "/json/info" {
		answer(w, map[string]any{"ver": "0.14.0", "leds": map[string]any{"count": 30, "pwr": 470}, "wifi": map[string]any{"rssi": -51, "signal": 98}})
		return
	}
	if r.Method == http.MethodPost {
		f.wledSet(body)
		if v, _ := body["v"].(bool); !v {
			answer(w, map[string]bool{"success": true})
			return
		}
	}
	answer(w, map[string]any{
		"on": f.on, "bri": f.extra["bri"], "transition": 7, "ps": -1,
		"nl":  map[string]any{"on": f.timer > 0, "dur": f.timer.Minutes(), "mode": 0, "tbri": 0, "rem": -1},
		"seg": []any{map[string]any{"id": 0, "start": 0, "stop": 30, "on": true, "col": []any{f.extra["col"], []any{0, 0, 0}, []any{0, 0, 0}}}},
	})
}

func (f *fake) wledSet(body map[string]any) {
	if on, given := body["on"].(bool); given {
		f.set(on)
	}
	nl, _ := body["nl"].(map[string]any)
	switch {
	case nl["on"] == true && nl["tbri"] == 0.0 && nl["mode"] == 0.0:
		minutes, _ := nl["dur"].(float64)
		f.timer = time.Duration(minutes) * time.Minute
	case nl["on"] == false:
		f.timer = 0
	}
	if bri, ok := body["bri"].(float64); ok && bri > 0 && !f.wrong {
		f.extra["bri"] = bri
	}
	if segs, ok := body["seg"].([]any); ok && !f.wrong {
		f.extra["col"] = segs[0].(map[string]any)["col"].([]any)[0]
	}
}

// pulse converts a PulseTime of Tasmota.
func pulse(n int) time.Duration {
	if n < 112 {
		return time.Duration(n) * 100 * time.Millisecond
	}
	return time.Duration(n-100) * time.Second
}
