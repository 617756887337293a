package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	paho "github.com/eclipse/paho.mqtt.golang"
	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"

	"github.com/messkit/messkit/internal/test/chromium"
)

// startBroker starts a broker and returns it with its address, host:port.
func startBroker(t *testing.T) (*mochi.Server, string) {
	t.Helper()
	b := mochi.New(&mochi.Options{Logger: slog.New(slog.DiscardHandler)})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{b.AddHook(new(auth.AllowHook), nil), b.AddListener(listeners.NewNet("test", l)), b.Serve()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b, l.Addr().String()
}

// connect makes a client of a broker.
func connect(t *testing.T, broker, id string) paho.Client {
	t.Helper()
	c := paho.NewClient(paho.NewClientOptions().AddBroker("tcp://" + broker).SetClientID(id))
	await(t, c.Connect())
	t.Cleanup(func() { c.Disconnect(0) })
	return c
}

func await(t *testing.T, done paho.Token) {
	t.Helper()
	if !done.WaitTimeout(patience) || done.Error() != nil {
		t.Fatal(done.Error())
	}
}

// tasmotaPlug is a Tasmota plug at a broker, which announces itself and answers as
// https://tasmota.github.io/docs/MQTT/ says. A second client counts the commands for it.
type tasmotaPlug struct {
	mu       sync.Mutex
	on       bool
	commands []string // that switch
	pulse    int      // PulseTime, which the tests do not await
}

func newTasmotaPlug(t *testing.T, broker, topic, name string) *tasmotaPlug {
	t.Helper()
	p, own, witness := &tasmotaPlug{}, connect(t, broker, topic), connect(t, broker, topic+"-witness")
	await(t, witness.Subscribe("cmnd/"+topic+"/POWER", 1, func(_ paho.Client, m paho.Message) {
		if len(m.Payload()) == 0 { // a question
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.commands = append(p.commands, string(m.Payload()))
	}))
	word := map[bool]string{true: "ON", false: "OFF"}
	await(t, own.Subscribe("cmnd/"+topic+"/+", 1, func(_ paho.Client, m paho.Message) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch command := strings.TrimPrefix(m.Topic(), "cmnd/"+topic+"/"); command {
		case "POWER":
			if len(m.Payload()) > 0 {
				p.on = string(m.Payload()) == "ON"
			}
			own.Publish("stat/"+topic+"/RESULT", 0, false, fmt.Sprintf(`{"POWER":%q}`, word[p.on]))
			own.Publish("stat/"+topic+"/POWER", 0, false, word[p.on])
		case "PulseTime":
			if n, err := strconv.Atoi(string(m.Payload())); err == nil {
				p.pulse = n
			}
			own.Publish("stat/"+topic+"/RESULT", 0, false, fmt.Sprintf(`{"PulseTime1":{"Set":%d,"Remaining":%[1]d}}`, p.pulse))
		case "Status":
			own.Publish("stat/"+topic+"/STATUS11", 0, false, `{"StatusSTS":{"Wifi":{"RSSI":74,"Signal":-63}}}`)
		}
	}))
	await(t, own.Publish("tele/"+topic+"/LWT", 1, true, "Online"))
	await(t, own.Publish("tasmota/discovery/"+strings.ToUpper(topic)+"/config", 1, true,
		fmt.Sprintf(`{"dn":%q,"fn":[%[1]q,null],"t":%q,"ft":"%%prefix%%/%%topic%%/","tp":["cmnd","stat","tele"],"state":["OFF","ON","TOGGLE","HOLD"],"rl":[1,0,0,0,0,0,0,0],"ver":1}`, name, topic)))
	return p
}

// switched returns the commands that the plug has received.
func (p *tasmotaPlug) switched() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.commands...)
}

// found returns an expression for the card of a found device, or a part of it.
func found(id, part string) string {
	return fmt.Sprintf(`document.querySelector('[data-found=%q] %s')`, id, part)
}

// submit sends the form that has the focus.
func submit(p *chromium.Tab) { p.Eval(`document.activeElement.form.requestSubmit()`, nil) }

// A member of the family adds a Tasmota plug in the page, which finds it at the broker, and gives it a
// name and an area. The configuration has it then, and it works on Home without a reload and without
// a restart. Each tap is one command.
func TestPlugIsAddedInPage(t *testing.T) {
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	t.Parallel() // it mostly waits: for searches
	server, broker := startBroker(t)
	whole := t // the plugs outlive the parts of the test
	h := startMesskit(t)
	file := filepath.Join(h.home, "data", "messkit.yaml")
	for _, c := range []struct {
		name, topic, label string
		width, height      int
	}{{"desktop", "plug1", "Desk Plug", 1280, 800}, {"phone", "plug2", "Shelf Plug", 390, 844}} {
		t.Run(c.name, func(t *testing.T) {
			h.t = t
			plug := newTasmotaPlug(whole, broker, c.topic, c.label)
			v := homeView{h, h.openHome(c.width, c.height)}
			v.p.Until(`document.querySelectorAll("#home .tile").length > 30`)
			v.p.Click("#home a", "Add a device")
			v.p.Until(`document.querySelector("#add progress")`)
			h.checkAccessibility(v.p, "add-search-"+c.name)
			if c.name == "desktop" { // the second search knows the broker from the first device
				v.p.Until(`!document.querySelector("#add progress") && document.querySelector("#add summary")`)
				v.p.Eval(`document.querySelector("#add details").open = true`, nil)
				v.p.Fill("#add-broker", broker)
				submit(v.p)
			}
			v.p.Until(found(c.topic, "button"))
			h.checkAccessibility(v.p, "add-found-"+c.name)
			h.saveScreenshot(v.p, "add-found-"+c.name)
			v.p.Eval(found(c.topic, "button")+".click()", nil)
			v.p.Until(fmt.Sprintf(`document.getElementById("add-name")?.value === %q`, c.label)) // as its owner called it
			if c.name == "phone" {
				c.label = "Shelf"
				v.p.Fill("#add-name", c.label)
			}
			v.p.Fill("#add-area", "Office")
			h.checkAccessibility(v.p, "add-name-"+c.name)
			h.saveScreenshot(v.p, "add-name-"+c.name)
			submit(v.p)

			// The tile of the new device is the test: its state is read, and a tap switches it once.
			device := strings.ToLower(strings.ReplaceAll(c.label, " ", "-"))
			at := func(part string) string { return `document.querySelector("#add ` + part + `")` }
			v.p.Until(at(".tile .switch") + `?.getAttribute("aria-checked") === "false"`)
			h.checkAccessibility(v.p, "add-done-"+c.name)
			h.saveScreenshot(v.p, "add-done-"+c.name)
			v.p.Until(`document.querySelector("#add [data-test=works]")?.textContent.includes("is off")`) // read at once
			if got := plug.switched(); len(got) != 0 {
				t.Errorf("nobody has tapped, but the plug was switched: %q", got)
			}
			v.p.Eval(at(".tile .switch")+".click()", nil)
			v.p.Until(at(".tile .switch") + `.getAttribute("aria-checked") === "true"`)
			v.p.Click("#add a", "Show on Home")
			v.once(device, func() { v.press(device, ".switch") })
			v.waitDevice(device, func(d homeDevice) bool { return d.State == "off" })
			if got := fmt.Sprint(plug.switched()); got != "[ON OFF]" {
				t.Errorf("two taps gave the commands %s", got)
			}
			text, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(text), "\n  "+device+":\n    driver: mqttdevice\n    area: office\n") || !strings.Contains(string(text), "# What `messkit run` starts with") {
				t.Errorf("%v in\n%s", err, text)
			}
			if faults := v.p.Faults(); len(faults) > 0 {
				t.Errorf("in the page: %q", faults)
			}
		})
	}
	h.t = t
	waitConnections(t, server, 1) // both plugs share it
	h.restart()                   // it finds the file that the page has begun
	v := homeView{h, h.openHome(1280, 800)}
	for _, device := range []string{"desk-plug", "shelf"} {
		v.waitDevice(device, func(d homeDevice) bool { return d.State == "off" })
	}
	v.waitDevice("porch-light", func(d homeDevice) bool { return d.State != "" })
}

// The page edits the configuration. It shows each problem at its line, saves only a text without
// problems, names the keys that need a restart, and brings a backup back. Another name of a device applies
// at once.
func TestConfigurationIsEditedInPage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	file := filepath.Join(t.TempDir(), "messkit.yaml")
	const before = "# mine\ndevices:\n  lamp: {driver: sim-bulb, area: hall} # by the door\n"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	h := startMesskitWith(t, []string{"--config", file})
	read := func() string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, size := range windowSizes {
		p := h.openHome(size.width, size.height)
		v := homeView{h, p}
		openConfig := func() {
			p.Eval(`void (location.hash = "#config")`, nil)
			p.Until(`document.activeElement.id === "config-title"`)
		}
		write := func(text string) {
			quoted, _ := json.Marshal(text) // a string is always valid JSON
			p.Until(`document.getElementById("config-text")?.value`)
			p.Eval(fmt.Sprintf(`{ const e = document.getElementById("config-text"); e.value = %s; e.dispatchEvent(new Event("input", {bubbles: true})) }`, quoted), nil)
		}
		openConfig()
		write(before + "  second: {driver: sim-blub}\n")
		p.Until(`document.querySelector("#config .problems button")?.textContent === "Line 4"`)
		p.Until(`document.getElementById("config-save").getAttribute("aria-disabled") === "true" && document.querySelector("#config .lines b").textContent.trim() === "!4"`)
		h.checkAccessibility(p, "config-"+size.name)
		h.saveScreenshot(p, "config-"+size.name)
		p.Click("#config-save", "")
		if read() != before {
			t.Fatalf("a text with a problem was saved: %s", read())
		}
		p.Click("#config .problems button", "Line 4")
		p.Until(`(() => { const e = document.getElementById("config-text"); return document.activeElement === e && e.value.slice(e.selectionStart, e.selectionEnd).includes("sim-blub") })()`)

		const after = "# mine\ndevices:\n  lamp: {driver: sim-bulb, area: hall} # by the door\nagent: {name: Home}\n"
		write(after)
		p.Until(`!document.querySelector("#config .problems") && !document.getElementById("config-save").getAttribute("aria-disabled")`)
		var older string // the newest backup of now
		p.Eval(`document.getElementById("config-backups")?.options[1].value || ""`, &older)
		p.Click("#config-save", "")
		p.Until(`document.querySelector("#config .good")?.textContent.includes("restart of messkit: agent")`)
		if read() != after {
			t.Errorf("the file is %q", read())
		}
		p.Until(fmt.Sprintf(`(document.getElementById("config-backups")?.options[1].value || %q) !== %[1]q`, older))
		p.Eval(`{ const e = document.getElementById("config-backups"); e.value = e.options[1].value; e.dispatchEvent(new Event("change", {bubbles: true})) }`, nil)
		p.Until(`!document.getElementById("config-text").value.includes("agent")`)
		p.Until(`!document.getElementById("config-save").getAttribute("aria-disabled")`)
		p.Click("#config-save", "")
		p.Until(`document.querySelector("#config .good")?.textContent.includes("Everything is in use")`)
		if read() != before {
			t.Errorf("after the restore the file is %q", read())
		}

		// The detail page gives the lamp another name and another area, and keeps the comments.
		p.Eval(`void (location.hash = "#home")`, nil)
		p.Until(tile("lamp", "h3 a"))
		p.Eval(tile("lamp", "h3 a")+".click()", nil)
		p.Fill("#manage-name", "Night light")
		p.Fill("#manage-area", "bedroom")
		h.checkAccessibility(p, "manage-"+size.name)
		submit(p)
		p.Until(`document.querySelector("#home h1").textContent === "Night light"`)
		if want := strings.Replace(before, "{driver: sim-bulb, area: hall}", "{driver: sim-bulb, label: Night light, area: bedroom}", 1); read() != want {
			t.Errorf("the file is %q, want %q", read(), want)
		}
		h.waitStatus(h.request(`{"intent": "turn on the night light"}`), "completed")
		v.waitDevice("lamp", func(d homeDevice) bool { return d.State == "on" })
		if faults := p.Faults(); len(faults) > 0 {
			t.Errorf("in the page: %q", faults)
		}
		openConfig() // as it was, for the next size
		write(before)
		p.Until(`!document.getElementById("config-save").getAttribute("aria-disabled")`)
		p.Click("#config-save", "")
		p.Until(`document.querySelector("#config .good")`)
		h.waitStatus(h.request(`{"intent": "turn off the lamp"}`), "completed")
	}
}
