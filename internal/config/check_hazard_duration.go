package config

import (
	"slices"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/strictyaml"
)

// Hazards are the classes of devices that heat, pour or howl. A person who forgets them
// should not leave them on forever.
var Hazards = []string{"coffee-machine", "heater", "humidifier", "kettle", "oven", "pump", "rice-cooker", "siren"}

// missingLimitNotes returns a note for each hazard without `max_on`. A note is no error; check
// prints it and continues.
func (h *DeviceSet) missingLimitNotes(nodes map[string]strictyaml.Node) (notes strictyaml.Problems) {
	for _, d := range h.Devices {
		if _, switches := d.Dev.(drivers.Switch); switches && d.Limits.MaxOn == 0 && slices.Contains(Hazards, d.EffectiveClass()) {
			notes = append(notes, nodes[d.Name].Problem("", "nothing switches it off automatically once it is on; limits: {max_on: 2h} does"))
		}
	}
	return notes
}
