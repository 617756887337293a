package interpret_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/mess"
)

// heated is a home with two thermostats, and other devices without a target temperature.
func heated() *interpret.Interpreter {
	thermostat := []capabilities.Command{capabilities.SetSwitch, capabilities.Toggle, capabilities.ReadState, capabilities.SetTemperature}
	within := map[string]capabilities.Range{"temperature": {Min: 5, Max: 30}}
	return interpret.New(catalog.Default(), capabilities.Home{Devices: []capabilities.Device{
		{Name: "living", Label: "living room thermostat", Class: "heater", Area: "living room", Commands: thermostat, Limits: within},
		{Name: "bath", Label: "bathroom heating", Class: "heater", Area: "bathroom", Commands: thermostat, Limits: within},
		{Name: "ac", Label: "bedroom air conditioner", Aliases: []string{"ac"}, Class: "air-conditioner", Area: "bedroom", Commands: thermostat, Limits: map[string]capabilities.Range{"temperature": {Min: 16, Max: 30}}},
		{Name: "fire", Label: "office heater", Class: "heater", Area: "office", Commands: []capabilities.Command{capabilities.SetSwitch, capabilities.ReadState}},
		{Name: "climate", Label: "living room thermometer", Class: "thermometer", Area: "living room", Commands: []capabilities.Command{capabilities.ReadState}},
		{Name: "lamp", Label: "living room lamp", Class: "light", Area: "living room", Commands: []capabilities.Command{capabilities.SetSwitch, capabilities.Dim, capabilities.SetColorTemperature}, Limits: map[string]capabilities.Range{"kelvin": {Min: 2000, Max: 6500}}},
		{Name: "pan", Label: "camera pan", Class: "servo", Area: "hall", Commands: []capabilities.Command{capabilities.TurnTo}, Limits: map[string]capabilities.Range{"angle": {Min: 0, Max: 180}}},
	}})
}

// Temperatures reach the plan in °C, from any unit in the text.
func TestTemperaturesReachThePlanInCelsius(t *testing.T) {
	r := heated()
	for text, want := range map[string]string{
		"set the living room to 21 degrees":                      "living set-temperature temperature 21",
		"set the living room to 21":                              "living set-temperature temperature 21",
		"set the living room thermostat to 21.5 °C":              "living set-temperature temperature 21.5",
		"turn the heating in the bathroom up to twenty three":    "bath set-temperature temperature 23",
		"please heat the bathroom to 23 degrees celsius":         "bath set-temperature temperature 23",
		"cool the bedroom to 20°":                                "ac set-temperature temperature 20",
		"set the ac to 68 °F":                                    "ac set-temperature temperature 20",
		"set the bathroom heating to 70 degrees fahrenheit":      "bath set-temperature temperature 21.1",
		"set the temperature in the living room to 19 degrees":   "living set-temperature temperature 19",
		"change the bathroom temperature to 18 degrees":          "bath set-temperature temperature 18",
		"adjust the temperature of the bathroom heating to 18 c": "bath set-temperature temperature 18",
		"bathroom heating to 19 degrees":                         "bath set-temperature temperature 19",
		"set the thermostat in the living room to 21":            "living set-temperature temperature 21",
		"i want 22 degrees in the bathroom":                      "bath set-temperature temperature 22",
		"turn off the heating in the bathroom":                   "bath switch on false",
		"turn on the living room thermostat":                     "living switch on true",
		"what is the bathroom heating set to":                    "bath read-state quantity target temperature",
		"what is the target temperature of the bathroom heating": "bath read-state quantity target temperature",
		"how warm is it in the living room":                      "climate read-state quantity temperature",
		"turn the camera pan to 45 degrees":                      "pan turn-to angle 45",
		"set the living room lamp to 2700 K":                     "lamp warm kelvin 2700",
		"dim the living room lamp to 21":                         "lamp dim level 21",
		"is the bathroom heating on?":                            "bath read-state",
		"is it 21 degrees in the living room?":                   "",
	} {
		out := r.Resolve(mess.Request{Intent: text})
		if got := doing(out); got != want {
			t.Errorf("Resolve(%q) = %q, want %q (%+v, %+v)", text, got, want, out.Refusal, out.Question)
		}
	}
}

// The refusal of a temperature has the range of the device. The interpreter never drops a word.
func TestUnsettableTemperaturesAreRefused(t *testing.T) {
	r := heated()
	for text, want := range map[string]string{
		"set the living room to 45 degrees":                "it goes from 5 to 30",
		"set the ac to 10 degrees":                         "it goes from 16 to 30",
		"set the living room to 70 degrees":                "it goes from 5 to 30",
		"set the office heater to 21 degrees":              "office heater cannot do that (set the temperature that a room is kept at) here; it can",
		"set the living room to 21 percent":                "",
		"set the living room to 21 lumens":                 "",
		"set the living room lamp to 21 degrees":           "",
		"set the living room to 21 degrees for two hours":  "",
		"do not set the living room to 21 degrees":         "",
		"set the living room to 21 degrees when I am home": "",
		"set the living room to 300 kelvin":                "",
		"raise the living room by 2 degrees":               "",
	} {
		out := r.Resolve(mess.Request{Intent: text})
		switch {
		case out.Plan != nil:
			t.Errorf("Resolve(%q) = %s", text, doing(out))
		case want != "" && (out.Refusal == nil || !strings.Contains(out.Refusal.Reason, want)):
			t.Errorf("Resolve(%q): %+v, %+v; want %q", text, out.Refusal, out.Question, want)
		}
	}
}

// doing is a plan in words: its device, its command and its arguments; "" for none.
func doing(out capabilities.Outcome) string {
	if out.Plan == nil {
		return ""
	}
	got := []string{out.Plan.Device, string(out.Plan.Command)}
	for _, a := range out.Plan.Args {
		got = append(got, a.Key, fmt.Sprint(a.Value))
	}
	return strings.Join(got, " ")
}
