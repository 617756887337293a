package setup

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/strictyaml"
)

// difference is what a new configuration changes.
type difference struct {
	Change
	restart []string // keys that need a restart
}

// describes are the keys of a device that no driver and no rule uses.
var describes = []string{"label", "aliases", "area", "hidden"}

// compare returns the difference of two configurations.
func (s *Setup) compare(old, next *config.Config) difference {
	d := difference{restart: []string{}}
	for _, key := range union(old.Document.Keys(), next.Document.Keys()) {
		if key != "devices" && old.Document.Under(key).Sum() != next.Document.Under(key).Sum() {
			d.restart = append(d.restart, key)
		}
	}
	type change struct {
		device string
		target *string // of Change
	}
	var live []change
	for _, name := range union(slices.Collect(maps.Keys(old.Devices)), slices.Collect(maps.Keys(next.Devices))) {
		was, before := old.Devices[name]
		is, after := next.Devices[name]
		target := &d.Replaced
		switch {
		case !before:
			target = &d.Added
		case !after:
			target = &d.Removed
		case was.Sum() == is.Sum():
			continue
		case isDescribed(was, is):
			d.Described = append(d.Described, name)
			continue
		}
		if reason := s.needsRestart(old.Opened.Device(name), next.Opened.Device(name)); reason != "" {
			d.restart = append(d.restart, "devices."+name+": "+reason)
			continue
		}
		live = append(live, change{name, target})
	}
	if len(live) == 1 {
		*live[0].target = live[0].device
		return d
	}
	for _, one := range live { // a failure of one would leave a part of the change
		d.restart = append(d.restart, "devices."+one.device+": several devices change at once")
	}
	return d
}

// needsRestart returns why a device cannot change while the program runs, "" if it can. The one before
// or the one after may be nil.
func (s *Setup) needsRestart(before, after *config.Device) string {
	for _, d := range []*config.Device{before, after} {
		if d != nil {
			if reason := s.program.NeedsRestart(*d); reason != "" {
				return reason
			}
		}
	}
	return ""
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
		if slices.Contains(d.Described, one.Name) {
			is := next.Opened.Device(one.Name)
			set.Devices[i].Label, set.Devices[i].Aliases, set.Devices[i].Area, set.Devices[i].Hidden = is.Label, is.Aliases, is.Area, is.Hidden
			c.Devices[one.Name] = next.Devices[one.Name]
		}
	}
	if gone := cmp.Or(d.Removed, d.Replaced); gone != "" {
		set.Devices = slices.DeleteFunc(set.Devices, func(one config.Device) bool { return one.Name == gone })
		delete(c.Devices, gone)
	}
	if comes := cmp.Or(d.Added, d.Replaced); comes != "" {
		set.Devices = append(set.Devices, *next.Opened.Device(comes))
		slices.SortFunc(set.Devices, func(a, b config.Device) int { return strings.Compare(a.Name, b.Name) })
		c.Devices[comes] = next.Devices[comes]
	}
	return &c
}
