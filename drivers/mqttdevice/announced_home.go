package mqttdevice

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/messkit/messkit/drivers"
)

// homeDiscovery contains the fields that messkit reads from an announcement for Home Assistant.
// Each key may be abbreviated
// (https://www.home-assistant.io/integrations/mqtt/#discovery-messages).
type homeDiscovery struct {
	Name       string     `json:"name"`
	Short      string     `json:"cmd_t"`
	Long       string     `json:"command_topic"`
	ShortClass string     `json:"dev_cla"`
	LongClass  string     `json:"device_class"`
	ShortOf    homeDevice `json:"dev"`
	LongOf     homeDevice `json:"device"`
	Color      []string   `json:"supported_color_modes"`
	esphomeWhite

	ShortPos string `json:"pos_t"` // only for a cover with positions
	LongPos  string `json:"position_topic"`
}

// homeDevice is the device of an announced entity.
type homeDevice struct {
	Name string `json:"name"`
}

func (d homeDiscovery) command() string { return cmp.Or(d.Short, d.Long) }

func (d homeDiscovery) class() string { return cmp.Or(d.ShortClass, d.LongClass) }

// label returns the name of the entity, or else of its device.
func (d homeDiscovery) label() string { return cmp.Or(d.Name, d.ShortOf.Name, d.LongOf.Name) }

// esphome parses an announcement of ESPHome for Home Assistant: a switch, a light with
// colors or with a color temperature, or a cover with positions. There are no templates for
// other types.
func (c Config) esphome(payload []byte) []drivers.FoundDevice {
	var d homeDiscovery
	if json.Unmarshal(payload, &d) != nil {
		return nil
	}
	topic, ok := strings.CutSuffix(d.command(), "/command")
	if !ok {
		return nil
	}
	for _, kind := range []string{"switch", "light", "cover"} {
		prefix, object, is := strings.Cut(topic, "/"+kind+"/")
		if !is || strings.Contains(object, "/") {
			continue
		}
		with := map[string]string{"prefix": prefix, kind: object}
		family := d.esphomeFamily(kind, with)
		if family == "" {
			continue
		}
		one := c.found(joined(prefix, object), family, with)
		one.Label = d.label()
		if kind == "cover" {
			classed(&one, d.class())
		}
		return []drivers.FoundDevice{one}
	}
	return nil
}

// esphomeFamily returns the template for an entity, or "". It adds the color temperature
// limits of a lamp to with.
func (d homeDiscovery) esphomeFamily(kind string, with map[string]string) string {
	switch {
	case kind == "switch":
		return "esphome"
	case kind == "light" && slices.Contains(d.Color, "rgb"):
		return "esphome-light"
	case kind == "light" && slices.Contains(d.Color, "color_temp") && d.limits(with):
		return "esphome-white"
	case kind == "cover" && cmp.Or(d.ShortPos, d.LongPos) != "":
		return "esphome-cover"
	}
	return ""
}
