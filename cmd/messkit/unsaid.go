package main

import (
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/strictyaml"
)

// unsaid tells of what opens and closes, and of which nobody has said what it is: it is
// taken for a door. That is no mistake: check tells it, and goes on.
func (h *home) unsaid(nodes map[string]strictyaml.Node) (notes strictyaml.Problems) {
	for _, d := range h.devices {
		if _, opens := d.dev.(drivers.Opener); opens && d.Class == "" && d.Risk == "" && d.class() == "door" {
			notes = append(notes, nodes[d.name].Problem("", "nothing says what it opens, so it is taken for a door, and a person is asked first; write class: blind, garage-door, gate, window, valve or door"))
		}
	}
	return notes
}
