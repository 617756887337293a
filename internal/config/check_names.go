package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/internal/strictyaml"
)

// CheckNames returns an error for each empty name, and for each name that two devices of one
// class share in one area.
func (h *DeviceSet) CheckNames(nodes map[string]strictyaml.Node) error {
	c := cmp.Or(h.Catalog, catalog.Default())
	var wrong strictyaml.Problems
	has := map[string]string{} // device by each of its names
	report := func(d Device, key, name string) {
		at := d.called(c, name)
		switch other := has[at]; {
		case Spoken(name) == "":
			wrong = append(wrong, nodes[d.Name].Problem(key, "says nothing; write what people call it, or leave it out"))
		case other == "":
			has[at] = d.Name
		case other != d.Name:
			wrong = append(wrong, nodes[d.Name].Problem(key, "%s has the name %q as well, in one area; write another name, or the area of each", other, name))
		}
	}
	known := slices.DeleteFunc(slices.Clone(h.Devices), func(d Device) bool {
		return d.Dev == nil || d.Kind.ReportsArea && d.Area == "" // the driver reports its area later
	})
	for _, d := range known {
		report(d, "", d.Name)
	}
	for _, d := range known {
		if d.Label != "" {
			report(d, "label", d.Label)
		}
		for _, name := range d.Aliases {
			report(d, "aliases", name)
		}
	}
	return MergeProblems(wrong)
}

// called returns a name of the device with its class and area, which distinguish devices of
// one name.
func (d Device) called(c *catalog.Catalog, name string) string {
	return strings.Join([]string{Spoken(name), c.Class(d.EffectiveClass()), Spoken(d.Area)}, "\x00")
}

// Spoken returns a name in the form that the language compares.
func Spoken(name string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.ReplaceAll(name, "-", " ")), " "))
}
