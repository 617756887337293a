package mqttdevice

import (
	"encoding/json"
	"strings"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/mdns"
)

// coverClasses are what covers say that they are, and what that is here
// (https://www.home-assistant.io/integrations/cover/#device-class). What stands in none
// of them has not said what it opens.
var coverClasses = map[string]string{
	"awning": "blind", "blind": "blind", "curtain": "blind", "shade": "blind", "shutter": "blind",
	"door": "door", "garage": "garage-door", "gate": "gate", "window": "window", "damper": "valve",
	"garage-door": "garage-door", "valve": "valve",
}

// classed writes what a cover says that it is.
func classed(f *drivers.Found, says string) {
	if class := coverClasses[strings.ToLower(says)]; class != "" {
		f.Config["class"] = class
	}
}

// nature adds what covers of Zigbee2MQTT are: its list does not tell, and what it
// announces for Home Assistant may.
func nature(all []drivers.Found, last map[string][]byte) {
	says := map[string]string{} // by the topic of its commands
	for topic, payload := range last {
		var d homeTells
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

// joined is a name of parts, of which none is said twice where one ends with what the
// next begins with: "hall lamp" and "lamp 1" are hall-lamp-1.
func joined(parts ...string) string {
	var all []string
	for _, part := range parts {
		words := strings.Split(mdns.ID(part), "-")
		n := min(len(all), len(words))
		for n > 0 && strings.Join(all[len(all)-n:], "-") != strings.Join(words[:n], "-") {
			n--
		}
		all = append(all, words[n:]...)
	}
	return mdns.ID(strings.Join(all, " "))
}
