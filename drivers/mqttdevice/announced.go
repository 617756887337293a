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
	"github.com/messkit/messkit/drivers/family"
	"github.com/messkit/messkit/drivers/mdns"
	"github.com/messkit/messkit/drivers/mqttclient"
	"github.com/messkit/messkit/drivers/web"
	"github.com/messkit/messkit/internal/order"
)

// announcements are the topics on which devices tell that they are there; a
// broker keeps what is told on them.
var announcements = []string{
	"tele/+/LWT", "shellies/+/online", "+/online", "zigbee2mqtt/bridge/devices", "homeassistant/switch/+/+/config", "homeassistant/light/+/+/config",
	"homeassistant/cover/+/+/config", "tasmota/discovery/+/config", "homie/5/+/$description",
}

// Announced listens at a broker until ctx ends, and tells nobody anything. Of cfg
// it needs where the broker is, and the account.
func Announced(ctx context.Context, cfg Config, log *slog.Logger) ([]drivers.Found, error) {
	if err := cfg.checkBroker(); err != nil {
		return nil, err
	}
	password := cfg.Password
	if err := web.ReadSecret("password_file", cfg.PasswordFile, &password); err != nil {
		return nil, err
	}
	client, m := mqttclient.New(cfg.options(password), log, time.Now), mqttclient.NewMember(announcements)
	if err := client.Join(ctx, m); err != nil {
		return nil, drivers.NotDone(err)
	}
	defer client.Leave(m)
	<-ctx.Done()
	var all, wills []drivers.Found
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
		if why := cfg.passedOver(topic, payload, all); why != "" {
			all = append(all, drivers.Found{Name: mdns.ID(topic), Where: "announced on " + topic + ": " + why})
		}
	}
	order.By(all, func(a, b drivers.Found) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// passedOver is why nothing comes of a message, "" where something does, or where what
// it is about was found by another one.
func (c Config) passedOver(topic string, payload []byte, found []drivers.Found) string {
	var d struct {
		tasmotaTells
		homeTells
	}
	switch err := json.Unmarshal(payload, &d); {
	case len(payload) == 0 || !strings.HasSuffix(topic, "/config") && !strings.HasSuffix(topic, "$description") && !strings.HasSuffix(topic, "/devices"):
		return ""
	case !json.Valid(payload):
		return "it is no JSON, so nobody knows what it is"
	case len(c.announced(topic, payload)) > 0 || strings.HasSuffix(topic, "/devices"):
		return ""
	case err != nil:
		return "it is not as its kind is announced, so nobody knows what it is"
	case strings.HasPrefix(topic, "tasmota/") && !d.usual():
		return "its topics or words for on and off were changed: set FullTopic, Prefix and StateText back, or write a template"
	case strings.HasPrefix(topic, "tasmota/"):
		return "it has no relay, lamp or shutter that a template here drives"
	}
	segments := strings.Split(d.command(), "/")
	if slices.ContainsFunc(found, func(f drivers.Found) bool {
		return slices.Contains(segments, cmp.Or(f.Config["with.topic"], f.Config["with.name"], f.Config["with.id"], "\x00"))
	}) {
		return ""
	}
	return "no template here fits it; docs/drivers/mqttdevice.md says how one is written"
}

// withWills adds what is known by its last will alone. A Tasmota that tells more of
// itself is known by that: the relays of a shutter shall not be switched one by one.
func withWills(all, wills []drivers.Found) []drivers.Found {
	told := map[string]bool{}
	for _, f := range all {
		if strings.HasPrefix(f.Config["family"], "tasmota") {
			told[f.Config["with.topic"]] = true
		}
	}
	return append(all, slices.DeleteFunc(wills, func(f drivers.Found) bool { return told[f.Config["with.topic"]] })...)
}

// announced are the devices of one message.
func (c Config) announced(topic string, payload []byte) []drivers.Found {
	parts := strings.Split(topic, "/")
	switch {
	case len(parts) == 3 && parts[0] == "tele":
		return []drivers.Found{c.found(mdns.ID(parts[1]), "tasmota", map[string]string{"topic": parts[1]})}
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

func (c Config) found(name, family string, with map[string]string) drivers.Found {
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
	return drivers.Found{Name: name, Where: family + " on MQTT", Config: config}
}

func (c Config) shelly(id string, generation int) []drivers.Found {
	f := c.found(mdns.ID(id), family.Shelly(id, generation), map[string]string{"id": id})
	f.Where += family.ShellyNote(id, generation)
	return []drivers.Found{f}
}

// zigbeeExpose is one thing that Zigbee2MQTT says a device does
// (https://www.zigbee2mqtt.io/guide/usage/exposes.html).
type zigbeeExpose struct {
	Type     string          `json:"type"`
	Features []zigbeeFeature `json:"features"`
}

// withoutTemplate are the types of exposes that act and have no template here. A
// device with one of them is no sensor, and its switches (child lock, open window)
// are not what it is for.
var withoutTemplate = map[string]string{"lock": "lock", "climate": "thermostat", "fan": "fan"}

// zigbee reads the list of devices of Zigbee2MQTT's bridge.
func (c Config) zigbee(payload []byte) []drivers.Found {
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
	var all []drivers.Found
	for _, d := range list {
		if d.Name == "" || d.Type == "Coordinator" {
			continue
		}
		if i := slices.IndexFunc(d.Definition.Exposes, func(e zigbeeExpose) bool { return withoutTemplate[e.Type] != "" }); i >= 0 {
			all = append(all, drivers.Found{Name: mdns.ID(d.Name), Where: "announced on zigbee2mqtt/" + d.Name + ": it is a " + withoutTemplate[d.Definition.Exposes[i].Type] +
				", and no template here drives one; use it by the driver homeassistant, or write a template"})
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
		one := c.found(mdns.ID(d.Name), family, with)
		one.About = d.Definition.About
		if !strings.HasPrefix(d.Name, "0x") { // its address, until somebody has given it a name
			one.Label = d.Name
		}
		all = append(all, one)
	}
	return all
}

// What the relays of a Tasmota are, and the bit of a shutter that counts the other way
// round (its discovery's rl and sho).
const (
	tasmotaRelay    = 1
	tasmotaLight    = 2
	tasmotaShutter  = 3
	tasmotaInverted = 1
)

// mostShutters is how many a Tasmota has, of two relays each.
const mostShutters = 4

// tasmotaTells is what one says of itself.
type tasmotaTells struct {
	Topic    string   `json:"t"`
	Full     string   `json:"ft"`    // how topics are made
	Prefixes []string `json:"tp"`    // of commands, states and what it tells by itself
	States   []string `json:"state"` // the words for off and on
	Names    []string `json:"fn"`    // of the relays, from the first
	Relays   []int    `json:"rl"`
	Shutters []int    `json:"sho"`
}

// usual reports whether its topics and words are those of its maker, which the
// templates have.
func (d tasmotaTells) usual() bool {
	return (d.Full == "" || strings.TrimSuffix(d.Full, "/") == "%prefix%/%topic%") &&
		(len(d.Prefixes) == 0 || slices.Equal(d.Prefixes, []string{"cmnd", "stat", "tele"})) &&
		(len(d.States) < 2 || d.States[0] == "OFF" && d.States[1] == "ON")
}

// label is what its owner calls a relay, "" where it has its maker's name.
func (d tasmotaTells) label(relay int) string {
	if relay >= len(d.Names) || strings.HasPrefix(d.Names[relay], "Tasmota") {
		return ""
	}
	return d.Names[relay]
}

// tasmota reads what one tells of itself: relays, a lamp, shutters.
func (c Config) tasmota(payload []byte) []drivers.Found {
	var d tasmotaTells
	if json.Unmarshal(payload, &d) != nil || d.Topic == "" || !d.usual() {
		return nil
	}
	count := map[int]int{}
	for _, r := range d.Relays {
		count[r]++
	}
	switches := len(d.Relays) - count[0]
	var all []drivers.Found
	add := func(relay int, name, family string, with map[string]string) {
		with["topic"] = d.Topic
		one := c.found(name, family, with)
		one.Label = d.label(relay)
		all = append(all, one)
	}
	for i, r := range d.Relays {
		switch number := strconv.Itoa(i + 1); {
		case r == tasmotaRelay && switches == 1:
			add(i, mdns.ID(d.Topic), "tasmota", map[string]string{})
		case r == tasmotaRelay:
			add(i, joined(d.Topic, "relay "+number), "tasmota", map[string]string{"relay": number})
		}
	}
	if count[tasmotaLight] == 1 && switches == 1 { // beside relays its commands have numbers, and no template
		add(slices.Index(d.Relays, tasmotaLight), mdns.ID(d.Topic), "tasmota-light", map[string]string{})
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
