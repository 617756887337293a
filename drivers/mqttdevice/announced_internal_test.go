package mqttdevice

import (
	"io/fs"
	"testing"

	"github.com/messkit/messkit/drivers/discovery"
)

// Any announcement yields only devices with a known template and a name.
func FuzzAnnounced(f *testing.F) {
	for topic, payload := range map[string]string{
		"tele/plug/LWT": "Online", "shellies/shelly1pm-B929CC/online": "true", "shellyplus1pm-a8/online": "true",
		"zigbee2mqtt/bridge/devices":            `[{"friendly_name":"bulb","definition":{"exposes":[{"type":"light","features":[{"name":"brightness"},{"name":"color_temp","value_min":250,"value_max":454}]}]}}]`,
		"homie/5/lamp/$description":             `{"nodes":{"bulb":{"properties":{"on":{"datatype":"boolean","settable":true},"level":{"datatype":"integer","format":"0:100","settable":true},"paint":{"datatype":"color","format":"rgb","settable":true}}}}}`,
		"homeassistant/light/desk/cct/config":   `{"supported_color_modes":["color_temp"],"min_mirs":153,"max_mirs":370,"cmd_t":"desk/light/cct/command"}`,
		"tasmota/discovery/AABBCCDDEEFF/config": `{"t":"shutter","rl":[3,3,1,2],"sho":[0,1,0,0]}`,
	} {
		f.Add(topic, []byte(payload))
	}
	f.Fuzz(func(t *testing.T, topic string, payload []byte) {
		for _, d := range DefaultConfig().announced(topic, payload) {
			if _, err := fs.Stat(Families(), d.Config["family"]+".yaml"); err != nil || d.Name != discovery.ID(d.Name) {
				t.Errorf("%+v", d)
			}
			w, c := d.Config["with.warmest"], d.Config["with.coldest"]
			if len(w) != len(c) && len(c) != 5 || len(w) > 5 || w != "" && len(w) < 4 {
				t.Errorf("a white from %s to %s K", w, c)
			}
		}
	})
}
