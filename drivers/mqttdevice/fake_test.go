package mqttdevice_test

import (
	"encoding/json"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/messkit/messkit/internal/broker/port"
)

// broker is a real broker in the test process.
type broker struct {
	*mochi.Server
	address string

	end func() error // closes the broker, once

	mu       sync.Mutex
	retained []string // topics of retained messages that were not sent by a device
}

// watch records retained messages of clients.
type watch struct {
	mochi.HookBase
	b *broker
}

func (w *watch) ID() string           { return "watch" }
func (w *watch) Provides(b byte) bool { return b == mochi.OnPublished }

func (w *watch) OnPublished(c *mochi.Client, p packets.Packet) {
	if p.FixedHeader.Retain && !c.Net.Inline {
		w.b.mu.Lock()
		defer w.b.mu.Unlock()
		w.b.retained = append(w.b.retained, p.TopicName)
	}
}

func newBroker(t *testing.T, rules *auth.Ledger) *broker {
	t.Helper()
	b := &broker{Server: mochi.New(&mochi.Options{InlineClient: true, Logger: slog.New(slog.DiscardHandler)})}
	b.end = sync.OnceValue(b.Close)
	if rules == nil {
		rules = &auth.Ledger{Auth: auth.AuthRules{{Allow: true}}}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.address = "mqtt://" + l.Addr().String()
	for _, err := range []error{
		b.AddHook(new(auth.Hook), &auth.Options{Ledger: rules}), b.AddHook(&watch{b: b}, nil), b.AddHook(port.NewRetained(b.Server), nil),
		b.AddListener(port.New(b.Server, l, nil)), b.Serve(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := b.end(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// wire is the connection of a fake device to a broker: an inline client, or a client of
// another broker.
type wire interface {
	Publish(topic string, payload []byte, retain bool, qos byte) error
	Subscribe(filter string, id int, handle mochi.InlineSubFn) error
}

// fake is a simulated device on a broker. It records its real state.
type fake struct {
	b            wire
	mu           sync.Mutex
	on           bool
	timer        time.Duration
	acts         int
	deaf         bool          // receives nothing
	wrong        bool          // receives commands and does not execute them
	publishState func(f *fake) // publishes the state of the device
	online       func(f *fake, is bool)
	cover        *blind // nil for a device that is not a cover
}

func (f *fake) is() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.on }

func (f *fake) count() int { f.mu.Lock(); defer f.mu.Unlock(); return f.acts }

func (f *fake) lastTimer() time.Duration { f.mu.Lock(); defer f.mu.Unlock(); return f.timer }

// set executes a command.
func (f *fake) set(on bool, timer time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acts++
	if !f.wrong {
		f.on, f.timer = on, timer
	}
	f.publishState(f)
}

// force changes the state by hand.
func (f *fake) force(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on = on
	f.publishState(f)
}

func (f *fake) report() { f.mu.Lock(); defer f.mu.Unlock(); f.publishState(f) }

// send publishes a message of the device.
func (f *fake) send(topic string, retain bool, payload any) {
	data, ok := payload.(string)
	if !ok {
		encoded, _ := json.Marshal(payload) // cannot fail for maps of scalars
		data = string(encoded)
	}
	_ = f.b.Publish(topic, []byte(data), retain, 1) // an inline publish fails only in a closed broker
}

func (f *fake) subscribe(t *testing.T, topic string, do func(payload string)) {
	t.Helper()
	err := f.b.Subscribe(topic, nextID(), func(_ *mochi.Client, _ packets.Subscription, p packets.Packet) {
		f.mu.Lock()
		deaf := f.deaf
		f.mu.Unlock()
		if !deaf {
			do(string(p.Payload))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	idMu sync.Mutex
	id   int
)

func nextID() int { idMu.Lock(); defer idMu.Unlock(); id++; return id }

var onOff = map[bool]string{true: "ON", false: "OFF"}

// maker adds a device of one kind to a broker.
type maker func(t *testing.T, f *fake)

// tasmota: https://tasmota.github.io/docs/MQTT/#command-flow.
func tasmota(t *testing.T, f *fake) {
	f.publishState = func(f *fake) {
		f.send("stat/plug/RESULT", false, map[string]any{"POWER": onOff[f.on]})
		f.send("stat/plug/POWER", false, onOff[f.on])
	}
	f.online = func(f *fake, is bool) {
		f.send("tele/plug/LWT", true, map[bool]string{true: "Online", false: "Offline"}[is])
	}
	var pulse time.Duration
	f.subscribe(t, "cmnd/plug/POWER", func(p string) {
		if p == "" {
			f.report()
			return
		}
		f.set(p == "ON", pulse)
	})
	f.subscribe(t, "cmnd/plug/PulseTime", func(p string) {
		n, err := strconv.Atoi(p)
		if err == nil && n >= 0 {
			pulse = pulseTime(n)
		}
		f.send("stat/plug/RESULT", false, map[string]any{"PulseTime1": map[string]any{"Set": n, "Remaining": 0}})
	})
	f.subscribe(t, "cmnd/plug/Status", func(p string) {
		if p == "8" {
			f.send("stat/plug/STATUS8", false, map[string]any{"StatusSNS": map[string]any{"ENERGY": map[string]any{"Power": 60, "Total": 3.185, "Voltage": 231}}})
			return
		}
		f.send("stat/plug/STATUS11", false, map[string]any{"StatusSTS": map[string]any{"Wifi": map[string]any{"RSSI": 74, "Signal": -63}}})
	})
}

// zigbee: https://www.zigbee2mqtt.io/guide/usage/mqtt_topics_and_messages.html.
func zigbee(t *testing.T, f *fake) {
	f.publishState = func(f *fake) {
		f.send("zigbee2mqtt/desk lamp", false, map[string]any{"state": onOff[f.on], "linkquality": 120, "power": 8.5, "energy": 1.25, "update_available": nil})
	}
	f.online = func(f *fake, is bool) {
		f.send("zigbee2mqtt/bridge/state", true, map[string]string{"state": map[bool]string{true: "online", false: "offline"}[is]})
	}
	f.subscribe(t, "zigbee2mqtt/desk lamp/set", func(p string) {
		var m struct {
			State  string `json:"state"`
			OnTime int    `json:"on_time"`
		}
		if json.Unmarshal([]byte(p), &m) == nil {
			f.set(m.State == "ON", time.Duration(m.OnTime)*time.Second)
		}
	})
	f.subscribe(t, "zigbee2mqtt/desk lamp/get", func(p string) {
		if p == `{"state":""}` {
			f.report()
		}
	})
}

// shelly1: https://shelly-api-docs.shelly.cloud/gen1/#shelly1-1pm-mqtt.
func shelly1(t *testing.T, f *fake) {
	f.publishState = func(f *fake) {
		f.send("shellies/shelly1pm-B929CC/relay/0", false, strings.ToLower(onOff[f.on]))
		f.send("shellies/shelly1pm-B929CC/relay/0/power", false, "12.50")
	}
	f.online = func(f *fake, is bool) { f.send("shellies/shelly1pm-B929CC/online", true, strconv.FormatBool(is)) }
	f.subscribe(t, "shellies/shelly1pm-B929CC/relay/0/command", func(p string) { f.set(p == "on", 0) })
	f.subscribe(t, "shellies/shelly1pm-B929CC/command", func(p string) {
		if p == "update" {
			f.report()
		}
	})
}

// shelly2: https://shelly-api-docs.shelly.cloud/gen2/ComponentsAndServices/Mqtt#mqtt-control.
func shelly2(t *testing.T, f *fake) {
	f.publishState = func(f *fake) {
		f.send("shellyplus1pm-a8/status/switch:0", false, map[string]any{"id": 0, "source": "mqtt", "output": f.on, "apower": 8.9, "aenergy": map[string]any{"total": 6532}})
	}
	f.online = func(f *fake, is bool) { f.send("shellyplus1pm-a8/online", true, strconv.FormatBool(is)) }
	f.subscribe(t, "shellyplus1pm-a8/command/switch:0", func(p string) {
		if p == "status_update" {
			f.report()
			return
		}
		word, seconds, _ := strings.Cut(p, ",")
		n, _ := strconv.Atoi(seconds)
		f.set(word == "on", time.Duration(n)*time.Second)
	})
}

// homie: https://homieiot.github.io/specification/spec-core-v5_0_0/, with retained
// properties that the device publishes on change.
func homie(t *testing.T, f *fake) {
	var published *bool
	f.publishState = func(f *fake) {
		if published == nil || *published != f.on {
			f.send("homie/5/hall/lamp/power", true, strconv.FormatBool(f.on))
			published = new(f.on)
		}
	}
	f.online = func(f *fake, is bool) {
		f.send("homie/5/hall/$state", true, map[bool]string{true: "ready", false: "lost"}[is])
	}
	f.subscribe(t, "homie/5/hall/lamp/power/set", func(p string) { f.set(p == "true", 0) })
}

// esphome: https://esphome.io/components/mqtt.html.
func esphome(t *testing.T, f *fake) {
	f.publishState = func(f *fake) { f.send("pump/switch/main/state", true, onOff[f.on]) }
	f.online = func(f *fake, is bool) {
		f.send("pump/status", true, map[bool]string{true: "online", false: "offline"}[is])
	}
	f.subscribe(t, "pump/switch/main/command", func(p string) { f.set(p == "ON", 0) })
}

// sensor is a sleeping Zigbee2MQTT sensor that publishes on change.
func sensor(_ *testing.T, f *fake) {
	f.publishState = func(f *fake) {
		f.send("zigbee2mqtt/window", false, map[string]any{"contact": !f.on, "battery": 87, "temperature": 19.5, "voltage": 2985})
	}
	f.online = func(f *fake, is bool) {
		f.send("zigbee2mqtt/bridge/state", true, map[string]string{"state": map[bool]string{true: "online", false: "offline"}[is]})
	}
}

func (b *broker) device(t *testing.T, m maker) *fake {
	t.Helper()
	return device(t, b, m)
}

func device(t *testing.T, b wire, m maker) *fake {
	t.Helper()
	f := &fake{b: b}
	m(t, f)
	f.online(f, true)
	f.report()
	return f
}

// pulseTime converts a PulseTime of Tasmota.
func pulseTime(n int) time.Duration {
	if n < 112 {
		return time.Duration(n) * 100 * time.Millisecond
	}
	return time.Duration(n-100) * time.Second
}
