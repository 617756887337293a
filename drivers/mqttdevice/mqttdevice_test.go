package mqttdevice_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/mochi-mqtt/server/v2/hooks/auth"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/mqttdevice"
	"github.com/messkit/messkit/drivers/template"
	"github.com/messkit/messkit/internal/strictyaml"
)

func open(yaml string) (drivers.Device, error) { return openBeside(&drivers.Shared{}, yaml) }

// openBeside opens a device of a program that has other devices.
func openBeside(others *drivers.Shared, yaml string) (drivers.Device, error) {
	env := drivers.Env{Name: "desk-lamp", Log: slog.New(slog.DiscardHandler), Now: time.Now, Shared: others}
	return mqttdevice.Open(env, func(out any) error { return strictyaml.Decode("home.yaml", []byte(yaml), out) })
}

func started(t *testing.T, yaml string) drivers.Device {
	t.Helper()
	return startedBeside(t, &drivers.Shared{}, yaml)
}

func startedBeside(t *testing.T, others *drivers.Shared, yaml string) drivers.Device {
	t.Helper()
	d, err := openBeside(others, yaml)
	if err == nil {
		err = d.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Halt() }) // the broker may have closed
	return d
}

// families contains the templates of the program, each with a fake device.
var families = map[string]struct {
	device maker
	with   string
	timer  time.Duration // timer value of the device for 90 s; 0: no timer
	reads  []drivers.Reading
}{
	"tasmota": {tasmota, "{topic: plug}", 90 * time.Second, []drivers.Reading{
		{Quantity: "power", Value: 60, Unit: "W"},
		{Quantity: "energy", Value: 3.185, Unit: "kWh"},
		{Quantity: "voltage", Value: 231, Unit: "V"},
		{Quantity: "signal", Value: -63, Unit: "dBm"},
	}},
	"zigbee2mqtt": {zigbee, "{name: desk lamp}", 90 * time.Second, []drivers.Reading{
		{Quantity: "power", Value: 8.5, Unit: "W"}, {Quantity: "energy", Value: 1.25, Unit: "kWh"}, {Quantity: "link quality", Value: 120, Unit: "lqi"},
	}},
	"zigbee2mqtt-sensor": {sensor, "{name: window}", 0, []drivers.Reading{
		{Quantity: "temperature", Value: 19.5, Unit: "°C"}, {Quantity: "contact", Value: 1}, {Quantity: "battery", Value: 87, Unit: "%"},
	}},
	"shelly-gen1": {shelly1, "{id: shelly1pm-B929CC}", 0, []drivers.Reading{{Quantity: "power", Value: 12.5, Unit: "W"}}},
	"shelly-gen2": {shelly2, "{id: shellyplus1pm-a8}", 90 * time.Second, []drivers.Reading{
		{Quantity: "power", Value: 8.9, Unit: "W"}, {Quantity: "energy", Value: 6.532, Unit: "kWh"},
	}},
	"homie5":  {homie, "{device: hall, node: lamp, property: power}", 0, nil},
	"esphome": {esphome, "{prefix: pump, switch: main}", 0, nil},

	"tasmota-light":     {tasmotaLight, "{topic: lamp}", 90 * time.Second, nil},
	"zigbee2mqtt-light": {zigbeeLight, "{name: bulb}", 90 * time.Second, nil},
	"shelly-gen1-light": {shelly1Light, "{id: shellydimmer2-ED}", 0, nil},
	"shelly-gen2-light": {shelly2Light, "{id: shellydimmerg3-a8}", 90 * time.Second, nil},
	"esphome-light":     {esphomeLight, "{prefix: strip, light: led}", 0, nil},
	"homie5-light":      {homieLight, "{device: strip, node: lamp, power: power, brightness: level, colour: colour}", 0, nil},

	"tasmota-white":     {tasmotaWhite, "{topic: lamp}", 90 * time.Second, nil},
	"zigbee2mqtt-white": {zigbeeWhite, "{name: bulb}", 90 * time.Second, nil},
	"shelly-gen2-cct":   {shelly2White, "{id: shellyduo-a8}", 90 * time.Second, nil},
	"esphome-white":     {esphomeWhite, "{prefix: strip, light: led}", 0, nil},

	"tasmota-cover":     {tasmotaCover, "{topic: blind}", 0, closed},
	"zigbee2mqtt-cover": {zigbeeCover, "{name: blind}", 0, closed},
	"shelly-gen1-cover": {shelly1Cover, "{id: shellyswitch25-68}", 0, closed},
	"shelly-gen2-cover": {shelly2Cover, "{id: shellyplus2pm-a8}", 0, closed},
	"esphome-cover":     {esphomeCover, "{prefix: room, cover: blind}", 0, closed},
	"homie5-cover":      {homieCover, "{device: hall, node: blind, closed: \"100\"}", 0, closed},
}

// closed is the readings of a closed cover.
var closed = []drivers.Reading{{Quantity: "contact", Value: 1}, {Quantity: "opening", Value: 0, Unit: "%"}}

// shines reports whether a family is a lamp.
func shines(name string) bool {
	return strings.HasSuffix(name, "-light") || strings.HasSuffix(name, "-white") || strings.HasSuffix(name, "-cct")
}

// soon shortens the timeout for a device that does not answer.
func soon(config string) string { return strings.Replace(config, "timeout: 1m", "timeout: 3s", 1) }

func config(b *broker, name string) string { return at(b.address, name) }

func at(address, name string) string {
	return "family: " + name + "\nbroker: " + address + "\ntimeout: 1m\nwith: " + families[name].with + "\n"
}

// Each template has a fake device.
func TestEveryFamilyHasATest(t *testing.T) {
	names := template.Names(mqttdevice.Families(), "")
	page, err := os.ReadFile("../../docs/drivers/mqttdevice.md")
	if err != nil || len(names) == 0 {
		t.Fatal(len(names), err)
	}
	for _, name := range names {
		var one mqttdevice.Template
		if err := template.Load(mqttdevice.Families(), "", name, &one); err != nil {
			t.Fatal(err)
		}
		if _, ok := families[name]; !ok || one.About == "" || !strings.HasPrefix(one.Docs, "https://") || !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("%s.yaml has no simulated device here, lacks about or docs, or is not in docs/drivers/mqttdevice.md", name)
		}
	}
}

func TestFamiliesConform(t *testing.T) {
	for name, one := range families {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "tasmota" && name != "esphome" {
				t.Skip("one device that answers questions and one that does not are enough for a short test")
			}
			if shines(name) && name != "esphome-light" && name != "shelly-gen2-cct" {
				t.Skip("of lamps, too; TestLamps has them all")
			}
			b := newBroker(t, nil)
			f := b.device(t, one.device)
			if strings.HasSuffix(name, "-cover") {
				t.Skip("TestCoversConform has them")
			}
			if one.timer == 0 && one.reads != nil && name != "shelly-gen1" {
				t.Skip("a sleeping sensor answers no question; it has tests of its own")
			}
			drivertest.Run(t, func(t *testing.T) drivers.Device {
				f.force(false)
				d, err := open(config(b, name))
				if err != nil {
					t.Fatal(err)
				}
				return d
			},
				drivertest.Safe(func() error {
					if f.is() {
						return errors.New("it is on")
					}
					return nil
				}),
				drivertest.Acts(f.count), drivertest.Level(f.is), drivertest.Force(f.force),
			)
			if len(b.retained) != 0 {
				t.Errorf("commands were sent to be kept, and would act again: %q", b.retained)
			}
		})
	}
}

func TestDeviceTimer(t *testing.T) {
	for name, one := range families {
		b := newBroker(t, nil)
		f := b.device(t, one.device)
		d := started(t, config(b, name)+"safe: keep")
		a, timed := d.(drivers.AutoOff)
		if timed != (one.timer > 0) {
			t.Errorf("%s: a timer of its own: %t", name, timed)
		}
		if !timed {
			continue
		}
		if err := a.SwitchFor(t.Context(), true, 90*time.Second); err != nil || !f.is() || f.lastTimer() != one.timer {
			t.Errorf("%s: on=%t, timer %v, %v", name, f.is(), f.lastTimer(), err)
		}
		if err := a.Switch(t.Context(), true); err != nil || !f.is() || f.lastTimer() != 0 {
			t.Errorf("%s: without an end: on=%t, timer %v, %v", name, f.is(), f.lastTimer(), err)
		}
	}
}

func TestReadings(t *testing.T) {
	for name, one := range families {
		b := newBroker(t, nil)
		f := b.device(t, one.device)
		s, ok := started(t, config(b, name)+"safe: keep").(drivers.Sensor)
		if ok != (one.reads != nil) {
			t.Errorf("%s: measures: %t", name, ok)
		}
		if !ok {
			continue
		}
		from := time.Now()
		var got []drivers.Reading
		err := errors.New("none")
		for i := 0; err != nil && i < 5; i++ { // messages before the subscription get lost
			f.report()
			got, err = s.Read(t.Context())
		}
		if diff := cmp.Diff(one.reads, got, cmpopts.IgnoreFields(drivers.Reading{}, "At"), cmpopts.EquateApprox(0, 1e-9)); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
		for _, r := range got {
			if r.At.Before(from) {
				t.Errorf("%s: %s is of %v", name, r.Quantity, r.At)
			}
		}
	}
}

// A sensor without a message has no reading, and a reading has the time of its message.
func TestSleepingSensor(t *testing.T) {
	b := newBroker(t, nil)
	f := b.device(t, sensor)
	b.device(t, sensor) // publishes that the bridge is online
	s := started(t, config(b, "zigbee2mqtt-sensor")).(drivers.Sensor)
	_, err := s.Read(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the device has sent no measurement since messkit listens") {
		t.Error(err)
	}
	f.report()
	first, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Read(t.Context())
	if err != nil || !second[0].At.Equal(first[0].At) {
		t.Errorf("%v, then %v, %v", first[0].At, second[0].At, err)
	}
}

// A caller that waits for a sensor need not poll. A device that needs questions has no
// change events, because each question would be one.
func TestChanges(t *testing.T) {
	b := newBroker(t, nil)
	f := b.device(t, sensor)
	s := started(t, config(b, "zigbee2mqtt-sensor")).(drivers.Notifier)
	changed := s.Changes()
	if changed == nil {
		t.Fatal("Changes = nil, want a channel")
	}
	f.report()
	<-changed
	if plug := started(t, config(b, "tasmota")+"safe: keep").(drivers.Notifier); plug.Changes() != nil {
		t.Error("a plug that needs questions reports changes, want none")
	}
}

func TestDeviceThatDoesNotObey(t *testing.T) {
	t.Parallel()
	b := newBroker(t, nil)
	f := b.device(t, shelly2)
	d := started(t, soon(config(b, "shelly-gen2"))+"safe: keep")
	f.wrong = true
	err := d.(drivers.Switch).Switch(t.Context(), true)
	if err == nil || errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "the command was on=true, but the device reports on=false") {
		t.Error(err)
	}
	f.mu.Lock()
	f.deaf = true
	f.mu.Unlock()
	err = d.(drivers.Switch).Switch(t.Context(), true)
	if err == nil || errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "does not report whether it has executed the command") {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := d.(drivers.Switch).Switch(ctx, true); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// A retained state from before the command is no evidence for it.
func TestRetainedStateIsNoEvidence(t *testing.T) {
	t.Parallel()
	b := newBroker(t, nil)
	f := b.device(t, esphome)
	d := started(t, soon(config(b, "esphome"))+"safe: keep")
	f.mu.Lock()
	f.deaf = true
	f.mu.Unlock()
	err := d.(drivers.Switch).Switch(t.Context(), true)
	if err == nil || errors.Is(err, drivers.ErrNothingDone) || f.is() {
		t.Errorf("on=%t, %v", f.is(), err)
	}
}

// The password is only in the login.
func TestLogsIn(t *testing.T) {
	b := newBroker(t, &auth.Ledger{Auth: auth.AuthRules{{Username: "messkit", Password: "open sesame", Allow: true}}})
	b.device(t, tasmota)
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("open sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := started(t, config(b, "tasmota")+"username: messkit\npassword_file: "+file)
	if err := d.(drivers.Switch).Switch(t.Context(), true); err != nil {
		t.Error(err)
	}
	wrong, err := open(config(b, "tasmota") + "username: messkit\npassword: close sesame")
	if err != nil {
		t.Fatal(err)
	}
	if err := wrong.Start(); err == nil || strings.Contains(err.Error(), "sesame") || !strings.Contains(err.Error(), "check username and password") {
		t.Error(err)
	}
}

func TestConfigMistakes(t *testing.T) {
	for _, c := range []struct{ config, want string }{
		{"family: tasmota\nwith: {topic: a}", "broker: is missing"},
		{"family: tasmota\nbroker: http://x\nwith: {topic: a}", "broker: is not an address"},
		{"family: tasmota\nbroker: mqtt://me:secret@x\nwith: {topic: a}", "broker: has a user name"},
		{"family: tasmota\nbroker: mqtt://x", "with: topic is missing: the device's own topic"},
		{"family: tasmota\nbroker: mqtt://x\nwith: {topic: 'a/#'}", `with: topic: "a/#" is invalid`},
		{"family: zigbee2mqtt\nbroker: mqtt://x\nwith: {name: 'a+'}", `with: name: "a+" is invalid`},
		{"family: tasmoto\nbroker: mqtt://x", `family: "tasmoto" is unknown; known: esphome, esphome-cover, esphome-light, esphome-white, homie5`},
		{"family: tasmota\nbroker: mqtt://x\nwith: {topic: a}\nclient_id: a/b", "client_id: \"a/b\" has a blank, +, # or /"},
		{"family: tasmota\nbroker: mqtt://x\nwith: {topic: a}\npassword: p", "username: is missing"},
		{"family: tasmota\nbroker: mqtt://x\nwith: {topic: a}\nsafe: dim", `safe: "dim" is unknown`},
		{"family: tasmota\nbroker: mqtt://x\nwith: {topic: a}\ntopic: b", "topic: unknown key"},
	} {
		if _, err := open(c.config); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%q: %v", c.config, err)
		}
	}
}

func TestOwnFamilyMistakes(t *testing.T) {
	dir := t.TempDir()
	const text = `
availability: {topic: "a/#"}
switch:
  on: [{topic: "a/{b}", payload: x, json: {y: 1}}]
  off: [{topic: a, payload: "{c}"}]
readings:
  - {topic: b}
  - {topic: b, quantity: flow, unit: bananas, value: a..b}
  - {topic: b, quantity: flow}
  - {topic: b, quantity: temperature}
`
	if err := os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := open("family: bad\nbroker: mqtt://x\nfamilies: " + dir + "\nsafe: dim")
	for _, want := range []string{
		`availability.topic: "a/#" is not a topic`, "switch.on: has payload and json", "switch.off: {c} has no value", "switch: state is missing", "readings[0].quantity: is missing",
		`bad.yaml:8: readings[1].unit: "bananas" is unknown`, `bad.yaml:8: readings[1].value: "a..b" has a dot`, `bad.yaml:9: readings[2].quantity: "flow" is also the quantity of readings[1]`,
		"bad.yaml:10: readings[3].unit: is missing; the units of temperature are °C", "home.yaml:4: safe: ",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
}

// A timer without a time, a lamp without a brightness: a template must use the values of
// its messages. The error names the message.
func TestOwnFamilyWithoutItsValue(t *testing.T) {
	dir := t.TempDir()
	const text = `switch:
  on:
    - {topic: a, payload: on}
    - {topic: a, payload: "{who}"}
  off: [{topic: a, payload: off}]
  state: {topic: b, ask: {topic: c}}
  on_for: {unit: 1s, max: 1h, messages: [{topic: a, payload: on}]}
  dim: {messages: [{topic: a, payload: half}], full: 100, state: {topic: b}}
`
	if err := os.WriteFile(filepath.Join(dir, "deaf.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := open("family: deaf\nbroker: mqtt://x\nfamilies: " + dir)
	for _, want := range []string{
		"deaf.yaml:4: switch.on[1]: {who} has no value", "deaf.yaml:7: switch.on_for.messages: the message does not contain the value for the device; write {for}",
		"deaf.yaml:8: switch.dim.messages: the message does not contain the value for the device",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
}
