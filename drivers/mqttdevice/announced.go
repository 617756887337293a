package mqttdevice

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/family"
	"github.com/messkit/messkit/drivers/mdns"
	"github.com/messkit/messkit/drivers/web"
)

// announcements are the topics on which devices tell that they are there; a
// broker keeps what is told on them.
var announcements = map[string]byte{
	"tele/+/LWT": atLeastOnce, "shellies/+/online": atLeastOnce, "+/online": atLeastOnce, "zigbee2mqtt/bridge/devices": atLeastOnce,
	"homeassistant/switch/+/+/config": atLeastOnce, "homeassistant/light/+/+/config": atLeastOnce, "homie/5/+/$description": atLeastOnce,
}

// Announced listens at a broker until ctx ends, and tells nobody anything. Of cfg
// it needs where the broker is, and the account.
func Announced(ctx context.Context, cfg Config, log *slog.Logger) ([]drivers.Found, error) {
	if err := cfg.checkBroker(); err != nil {
		return nil, err
	}
	l := &link{cfg: cfg, name: "discover", secret: cfg.Password, topics: announcements, log: log, now: time.Now, inbox: newInbox()}
	if err := web.ReadSecret("password_file", cfg.PasswordFile, &l.secret); err != nil {
		return nil, err
	}
	if err := l.open(ctx); err != nil {
		return nil, err
	}
	defer l.close()
	<-ctx.Done()
	var all []drivers.Found
	for topic, payload := range l.inbox.all() {
		all = append(all, cfg.announced(topic, payload)...)
	}
	slices.SortFunc(all, func(a, b drivers.Found) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// all is the last message of every topic.
func (i *inbox) all() map[string][]byte {
	i.mu.Lock()
	defer i.mu.Unlock()
	m := make(map[string][]byte, len(i.last))
	for topic, h := range i.last {
		m[topic] = h.payload
	}
	return m
}

// announced are the devices of one message.
func (c Config) announced(topic string, payload []byte) []drivers.Found {
	parts := strings.Split(topic, "/")
	switch {
	case len(parts) == 3 && parts[0] == "tele":
		return []drivers.Found{c.found(parts[1], "tasmota", map[string]string{"topic": parts[1]})}
	case len(parts) == 3 && parts[0] == "shellies":
		return []drivers.Found{c.found(parts[1], family.Shelly(parts[1], 1), map[string]string{"id": parts[1]})}
	case len(parts) == 2 && parts[1] == "online" && strings.HasPrefix(parts[0], "shelly"):
		return []drivers.Found{c.found(parts[0], family.Shelly(parts[0], 2), map[string]string{"id": parts[0]})}
	case topic == "zigbee2mqtt/bridge/devices":
		return c.zigbee(payload)
	case len(parts) == 4 && parts[0] == "homie":
		return c.homie(parts[2], payload)
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
	return drivers.Found{Name: mdns.ID(name), Where: family + " on MQTT", Config: config}
}

// zigbee reads the list of devices of Zigbee2MQTT's bridge.
func (c Config) zigbee(payload []byte) []drivers.Found {
	var list []struct {
		Name       string `json:"friendly_name"`
		Type       string `json:"type"`
		Definition struct {
			Exposes []struct {
				Type     string `json:"type"`
				Features []struct {
					Name string `json:"name"`
				} `json:"features"`
			} `json:"exposes"`
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
		family := "zigbee2mqtt-sensor"
		for _, e := range d.Definition.Exposes {
			if e.Type == "switch" || e.Type == "light" {
				family = "zigbee2mqtt"
			}
			for _, x := range e.Features {
				if e.Type == "light" && x.Name == "brightness" {
					family = "zigbee2mqtt-light"
				}
			}
			if family != "zigbee2mqtt-sensor" {
				break
			}
		}
		all = append(all, c.found(d.Name, family, map[string]string{"name": d.Name}))
	}
	return all
}

// homie reads a device's description for what can be switched.
func (c Config) homie(device string, payload []byte) []drivers.Found {
	var d struct {
		Nodes map[string]struct {
			Properties map[string]struct {
				Type     string `json:"datatype"`
				Settable bool   `json:"settable"`
				Retained *bool  `json:"retained"`
			} `json:"properties"`
		} `json:"nodes"`
	}
	if json.Unmarshal(payload, &d) != nil {
		return nil
	}
	var all []drivers.Found
	for node, n := range d.Nodes {
		for property, p := range n.Properties {
			if p.Type == "boolean" && p.Settable && (p.Retained == nil || *p.Retained) {
				all = append(all, c.found(device+" "+node+" "+property, "homie5", map[string]string{"device": device, "node": node, "property": property}))
			}
		}
	}
	return all
}

// esphome reads what ESPHome announces for Home Assistant: a switch, or a light with
// colours. Other lights have no template.
func (c Config) esphome(payload []byte) []drivers.Found {
	var d struct {
		Short  string   `json:"cmd_t"`
		Long   string   `json:"command_topic"` // without abbreviations
		Colour []string `json:"supported_color_modes"`
	}
	if json.Unmarshal(payload, &d) != nil {
		return nil
	}
	topic, ok := strings.CutSuffix(cmp.Or(d.Short, d.Long), "/command")
	if !ok {
		return nil
	}
	if prefix, object, is := strings.Cut(topic, "/switch/"); is && !strings.Contains(object, "/") {
		return []drivers.Found{c.found(prefix+" "+object, "esphome", map[string]string{"prefix": prefix, "switch": object})}
	}
	if prefix, object, is := strings.Cut(topic, "/light/"); is && !strings.Contains(object, "/") && slices.Contains(d.Colour, "rgb") {
		return []drivers.Found{c.found(prefix+" "+object, "esphome-light", map[string]string{"prefix": prefix, "light": object})}
	}
	return nil
}
