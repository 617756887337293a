package mqttdevice

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/messkit/messkit/drivers"
)

// homieDescription contains the fields that messkit reads from the description of a device.
type homieDescription struct {
	Name  string               `json:"name"`
	Type  string               `json:"type"`
	Root  string               `json:"root"` // only for a child device
	Nodes map[string]homieNode `json:"nodes"`
}

// homieNode is one node of a device.
type homieNode struct {
	Name       string                   `json:"name"`
	Type       string                   `json:"type"`
	Properties map[string]homieProperty `json:"properties"`
}

// homie parses the description of a device. It finds switches, and covers with positions
// and a stop command.
func (c Config) homie(device string, payload []byte) []drivers.FoundDevice {
	var d homieDescription
	if json.Unmarshal(payload, &d) != nil {
		return nil
	}
	var all []drivers.FoundDevice
	for node, n := range d.Nodes {
		label := n.Name
		if len(d.Nodes) == 1 {
			label = cmp.Or(d.Name, n.Name)
		}
		add := func(name, label, family string, with map[string]string) {
			with["device"], with["node"] = device, node
			if d.Root != "" {
				with["root"] = d.Root
			}
			one := c.found(name, family, with)
			one.Label, one.About = label, strings.TrimSpace(d.Type+" "+n.Type)
			if strings.HasSuffix(family, "-cover") {
				classed(&one, cmp.Or(n.Type, d.Type))
			}
			all = append(all, one)
		}
		at, action := n.Properties["position"], n.Properties["action"]
		if at.percents() && action.Settable && slices.Contains(strings.Split(action.Format, ","), "stop") {
			add(joined(device, node), label, "homie5-cover", map[string]string{})
		}
		lamp := homieLight(n.Properties)
		if lamp != nil {
			add(joined(device, node), label, "homie5-light", lamp)
			continue
		}
		for property, p := range n.Properties {
			if p.Type != "boolean" || !p.stays() {
				continue
			}
			called := label
			if len(n.Properties) > 1 && p.Name != "" {
				called = strings.TrimSpace(n.Name + " " + p.Name)
			}
			add(joined(device, node, property), called, "homie5", map[string]string{"property": property})
		}
	}
	return all
}
