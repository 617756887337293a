package edit

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/messkit/messkit/internal/strictyaml"
)

// RemoveDevice returns text without one device and its comments, also those directly above it. All
// other comments stay. The error says why text stays as it is.
func RemoveDevice(text []byte, name string) ([]byte, error) {
	d, before, err := read(text)
	if err != nil {
		return nil, err
	}
	there := before.Get(section)
	if there == nil || there.Kind != strictyaml.Map || there.Get(name) == nil {
		return nil, fmt.Errorf("devices.%s: there is no such device; reload the page", name)
	}
	if d.devices == nil || d.devices.Style&yaml.FlowStyle != 0 || len(d.devices.Content) == 0 {
		return nil, errByHand
	}
	first, last := d.extent(name)
	removed := strings.Join(d.lines[first:last], "")
	after := []byte(strings.Join(slices.Delete(slices.Clone(d.lines), first, last), ""))
	want := clone(before)
	if set(want.Get(section), name, nil); len(want.Get(section).Pairs) == 0 {
		set(want, section, &strictyaml.Value{Kind: strictyaml.Null})
	}
	got, err := parse(after)
	if err != nil || strictyaml.From(got, "").Sum() != strictyaml.From(want, "").Sum() || !slices.Equal(comments(after), except(comments(text), comments([]byte(removed)))) {
		return nil, errByHand
	}
	return after, nil
}

// except returns the elements of all without those of some, each as often as some has it.
func except(all, some []string) []string {
	list := slices.Clone(all)
	for _, one := range some {
		if i := slices.Index(list, one); i >= 0 {
			list = slices.Delete(list, i, i+1)
		}
	}
	return list
}

// extent returns the lines of a device from its comments to its last line, as a range of indices.
func (d *document) extent(name string) (first, last int) {
	nodes := d.devices.Content
	i := 0
	for nodes[i].Value != name {
		i += 2
	}
	column := nodes[i].Column
	first, last = nodes[i].Line-1, d.next-1
	if i+2 < len(nodes) {
		last = nodes[i+2].Line - 1
	}
	for last > first+1 && isBlankOrComment(d.lines[last-1]) { // what stands above the next device, or the next section
		last--
	}
	for last < len(d.lines) && isComment(d.lines[last]) && indentOf(d.lines[last]) >= column { // comments inside the device
		last++
	}
	for first > d.key.Line && isComment(d.lines[first-1]) && indentOf(d.lines[first-1]) == column-1 {
		first--
	}
	return first, last
}
