package main

import (
	"cmp"
	"slices"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/internal/strictyaml"
)

// senses tells names of devices that are heard as something else in a sentence, or
// cannot be said at all. That is no mistake: check tells it, and goes on.
func (h *home) senses(nodes map[string]strictyaml.Node) (notes strictyaml.Problems) {
	c := cmp.Or(h.catalogue, catalog.Default())
	for _, d := range h.devices {
		tell := func(key, name string) {
			if sense := interpret.ReservedNameUse(c, name); sense != "" && spoken(name) != "" {
				notes = append(notes, nodes[d.name].Problem(key, "%q %s: what is asked for with it may be something else, or nothing; call it otherwise", name, sense))
			}
		}
		tell("", d.name)
		if d.Label != "" {
			tell("label", d.Label)
		}
		for _, name := range slices.Compact(slices.Sorted(slices.Values(d.Aliases))) {
			tell("aliases", name)
		}
	}
	return notes
}
