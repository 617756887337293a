package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/internal/strictyaml"
)

// named tells names that say nothing, and those by which nobody can tell two devices
// of one class in one place apart.
func (h *home) named(nodes map[string]strictyaml.Node) error {
	c := cmp.Or(h.catalogue, catalog.Default())
	var wrong strictyaml.Problems
	has := map[string]string{} // device by what it is called
	tell := func(d device, key, name string) {
		at := d.called(c, name)
		switch other := has[at]; {
		case spoken(name) == "":
			wrong = append(wrong, nodes[d.name].Problem(key, "says nothing; write what people call it, or leave it out"))
		case other == "":
			has[at] = d.name
		case other != d.name:
			wrong = append(wrong, nodes[d.name].Problem(key, "%s is called %q as well, and nobody could tell the two apart; write another name, or the area of each", other, name))
		}
	}
	known := slices.DeleteFunc(slices.Clone(h.devices), func(d device) bool {
		return d.dev == nil || d.kind.Places && d.Area == "" // where it is shows when it runs
	})
	for _, d := range known {
		tell(d, "", d.name)
	}
	for _, d := range known {
		if d.Label != "" {
			tell(d, "label", d.Label)
		}
		for _, name := range d.Aliases {
			tell(d, "aliases", name)
		}
	}
	return merge(wrong)
}

// called is a name of the device together with what tells it from others of that
// name.
func (d device) called(c *catalog.Catalog, name string) string {
	return strings.Join([]string{spoken(name), c.Class(d.class()), spoken(d.Area)}, "\x00")
}

// spoken is a name as it is heard.
func spoken(name string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.ReplaceAll(name, "-", " ")), " "))
}
