package interpret_test

import (
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
)

// numberedHome has devices and places whose names end in numbers.
func numberedHome(devices ...capabilities.Device) *interpret.Interpreter {
	return interpret.New(catalog.Default(), capabilities.Home{Now: sunday, Devices: devices})
}

func bulb(name, area string) capabilities.Device {
	return capabilities.Device{Name: name, Class: "light", Area: area, Commands: []capabilities.Command{capabilities.SetSwitch, capabilities.ReadState, capabilities.Dim, capabilities.SetColorTemperature}}
}

func blind(name string) capabilities.Device {
	return capabilities.Device{Name: name, Class: "blind", Area: "bedroom", Commands: []capabilities.Command{capabilities.Open, capabilities.Close, capabilities.OpenTo, capabilities.ReadState}}
}

// A number behind a name belongs to the name. It is no value if no device of this home has
// that name, because another executor may have the device.
func TestNumberAfterNameBelongsToName(t *testing.T) {
	say(t, numberedHome(bulb("lamp", "hall"), blind("blind")), [][2]string{
		{"turn on lamp 50", `no: nothing here has the name "lamp 50"`},
		{"turn on lamp fifty", `no: nothing here has the name "lamp fifty"`},
		{"turn on lamp 2", `no: nothing here has the name "lamp 2"`},
		{"turn on lamp number 2", `no: nothing here has the name "lamp number 2"`},
		{"is lamp 4 on?", `no: nothing here has the name "lamp 4"`},
		{"set lamp 50 to 20 %", `no: nothing here has the name "lamp 50"`},
		{"set blind 2 to 40 %", `no: nothing here has the name "blind 2"`},
		{"open blind 2", `no: nothing here has the name "blind 2"`},
		{"turn on lamp 4 and open the blind", `no: nothing here has the name "lamp 4"`},
		{"turn on light 50 for ten minutes", `no: nothing here has the name "light 50"`},
		{"lamp 50", `asks: nothing here has the name "lamp 50": shall I set the lamp to 50 percent?`},
		{"set brightness of hall 50", `asks: nothing here has the name "hall 50": shall I set the lamp to 50 percent?`},
		{"set the lamp to 50", "set-brightness 50"},
		{"lamp 50 percent", "set-brightness 50"},
		{"set lamp 50 %", "set-brightness 50"},
		{"turn on the lamp at 8 pm", "switch-on at Sun 20:00:00"},
		{"turn on the lamp 8 pm", "switch-on at Sun 20:00:00"},
	})
	say(t, numberedHome(bulb("lamp", "hall"), bulb("lamp-50", "hall"), bulb("lamp two", "hall"), blind("blind 2")), [][2]string{
		{"turn on lamp 50", "switch-on"},
		{"turn on lamp 2", "switch-on"},
		{"set blind two to 40 %", "set-opening"},
		{"set blind 2 to 40 %", "set-opening"},
		{"set lamp 50 to 20", "set-brightness 20"},
		{"lamp 50", `asks: "lamp 50" is a name without an order: turn on the lamp 50, turn off the lamp 50`},
	})
	r := numberedHome(bulb("lamp", "hall"), bulb("lamp-50", "hall"), bulb("lamp two", "hall"))
	for text, want := range map[string]string{"turn on lamp 50": "lamp-50", "turn on lamp fifty": "lamp-50", "turn on lamp 2": "lamp two", "dim lamp two to 30 percent": "lamp two"} {
		if o := r.Resolve(ask(text)); o.Plan == nil || o.Plan.Device != want {
			t.Errorf("%q: %s, want %s", text, got(o), want)
		}
	}
}
