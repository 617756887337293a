package mqttdevice

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/discovery"
	"github.com/messkit/messkit/drivers/httpclient"
	"github.com/messkit/messkit/drivers/mqttclient"
	"github.com/messkit/messkit/drivers/template"
	"github.com/messkit/messkit/internal/order"
)

// announcements lists the topics on which devices announce themselves. The broker retains
// these messages.
var announcements = []string{
	"tele/+/LWT", "shellies/+/online", "+/online", "zigbee2mqtt/bridge/devices", "homeassistant/switch/+/+/config", "homeassistant/light/+/+/config",
	"homeassistant/cover/+/+/config", "tasmota/discovery/+/config", "homie/5/+/$description",
}

// Announced listens at a broker until ctx ends, and publishes nothing. It needs the address
// of the broker and the account in cfg.
func Announced(ctx context.Context, cfg Config, log *slog.Logger) ([]drivers.FoundDevice, error) {
	if err := cfg.checkBroker(); err != nil {
		return nil, err
	}
	password := cfg.Password
	if err := httpclient.ReadSecret("password_file", cfg.PasswordFile, &password); err != nil {
		return nil, err
	}
	client, m := mqttclient.New(cfg.options(password), log, time.Now), mqttclient.NewMember(announcements)
	if err := client.Join(ctx, m); err != nil {
		return nil, drivers.MarkNothingDone(err)
	}
	defer client.Leave(m)
	<-ctx.Done()
	var all, wills []drivers.FoundDevice
	last := m.All()
	for topic, payload := range last {
		if strings.HasPrefix(topic, "tele/") {
			wills = append(wills, cfg.announced(topic, payload)...)
			continue
		}
		all = append(all, cfg.announced(topic, payload)...)
	}
	all = withWills(all, wills)
	nature(all, last)
	for topic, payload := range last {
		if reason := cfg.passedOver(topic, payload, all); reason != "" {
			all = append(all, drivers.FoundDevice{Name: discovery.ID(topic), Where: "announced on " + topic + ": " + reason})
		}
	}
	order.By(all, func(a, b drivers.FoundDevice) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// passedOver returns the reason why a message yields no device. It returns "" if it yields
// one, or if another message describes the same device.
func (c Config) passedOver(topic string, payload []byte, found []drivers.FoundDevice) string {
	var d struct {
		tasmotaDiscovery
		homeDiscovery
	}
	switch err := json.Unmarshal(payload, &d); {
	case len(payload) == 0 || !strings.HasSuffix(topic, "/config") && !strings.HasSuffix(topic, "$description") && !strings.HasSuffix(topic, "/devices"):
		return ""
	case !json.Valid(payload):
		return "the message is not JSON, so the type of the device is unknown"
	case len(c.announced(topic, payload)) > 0 || strings.HasSuffix(topic, "/devices"):
		return ""
	case err != nil:
		return "the message does not have the format of its type, so the device is unknown"
	case strings.HasPrefix(topic, "tasmota/") && !d.hasDefaults():
		return "the device does not use the default topics or words for on and off: reset FullTopic, Prefix and StateText, or write a template"
	case strings.HasPrefix(topic, "tasmota/"):
		return "messkit has no template for a relay, lamp or shutter of this device"
	}
	segments := strings.Split(d.command(), "/")
	if slices.ContainsFunc(found, func(f drivers.FoundDevice) bool {
		return slices.Contains(segments, cmp.Or(f.Config["with.topic"], f.Config["with.name"], f.Config["with.id"], "\x00"))
	}) {
		return ""
	}
	return "messkit has no template for it; docs/drivers/mqttdevice.md explains how to write one"
}

// withWills adds the devices that are known only by their last will. It omits a Tasmota
// with a more detailed announcement, because messkit must not switch the relays of a
// shutter separately.
func withWills(all, wills []drivers.FoundDevice) []drivers.FoundDevice {
	announced := map[string]bool{}
	for _, f := range all {
		if strings.HasPrefix(f.Config["family"], "tasmota") {
			announced[f.Config["with.topic"]] = true
		}
	}
	return append(all, slices.DeleteFunc(wills, func(f drivers.FoundDevice) bool { return announced[f.Config["with.topic"]] })...)
}

// announced returns the devices that one message announces.
func (c Config) announced(topic string, payload []byte) []drivers.FoundDevice {
	parts := strings.Split(topic, "/")
	switch {
	case len(parts) == 3 && parts[0] == "tele":
		return []drivers.FoundDevice{c.found(discovery.ID(parts[1]), "tasmota", map[string]string{"topic": parts[1]})}
	case len(parts) == 3 && parts[0] == "shellies":
		return c.shelly(parts[1], 1)
	case len(parts) == 2 && parts[1] == "online" && strings.HasPrefix(parts[0], "shelly"):
		return c.shelly(parts[0], 2)
	case topic == "zigbee2mqtt/bridge/devices":
		return c.zigbee(payload)
	case len(parts) == 4 && parts[0] == "homie":
		return c.homie(parts[2], payload)
	case len(parts) == 4 && parts[0] == "tasmota":
		return c.tasmota(payload)
	case len(parts) == 5:
		return c.esphome(payload)
	}
	return nil
}

func (c Config) found(name, family string, with map[string]string) drivers.FoundDevice {
	config := map[string]string{"family": family, "broker": c.Broker, "safe": "keep"}
	if c.Username != "" {
		config["username"] = c.Username
	}
	if c.PasswordFile != "" {
		config["password_file"] = c.PasswordFile
	}
	for k, v := range with {
		config["with."+k] = v
	}
	return drivers.FoundDevice{Name: name, Where: family + " on MQTT", Config: config}
}

func (c Config) shelly(id string, generation int) []drivers.FoundDevice {
	f := c.found(discovery.ID(id), template.Shelly(id, generation), map[string]string{"id": id})
	f.Where += template.ShellyNote(id, generation)
	return []drivers.FoundDevice{f}
}

// zigbeeExpose is one function of a device in Zigbee2MQTT
// (https://www.zigbee2mqtt.io/guide/usage/exposes.html).
type zigbeeExpose struct {
	Type     string          `json:"type"`
	Features []zigbeeFeature `json:"features"`
}

// withoutTemplate lists the actuator types without a template here. A device with one of
// them is not a sensor, and its switches (child lock, open window) are not its main
// function.
var withoutTemplate = map[string]string{"lock": "lock", "climate": "thermostat", "fan": "fan"}

// zigbee parses the device list of the Zigbee2MQTT bridge.
func (c Config) zigbee(payload []byte) []drivers.FoundDevice {
	var list []struct {
		Name       string `json:"friendly_name"`
		Type       string `json:"type"`
		Definition struct {
			About   string         `json:"description"`
			Exposes []zigbeeExpose `json:"exposes"`
		} `json:"definition"`
	}
	if json.Unmarshal(payload, &list) != nil {
		return nil
	}
	var all []drivers.FoundDevice
	for _, d := range list {
		if d.Name == "" || d.Type == "Coordinator" {
			continue
		}
		if i := slices.IndexFunc(d.Definition.Exposes, func(e zigbeeExpose) bool { return withoutTemplate[e.Type] != "" }); i >= 0 {
			all = append(all, drivers.FoundDevice{Name: discovery.ID(d.Name), Where: "announced on zigbee2mqtt/" + d.Name + ": it is a " + withoutTemplate[d.Definition.Exposes[i].Type] +
				", and messkit has no template for one; use the driver homeassistant, or write a template"})
			continue
		}
		family, with := "zigbee2mqtt-sensor", map[string]string{"name": d.Name}
		for _, e := range d.Definition.Exposes {
			switch e.Type {
			case "switch", "light":
				family = "zigbee2mqtt"
			case "cover":
				family = "zigbee2mqtt-cover"
			}
			if e.Type == "light" {
				family = zigbeeLight(e.Features, with)
			}
			if family != "zigbee2mqtt-sensor" {
				break
			}
		}
		one := c.found(discovery.ID(d.Name), family, with)
		one.About = d.Definition.About
		if !strings.HasPrefix(d.Name, "0x") { // the address of the device, until its owner names it
			one.Label = d.Name
		}
		all = append(all, one)
	}
	return all
}

// Relay types of a Tasmota, and the bit of a shutter with a reversed scale (rl and sho in
// its discovery message).
const (
	tasmotaRelay    = 1
	tasmotaLight    = 2
	tasmotaShutter  = 3
	tasmotaInverted = 1
)

// mostShutters is the number of shutters of a Tasmota, with two relays each.
const mostShutters = 4

// tasmotaDiscovery is the discovery message of a Tasmota.
type tasmotaDiscovery struct {
	Topic    string   `json:"t"`
	Full     string   `json:"ft"`    // format of its topics
	Prefixes []string `json:"tp"`    // prefixes of commands, states and telemetry
	States   []string `json:"state"` // words for off and on
	Names    []string `json:"fn"`    // names of the relays, from the first
	Relays   []int    `json:"rl"`
	Shutters []int    `json:"sho"`
}

// hasDefaults reports whether the topics and words are the defaults of Tasmota, which the
// templates use.
func (d tasmotaDiscovery) hasDefaults() bool {
	return (d.Full == "" || strings.TrimSuffix(d.Full, "/") == "%prefix%/%topic%") &&
		(len(d.Prefixes) == 0 || slices.Equal(d.Prefixes, []string{"cmnd", "stat", "tele"})) &&
		(len(d.States) < 2 || d.States[0] == "OFF" && d.States[1] == "ON")
}

// label returns the name that the owner gave a relay, or "" for the default name.
func (d tasmotaDiscovery) label(relay int) string {
	if relay >= len(d.Names) || strings.HasPrefix(d.Names[relay], "Tasmota") {
		return ""
	}
	return d.Names[relay]
}

// tasmota parses the discovery message of a Tasmota: relays, a lamp, shutters.
func (c Config) tasmota(payload []byte) []drivers.FoundDevice {
	var d tasmotaDiscovery
	if json.Unmarshal(payload, &d) != nil || d.Topic == "" || !d.hasDefaults() {
		return nil
	}
	count := map[int]int{}
	for _, r := range d.Relays {
		count[r]++
	}
	switches := len(d.Relays) - count[0]
	var all []drivers.FoundDevice
	add := func(relay int, name, family string, with map[string]string) {
		with["topic"] = d.Topic
		one := c.found(name, family, with)
		one.Label = d.label(relay)
		all = append(all, one)
	}
	for i, r := range d.Relays {
		switch number := strconv.Itoa(i + 1); {
		case r == tasmotaRelay && switches == 1:
			add(i, discovery.ID(d.Topic), "tasmota", map[string]string{})
		case r == tasmotaRelay:
			add(i, joined(d.Topic, "relay "+number), "tasmota", map[string]string{"relay": number})
		}
	}
	if count[tasmotaLight] == 1 && switches == 1 { // a lamp next to relays has numbered commands, for which there is no template
		add(slices.Index(d.Relays, tasmotaLight), discovery.ID(d.Topic), "tasmota-light", map[string]string{})
	}
	first := slices.Index(d.Relays, tasmotaShutter)
	for n := range min(count[tasmotaShutter]/2, mostShutters) {
		number := strconv.Itoa(n + 1)
		with := map[string]string{"shutter": number}
		if n < len(d.Shutters) && d.Shutters[n]&tasmotaInverted != 0 {
			with["closed"] = "100"
		}
		add(first+2*n, joined(d.Topic, "shutter "+number), "tasmota-cover", with)
	}
	return all
}
