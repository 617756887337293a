package mqttdevice_test

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"
	"time"
)

// whiten executes a command on a lamp with a color temperature; a nil value leaves that
// state unchanged.
func (f *fake) whiten(l *lamp, on bool, level, white *int, timer time.Duration) {
	f.mu.Lock()
	if !f.wrong && white != nil {
		l.white = *white
	}
	f.mu.Unlock()
	f.shine(l, on, level, nil, timer)
}

// tasmotaWhite: https://tasmota.github.io/docs/Lights/, a lamp of two channels.
func tasmotaWhite(t *testing.T, f *fake) {
	l := &lamp{level: 100, white: 153}
	f.publishState = func(f *fake) { f.send("stat/lamp/POWER", false, onOff[f.on]) }
	f.online = func(f *fake, is bool) {
		f.send("tele/lamp/LWT", true, map[bool]string{true: "Online", false: "Offline"}[is])
	}
	var pulse time.Duration
	f.subscribe(t, "cmnd/lamp/POWER", func(p string) {
		if p == "" {
			f.report()
			return
		}
		f.set(p == "ON", pulse)
	})
	f.subscribe(t, "cmnd/lamp/PulseTime", func(p string) {
		if n, err := strconv.Atoi(p); err == nil && n >= 0 {
			pulse = pulseTime(n)
		}
	})
	f.subscribe(t, "cmnd/lamp/Dimmer", func(p string) {
		if n, err := strconv.Atoi(p); err == nil {
			f.whiten(l, n > 0, &n, nil, 0)
		}
	})
	f.subscribe(t, "cmnd/lamp/CT", func(p string) {
		if n, err := strconv.Atoi(p); err == nil && n >= 153 && n <= 500 {
			f.whiten(l, true, nil, &n, 0)
		}
	})
	f.subscribe(t, "cmnd/lamp/Status", func(p string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if p == "11" {
			f.send("stat/lamp/STATUS11", false, map[string]any{"StatusSTS": map[string]any{"POWER": onOff[f.on], "Dimmer": l.level, "CT": l.white}})
		}
	})
}

// zigbeeWhite: https://www.zigbee2mqtt.io/guide/usage/exposes.html#light.
func zigbeeWhite(t *testing.T, f *fake) {
	l := &lamp{level: 254, white: 370}
	f.publishState = func(f *fake) {
		f.send("zigbee2mqtt/bulb", false, map[string]any{"state": onOff[f.on], "brightness": l.level, "color_temp": l.white, "color_mode": "color_temp", "linkquality": 90})
	}
	f.online = func(f *fake, is bool) {
		f.send("zigbee2mqtt/bridge/state", true, map[string]string{"state": map[bool]string{true: "online", false: "offline"}[is]})
	}
	f.subscribe(t, "zigbee2mqtt/bulb/set", func(p string) {
		var m struct {
			State      string `json:"state"`
			OnTime     int    `json:"on_time"`
			Brightness *int   `json:"brightness"`
			White      *int   `json:"color_temp"`
		}
		if json.Unmarshal([]byte(p), &m) == nil {
			f.whiten(l, m.State == "ON", m.Brightness, m.White, time.Duration(m.OnTime)*time.Second)
		}
	})
	f.subscribe(t, "zigbee2mqtt/bulb/get", func(p string) {
		if p == `{"brightness":"","color_temp":"","state":""}` {
			f.report()
		}
	})
}

// shelly2White: https://shelly-api-docs.shelly.cloud/gen2/ComponentsAndServices/CCT.
func shelly2White(t *testing.T, f *fake) {
	l := &lamp{level: 100, white: 2700} // kelvin
	f.publishState = func(f *fake) {
		f.send("shellyduo-a8/status/cct:0", false, map[string]any{"id": 0, "source": "mqtt", "output": f.on, "brightness": l.level, "ct": l.white})
	}
	f.online = func(f *fake, is bool) { f.send("shellyduo-a8/online", true, strconv.FormatBool(is)) }
	f.subscribe(t, "shellyduo-a8/command", func(p string) {
		if p == "status_update" {
			f.report()
		}
	})
	f.subscribe(t, "shellyduo-a8/rpc", func(p string) {
		var m struct {
			Method string `json:"method"`
			Src    string `json:"src"`
			Params struct {
				ID         *int `json:"id"`
				On         bool `json:"on"`
				Brightness *int `json:"brightness"`
				CT         *int `json:"ct"`
				After      int  `json:"toggle_after"`
			} `json:"params"`
		}
		if json.Unmarshal([]byte(p), &m) == nil && m.Method == "CCT.Set" && m.Src != "" && m.Params.ID != nil && *m.Params.ID == 0 {
			f.whiten(l, m.Params.On, m.Params.Brightness, m.Params.CT, time.Duration(m.Params.After)*time.Second)
		}
	})
}

// esphomeWhite: https://esphome.io/components/mqtt.html, in the JSON schema of Home
// Assistant lights, with a retained state.
func esphomeWhite(t *testing.T, f *fake) {
	l := &lamp{level: 255, white: 370}
	f.publishState = func(f *fake) {
		f.send("strip/light/led/state", true, map[string]any{"state": onOff[f.on], "brightness": l.level, "color_mode": "color_temp", "color_temp": l.white})
	}
	f.online = func(f *fake, is bool) {
		f.send("strip/status", true, map[bool]string{true: "online", false: "offline"}[is])
	}
	f.subscribe(t, "strip/light/led/command", func(p string) {
		var m struct {
			State      string   `json:"state"`
			Brightness *int     `json:"brightness"`
			White      *float64 `json:"color_temp"`
		}
		if json.Unmarshal([]byte(p), &m) != nil {
			return
		}
		var white *int
		if m.White != nil {
			white = new(int(math.Round(*m.White)))
		}
		f.whiten(l, m.State == "ON", m.Brightness, white, 0)
	})
}
