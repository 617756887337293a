package httpdevice_test

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/httpdevice"
	"github.com/messkit/messkit/drivers/template"
	"github.com/messkit/messkit/internal/strictyaml"
)

// open opens a device like a program.
func open(yaml string) (drivers.Device, error) {
	env := drivers.Env{Name: "desk-lamp", Log: slog.New(slog.DiscardHandler), Now: time.Now, Shared: &drivers.Shared{}}
	return httpdevice.Open(env, func(out any) error { return strictyaml.Decode("home.yaml", []byte(yaml), out) })
}

func started(t *testing.T, yaml string) drivers.Device {
	t.Helper()
	d, err := open(yaml)
	if err == nil {
		err = d.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Halt() }) // the server may have closed
	return d
}

const login = "\nusername: admin\npassword: open sesame"

// families contains the templates of the program, each with a fake device.
var families = map[string]struct {
	device maker
	config string
	timer  time.Duration // timer value of the device for 90 s; 0 for a sensor
	reads  []drivers.Reading
}{
	"shelly-gen1": {shelly1, "", 90 * time.Second, []drivers.Reading{
		{Quantity: "power", Value: 12.5, Unit: "W"}, {Quantity: "energy", Value: 2.000004, Unit: "kWh"}, {Quantity: "signal", Value: -58, Unit: "dBm"},
	}},
	"shelly-gen2": {shelly2, "", 90 * time.Second, []drivers.Reading{
		{Quantity: "power", Value: 8.9, Unit: "W"},
		{Quantity: "voltage", Value: 230.1, Unit: "V"},
		{Quantity: "current", Value: 0.08, Unit: "A"},
		{Quantity: "energy", Value: 6.532, Unit: "kWh"},
		{Quantity: "device temperature", Value: 23.5, Unit: "°C"},
		{Quantity: "signal", Value: -66, Unit: "dBm"},
	}},
	"tasmota": {tasmota, login, 90 * time.Second, []drivers.Reading{
		{Quantity: "power", Value: 60, Unit: "W"},
		{Quantity: "energy", Value: 3.185, Unit: "kWh"},
		{Quantity: "voltage", Value: 231, Unit: "V"},
		{Quantity: "signal", Value: -63, Unit: "dBm"},
	}},
	"shelly-gen1-light": {shelly1Light, "", 90 * time.Second, []drivers.Reading{{Quantity: "signal", Value: -58, Unit: "dBm"}}},
	"shelly-gen2-light": {shelly2Light, "", 90 * time.Second, []drivers.Reading{{Quantity: "signal", Value: -66, Unit: "dBm"}}},
	"shelly-gen2-cct":   {shelly2White, "", 90 * time.Second, []drivers.Reading{{Quantity: "signal", Value: -66, Unit: "dBm"}}},
	"tasmota-light":     {tasmotaLight, login, 90 * time.Second, []drivers.Reading{{Quantity: "signal", Value: -63, Unit: "dBm"}}},
	"moonraker": {printing(moonraker), "\ntoken: " + key, 0, []drivers.Reading{
		{Quantity: "progress", Value: 25, Unit: "%"},
		{Quantity: "layer", Value: 60, Unit: "layers"},
		{Quantity: "layers in all", Value: 240, Unit: "layers"},
		{Quantity: "time printed", Value: 1200.25, Unit: "s"},
		{Quantity: "nozzle temperature", Value: 214.8, Unit: "°C"},
		{Quantity: "bed temperature", Value: 60.1, Unit: "°C"},
	}},
	"octoprint": {printing(octoprint), "\ntoken: " + key, 0, []drivers.Reading{
		{Quantity: "progress", Value: 22.5, Unit: "%"},
		{Quantity: "time left", Value: 912, Unit: "s"},
		{Quantity: "nozzle temperature", Value: 214.8821, Unit: "°C"},
		{Quantity: "bed temperature", Value: 50.221, Unit: "°C"},
	}},
	"prusalink": {printing(prusalink), "\ntoken: " + key, 0, []drivers.Reading{
		{Quantity: "progress", Value: 50, Unit: "%"},
		{Quantity: "time left", Value: 520, Unit: "s"},
		{Quantity: "time printed", Value: 526, Unit: "s"},
		{Quantity: "nozzle temperature", Value: 209.9, Unit: "°C"},
		{Quantity: "bed temperature", Value: 59.9, Unit: "°C"},
	}},
	"wled": {wled, "", 2 * time.Minute, []drivers.Reading{{Quantity: "signal", Value: -51, Unit: "dBm"}}},
}

// Each template has a fake device.
func TestEveryFamilyHasATest(t *testing.T) {
	names := template.Names(httpdevice.Families(), "")
	if len(names) == 0 {
		t.Fatal("no families")
	}
	for _, name := range names {
		_, ok := families[name]
		if _, moves := rollers[name]; !ok && !moves {
			t.Errorf("%s.yaml has no simulated device in this test", name)
		}
	}
}

func TestFamiliesConform(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, f.device)
			drivertest.Run(t, func(t *testing.T) drivers.Device {
				b.renew()
				d, err := open("family: " + name + "\nurl: " + b.URL + f.config)
				if err != nil {
					t.Fatal(err)
				}
				return d
			},
				drivertest.Safe(func() error {
					if b.device().is() {
						return errors.New("it is on")
					}
					return nil
				}),
				drivertest.Acts(func() int { return b.device().count() }),
				drivertest.Level(func() bool { return b.device().is() }),
				drivertest.Force(func(on bool) { b.device().force(on) }),
			)
		})
	}
}

// The driver sets the timer of the device to the limit of the safety policy, in the unit of
// the device.
func TestDeviceTimer(t *testing.T) {
	for name, f := range families {
		if f.timer == 0 {
			continue
		}
		b := newBench(t, f.device)
		d := started(t, "family: "+name+"\nsafe: keep\nurl: "+b.URL+f.config).(drivers.AutoOff)
		if err := d.SwitchFor(t.Context(), true, 90*time.Second); err != nil || !b.device().is() || b.device().lastTimer() != f.timer {
			t.Errorf("%s: on=%t, timer %v, want %v: %v", name, b.device().is(), b.device().lastTimer(), f.timer, err)
		}
		if err := d.Switch(t.Context(), true); err != nil || !b.device().is() || b.device().lastTimer() != 0 {
			t.Errorf("%s: without an end: on=%t, timer %v: %v", name, b.device().is(), b.device().lastTimer(), err)
		}
		if err := errors.Join(d.SwitchFor(t.Context(), true, 90*time.Second), d.Switch(t.Context(), false)); err != nil || b.device().is() || b.device().lastTimer() != 0 && !strings.HasPrefix(name, "shelly") {
			t.Errorf("%s: off: on=%t, timer %v: %v", name, b.device().is(), b.device().lastTimer(), err)
		}
		b.renew()
		if err := d.SwitchFor(t.Context(), true, 48*time.Hour); err != nil || !b.device().is() || b.device().lastTimer() != 0 {
			t.Errorf("%s: longer than its timer can be: on=%t, timer %v: %v", name, b.device().is(), b.device().lastTimer(), err)
		}
		if err := d.SwitchFor(t.Context(), false, time.Second); err != nil || b.device().is() {
			t.Errorf("%s: off: %v", name, err)
		}
	}
}

// If an earlier process has set a timer that stays in the device, the driver removes it
// before a switch-on without a time limit. It leaves a timer alone that another client has
// set.
func TestTimerOfEarlierProcess(t *testing.T) {
	b := newBench(t, tasmota)
	const config = "family: tasmota\nsafe: keep\ninitial: keep\nurl: "
	if err := started(t, config+b.URL+login).(drivers.AutoOff).SwitchFor(t.Context(), true, 90*time.Second); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		timerSet bool
		want     time.Duration
	}{{false, 90 * time.Second}, {true, 0}} {
		next := started(t, config+b.URL+login)
		if c.timerSet {
			next.(drivers.PersistentTimer).TimerMayBeSet()
		}
		if err := next.(drivers.Switch).Switch(t.Context(), true); err != nil || b.device().lastTimer() != c.want {
			t.Errorf("TimerMayBeSet called: %t: timer is %v, want %v: %v", c.timerSet, b.device().lastTimer(), c.want, err)
		}
	}
}

func TestReadings(t *testing.T) {
	for name, f := range families {
		b := newBench(t, f.device)
		got, err := started(t, "family: "+name+"\nsafe: keep\nurl: "+b.URL+f.config).(drivers.Sensor).Read(t.Context())
		if diff := cmp.Diff(f.reads, got, cmpopts.IgnoreFields(drivers.Reading{}, "At"), cmpopts.EquateApprox(0, 1e-9)); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

func TestLogsInByDigest(t *testing.T) {
	b := newBench(t, func(f *fake, w http.ResponseWriter, r *http.Request, body map[string]any) {
		if r.Header.Get("Authorization") == "" {
			w.Header().Set("WWW-Authenticate", `Digest qop="auth", realm="shellyplus1-a8032abe54dc", nonce="60dc2c18", algorithm=SHA-256`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if !strings.Contains(r.Header.Get("Authorization"), `username="admin"`) {
			t.Error(r.Header.Get("Authorization"))
		}
		shelly2(f, w, r, body)
	})
	d := started(t, "family: shelly-gen2\nsafe: keep\nurl: "+b.URL+login)
	if err := d.(drivers.Switch).Switch(t.Context(), true); err != nil || b.device().count() != 1 {
		t.Errorf("%d acts, %v", b.device().count(), err)
	}
}

func TestLevelsAtStartAndHalt(t *testing.T) {
	b := newBench(t, shelly2)
	d, err := open("family: shelly-gen2\ninitial: 'on'\nsafe: 'on'\nurl: " + b.URL)
	if err != nil || d.Start() != nil || !b.device().is() {
		t.Errorf("%v, on=%t", err, b.device().is())
	}
	b.device().force(false)
	if err := d.Halt(); err != nil || !b.device().is() {
		t.Errorf("%v, on=%t", err, b.device().is())
	}
	b.renew()
	d, err = open("family: shelly-gen2\nsafe: keep\nurl: " + b.URL)
	if err != nil || d.Start() != nil || d.Halt() != nil || b.device().requests() != "" {
		t.Errorf("%v, %s", err, b.device().requests())
	}
}

func TestConfigMistakes(t *testing.T) {
	for _, c := range []struct{ config, want string }{
		{"url: http://x", "family: is missing; known: moonraker, octoprint, prusalink, shelly-gen1, shelly-gen1-cover, shelly-gen1-light, shelly-gen2, shelly-gen2-cct, shelly-gen2-cover, shelly-gen2-light, tasmota, tasmota-light, wled"},
		{"url: http://x\nfamily: sonos", `family: "sonos" is unknown; known: moonraker`},
		{"url: http://x\nfamily: ../../etc/passwd", "is not a valid name"},
		{"url: http://x\nfamily: wled\nfamilies: /nonesuch", "families: stat /nonesuch"},
		{"url: http://x\nfamily: wled\nwith: {channel: 1}", `with: this family has no "channel"`},
		{"url: http://x\nfamily: shelly-gen1\nwith: {channel: 1/../2}", `with: channel: "1/../2" is invalid`},
		{"family: wled", "url: is missing"},
		{"family: wled\nurl: http://me:secret@x", "url: has a user name"},
		{"family: wled\nurl: http://x/?a=b", "url: has a query or a fragment"},
		{"family: wled\nurl: http://x\npassword: a", "username: is missing"},
		{"family: wled\nurl: http://x\npassword: a\npassword_file: b\nusername: u", "password_file: excludes password"},
		{"family: wled\nurl: http://x\ntoken_file: /nonesuch", "token_file: stat /nonesuch"},
		{"family: wled\nurl: http://x\nsafe: perhaps", `safe: "perhaps" is unknown`},
		{"family: wled\nurl: http://x\ntimeout: 2h", "timeout: 2h0m0s is not between 10ms and 1m0s"},
		{"family: wled\nurl: http://x\nurll: y", "urll: unknown key (did you mean url?)"},
	} {
		_, err := open(c.config)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), ":secret@") {
			t.Errorf("%q: %v", c.config, err)
		}
	}
}
