package config

import (
	"slices"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/strictyaml"
)

// Hazards are the classes of what heats, pours or howls: what should not be on
// for ever because somebody forgot it.
var Hazards = []string{"coffee-machine", "heater", "humidifier", "kettle", "oven", "pump", "rice-cooker", "siren"}

// forever tells which hazards stay on until somebody switches them off. That is
// no mistake: check tells it, and goes on.
func (h *DeviceSet) forever(nodes map[string]strictyaml.Node) (notes strictyaml.Problems) {
	for _, d := range h.Devices {
		if _, switches := d.Dev.(drivers.Switch); switches && d.Limits.MaxOn == 0 && slices.Contains(Hazards, d.EffectiveClass()) {
			notes = append(notes, nodes[d.Name].Problem("", "nothing switches it off by itself once it is on; limits: {max_on: 2h} does"))
		}
	}
	return notes
}
