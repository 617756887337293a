package mqttdevice_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/drivers/mqttdevice"
)

func TestAnnounced(t *testing.T) {
	t.Parallel()
	b := newBroker(t, nil)
	for topic, payload := range map[string]string{
		"tele/plug/LWT": "Online", "shellies/shelly1pm-B929CC/online": "true", "shellyplus1pm-a8/online": "true", "shellies/shellydimmer2-D0/online": "true", "shelly0110dimg3-b0/online": "true", "bridge/online": "true",
		"zigbee2mqtt/bridge/devices": `[{"friendly_name":"Coordinator","type":"Coordinator"},
			{"friendly_name":"desk lamp","type":"Router","definition":{"exposes":[{"type":"light","features":[]}]}},
			{"friendly_name":"bulb","type":"Router","definition":{"exposes":[{"type":"light","features":[{"name":"state"},{"name":"brightness"}]},{"type":"numeric","name":"linkquality"}]}},
			{"friendly_name":"warm bulb","type":"Router","definition":{"exposes":[{"type":"light","features":[{"name":"state"},{"name":"brightness","value_min":0,"value_max":254},{"name":"color_temp","value_min":250,"value_max":454}]}]}},
			{"friendly_name":"odd bulb","type":"Router","definition":{"exposes":[{"type":"light","features":[{"name":"color_temp","value_min":0,"value_max":0},{"name":"brightness"}]}]}},
			{"friendly_name":"kitchen blind","type":"Router","definition":{"exposes":[{"type":"cover","features":[{"name":"state"},{"name":"position"}]},{"type":"numeric","name":"linkquality"}]}},
			{"friendly_name":"hall lock","type":"EndDevice","definition":{"exposes":[{"type":"numeric","name":"battery"},{"type":"lock","features":[{"name":"state"}]}]}},
			{"friendly_name":"radiator","type":"EndDevice","definition":{"exposes":[{"type":"switch","features":[{"name":"child_lock"}]},{"type":"climate","features":[{"name":"current_heating_setpoint"}]}]}},
			{"friendly_name":"ceiling fan","type":"Router","definition":{"exposes":[{"type":"fan","features":[{"name":"state"}]}]}},
			{"friendly_name":"window","type":"EndDevice","definition":{"exposes":[{"type":"binary","name":"contact"}]}}]`,
		"homeassistant/switch/pump/main/config": `{"name":"main","stat_t":"pump/switch/main/state","cmd_t":"pump/switch/main/command","avty_t":"pump/status"}`,
		"homie/5/hall/$description": `{"homie":"5.0","version":1,"nodes":{"lamp":{"properties":{"power":{"datatype":"boolean","settable":true},
			"fault":{"datatype":"boolean"},"bell":{"datatype":"boolean","settable":true,"retained":false}}}}}`,
		"homie/5/lamp/$description": `{"homie":"5.0","version":1,"root":"bridge","nodes":{"bulb":{"properties":{"on":{"datatype":"boolean","settable":true},"level":{"datatype":"integer","format":"0:100","settable":true},
			"paint":{"datatype":"color","format":"rgb","settable":true},"watts":{"datatype":"float"}}},"twin":{"properties":{"a":{"datatype":"integer","format":"0:100","settable":true},
			"b":{"datatype":"integer","format":"0:100","settable":true},"paint":{"datatype":"color","format":"rgb","settable":true},"on":{"datatype":"boolean","settable":true}}}}}`,
		"homie/5/shade/$description": `{"homie":"5.0","version":1,"root":"bridge","nodes":{"left":{"properties":{"position":{"datatype":"integer","format":"0:100","settable":true},
			"action":{"datatype":"enum","format":"open,close,stop","settable":true,"retained":false}}},"right":{"properties":{"position":{"datatype":"integer","format":"0:100","settable":true}}}}}`,
		"homeassistant/cover/roof/hatch/config":  `{"name":"hatch","cmd_t":"roof/cover/hatch/command","pos_t":"roof/cover/hatch/position/state","set_pos_t":"roof/cover/hatch/position/command"}`,
		"homeassistant/cover/roof/ends/config":   `{"name":"ends","cmd_t":"roof/cover/ends/command"}`,
		"tele/shutter/LWT":                       "Online",
		"tasmota/discovery/AABBCCDDEEFF/config":  `{"dn":"Shutter","t":"shutter","rl":[3,3,3,3,1,0,0,0],"sho":[0,1,0,0],"ver":1}`,
		"tasmota/discovery/AABBCCDDEE00/config":  `{"dn":"Plug","t":"plug","rl":[1,0,0,0,0,0,0,0],"sho":[0,0,0,0],"ver":1}`,
		"tasmota/discovery/AABBCCDDEE02/config":  `{"dn":"Strip","t":"strip","ft":"%prefix%/%topic%/","tp":["cmnd","stat","tele"],"state":["OFF","ON","TOGGLE","HOLD"],"rl":[1,1,0,0,0,0,0,0]}`,
		"tasmota/discovery/AABBCCDDEE03/config":  `{"t":"alone","ft":"%prefix%/%topic%/","rl":[1,0,0,0,0,0,0,0]}`,
		"tasmota/discovery/AABBCCDDEE04/config":  `{"t":"bulb9","rl":[2,0,0,0,0,0,0,0],"lt_st":1}`,
		"tasmota/discovery/AABBCCDDEE05/config":  `{"t":"turned","ft":"%topic%/%prefix%/","rl":[1,0,0,0,0,0,0,0]}`,
		"tasmota/discovery/AABBCCDDEE06/config":  `{"t":"german","state":["AUS","AN","TOGGLE","HOLD"],"rl":[1,0,0,0,0,0,0,0]}`,
		"tasmota/discovery/AABBCCDDEE07/config":  `{"t":"meter","rl":[0,0,0,0,0,0,0,0]}`,
		"tasmota/discovery/AABBCCDDEE08/config":  `{"t":"cut`,
		"homeassistant/switch/cut/off/config":    `{"cmd_t":`,
		"homeassistant/switch/x/gone/config":     `null`,
		"homeassistant/light/0x1/light/config":   `{"schema":"json","command_topic":"zigbee2mqtt/bulb/set"}`,
		"tele/strip/LWT":                         "Online",
		"tasmota/discovery/AABBCCDDEE01/config":  `{"t":"odd","rl":["x"]}`,
		"tasmota/discovery/AABBCCDDEE00/sensors": `{"t":"plug"}`,
		"homeassistant/switch/x/y/config":        `{"cmd_t":"elsewhere"}`,
		"homeassistant/switch/fan/top/config":    `{"name":"top","command_topic":"fan/switch/top/command"}`,
		"homeassistant/light/desk/strip/config":  `{"schema":"json","color_mode":true,"supported_color_modes":["rgb"],"brightness":true,"cmd_t":"desk/light/strip/command","stat_t":"desk/light/strip/state"}`,
		"homeassistant/light/desk/white/config":  `{"schema":"json","color_mode":true,"supported_color_modes":["brightness"],"brightness":true,"cmd_t":"desk/light/white/command"}`,
		"homeassistant/light/desk/cct/config":    `{"schema":"json","color_mode":true,"supported_color_modes":["color_temp"],"brightness":true,"min_mirs":153,"max_mirs":370,"cmd_t":"desk/light/cct/command"}`,
		"homeassistant/light/desk/long/config":   `{"supported_color_modes":["color_temp"],"min_mireds":200,"max_mireds":500,"command_topic":"desk/light/long/command"}`,
		"homeassistant/light/desk/none/config":   `{"supported_color_modes":["color_temp"],"cmd_t":"desk/light/none/command"}`,
		"homeassistant/light/other/x/config":     `{"schema":"json","supported_color_modes":["rgb"],"cmd_t":"other/set"}`,
	} {
		if err := b.Publish(topic, []byte(payload), true, 1); err != nil {
			t.Fatal(err)
		}
	}
	cfg := mqttdevice.DefaultConfig()
	cfg.Broker = b.address
	want := map[string]string{
		"plug": "tasmota", "shelly1pm-b929cc": "shelly-gen1", "shellyplus1pm-a8": "shelly-gen2", "shellydimmer2-d0": "shelly-gen1-light", "shelly0110dimg3-b0": "shelly-gen2-light", "desk-lamp": "zigbee2mqtt",
		"kitchen-blind": "zigbee2mqtt-cover", "roof-hatch": "esphome-cover", "shutter-1": "tasmota-cover", "shutter-2": "tasmota-cover", "shade-left": "homie5-cover",
		"window": "zigbee2mqtt-sensor", "pump-main": "esphome", "fan-top": "esphome", "desk-strip": "esphome-light", "bulb": "zigbee2mqtt-light", "hall-lamp-power": "homie5",
		"shutter-relay-5": "tasmota", "strip-relay-1": "tasmota", "strip-relay-2": "tasmota", "alone": "tasmota", "bulb9": "tasmota-light",
		"warm-bulb": "zigbee2mqtt-white", "odd-bulb": "zigbee2mqtt-light", "lamp-bulb": "homie5-light", "lamp-twin-on": "homie5", "desk-cct": "esphome-white", "desk-long": "esphome-white",
	}
	whites := map[string][2]string{"warm-bulb": {"2203", "4000"}, "desk-cct": {"2703", "6536"}, "desk-long": {"2000", "5000"}}
	why := map[string]string{
		"zigbee2mqtt/hall lock": "it is a lock, and messkit has no template", "zigbee2mqtt/radiator": "it is a thermostat, and messkit has no template", "zigbee2mqtt/ceiling fan": "it is a fan, and messkit has no template",
		"homeassistant/cover/roof/ends/config": "has no template", "tasmota/discovery/AABBCCDDEE05/config": "default topics or words", "tasmota/discovery/AABBCCDDEE06/config": "default topics or words",
		"tasmota/discovery/AABBCCDDEE01/config": "does not have the format of its type", "tasmota/discovery/AABBCCDDEE07/config": "no template for a relay", "tasmota/discovery/AABBCCDDEE08/config": "not JSON",
		"homeassistant/switch/cut/off/config": "not JSON", "homeassistant/switch/x/y/config": "no template", "homeassistant/switch/x/gone/config": "no template",
		"homeassistant/light/other/x/config": "no template", "homeassistant/light/desk/white/config": "no template", "homeassistant/light/desk/none/config": "no template",
	}
	var reasons map[string]string
	names := map[string]string{}
	for long := 2 * time.Second; len(names) < len(want) && long < time.Minute; long *= 2 { // Announced uses the whole time
		ctx, cancel := context.WithTimeout(t.Context(), long)
		got, err := mqttdevice.Announced(ctx, cfg, slog.New(slog.DiscardHandler))
		cancel()
		if err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
		clear(names)
		reasons = map[string]string{}
		for _, f := range got {
			if f.Config == nil {
				topic, because, _ := strings.Cut(strings.TrimPrefix(f.Where, "announced on "), ": ")
				reasons[topic] = because
				continue
			}
			if relay, want := f.Config["with.relay"], map[string]string{"shutter-relay-5": "5", "strip-relay-1": "1", "strip-relay-2": "2"}[f.Name]; relay != want {
				t.Errorf("%s: its relay is %q; want %q", f.Name, relay, want)
			}
			if got := [2]string{f.Config["with.warmest"], f.Config["with.coldest"]}; got != whites[f.Name] {
				t.Errorf("%s: its white is from %q to %q K", f.Name, got[0], got[1])
			}
			if f.Name == "lamp-bulb" && (f.Config["with.power"] != "on" || f.Config["with.brightness"] != "level" || f.Config["with.colour"] != "paint") {
				t.Errorf("%+v", f.Config)
			}
			names[f.Name] = f.Config["family"]
			if root, want := f.Config["with.root"], map[string]string{"shade-left": "bridge", "lamp-bulb": "bridge", "lamp-twin-on": "bridge"}[f.Name]; root != want {
				t.Errorf("%s: its root is %q; want %q", f.Name, root, want)
			}
		}
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	for topic, want := range why {
		if !strings.Contains(reasons[topic], want) {
			t.Errorf("reason of %s is %q, want %q", topic, reasons[topic], want)
		}
		delete(reasons, topic)
	}
	if len(reasons) > 0 {
		t.Errorf("more reasons than expected: %q", reasons)
	}
	if len(b.retained) != 0 {
		t.Errorf("discovery has published %q, want nothing", b.retained)
	}
}
