package mqttdevice

import (
	"encoding/json"
	"strings"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/discovery"
)

// coverClasses maps the cover classes of devices to the classes of messkit
// (https://www.home-assistant.io/integrations/cover/#device-class). Any other word does not
// describe the cover.
var coverClasses = map[string]string{
	"awning": "blind", "blind": "blind", "curtain": "blind", "shade": "blind", "shutter": "blind",
	"door": "door", "garage": "garage-door", "gate": "gate", "window": "window", "damper": "valve",
	"garage-door": "garage-door", "valve": "valve",
}

// classed sets the class of a cover from the word of its device.
func classed(f *drivers.FoundDevice, says string) {
	if class := coverClasses[strings.ToLower(says)]; class != "" {
		f.Config["class"] = class
	}
}

// nature adds the classes of Zigbee2MQTT covers. The device list does not contain them, but
// the announcement for Home Assistant may.
func nature(all []drivers.FoundDevice, last map[string][]byte) {
	says := map[string]string{} // class by command topic
	for topic, payload := range last {
		var d homeDiscovery
		if strings.HasPrefix(topic, "homeassistant/cover/") && json.Unmarshal(payload, &d) == nil {
			says[d.command()] = d.class()
		}
	}
	for i, f := range all {
		if f.Config["family"] == "zigbee2mqtt-cover" {
			classed(&all[i], says["zigbee2mqtt/"+f.Config["with.name"]+"/set"])
		}
	}
}

// joined combines parts to a name. It omits the beginning of a part that repeats the end of
// the previous one: "hall lamp" and "lamp 1" become hall-lamp-1.
func joined(parts ...string) string {
	var all []string
	for _, part := range parts {
		words := strings.Split(discovery.ID(part), "-")
		n := min(len(all), len(words))
		for n > 0 && strings.Join(all[len(all)-n:], "-") != strings.Join(words[:n], "-") {
			n--
		}
		all = append(all, words[n:]...)
	}
	return discovery.ID(strings.Join(all, " "))
}
