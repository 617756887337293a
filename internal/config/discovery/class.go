package discovery

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/config"
)

// Words in the names of a device.
var (
	ways        = []string{"garage-door", "gate", "lock", "door", "window"}                                           // classes that give access
	accessWords = []string{"garage", "opener", "strike", "latch", "bolt", "barrier", "bollard", "entrance", "buzzer"} // words for access that are no classes
	plugs       = []string{"", "plug", "switch", "relay", "button"}                                                   // do not say which appliance they switch
)

// cautious sets the class of a device that acts from the names that the device, its owner
// and its maker give it. A name can only make the class more careful, never free of a
// confirmation. note explains the choice, for a comment.
func (d Discovered) cautious(dev drivers.Device) (note string) {
	_, opens := dev.(drivers.Opener)
	_, switches := dev.(drivers.Switch)
	switch class := (config.Device{Dev: dev, Kind: d.Kind}).EffectiveClass(); {
	case opens:
		return d.opening()
	case switches && d.Config["class"] == "" && slices.Contains(plugs, class):
		return d.hanging()
	}
	return ""
}

// hanging sets the class of the appliance behind a switch. The last word of the name has
// priority: the garage door light is a light.
func (d Discovered) hanging() (note string) {
	called, _ := classesIn(cmp.Or(d.Label, d.Name))
	all, words := classesIn(d.Name + " " + d.Label + " " + d.About)
	last := called[len(called)-1]
	perilous := append([]string{"valve"}, config.Hazards...)
	if !slices.Contains(perilous, last) {
		if !slices.Contains(plugs, last) && !slices.Contains(ways, last) {
			return "" // a fan
		}
		if slices.ContainsFunc(ways, in(all)) || slices.ContainsFunc(accessWords, in(words)) {
			d.Config["risk"] = string(capabilities.RiskAccess)
			return "; by its name it may open something, which a person has to confirm: take risk away where it does not"
		}
		i := slices.IndexFunc(perilous, in(all))
		if i < 0 {
			return ""
		}
		last = perilous[i]
	}
	d.Config["class"] = last
	return ""
}

// opening sets the class of a cover: its announced class, unless a name has a class with
// more risk. A cover without a class is a door.
func (d Discovered) opening() (note string) {
	all, words := classesIn(d.Name + " " + d.Label + " " + d.About)
	announced := d.Config["class"]
	switch {
	case announced != "" && announced != "blind":
	case slices.Contains(all, "garage-door") || slices.Contains(words, "garage"):
		d.Config["class"] = "garage-door"
	case slices.Contains(all, "gate") || slices.Contains(all, "valve"):
		d.Config["class"] = map[bool]string{true: "gate", false: "valve"}[slices.Contains(all, "gate")]
	case announced == "":
		d.Config["class"] = "door"
		return "; its class is unknown, and a door needs the confirmation of a person: write class: blind if it is one"
	}
	return ""
}

func in(list []string) func(string) bool {
	return func(s string) bool { return slices.Contains(list, s) }
}

// classesIn returns the classes that the words of a text name, and its words. The last element of
// classes is the class of the last word, or "".
func classesIn(text string) (classes, words []string) {
	c := catalog.Default()
	words = strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
	classes = []string{""}
	for end := range words {
		last := ""
		for from := end; from >= 0 && end-from < longestClass; from-- {
			if phrase := strings.Join(words[from:end+1], " "); c.HasClass(phrase) {
				last = c.Class(phrase)
				classes = append(classes, last)
			}
		}
		if last == "" {
			classes = append(classes, "")
		}
	}
	return classes, words
}

// longestClass is the largest number of words of a class name.
const longestClass = 3
