package setup

import (
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/strictyaml"
)

// difference is what a new configuration changes.
type difference struct {
	added     string   // a device that starts now; "" for none
	described []string // devices with another label, other aliases or another area alone
	restart   []string // keys that need a restart
}

// describes are the keys of a device that no driver and no rule uses.
var describes = []string{"label", "aliases", "area"}

// compare returns the difference of two configurations.
func (s *Setup) compare(old, next *config.Config) difference {
	d := difference{restart: []string{}}
	for _, key := range union(old.Document.Keys(), next.Document.Keys()) {
		if key != "devices" && old.Document.Under(key).Sum() != next.Document.Under(key).Sum() {
			d.restart = append(d.restart, key)
		}
	}
	added := []string{}
	for _, name := range union(slices.Collect(maps.Keys(old.Devices)), slices.Collect(maps.Keys(next.Devices))) {
		was, before := old.Devices[name]
		is, after := next.Devices[name]
		switch {
		case !before && s.program.NeedsRestart(*next.Opened.Device(name)) != "":
			d.restart = append(d.restart, "devices."+name+": "+s.program.NeedsRestart(*next.Opened.Device(name)))
		case !before:
			added = append(added, name)
		case !after:
			d.restart = append(d.restart, "devices."+name+": it is removed")
		case was.Sum() == is.Sum():
		case isDescribed(was, is):
			d.described = append(d.described, name)
		default:
			d.restart = append(d.restart, "devices."+name)
		}
	}
	if len(added) == 1 {
		d.added = added[0]
		return d
	}
	for _, name := range added { // a failure of one would leave a part of the change
		d.restart = append(d.restart, "devices."+name+": several devices are new")
	}
	return d
}

// isDescribed reports whether two nodes of a device differ in their descriptions alone.
func isDescribed(was, is strictyaml.Node) bool {
	for _, key := range union(was.Keys(), is.Keys()) {
		if !slices.Contains(describes, key) && was.Under(key).Sum() != is.Under(key).Sum() {
			return false
		}
	}
	return true
}

// union returns the elements of both lists, each once, in order.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// merge returns old with the part of next that applies without a restart. Devices that stay are
// those of old, which run.
func merge(old, next *config.Config, d difference) *config.Config {
	c, set := *old, *old.Opened
	c.Devices, set.Devices = maps.Clone(old.Devices), slices.Clone(old.Opened.Devices)
	c.File, c.Opened = next.File, &set
	for i, one := range set.Devices {
		if slices.Contains(d.described, one.Name) {
			is := next.Opened.Device(one.Name)
			set.Devices[i].Label, set.Devices[i].Aliases, set.Devices[i].Area = is.Label, is.Aliases, is.Area
			c.Devices[one.Name] = next.Devices[one.Name]
		}
	}
	if d.added != "" {
		set.Devices = append(set.Devices, *next.Opened.Device(d.added))
		slices.SortFunc(set.Devices, func(a, b config.Device) int { return strings.Compare(a.Name, b.Name) })
		c.Devices[d.added] = next.Devices[d.added]
	}
	return &c
}
