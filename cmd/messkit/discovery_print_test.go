package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/all"
	network "github.com/messkit/messkit/drivers/discovery"
	"github.com/messkit/messkit/internal/cli/doctor"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config/discovery"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/internal/test/freeport"
)

// discovered returns a discovered device of a built-in driver.
func discovered(t *testing.T, kind, name, where string, config map[string]string) discovery.Discovered {
	t.Helper()
	k, err := drivers.NewRegistry(all.Kinds()).Lookup(kind)
	if err != nil {
		t.Fatal(err)
	}
	return discovery.Discovered{FoundDevice: drivers.FoundDevice{Name: name, Where: where, Config: config}, Kind: k}
}

// The discovered devices form a valid configuration. Names are unique, devices that act have a
// lockout, and a device that needs more settings is a comment that names them.
func TestDiscoveryWritesValidConfiguration(t *testing.T) {
	list := []discovery.Discovered{
		discovered(t, "sim-camera", "cam", "a camera\nrogue: {driver: exec}", map[string]string{"room": "porch"}),
		discovered(t, "sim-camera", "cam", "another", map[string]string{"room": "fridge"}),
		discovered(t, "sim-bulb", "lamp", "a lamp", map[string]string{}),
		discovered(t, "httpcam", "odd", "a camera without an address", map[string]string{"url": "ftp://x"}),
		discovered(t, "homeassistant", "", "a Home Assistant at 192.168.1.7", nil),
	}
	var out bytes.Buffer
	n, err := discovery.PrintFound(&out, list)
	if err != nil || n != 3 {
		t.Fatalf("%d, %v", n, err)
	}
	head, rest, _ := strings.Cut(out.String(), "  # a camera without an address; it needs more: ")
	want := `# a Home Assistant at 192.168.1.7 (driver: homeassistant)
devices:
  # a camera rogue: {driver: exec}
  cam:
    driver: sim-camera
    room: porch
  # another
  cam-2:
    driver: sim-camera
    room: fridge
  # a lamp; it acts: check what it switches, then remove limits
  lamp:
    driver: sim-bulb
    limits:
      locked: true
`
	if d := diff.Diff(want, head); d != "" {
		t.Error(d)
	}
	for i, l := range strings.Split(strings.TrimSpace(rest), "\n")[1:] {
		if !strings.HasPrefix(l, "  # ") {
			t.Errorf("line %d is no comment: %q", i, l)
		}
	}
	name := filepath.Join(t.TempDir(), "found.yaml")
	text, n, err := (&doctor.Beginning{ID: "b"}).Text(name, list, []discovery.FoundBroker{{URL: "mqtt://127.0.0.1:1883", Name: ""}, {URL: "mqtts://192.168.1.9:8883", Name: "house\nevil: 1"}})
	if err != nil || n != 3 {
		t.Fatalf("%d, %v", n, err)
	}
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := daemon.LoadConfig(name, output.NoLog)
	if err != nil || len(c.Opened.Devices) != 3 || !c.Opened.Limits()["lamp"].Locked {
		t.Errorf("%v\n%s", err, text)
	}
	if !strings.Contains(string(text), "# the MQTT broker house evil: 1: mqtts://192.168.1.9:8883 (messkit discover --mqtt mqtts://192.168.1.9:8883 lists") {
		t.Errorf("%s", text)
	}
	if empty, _, err := (&doctor.Beginning{ID: "b"}).Text(name, nil, nil); err != nil || !strings.Contains(string(empty), "# devices:\n#   porch-light:") {
		t.Errorf("%v\n%s", err, empty)
	}
}

// A device that may open something or let water flow gets a class or a risk that requires a
// confirmation, under any name. The owner's name becomes the label.
func TestDiscoveredRiskNeedsConfirmation(t *testing.T) {
	mqtt := func(family, class string, with ...string) map[string]string {
		config := map[string]string{"family": family, "broker": "mqtt://127.0.0.1:1883", "safe": "keep"}
		for i := 0; i < len(with); i += 2 {
			config["with."+with[i]] = with[i+1]
		}
		if class != "" {
			config["class"] = class
		}
		return config
	}
	for what, one := range map[string]struct {
		family, class, name, label, about string
		want                              string // class and risk
	}{
		"with a class":                 {family: "esphome-cover", class: "garage-door", want: "garage-door "},
		"a blind":                      {family: "esphome-cover", class: "blind", label: "Study", want: "blind "},
		"a blind of a garage":          {family: "esphome-cover", class: "blind", label: "Garage Shutter", want: "garage-door "},
		"without a class":              {family: "esphome-cover", label: "Kitchen Blind", want: "door "},
		"by its name":                  {family: "esphome-cover", label: "Side Gate", want: "gate "},
		"by its maker":                 {family: "esphome-cover", about: "Water valve", want: "valve "},
		"a plug":                       {family: "esphome", label: "Desk", want: " "},
		"a heater":                     {family: "esphome", label: "Porch Heater", want: "heater "},
		"a heater's plug":              {family: "esphome", label: "heater plug 2", want: "heater "},
		"a pump, by its key":           {family: "esphome", name: "pond-pump", want: "pump "},
		"a siren":                      {family: "esphome", about: "Smart siren", want: "siren "},
		"a tap":                        {family: "esphome", about: "Smart water valve", want: "valve "},
		"what presses a door's button": {family: "esphome", label: "Garage Door", want: " access"},
		"a door's strike":              {family: "esphome", label: "Front door opener", want: " access"},
		"by its maker, that opens":     {family: "esphome", label: "Relay 1", about: "Garage door opener", want: " access"},
		"a lamp at a door":             {family: "esphome", label: "Garage door light", want: " "},
		"a lamp of a lamp's family":    {family: "esphome-light", label: "The Gate", want: " "},
		"a fan in a window":            {family: "esphome", label: "window fan", want: " "},
	} {
		kind := map[bool]string{true: "cover", false: "switch"}[one.family == "esphome-cover"]
		if one.family == "esphome-light" {
			kind = "light"
		}
		name := cmp.Or(one.name, "box")
		d := discovered(t, "mqttdevice", name, "here", mqtt(one.family, one.class, "prefix", "box", kind, "thing"))
		d.Label, d.About = one.label, one.about
		file := filepath.Join(t.TempDir(), "found.yaml")
		text, n, err := (&doctor.Beginning{ID: "b"}).Text(file, []discovery.Discovered{d}, nil)
		if err != nil || n != 1 {
			t.Errorf("%s: %d, %v\n%s", what, n, err, text)
			continue
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := daemon.LoadConfig(file, output.NoLog)
		if err != nil {
			t.Errorf("%s: %v\n%s", what, err, text)
			continue
		}
		got := c.Opened.Devices[0]
		if is := got.Class + " " + string(got.Risk); is != one.want || !got.Limits.Locked || got.Label != one.label {
			t.Errorf("%s: class and risk %q, want %q; label %q\n%s", what, is, one.want, got.Label, text)
		}
		if dangerous, note := one.want == "door " || one.want == " access", strings.Contains(string(text), "a person"); dangerous != note {
			t.Errorf("%s: note about the confirmation of a person: %t\n%s", what, note, text)
		}
	}
}

// Devices that report the same label get none, and neither does a device whose label a person
// cannot say.
func TestDiscoveryDropsAmbiguousLabels(t *testing.T) {
	var list []discovery.Discovered
	for i, label := range []string{"Porch Heater", "Plug", "Desk plug", "desk-PLUG", "Light", "thing 6", "", "\x1b[2Jcls", strings.Repeat("long ", 20), "42", "K\u00fcche Licht", "Thing 1"} {
		d := discovered(t, "mqttdevice", fmt.Sprintf("thing-%d", i), "here", map[string]string{"family": "tasmota", "broker": "mqtt://127.0.0.1:1883", "with.topic": fmt.Sprint("t", i)})
		d.Label = label
		list = append(list, d)
	}
	name := filepath.Join(t.TempDir(), "found.yaml")
	text, n, err := (&doctor.Beginning{ID: "b"}).Text(name, list, nil)
	if err != nil || n != len(list) {
		t.Fatalf("%d, %v\n%s", n, err, text)
	}
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := daemon.LoadConfig(name, output.NoLog)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	got := map[string]string{}
	for _, d := range c.Opened.Devices {
		if d.Label != "" {
			got[d.Name] = d.Label
		}
	}
	if d := diff.Diff(map[string]string{"thing-0": "Porch Heater", "thing-10": "K\u00fcche Licht"}, got); d != "" {
		t.Errorf("%s\n%s", d, text)
	}
	if !strings.Contains(string(text), `it calls itself "desk-PLUG", as another here does: write a label`) || strings.Contains(string(text), "\x1b") {
		t.Errorf("%s", text)
	}
}

// A device with two discoveries is one device, and names are unique.
func TestDiscoveryMergesDuplicates(t *testing.T) {
	plug := map[string]string{"family": "tasmota", "broker": "mqtt://127.0.0.1:1883", "safe": "keep", "with.topic": "desk"}
	list := []discovery.Discovered{
		discovered(t, "sim-camera", "cam", "one", map[string]string{"room": "porch"}), discovered(t, "sim-camera", "cam-2", "two", map[string]string{"room": "fridge"}),
		discovered(t, "sim-camera", "cam", "three", map[string]string{"room": "kitchen"}), discovered(t, "mqttdevice", "desk", "a plug", plug), discovered(t, "mqttdevice", "desk-plug", "a plug", plug),
	}
	name := filepath.Join(t.TempDir(), "found.yaml")
	text, n, err := (&doctor.Beginning{ID: "b"}).Text(name, list, nil)
	if err != nil || n != 4 || !strings.Contains(string(text), "  # a plug; it needs more: another name than desk, which is the same thing; keep one of the two\n  # desk-plug:\n") {
		t.Errorf("%d, %v\n%s", n, err, text)
	}
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := daemon.LoadConfig(name, output.NoLog); err != nil || len(c.Opened.Devices) != 4 {
		t.Error(err)
	}
}

// With thousands of announced devices, the output reports their number and is still a valid
// configuration.
func TestDiscoveryHandlesThousandsOfDevices(t *testing.T) {
	var list []discovery.Discovered
	for i := range 3000 {
		list = append(list, discovered(t, "sim-bulb", fmt.Sprintf("lamp-%d", i), "a lamp", map[string]string{}))
	}
	name := filepath.Join(t.TempDir(), "found.yaml")
	text, n, err := (&doctor.Beginning{ID: "b"}).Text(name, list, nil)
	if err != nil || n != 500 || !strings.Contains(string(text), "# The list omits 2500 more announced devices") {
		t.Errorf("%d, %v", n, err)
	}
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := daemon.LoadConfig(name, output.NoLog); err != nil || len(c.Opened.Devices) != 500 {
		t.Error(err)
	}
}

// The texts of a device are data: they add no device, no key and no terminal sequence. A device
// that acts keeps its lockout under any name.
func TestDiscoveryTreatsNamesAsData(t *testing.T) {
	var list []discovery.Discovered
	for n, name := range []string{
		"evil\n  rogue: {driver: exec, program: /bin/sh}", "evil\r\nrogue: 1", "\x1b[2J\x1b]0;title\a", "a: &b *b !!binary", "# none", "'\"`{}[]|>-?%@", "limits: {locked: false}",
		"\u202egnp.exe", "\u2028rogue:\u2029", "\u0085next", "\xff\xfe", strings.Repeat("long ", 20000), "", "null", "true", "~", "<<", "---", "...", "\x00",
	} {
		config := map[string]string{"url": fmt.Sprintf("http://192.168.1.%d", n+1), "family": "shelly-gen2", "safe": "keep"}
		list = append(list, discovered(t, "httpdevice", network.ID(name), name+" at 192.168.1.1", config),
			discovered(t, "mqttdevice", network.ID(name), name+" on MQTT", map[string]string{"family": "tasmota", "broker": "mqtt://127.0.0.1:1883", "safe": "keep", "with.topic": name}),
			discovered(t, "mqttdevice", network.ID(name), name, map[string]string{"family": "zigbee2mqtt-cover", "broker": "mqtt://127.0.0.1:1883", "with.name": name}),
			discovered(t, "onvif", network.ID(name), name, map[string]string{"url": config["url"]}), discovered(t, "homeassistant", network.ID(name), name, nil))
	}
	name := filepath.Join(t.TempDir(), "found.yaml")
	text, n, err := (&doctor.Beginning{ID: "b"}).Text(name, list, []discovery.FoundBroker{{URL: "mqtt://127.0.0.1:1883", Name: list[0].Where}})
	if err != nil || n < 30 {
		t.Fatalf("%d, %v", n, err)
	}
	for i, l := range strings.Split(string(text), "\n") {
		if len(l) > 2000 || strings.ContainsFunc(l, func(r rune) bool {
			return r < ' ' || r == 0x7f || r == 0x202e || r == 0x2028 || r == 0x85 || r == '\ufffd'
		}) {
			t.Errorf("line %d: %.200q", i+1, l)
		}
	}
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := daemon.LoadConfig(name, output.NoLog)
	if err != nil {
		t.Fatalf("%v\n%.5000s", err, text)
	}
	if len(c.Opened.Devices) != n {
		t.Errorf("%d devices, and %d were printed", len(c.Opened.Devices), n)
	}
	for _, d := range c.Opened.Devices {
		if !slices.Contains([]string{"httpdevice", "mqttdevice", "onvif"}, d.Driver) || d.Driver != "onvif" && !c.Opened.Limits()[d.Name].Locked {
			t.Errorf("%s is driven by %s, locked: %t", d.Name, d.Driver, c.Opened.Limits()[d.Name].Locked)
		}
	}
}

// The search identifies a broker by its answer, not by its port.
func TestDiscoveryIdentifiesBrokers(t *testing.T) {
	broker := freeport.Address(t)
	p, err := start(t.TempDir(), "messkit", "run", "--listen", "127.0.0.1:0", "--mqtt", broker)
	if err != nil || p.url == "" {
		t.Fatalf("%v\n%s", err, &p.stderr)
	}
	defer func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !discovery.IsBroker(ctx, broker) && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond) // the exchange prints its address before the broker listens
	}
	web, _, _ := strings.Cut(strings.TrimPrefix(p.url, "http://"), "/")
	var got []discovery.FoundBroker
	for long := time.Second; len(got) == 0 && long < patience; long *= 3 { // the search listens for its whole time limit
		short, done := context.WithTimeout(t.Context(), long)
		got = discovery.FindBrokers(short, broker, network.Group)
		done()
	}
	if len(got) == 0 || got[0].URL != "mqtt://"+broker {
		t.Errorf("%v at %s", got, broker)
	}
	for _, addr := range []string{web, "127.0.0.1:9"} {
		if discovery.IsBroker(t.Context(), addr) {
			t.Errorf("%s is taken for a broker", addr)
		}
	}
}
