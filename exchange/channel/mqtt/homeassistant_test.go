package mqtt_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/remote/mqttclient"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/mess"
)

const shown = root + "h/kitchen-pi/"

// checkScenario is a scenario with a user of Home Assistant.
func checkScenario(h *harness, a *homeAssistant, d *devices, own bool) {
	h.Helper()
	a.listen(root+"x/status", root+"e/kitchen-pi/status", shown+"asks", shown+"works", shown+"image-fridge-camera", shown+"task", shown+"standing")
	all := a.config("all of it", func(c object) bool { return c["switch-porch-light"] != nil })
	want := []string{
		"cancel", "choose", "cover-blinds", "cover-garage-door", "image-fridge-camera", "lock-front-door", "no", "photo-fridge-camera", "standing", "stop",
		"switch-bell", "switch-garage", "switch-heater", "switch-porch-light", "task", "vacuum-robot", "write", "yes",
	}
	if got := slices.Sorted(maps.Keys(all["cmps"].(object))); !slices.Equal(got, want) {
		h.Errorf("entities %v, want %v", got, want)
	}
	a.wantShown(shown+"switch-porch-light", "OFF")
	h.eventually("the switch is available", func() bool { return a.available("switch-porch-light") })
	if a.available("yes") || a.available("cancel") {
		h.Error("the yes or cancel button is available without a task")
	}

	// a harmless command runs, and its state appears when the device reports it
	a.press("switch-porch-light", "payload_on")
	a.wantShown(shown+"switch-porch-light", "ON")
	d.lamp.set(false) // by hand
	a.wantShown(shown+"switch-porch-light", "OFF")
	a.press("switch-bell", "payload_on") // has no state readback
	h.eventually("the bell has rung", func() bool { return d.bell.did() == "on" })
	a.wantShown(shown+"switch-bell", "None")

	// a command that needs a confirmation asks, and no false state appears
	a.press("switch-heater", "payload_on")
	a.wantShown(shown+"task", `"state":"needs_confirmation"`)
	h.eventually("it can be answered", func() bool { return a.available("yes") })
	a.wantShown(shown+"switch-heater", "OFF")
	a.press("no", "payload_press")
	a.wantShown(shown+"task", `"state":"idle"`)
	a.press("switch-heater", "payload_on")
	a.wantShown(shown+"task", `"action":"turn on the heater"`)
	a.press("yes", "payload_press")
	a.wantShown(shown+"switch-heater", "ON")
	if got := d.heater.did(); got != "on" {
		h.Errorf("the heater was switched: %s", got)
	}

	// Home Assistant shows a confirmation of another actor and cannot give it
	a.press("switch-garage", "payload_on")
	a.wantShown(shown+"task", `"confirm_by":"operator"`)
	if a.available("yes") {
		h.Error("the yes button is available for a confirmation that needs an operator")
	}
	h.eventually("it can be taken back", func() bool { return a.available("cancel") })
	a.press("cancel", "payload_press")
	a.wantShown(shown+"task", `"status":"cancelled"`)
	if got := d.garage.did(); got != "" {
		h.Errorf("the garage was switched: %s", got)
	}

	checkVacuum(h, a, d)
	checkCovers(h, a, d)

	a.press("photo-fridge-camera", "payload_press")
	if r := a.waitForText("\xff\xd8\xff the fridge"); r.retained || r.topic != shown+"image-fridge-camera" {
		h.Errorf("%+v", r)
	}

	// A retained command has no effect. An external broker does not mark a new message as
	// retained.
	tap := `{"MESS":[{"request":{"intent":"turn off the heater","requires":[{"switch-off":{"executor":"kitchen-pi","devices":["heater"]}}]}}]}`
	a.publishWith(root+"a/homeassistant/out", tap, 0, own)
	if own {
		h.eventually("it is counted", func() bool { return h.adapter.Counts().Retained == 1 })
		if got := d.heater.did(); got != "on" {
			h.Errorf("a retained tap was obeyed: %s", got)
		}
	}

	// Home Assistant shows a stop after the executor reports it. Then the executor rejects
	// commands.
	a.press("stop", "payload_press")
	a.wantShown(shown+"standing", `"state":"stopped"`)
	a.press("switch-porch-light", "payload_on")
	a.wantShown(shown+"task", "to reset it, run on the host: messkit clear")
	if got := d.lamp.did(); got != "on" {
		h.Errorf("after the stop: %s", got)
	}
}

// checkVacuum is a scenario with the vacuum.
func checkVacuum(h *harness, a *homeAssistant, d *devices) {
	h.Helper()
	state := func(s string) { h.Helper(); a.wantShown(shown+"vacuum-robot", `{"state":`+s+`}`) }
	starts := func(capability string) {
		h.Helper()
		a.config("starts with "+capability, func(c object) bool {
			start, _ := c["vacuum-robot"].(object)["payload_start"].(string)
			return strings.Contains(start, capability)
		})
	}
	state(`"docked"`)
	a.press("vacuum-robot", "payload_start")
	state(`"cleaning"`)
	a.press("vacuum-robot", "payload_pause")
	state(`"paused"`)
	starts("resume-vacuum")
	a.press("vacuum-robot", "payload_start")
	state(`"cleaning"`)
	starts("vacuum-floor")
	a.press("vacuum-robot", "payload_stop")
	state(`"idle"`)
	a.press("vacuum-robot", "payload_return_to_base")
	state(`"docked"`)
	if got := d.robot.did(); got != "clean pause resume stop dock" {
		h.Errorf("the robot did %q", got)
	}
}

// checkCovers is a scenario with covers and locks: all but the blind need the confirmation of an
// operator.
func checkCovers(h *harness, a *homeAssistant, d *devices) {
	h.Helper()
	c := a.config("doors", func(c object) bool { return c["cover-garage-door"] != nil })["cmps"].(object)
	for key, want := range map[string]any{"cover-garage-door": "garage", "cover-blinds": "blind"} {
		if got := c[key].(object)["device_class"]; got != want {
			h.Errorf("%s is of class %v", key, got)
		}
	}
	a.wantShown(shown+"cover-garage-door", "closed")
	a.wantShown(shown+"lock-front-door", "unlocked")
	for _, one := range []struct{ entity, payload, is, will string }{
		{"cover-garage-door", "payload_open", "closed", "open"},
		{"cover-garage-door", "payload_close", "open", "closed"},
		{"lock-front-door", "payload_lock", "unlocked", "locked"},
		{"lock-front-door", "payload_unlock", "locked", "unlocked"},
	} {
		a.press(one.entity, one.payload)
		a.wantShown(shown+"task", `"confirm_by":"operator"`)
		if a.available("yes") || !a.shows(shown+one.entity, one.is) {
			h.Errorf("%s %s: without an operator's word", one.entity, one.payload)
		}
		h.confirm(a.task()["ref"].(string))
		a.wantShown(shown+one.entity, one.will)
		a.wantShown(shown+"task", `"state":"idle"`)
	}
	if got := d.door.did(); got != "open shut" {
		h.Errorf("the garage door did %q", got)
	}
	if stop := c["cover-blinds"].(object)["payload_stop"]; stop != nil {
		h.Errorf("the blinds stand, and can be stopped: %v", stop)
	}
	a.press("cover-blinds", "payload_open")
	a.wantShown(shown+"cover-blinds", "opening")
	a.press("cover-blinds", "payload_stop")
	a.wantShown(shown+"cover-blinds", "open")
	a.wantShown(shown+"task", `"status":"cancelled"`)
}

// confirm posts the confirmation of an operator.
func (h *harness) confirm(ref string) {
	h.Helper()
	h.send(exchange.Actor{ID: "anna", Roles: exchange.Operator}, "reply: {re: "+ref+", confirm: true}")
}

// send posts a message of an actor in this process.
func (h *harness) send(actor exchange.Actor, text string) {
	h.Helper()
	m, err := mess.Parse([]byte(text))
	if err != nil {
		h.Fatal(err)
	}
	if _, err := h.x.Post(h.Context(), exchange.Inbound{Actor: actor, Channel: "test", Message: m}); err != nil {
		h.Fatal(err)
	}
}

func (h *harness) enableHomeAssistant() *harness {
	h.home = true
	return h
}

// An executor in the exchange's own process, at the broker of its own, with a key
// for Home Assistant that may ask and no more.
func TestHomeAssistant(t *testing.T) {
	h := newHarness(t, func(c *exchange.Config) { c.States = true }).enableHomeAssistant()
	h.serve()
	d := h.runDevices("kitchen-pi", h.x.As(exchange.Actor{ID: "kitchen-pi", Roles: exchange.ExecutorRole}, "local"))
	checkScenario(h, h.connectHomeAssistant(h.key("homeassistant", exchange.Requester)), d, true)
}

// An executor at a broker elsewhere, and Home Assistant there.
func TestHomeAssistantAtExternalBroker(t *testing.T) {
	m := newHarness(t, func(c *exchange.Config) { c.States = true }).enableHomeAssistant().addMosquitto("allow_anonymous true\n")
	m.startAdapter(broker.Address{})
	c, err := mqttclient.New(mqttclient.Config{Address: broker.Address{URL: "mqtt://" + m.addr}, Executor: "kitchen-pi"}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	runUntilStopped(t, c.Run)
	d := m.runDevices("kitchen-pi", c)
	checkScenario(m.harness, m.connectHomeAssistant(""), d, false)
}
