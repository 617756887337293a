package interpret_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
)

// A name that means something else in a sentence gets a warning. Usual names of devices get
// none.
func TestReservedNameUse(t *testing.T) {
	c := catalog.Default()
	for name, want := range map[string]string{
		"💡": "has no word", "!?": "has no word",
		"42": "reads as a number", "3.5": "reads as a number",
		"all": "means everything", "everything": "means everything", "all lights": "means everything", "every-fan": "means everything",
		"yes": "means a yes, a no or a stop", "no": "means a yes", "stop": "means a yes",
		"it": "names nothing", "that": "names nothing", "not": "names nothing", "and": "names nothing", "the": "names nothing",
		"lamp for ten minutes": "reads as a time", "heater for 5 min": "reads as a time", "for 5 minutes": "reads as a time", "fan in 2 hours": "reads as a time",
		"turn off": "is an order, or the beginning", "switch-on": "is an order, or the beginning", "open": "is an order, or the beginning", "switch it off": "is an order, or the beginning", "unlock": "is an order, or the beginning",
	} {
		if got := interpret.ReservedNameUse(c, name); !strings.Contains(got, want) {
			t.Errorf("%q %s; want %q", name, got, want)
		}
	}
	for _, name := range strings.Split("lamp, light, fan, kitchen, hall lamp 2, reading-lamp, TV and lamp, washer and dryer, front door, door, garage door, vacuum, robot, dock, heater, "+
		"pump, night light, lights, living room lights, Ständerlampe, Küche, spot, up, coffee machine, 3D printer, plug 4, room 12, second lamp, x1, motion, thermometer, siren, box for tools, light in the hall, "+
		"Anna's lamp, blind, window, water tank, charger, nas, printer, camera, fridge, lampe, лампа, 台灯", ", ") {
		if got := interpret.ReservedNameUse(c, name); got != "" {
			t.Errorf("%q %s", name, got)
		}
	}
}
