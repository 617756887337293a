package mqtt_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/mess"
)

// plug is a device that keeps its own log.
type plug struct {
	mu  sync.Mutex
	on  bool
	log []string
}

func (r *plug) Name() string                 { return "plug" }
func (r *plug) SetName(string)               {}
func (r *plug) Connection() gobot.Connection { return nil }
func (r *plug) Start() error                 { return nil }
func (r *plug) Halt() error                  { r.set(false); return nil }

func (r *plug) set(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on = on
}

func (r *plug) Switch(_ context.Context, on bool) error {
	r.set(on)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, map[bool]string{true: "on", false: "off"}[on])
	return nil
}

func (r *plug) On(context.Context) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.on, nil
}

func (r *plug) did() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.log, " ")
}

// blind is a relay that cannot be read back.
type blind struct{ plug *plug }

func (b blind) Name() string                              { return "blind" }
func (b blind) SetName(string)                            {}
func (b blind) Connection() gobot.Connection              { return nil }
func (b blind) Start() error                              { return nil }
func (b blind) Halt() error                               { return nil }
func (b blind) Switch(ctx context.Context, on bool) error { return b.plug.Switch(ctx, on) }
func (b *camera) Name() string                            { return "camera" }
func (b *camera) SetName(string)                          {}
func (b *camera) Connection() gobot.Connection            { return nil }
func (b *camera) Start() error                            { return nil }
func (b *camera) Halt() error                             { return nil }
func (b *camera) Photo(context.Context) (drivers.Photo, error) {
	return drivers.Photo{Data: []byte("\xff\xd8\xff the fridge"), MIME: "image/jpeg", CapturedAt: time.Now()}, nil
}

type camera struct{}

// robot cleans until it is told to end.
type robot struct {
	camera
	mu     sync.Mutex
	docked bool
	goes   chan struct{}
}

func (r *robot) Clean(ctx context.Context, _ []string, _ func(drivers.Progress)) (drivers.Outcome, error) {
	r.mu.Lock()
	r.docked = false
	r.mu.Unlock()
	select {
	case <-r.goes:
		return drivers.Outcome{}, nil
	case <-ctx.Done():
		return drivers.Outcome{}, ctx.Err()
	}
}

func (r *robot) Dock(context.Context) error { return nil }

// Photo hides the camera's: a robot has no eye.
func (r *robot) Photo() {}

func (r *robot) Docked(context.Context) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.docked, nil
}

// devices of the board that Home Assistant finds.
type devices struct {
	lamp, heater, garage, bell *plug
	robot                      *robot
}

// board runs a real agent over a way to the exchange.
func (h *house) board(id string, x agent.Exchange) *devices {
	h.Helper()
	d := &devices{&plug{}, &plug{}, &plug{}, &plug{}, &robot{docked: true, goes: make(chan struct{})}}
	thing := func(name, class string, risk capabilities.Risk, dev drivers.Device) agent.Thing {
		return agent.Thing{Device: capabilities.Device{Name: name, Class: class, Risk: risk}, Driver: dev}
	}
	things := []agent.Thing{
		thing("porch-light", "light", "", d.lamp), thing("heater", "plug", "", d.heater), thing("garage", "light", capabilities.RiskAccess, d.garage),
		thing("bell", "plug", capabilities.RiskComfort, blind{d.bell}), thing("fridge-camera", "camera", "", &camera{}), thing("robot", "vacuum", capabilities.RiskComfort, d.robot),
	}
	cfg := gate.DefaultConfig()
	cfg.Confirm = map[capabilities.Risk]gate.Confirm{capabilities.RiskAppliance: gate.Requester}
	cfg.Risks = map[string]capabilities.Risk{"garage": capabilities.RiskAccess}
	var list []agent.Device
	for _, t := range things {
		list = append(list, agent.Device{Name: t.Name, Driver: t.Driver})
	}
	j, err := journal.Open(h.TempDir())
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = j.Close() })
	a := agent.DefaultConfig()
	a.ID, a.Heartbeat, a.Fit = id, time.Second, nil
	ag := agent.New(a, x, agent.NewHome(capabilities.Default(), things), list, gate.New(cfg, time.Now, quiet), j, time.Now, quiet)
	runs(h.T, ag.Run)
	return d
}

// documented are the keys of each platform that a device payload may have, from
// Home Assistant's pages on its MQTT integration and its platforms.
var documented = map[string][]string{
	"switch": {"command_topic", "payload_on", "payload_off", "state_topic", "state_on", "state_off", "value_template"},
	"image":  {"image_topic", "content_type"},
	"button": {"command_topic", "payload_press"},
	"vacuum": {"command_topic", "payload_start", "payload_return_to_base", "state_topic", "supported_features"},
	"sensor": {"state_topic", "value_template", "json_attributes_topic", "device_class", "options"},
	"":       {"p", "unique_id", "name", "icon", "qos", "retain", "availability", "availability_mode"},
	"root":   {"dev", "o", "cmps", "availability", "availability_mode", "qos"},
	"dev":    {"identifiers", "name", "manufacturer", "model", "sw_version"},
	"o":      {"name", "sw_version"},
}

// assistant acts as Home Assistant: it knows nothing but what it reads.
type assistant struct {
	*peer
	id string // of the discovery topic
}

// assists connects as Home Assistant does: with a birth, a will and the filters of
// its discovery.
func (h *house) assists(key string) *assistant {
	h.Helper()
	o := as{id: "homeassistant", will: "homeassistant/status"}
	if key != "" {
		o.user, o.key = "homeassistant", key
	}
	p := h.connect(o).hears("homeassistant/status", "homeassistant/device/+/config", "homeassistant/switch/+/+/config")
	p.says("homeassistant/status", "online")
	return &assistant{p, "kitchen-pi"}
}

// object is a mapping of JSON.
type object = map[string]any

// config waits for a device payload in which something holds, and checks it
// against what is documented.
func (a *assistant) config(what string, ok func(object) bool) object {
	a.h.Helper()
	var all object
	a.waits("a device payload: "+what, func(r received) bool {
		if r.topic != "homeassistant/device/"+a.id+"/config" || json.Unmarshal([]byte(r.text), &all) != nil {
			return false
		}
		return a.latest(r.topic) == r.text && ok(all["cmps"].(object))
	})
	a.check("root", all, documented["root"])
	a.check("dev", all["dev"].(object), documented["dev"])
	a.check("o", all["o"].(object), documented["o"])
	if all["dev"].(object)["identifiers"] == nil || all["o"].(object)["name"] == nil {
		a.h.Errorf("what must be there is missing: %v %v", all["dev"], all["o"])
	}
	ids := map[any]bool{}
	for key, c := range all["cmps"].(object) {
		c := c.(object)
		platform, _ := c["p"].(string)
		known, is := documented[platform]
		if !is || platform == "" {
			a.h.Errorf("%s: platform %q", key, platform)
		}
		a.check(key, c, slices.Concat(known, documented[""]))
		if c["unique_id"] == nil || ids[c["unique_id"]] {
			a.h.Errorf("%s: unique_id %v", key, c["unique_id"])
		}
		ids[c["unique_id"]] = true
		if t, has := c["command_topic"]; has && (t != root+"a/homeassistant/out" || c["retain"] != false) {
			a.h.Errorf("%s: commands go to %v, retained %v", key, t, c["retain"])
		}
	}
	return all
}

func (a *assistant) check(where string, o object, known []string) {
	a.h.Helper()
	for key := range o {
		if !slices.Contains(known, key) {
			a.h.Errorf("%s: %s is not documented", where, key)
		}
	}
}

// latest is what stands at a topic.
func (a *assistant) latest(topic string) string {
	got := a.got
	for _, r := range slices.Backward(got) {
		if r.topic == topic {
			return r.text
		}
	}
	return ""
}

// sees waits until an entity shows something.
func (a *assistant) sees(topic, want string) {
	a.h.Helper()
	a.hears(topic)
	a.waits(topic+" shows "+want, func(received) bool { return a.shows(topic, want) })
}

func (a *assistant) shows(topic, want string) bool {
	text := a.latest(topic)
	return text == want || strings.Contains(text, want) && strings.HasPrefix(text, "{")
}

// press has an entity send one of its payloads.
func (a *assistant) press(key, field string) {
	a.h.Helper()
	c := a.config("can press "+key, func(cmps object) bool {
		c, ok := cmps[key].(object)
		text, _ := c[field].(string)
		return ok && text != ""
	})["cmps"].(object)[key].(object)
	a.publishes(c["command_topic"].(string), c[field].(string), byte(c["qos"].(float64)), c["retain"].(bool))
}

// available evaluates an entity's availability as Home Assistant does, with the
// templates that there are.
func (a *assistant) available(key string) bool {
	a.h.Helper()
	all := a.config("has "+key, func(c object) bool { return c[key] != nil })
	list, own := all["cmps"].(object)[key].(object)["availability"].([]any)
	if !own {
		list = all["availability"].([]any)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range list {
		o := one.(object)
		text := a.latest(o["topic"].(string))
		var v struct{ State string }
		_ = json.Unmarshal([]byte(text), &v) // then it is not there
		switch t, _ := o["value_template"].(string); t {
		case "":
		case "{{ 'online' if value_json.state == 'ready' else 'offline' }}":
			text = map[bool]string{true: "online", false: "offline"}[v.State == "ready"]
		case "{{ 'offline' if value_json.state in ['lost', 'disconnected'] else 'online' }}":
			text = map[bool]string{false: "online", true: "offline"}[v.State == "lost" || v.State == "disconnected" || v.State == ""]
		default:
			a.h.Errorf("an unknown template: %s", t)
		}
		if text != "online" {
			return false
		}
	}
	return true
}

const shown = root + "h/kitchen-pi/"

// story is what somebody does at Home Assistant.
func story(h *house, a *assistant, d *devices, own bool) {
	h.Helper()
	a.hears(root+"x/status", root+"e/kitchen-pi/status", shown+"asks", shown+"works", shown+"image-fridge-camera", shown+"task", shown+"standing")
	all := a.config("all of it", func(c object) bool { return c["switch-porch-light"] != nil })
	want := []string{
		"cancel", "image-fridge-camera", "no", "photo-fridge-camera", "standing", "stop", "switch-bell", "switch-garage", "switch-heater",
		"switch-porch-light", "task", "vacuum-robot", "yes",
	}
	if got := slices.Sorted(maps.Keys(all["cmps"].(object))); !slices.Equal(got, want) {
		h.Errorf("entities %v, want %v", got, want)
	}
	a.sees(shown+"switch-porch-light", "OFF")
	h.eventually("the switch is available", func() bool { return a.available("switch-porch-light") })
	if a.available("yes") || a.available("cancel") {
		h.Error("there is nothing to answer, and nothing to cancel")
	}

	// What is harmless is done, and shown when the device says so.
	a.press("switch-porch-light", "payload_on")
	a.sees(shown+"switch-porch-light", "ON")
	d.lamp.set(false) // by hand
	a.sees(shown+"switch-porch-light", "OFF")
	a.press("switch-bell", "payload_on") // cannot be read back
	h.eventually("the bell has rung", func() bool { return d.bell.did() == "on" })
	a.sees(shown+"switch-bell", "None")

	// What needs a yes asks, and nothing is shown that is not so.
	a.press("switch-heater", "payload_on")
	a.sees(shown+"task", `"state":"needs_confirmation"`)
	h.eventually("it can be answered", func() bool { return a.available("yes") })
	a.sees(shown+"switch-heater", "OFF")
	a.press("no", "payload_press")
	a.sees(shown+"task", `"state":"idle"`)
	a.press("switch-heater", "payload_on")
	a.sees(shown+"task", `"action":"turn on the heater"`)
	a.press("yes", "payload_press")
	a.sees(shown+"switch-heater", "ON")
	if got := d.heater.did(); got != "on" {
		h.Errorf("the heater was switched: %s", got)
	}

	// What needs another's word is shown, and Home Assistant cannot give it.
	a.press("switch-garage", "payload_on")
	a.sees(shown+"task", `"confirm_by":"operator"`)
	if a.available("yes") {
		h.Error("it may answer what needs an operator")
	}
	h.eventually("it can be taken back", func() bool { return a.available("cancel") })
	a.press("cancel", "payload_press")
	a.sees(shown+"task", `"status":"cancelled"`)
	if got := d.garage.did(); got != "" {
		h.Errorf("the garage was switched: %s", got)
	}

	a.press("vacuum-robot", "payload_start")
	a.sees(shown+"vacuum-robot", `{"state":"cleaning"}`)
	close(d.robot.goes)
	a.sees(shown+"vacuum-robot", `{"state":null}`)

	a.press("photo-fridge-camera", "payload_press")
	if r := a.has("\xff\xd8\xff the fridge"); r.retained || r.topic != shown+"image-fridge-camera" {
		h.Errorf("%+v", r)
	}

	// A retained tap is none. A broker elsewhere does not say of what is published
	// now that it is to stay.
	tap := `{"MESS":[{"request":{"intent":"turn off the heater","requires":[{"switch-off":{"executor":"kitchen-pi","devices":["heater"]}}]}}]}`
	a.publishes(root+"a/homeassistant/out", tap, 0, own)
	if own {
		h.eventually("it is counted", func() bool { return h.door.Counts().Retained == 1 })
		if got := d.heater.did(); got != "on" {
			h.Errorf("a retained tap was obeyed: %s", got)
		}
	}

	// A stop is shown as one when the executor says so, and then nothing goes on.
	a.press("stop", "payload_press")
	a.sees(shown+"standing", `"state":"stopped"`)
	a.press("switch-porch-light", "payload_on")
	a.sees(shown+"task", "until a person at the place clears it")
	if got := d.lamp.did(); got != "on" {
		h.Errorf("after the stop: %s", got)
	}
}

func (h *house) withHome() *house {
	h.home = true
	return h
}

// An executor in the exchange's own process, at the broker of its own, with a key
// for Home Assistant that may ask and no more.
func TestHomeAssistant(t *testing.T) {
	h := made(t, func(c *exchange.Config) { c.States = true }).withHome()
	h.addr = "127.0.0.1:0"
	h.serve()
	d := h.board("kitchen-pi", h.x.As(exchange.Actor{ID: "kitchen-pi", Roles: exchange.ExecutorRole}, "local"))
	story(h, h.assists(h.key("homeassistant", exchange.Requester)), d, true)
}

// An executor at a broker elsewhere, and Home Assistant there.
func TestHomeAssistantElsewhere(t *testing.T) {
	m := made(t, func(c *exchange.Config) { c.States = true }).withHome().elsewhere("allow_anonymous true\n")
	m.enter(broker.Address{})
	c, err := remote.NewMQTT(remote.MQTTConfig{Address: broker.Address{URL: "mqtt://" + m.addr}, Executor: "kitchen-pi"}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	runs(t, c.Run)
	d := m.board("kitchen-pi", c)
	story(m.house, m.assists(""), d, false)
}

// Who comes and goes: what is lost is unavailable, what has lost a device shows it
// no more, what has gone for good is cleared, and Home Assistant's birth brings
// everything again.
func TestHomeAssistantSeesWhoIsThere(t *testing.T) {
	h := made(t, func(c *exchange.Config) { c.States = true }).withHome()
	h.addr = "127.0.0.1:0"
	h.serve()
	a := h.assists("")
	a.id = "pi"
	a.hears(root+"x/status", root+"e/pi/status", root+"h/pi/task")
	pi := h.pi("pi")
	a.config("its camera", func(c object) bool { return c["image"] != nil })
	h.eventually("it is available", func() bool { return a.available("image") })
	pi.says(root+"e/pi/out", `{"id":"reg2","MESS":[{"config":{"executor":{"id":"pi","capabilities":["switch-on","switch-off"],"versions":["1.1.0"],"holding":[]}}}]}`)
	a.waits("the image is taken out", func(r received) bool {
		return strings.Contains(r.text, `"image":{"p":"image"}`)
	})
	a.config("a relay and no camera", func(c object) bool { return c["switch"] != nil && c["image"] == nil })
	pi.says(root+"e/pi/status", `{"state":"lost","epoch":5}`)
	h.eventually("it is unavailable", func() bool { return !a.available("switch") && a.available("stop") })
	n := a.countOf("homeassistant/device/pi/config")
	a.says("homeassistant/status", "offline")
	a.says("homeassistant/status", "online")
	h.eventually("it is published again", func() bool { return a.countOf("homeassistant/device/pi/config") > n })
	pi.publishes(root+"e/pi/status", "", 1, true)
	h.eventually("it is cleared", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.latest("homeassistant/device/pi/config") == "" && a.latest(root+"h/pi/task") == ""
	})
}

// countOf is how often something has come on a topic.
func (p *peer) countOf(topic string) (n int) {
	for _, r := range p.all() {
		if r.topic == topic {
			n++
		}
	}
	return n
}

// An id that MQTT has no topic for is shown all the same, and two never as one.
func TestHomeAssistantAndIDs(t *testing.T) {
	h := made(t, func(c *exchange.Config) { c.States = true }).withHome()
	h.addr = "127.0.0.1:0"
	h.serve()
	a := h.assists("")
	for _, id := range []string{"Kitchen.Pi", "Kitchen_Pi", "Kitchen-Pi"} {
		who := exchange.Actor{ID: id, Roles: exchange.ExecutorRole | exchange.Requester}
		m, err := mess.Parse([]byte("config: {executor: {id: " + id + ", capabilities: [take-photo]}}"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.x.Post(t.Context(), exchange.Inbound{Actor: who, Channel: "test", Message: m}); err != nil {
			t.Fatal(err)
		}
	}
	h.eventually("three devices", func() bool {
		seen := map[string]bool{}
		for _, r := range a.all() {
			if strings.HasPrefix(r.topic, "homeassistant/device/") {
				seen[r.topic] = true
			}
		}
		return len(seen) == 3 && seen["homeassistant/device/Kitchen_Pi/config"] && seen["homeassistant/device/Kitchen-Pi/config"]
	})
	for _, r := range a.all() {
		if id := strings.Split(r.topic, "/"); len(id) == 4 && strings.Trim(id[2], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("%s cannot be a topic of Home Assistant", r.topic)
		}
	}
	a.id = "Kitchen_Pi"
	a.hears(root+"x/status", root+"h/Kitchen_Pi/status")
	h.eventually("it is available", func() bool { return a.available("image") })
}

// hung is a store that does not come back from a thread that is created.
type hung struct {
	exchange.Store
	hangs chan struct{}
}

func (s hung) Create(ctx context.Context, c exchange.Create) (exchange.Thread, error) {
	select {
	case <-s.hangs:
	case <-ctx.Done():
		return exchange.Thread{}, ctx.Err()
	}
	return s.Store.Create(ctx, c)
}

// A stop does not wait behind the taps before it, whatever the store does.
func TestAStopWaitsForNoTap(t *testing.T) {
	for name, outside := range map[string]bool{"embedded": false, "elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			store := hung{exchange.NewMemory(), make(chan struct{})}
			h := madeOver(t, store, func(c *exchange.Config) { c.States = true }).withHome()
			if outside {
				m := h.elsewhere("allow_anonymous true\n")
				m.enter(broker.Address{})
			} else {
				h.addr = "127.0.0.1:0"
				h.serve()
			}
			defer close(store.hangs)
			m, err := mess.Parse([]byte("config: {executor: {id: pi, capabilities: [take-photo]}}"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.x.Post(t.Context(), exchange.Inbound{Actor: exchange.Actor{ID: "pi", Roles: exchange.ExecutorRole}, Channel: "test", Message: m}); err != nil {
				t.Fatal(err)
			}
			a := h.assists("")
			a.id = "pi"
			for range 5 {
				a.press("photo", "payload_press")
			}
			a.press("stop", "payload_press")
			h.eventually("the stop is passed on", func() bool { return len(h.x.Executors()[0].Stopping) == 1 })
		})
	}
}
