package config

import (
	"cmp"
	"slices"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/internal/strictyaml"
)

// Senses returns a note for each device name that a sentence uses for something else, or that
// no sentence can contain. A note is no error; check prints it and continues.
func (h *DeviceSet) Senses(nodes map[string]strictyaml.Node) (notes strictyaml.Problems) {
	c := cmp.Or(h.Catalog, catalog.Default())
	for _, d := range h.Devices {
		report := func(key, name string) {
			if sense := interpret.ReservedNameUse(c, name); sense != "" && Spoken(name) != "" {
				notes = append(notes, nodes[d.Name].Problem(key, "%q %s: a request with it may mean something else, or nothing; write another name", name, sense))
			}
		}
		report("", d.Name)
		if d.Label != "" {
			report("label", d.Label)
		}
		for _, name := range slices.Compact(slices.Sorted(slices.Values(d.Aliases))) {
			report("aliases", name)
		}
	}
	return notes
}
