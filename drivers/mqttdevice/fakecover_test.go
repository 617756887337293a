package mqttdevice_test

import (
	"encoding/json"
	"math"
	"strconv"
	"sync"
	"testing"
	"time"
)

// blind is the cover of a fake device. It moves by the clock and needs coverTakes from one
// end to the other.
type blind struct {
	mu        sync.Mutex
	from      float64 // percent open at the time since
	to        float64
	since     time.Time
	jammed    float64 // an obstacle at this position; 0: none
	published float64 // last published position
	stops     int
}

const (
	coverTakes = 400 * time.Millisecond
	coverTick  = 10 * time.Millisecond
)

// roll moves the cover and publishes its position until the test ends.
func (f *fake) roll(t *testing.T) *blind {
	t.Helper()
	l := &blind{}
	end := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		tick := time.NewTicker(coverTick)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
			}
			if l.step() {
				f.report()
			}
		}
	})
	t.Cleanup(func() { close(end); work.Wait() })
	f.cover = l
	return l
}

// at returns the position and the direction. The caller holds mu.
func (l *blind) at() (percent float64, direction int) {
	way := 100 * float64(time.Since(l.since)) / float64(coverTakes)
	if way >= math.Abs(l.to-l.from) {
		return l.to, 0
	}
	direction = 1
	if l.to < l.from {
		direction = -1
	}
	return l.from + float64(direction)*way, direction
}

// step reports whether the cover has moved since the last publish.
func (l *blind) step() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	is, _ := l.at()
	was := l.published
	l.published = is
	return is != was
}

func (l *blind) is() (percent float64, direction int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	percent, direction = l.at()
	return math.Round(percent), direction
}

// drive executes a command.
func (f *fake) drive(l *blind, to float64) {
	f.mu.Lock()
	f.acts++
	wrong := f.wrong
	f.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if wrong {
		return
	}
	if l.jammed > 0 {
		to = min(to, l.jammed)
	}
	l.from, _ = l.at()
	l.to, l.since = to, time.Now()
}

func (f *fake) halt(l *blind) {
	l.mu.Lock()
	l.from, _ = l.at()
	l.to, l.since = l.from, time.Now()
	l.stops++
	l.mu.Unlock()
	f.report()
}

func (l *blind) halts() int { l.mu.Lock(); defer l.mu.Unlock(); return l.stops }

// tasmotaCover: https://tasmota.github.io/docs/Blinds-and-Shutters/.
func tasmotaCover(t *testing.T, f *fake) {
	l := f.roll(t)
	f.publishState = func(f *fake) {
		percent, direction := l.is()
		f.send("stat/blind/RESULT", false, map[string]any{"Shutter1": map[string]any{"Position": percent, "Direction": direction, "Target": 0}})
	}
	f.online = func(f *fake, is bool) {
		f.send("tele/blind/LWT", true, map[bool]string{true: "Online", false: "Offline"}[is])
	}
	f.subscribe(t, "cmnd/blind/ShutterOpen1", func(string) { f.drive(l, 100) })
	f.subscribe(t, "cmnd/blind/ShutterClose1", func(string) { f.drive(l, 0) })
	f.subscribe(t, "cmnd/blind/ShutterStop1", func(string) { f.halt(l) })
	f.subscribe(t, "cmnd/blind/ShutterPosition1", func(p string) {
		n, _ := strconv.ParseFloat(p, 64) // no number is 0, as in old firmware
		f.drive(l, n)
	})
	f.subscribe(t, "cmnd/blind/Status", func(p string) {
		percent, direction := l.is()
		if p == "10" {
			f.send("stat/blind/STATUS10", false, map[string]any{"StatusSNS": map[string]any{
				"Time": "2026-11-22T07:00:00", "Shutter1": map[string]any{"Position": percent, "Direction": direction, "Target": percent},
			}})
		}
	})
}

// zigbeeCover: https://www.zigbee2mqtt.io/guide/usage/exposes.html#cover. It publishes its
// target as the position until the next question.
func zigbeeCover(t *testing.T, f *fake) {
	l := f.roll(t)
	report := func(percent float64) {
		state := "OPEN"
		if percent == 0 {
			state = "CLOSE"
		}
		f.send("zigbee2mqtt/blind", false, map[string]any{"state": state, "position": percent, "linkquality": 120})
	}
	f.publishState = func(*fake) {}
	f.online = func(f *fake, is bool) {
		f.send("zigbee2mqtt/bridge/state", true, map[string]string{"state": map[bool]string{true: "online", false: "offline"}[is]})
	}
	f.subscribe(t, "zigbee2mqtt/blind/set", func(p string) {
		var m struct {
			State    string   `json:"state"`
			Position *float64 `json:"position"`
		}
		if json.Unmarshal([]byte(p), &m) != nil {
			return
		}
		if m.State == "STOP" {
			f.halt(l)
			return
		}
		to := map[string]float64{"OPEN": 100, "CLOSE": 0}[m.State]
		if m.Position != nil {
			to = *m.Position
		}
		f.drive(l, to)
		report(to)
	})
	f.subscribe(t, "zigbee2mqtt/blind/get", func(p string) {
		if p == `{"position":""}` {
			percent, _ := l.is()
			report(percent)
		}
	})
}

// shelly1Cover: https://shelly-api-docs.shelly.cloud/gen1/#shelly2-5-mqtt.
func shelly1Cover(t *testing.T, f *fake) {
	l := f.roll(t)
	f.publishState = func(f *fake) {
		percent, direction := l.is()
		f.send("shellies/shellyswitch25-68/roller/0", false, map[int]string{-1: "close", 0: "stop", 1: "open"}[direction])
		f.send("shellies/shellyswitch25-68/roller/0/pos", false, strconv.FormatFloat(percent, 'f', -1, 64))
	}
	f.online = func(f *fake, is bool) { f.send("shellies/shellyswitch25-68/online", true, strconv.FormatBool(is)) }
	f.subscribe(t, "shellies/shellyswitch25-68/roller/0/command", func(p string) {
		switch p {
		case "open":
			f.drive(l, 100)
		case "close":
			f.drive(l, 0)
		case "stop":
			f.halt(l)
		}
	})
	f.subscribe(t, "shellies/shellyswitch25-68/roller/0/command/pos", func(p string) {
		if n, err := strconv.ParseFloat(p, 64); err == nil {
			f.drive(l, n)
		}
	})
	f.subscribe(t, "shellies/shellyswitch25-68/command", func(p string) {
		if p == "update" {
			f.report()
		}
	})
}

// shelly2Cover: https://shelly-api-docs.shelly.cloud/gen2/ComponentsAndServices/Cover.
func shelly2Cover(t *testing.T, f *fake) {
	l := f.roll(t)
	f.publishState = func(f *fake) {
		percent, direction := l.is()
		state := map[int]string{-1: "closing", 0: "stopped", 1: "opening"}[direction]
		if direction == 0 && percent == 0 {
			state = "closed"
		} else if direction == 0 && percent == 100 {
			state = "open"
		}
		f.send("shellyplus2pm-a8/status/cover:0", false, map[string]any{"id": 0, "source": "mqtt", "state": state, "pos_control": true, "current_pos": percent, "apower": 0})
	}
	f.online = func(f *fake, is bool) { f.send("shellyplus2pm-a8/online", true, strconv.FormatBool(is)) }
	f.subscribe(t, "shellyplus2pm-a8/command", func(p string) {
		if p == "status_update" {
			f.report()
		}
	})
	f.subscribe(t, "shellyplus2pm-a8/rpc", func(p string) {
		var m struct {
			Method string `json:"method"`
			Src    string `json:"src"`
			Params struct {
				ID  *int     `json:"id"`
				Pos *float64 `json:"pos"`
			} `json:"params"`
		}
		if json.Unmarshal([]byte(p), &m) != nil || m.Src == "" || m.Params.ID == nil || *m.Params.ID != 0 {
			return
		}
		switch {
		case m.Method == "Cover.Open":
			f.drive(l, 100)
		case m.Method == "Cover.Close":
			f.drive(l, 0)
		case m.Method == "Cover.Stop":
			f.halt(l)
		case m.Method == "Cover.GoToPosition" && m.Params.Pos != nil:
			f.drive(l, *m.Params.Pos)
		}
	})
}

// esphomeCover: https://esphome.io/components/cover/, over MQTT; its state is
// retained.
func esphomeCover(t *testing.T, f *fake) {
	l := f.roll(t)
	f.publishState = func(f *fake) {
		percent, direction := l.is()
		state := map[int]string{-1: "closing", 0: "open", 1: "opening"}[direction]
		if direction == 0 && percent == 0 {
			state = "closed"
		}
		f.send("room/cover/blind/position/state", true, strconv.FormatFloat(percent, 'f', -1, 64))
		f.send("room/cover/blind/state", true, state)
	}
	f.online = func(f *fake, is bool) {
		f.send("room/status", true, map[bool]string{true: "online", false: "offline"}[is])
	}
	f.subscribe(t, "room/cover/blind/command", func(p string) {
		switch p {
		case "OPEN":
			f.drive(l, 100)
		case "CLOSE":
			f.drive(l, 0)
		case "STOP":
			f.halt(l)
		}
	})
	f.subscribe(t, "room/cover/blind/position/command", func(p string) {
		if n, err := strconv.ParseFloat(p, 64); err == nil {
			f.drive(l, n)
		}
	})
}

// homieCover: https://homieiot.github.io/specification/spec-core-v5_0_0/, with a retained
// position on a reversed scale.
func homieCover(t *testing.T, f *fake) {
	l := f.roll(t)
	f.publishState = func(f *fake) {
		percent, _ := l.is()
		f.send("homie/5/hall/blind/position", true, strconv.FormatFloat(100-percent, 'f', -1, 64))
	}
	f.online = func(f *fake, is bool) {
		f.send("homie/5/hall/$state", true, map[bool]string{true: "ready", false: "lost"}[is])
	}
	f.subscribe(t, "homie/5/hall/blind/position/set", func(p string) {
		if n, err := strconv.ParseFloat(p, 64); err == nil {
			f.drive(l, 100-n)
		}
	})
	f.subscribe(t, "homie/5/hall/blind/action/set", func(p string) {
		if p == "stop" {
			f.halt(l)
		}
	})
}
