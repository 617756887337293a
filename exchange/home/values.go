package home

import (
	"regexp"
	"slices"
	"strings"

	"github.com/messkit/messkit/mess"
)

// knownColors has the names of colors that the interpreter knows. A test compares them with its catalog.
var knownColors = []string{
	"amber", "blue", "bluish", "bright blue", "bright green", "bright orange", "bright pink", "bright purple", "bright red", "bright white",
	"bright yellow", "brown", "cold white", "cool white", "coral", "crimson", "cyan", "dark blue", "dark green", "dark orange", "dark purple",
	"dark red", "deep blue", "deep purple", "deep red", "gold", "green", "greenish", "indigo", "lavender", "light blue", "light green",
	"light pink", "light purple", "light red", "light yellow", "lime", "magenta", "maroon", "mint", "navy", "orange", "orangish", "peach",
	"pink", "pinkish", "purple", "purplish", "red", "reddish", "salmon", "sky blue", "teal", "turquoise", "violet", "warm", "warm white",
	"white", "yellow", "yellowish",
}

// knownQuantities has the quantities that the interpreter knows. A test compares them with its catalog.
var knownQuantities = []string{
	"battery", "bed temperature", "contact", "energy", "humidity", "illuminance", "lock", "moisture", "motion",
	"nozzle temperature", "opening", "power", "pressure", "target temperature", "temperature", "voltage", "water leak",
}

// hexColor is a color as sRGB.
var hexColor = regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)

// checkKnown checks a text argument that has a known set of values, although its registration lists
// none. It returns the known spelling of the value. The error is a *mess.Error.
func (d *Device) checkKnown(verb, name, text string) (string, error) {
	var known []string
	switch {
	case verb == "set-colour" && name == "colour":
		if hexColor.MatchString(text) {
			return text, nil
		}
		known = append([]string{"#rrggbb"}, knownColors...)
	case verb == "read-sensor" && name == "quantity":
		known = slices.Clone(knownQuantities)
		for _, r := range d.Readings {
			known = append(known, r.Quantity)
		}
		slices.Sort(known)
		known = slices.Compact(known)
	default:
		return text, nil
	}
	i := slices.IndexFunc(known, func(v string) bool { return strings.EqualFold(v, text) })
	if i < 0 {
		return "", mess.Errorf(mess.Invalid, "%s: unknown value %q; known: %s", name, text, strings.Join(known, ", "))
	}
	return known[i], nil
}
