package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/internal/strictyaml"
)

// CheckNames tells names that say nothing, and those by which nobody can tell two devices
// of one class in one place apart.
func (h *DeviceSet) CheckNames(nodes map[string]strictyaml.Node) error {
	c := cmp.Or(h.Catalogue, catalog.Default())
	var wrong strictyaml.Problems
	has := map[string]string{} // device by what it is called
	tell := func(d Device, key, name string) {
		at := d.called(c, name)
		switch other := has[at]; {
		case Spoken(name) == "":
			wrong = append(wrong, nodes[d.Name].Problem(key, "says nothing; write what people call it, or leave it out"))
		case other == "":
			has[at] = d.Name
		case other != d.Name:
			wrong = append(wrong, nodes[d.Name].Problem(key, "%s is called %q as well, and nobody could tell the two apart; write another name, or the area of each", other, name))
		}
	}
	known := slices.DeleteFunc(slices.Clone(h.Devices), func(d Device) bool {
		return d.Dev == nil || d.Kind.Places && d.Area == "" // where it is shows when it runs
	})
	for _, d := range known {
		tell(d, "", d.Name)
	}
	for _, d := range known {
		if d.Label != "" {
			tell(d, "label", d.Label)
		}
		for _, name := range d.Aliases {
			tell(d, "aliases", name)
		}
	}
	return MergeProblems(wrong)
}

// called is a name of the device together with what tells it from others of that
// name.
func (d Device) called(c *catalog.Catalog, name string) string {
	return strings.Join([]string{Spoken(name), c.Class(d.EffectiveClass()), Spoken(d.Area)}, "\x00")
}

// Spoken is a name as it is heard.
func Spoken(name string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.ReplaceAll(name, "-", " ")), " "))
}
