package mqttdevice_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/drivers/mqttdevice"
)

// Discovery keeps the class and the name that a device announces, and invents none.
func TestAnnouncedClasses(t *testing.T) {
	t.Parallel()
	b := newBroker(t, nil)
	for topic, payload := range map[string]string{
		"homeassistant/cover/garage-box/garage_door/config": `{"dev_cla":"garage","name":"Garage Door","cmd_t":"garage-box/cover/garage_door/command","pos_t":"garage-box/cover/garage_door/position/state","dev":{"ids":"a","name":"garage-box"}}`,
		"homeassistant/cover/yard/yard_gate/config":         `{"device_class":"gate","name":null,"command_topic":"yard/cover/yard_gate/command","position_topic":"p","device":{"name":"Yard Gate"}}`,
		"homeassistant/cover/study/shade/config":            `{"dev_cla":"shade","name":"Shade","cmd_t":"study/cover/shade/command","pos_t":"p"}`,
		"homeassistant/cover/vent/flap/config":              `{"dev_cla":"damper","name":"Vent","cmd_t":"vent/cover/flap/command","pos_t":"p"}`,
		"homeassistant/cover/who/knows/config":              `{"name":"Thing","cmd_t":"who/cover/knows/command","pos_t":"p"}`,
		"homeassistant/cover/who/lies/config":               `{"name":"Lies","dev_cla":"hatch: {locked: false}","cmd_t":"who/cover/lies/command","pos_t":"p"}`,
		"homeassistant/switch/box/bell/config":              `{"name":"Door Bell","cmd_t":"box/switch/bell/command"}`,
		"zigbee2mqtt/bridge/devices": `[{"friendly_name":"Big Gate","type":"Router","definition":{"description":"Garage door opener","exposes":[{"type":"cover"}]}},
			{"friendly_name":"0x00158d0001","type":"Router","definition":{"description":"Smart water valve","exposes":[{"type":"switch"}]}}]`,
		"homeassistant/cover/0x00158d0002/cover/config": `{"device_class":"garage","command_topic":"zigbee2mqtt/Big Gate/set"}`,
		"tasmota/discovery/AABBCCDDEEFF/config":         `{"dn":"Two","fn":["Left Blind",null,"Right Blind","","Porch Heater"],"t":"two","rl":[3,3,3,3,1]}`,
		"tasmota/discovery/AABBCCDDEE00/config":         `{"dn":"Tasmota","fn":["Tasmota",null],"t":"plain","rl":[1,0]}`,
		"homie/5/hall/$description":                     `{"name":"Hall","nodes":{"door":{"name":"Front Door","type":"door","properties":{"position":{"datatype":"integer","format":"0:100","settable":true},"action":{"datatype":"enum","format":"open,close,stop","settable":true}}},"plug":{"name":"Hall Plug","properties":{"on":{"datatype":"boolean","settable":true},"child":{"name":"Child Lock","datatype":"boolean","settable":true}}}}}`,
	} {
		if err := b.Publish(topic, []byte(payload), true, 1); err != nil {
			t.Fatal(err)
		}
	}
	cfg := mqttdevice.DefaultConfig()
	cfg.Broker = b.address
	want := map[string][3]string{ // class, label, about
		"garage-box-garage-door": {"garage-door", "Garage Door", ""}, "yard-gate": {"gate", "Yard Gate", ""}, "study-shade": {"blind", "Shade", ""}, "vent-flap": {"valve", "Vent", ""},
		"who-knows": {"", "Thing", ""}, "who-lies": {"", "Lies", ""}, "box-bell": {"", "Door Bell", ""},
		"big-gate": {"garage-door", "Big Gate", "Garage door opener"}, "0x00158d0001": {"", "", "Smart water valve"},
		"two-shutter-1": {"", "Left Blind", ""}, "two-shutter-2": {"", "Right Blind", ""}, "two-relay-5": {"", "Porch Heater", ""}, "plain": {"", "", ""},
		"hall-door": {"door", "Front Door", "door"}, "hall-plug-on": {"", "Hall Plug", ""}, "hall-plug-child": {"", "Hall Plug Child Lock", ""},
	}
	got := map[string][3]string{}
	for long := 2 * time.Second; len(got) < len(want) && long < time.Minute; long *= 2 { // Announced uses the whole time
		ctx, cancel := context.WithTimeout(t.Context(), long)
		list, err := mqttdevice.Announced(ctx, cfg, slog.New(slog.DiscardHandler))
		cancel()
		if err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
		clear(got)
		for _, f := range list {
			if f.Config != nil {
				got[f.Name] = [3]string{f.Config["class"], f.Label, f.About}
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
