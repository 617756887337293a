package mqttdevice_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// lamp contains the state of a fake lamp.
type lamp struct {
	level int // in the unit of the device
	color [3]int
	white int // mireds, or kelvin
}

// shine executes a command; a nil value leaves that state unchanged.
func (f *fake) shine(l *lamp, on bool, level *int, color *[3]int, timer time.Duration) {
	f.mu.Lock()
	if !f.wrong {
		if level != nil {
			l.level = *level
		}
		if color != nil {
			l.color = *color
		}
	}
	f.mu.Unlock()
	f.set(on, timer)
}

func hexOf(c [3]int) string { return fmt.Sprintf("%02X%02X%02X", c[0], c[1], c[2]) }

// tasmotaLight: https://tasmota.github.io/docs/Lights/.
func tasmotaLight(t *testing.T, f *fake) {
	l := &lamp{level: 100}
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
			f.shine(l, n > 0, &n, nil, 0)
		}
	})
	f.subscribe(t, "cmnd/lamp/Color1", func(p string) {
		var c [3]int
		if _, err := fmt.Sscanf(p, "#%02x%02x%02x", &c[0], &c[1], &c[2]); err == nil {
			f.shine(l, true, nil, &c, 0)
		}
	})
	f.subscribe(t, "cmnd/lamp/Status", func(p string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if p == "11" {
			f.send("stat/lamp/STATUS11", false, map[string]any{"StatusSTS": map[string]any{"POWER": onOff[f.on], "Dimmer": l.level, "Color": hexOf(l.color) + "00"}})
		}
	})
}

// zigbeeLight: https://www.zigbee2mqtt.io/guide/usage/exposes.html#light.
func zigbeeLight(t *testing.T, f *fake) {
	l := &lamp{level: 254}
	f.publishState = func(f *fake) {
		f.send("zigbee2mqtt/bulb", false, map[string]any{"state": onOff[f.on], "brightness": l.level, "linkquality": 90})
	}
	f.online = func(f *fake, is bool) {
		f.send("zigbee2mqtt/bridge/state", true, map[string]string{"state": map[bool]string{true: "online", false: "offline"}[is]})
	}
	f.subscribe(t, "zigbee2mqtt/bulb/set", func(p string) {
		var m struct {
			State      string `json:"state"`
			OnTime     int    `json:"on_time"`
			Brightness *int   `json:"brightness"`
		}
		if json.Unmarshal([]byte(p), &m) == nil {
			f.shine(l, m.State == "ON", m.Brightness, nil, time.Duration(m.OnTime)*time.Second)
		}
	})
	f.subscribe(t, "zigbee2mqtt/bulb/get", func(p string) {
		if p == `{"brightness":"","state":""}` {
			f.report()
		}
	})
}

// shelly2Light: https://shelly-api-docs.shelly.cloud/gen2/ComponentsAndServices/Light.
func shelly2Light(t *testing.T, f *fake) {
	l := &lamp{level: 100}
	f.publishState = func(f *fake) {
		f.send("shellydimmerg3-a8/status/light:0", false, map[string]any{"id": 0, "source": "mqtt", "output": f.on, "brightness": l.level})
	}
	f.online = func(f *fake, is bool) { f.send("shellydimmerg3-a8/online", true, strconv.FormatBool(is)) }
	f.subscribe(t, "shellydimmerg3-a8/command", func(p string) {
		if p == "status_update" {
			f.report()
		}
	})
	f.subscribe(t, "shellydimmerg3-a8/rpc", func(p string) {
		var m struct {
			Method string `json:"method"`
			Src    string `json:"src"`
			Params struct {
				ID         *int `json:"id"`
				On         bool `json:"on"`
				Brightness *int `json:"brightness"`
				After      int  `json:"toggle_after"`
			} `json:"params"`
		}
		if json.Unmarshal([]byte(p), &m) == nil && m.Method == "Light.Set" && m.Src != "" && m.Params.ID != nil && *m.Params.ID == 0 {
			f.shine(l, m.Params.On, m.Params.Brightness, nil, time.Duration(m.Params.After)*time.Second)
		}
	})
}

// shelly1Light: https://shelly-api-docs.shelly.cloud/gen1/#shelly-dimmer-1-2-mqtt.
func shelly1Light(t *testing.T, f *fake) {
	l := &lamp{level: 100}
	f.publishState = func(f *fake) {
		f.send("shellies/shellydimmer2-ED/light/0", false, strings.ToLower(onOff[f.on]))
		f.send("shellies/shellydimmer2-ED/light/0/status", false, map[string]any{"ison": f.on, "has_timer": false, "mode": "white", "brightness": l.level, "transition": 0})
	}
	f.online = func(f *fake, is bool) { f.send("shellies/shellydimmer2-ED/online", true, strconv.FormatBool(is)) }
	f.subscribe(t, "shellies/shellydimmer2-ED/command", func(p string) {
		if p == "update" {
			f.report()
		}
	})
	f.subscribe(t, "shellies/shellydimmer2-ED/light/0/set", func(p string) {
		var m struct {
			Turn       string `json:"turn"`
			Brightness *int   `json:"brightness"`
		}
		if json.Unmarshal([]byte(p), &m) == nil {
			f.shine(l, m.Turn == "on", m.Brightness, nil, 0)
		}
	})
}

// esphomeLight: https://esphome.io/components/mqtt.html, in the JSON schema of Home
// Assistant lights, with a retained state.
func esphomeLight(t *testing.T, f *fake) {
	l := &lamp{level: 255, color: [3]int{255, 255, 255}}
	f.publishState = func(f *fake) {
		f.send("strip/light/led/state", true, map[string]any{
			"state": onOff[f.on], "brightness": l.level, "color_mode": "rgb", "color": map[string]int{"r": l.color[0], "g": l.color[1], "b": l.color[2]},
		})
	}
	f.online = func(f *fake, is bool) {
		f.send("strip/status", true, map[bool]string{true: "online", false: "offline"}[is])
	}
	f.subscribe(t, "strip/light/led/command", func(p string) {
		var m struct {
			State      string `json:"state"`
			Brightness *int   `json:"brightness"`
			Color      *struct{ R, G, B int }
		}
		if json.Unmarshal([]byte(p), &m) != nil {
			return
		}
		var c *[3]int
		if m.Color != nil {
			c = &[3]int{m.Color.R, m.Color.G, m.Color.B}
		}
		f.shine(l, m.State == "ON", m.Brightness, c, 0)
	})
}

// homieLight: https://homieiot.github.io/specification/spec-core-v5_0_0/, with retained
// properties that the device publishes on change.
func homieLight(t *testing.T, f *fake) {
	l, published := &lamp{level: 100, color: [3]int{255, 255, 255}}, map[string]string{}
	f.publishState = func(f *fake) {
		for property, is := range map[string]string{
			"power": strconv.FormatBool(f.on), "level": strconv.Itoa(l.level), "colour": fmt.Sprintf("rgb,%d,%d,%d", l.color[0], l.color[1], l.color[2]),
		} {
			if published[property] != is {
				published[property] = is
				f.send("homie/5/strip/lamp/"+property, true, is)
			}
		}
	}
	f.online = func(f *fake, is bool) {
		f.send("homie/5/strip/$state", true, map[bool]string{true: "ready", false: "lost"}[is])
	}
	f.subscribe(t, "homie/5/strip/lamp/power/set", func(p string) { f.set(p == "true", 0) })
	f.subscribe(t, "homie/5/strip/lamp/level/set", func(p string) {
		if n, err := strconv.Atoi(p); err == nil {
			f.shine(l, f.is(), &n, nil, 0)
		}
	})
	f.subscribe(t, "homie/5/strip/lamp/colour/set", func(p string) {
		var c [3]int
		if _, err := fmt.Sscanf(p, "rgb,%d,%d,%d", &c[0], &c[1], &c[2]); err == nil {
			f.shine(l, f.is(), nil, &c, 0)
		}
	})
}
