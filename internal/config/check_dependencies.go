package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/strictyaml"
)

// depends returns an error for each condition on a device that does not exist or has no
// state to read, and for each interlock group with one member.
func (h *DeviceSet) depends(nodes map[string]strictyaml.Node) error {
	var wrong strictyaml.Problems
	for _, d := range h.Devices {
		if reason := h.unseen(d); reason != "" {
			wrong = append(wrong, nodes[d.Name].Problem("seen_by", "%s", reason))
		}
		wrong = append(wrong, h.held(d, nodes[d.Name])...)
		n := nodes[d.Name].Under("limits")
		wrong = append(append(wrong, NoTimes(n)...), d.sent(nodes[d.Name])...)
		wrong = append(wrong, d.levels(nodes[d.Name])...)
		for _, need := range d.Limits.Requires {
			other := h.Device(need.Device)
			switch {
			case need.Validate() != nil: // the parser reported it already
			case other == nil:
				wrong = append(wrong, n.Problem("requires", "there is no device %q; write the name of one that is here", need.Device))
			case need.Device == d.Name:
				wrong = append(wrong, n.Problem("requires", "it cannot depend on itself; write another device"))
			case other.Dev == nil: // it has an error of its own
			case need.SupportedBy(other.Dev) != nil:
				wrong = append(wrong, n.Problem("requires", "%v; write a quantity that it measures, or another device", need.SupportedBy(other.Dev)))
			case need.Is == "on" && d.groupWith(*other) != "":
				wrong = append(wrong, n.Problem("requires", "%s, and no two of group %s are ever on together, so it would never act; leave out one of the two", need, d.groupWith(*other)))
			}
		}
		wrong = append(wrong, d.ranges(n)...)
		for _, group := range d.Limits.Interlock {
			if h.inGroup(group) < 2 {
				wrong = append(wrong, n.Problem("interlock", "no other device is in the group %q; write it at the other as well", group))
			}
		}
	}
	return wrong.Err()
}

// held returns an error for each resource (line, port) that an earlier device holds already:
// the second device would find it busy. Two devices that only read get a note instead.
func (h *DeviceSet) held(d Device, n strictyaml.Node) (wrong strictyaml.Problems) {
	for _, one := range HeldBy(d) {
		for _, other := range h.Devices {
			if other.Name == d.Name {
				break
			}
			i := slices.IndexFunc(HeldBy(other), one.SameAs)
			if i < 0 {
				continue
			}
			what, theirs := one.Label, HeldBy(other)[i]
			if as := theirs.Label; as != what && one.Location != nil {
				what += ", which is " + as + ","
			}
			if one.Sole != theirs.Sole {
				wrong = append(wrong, n.Problem(one.Key, "is missing here or at %s, and that one would be whichever there is; write it at both", other.Name))
			} else if one.ReadOnly && theirs.ReadOnly {
				h.Notes = append(h.Notes, n.Problem(one.Key, "%s is that of %s as well; leave out one of the two, and write its names as aliases of the other", what, other.Name))
			} else {
				wrong = append(wrong, n.Problem(one.Key, "%s is that of %s; no two devices can have one", what, other.Name))
			}
			break // the earlier device shares it, too
		}
	}
	return wrong
}

// HeldBy returns what a device holds: lines, ports and other resources.
func HeldBy(d Device) []drivers.Resource {
	if h, ok := d.Dev.(drivers.ResourceHolder); ok {
		return h.Resources()
	}
	return nil
}

// ranges returns an error for each range of a parameter that no plan for the device has.
func (d Device) ranges(limits strictyaml.Node) (wrong strictyaml.Problems) {
	if d.Dev == nil {
		return nil
	}
	can := device.Commands(d.Dev)
	for _, command := range output.SortedKeys(d.Limits.Range) {
		if !command.Known() {
			continue // reported already
		}
		if !slices.Contains(can, command) {
			wrong = append(wrong, limits.Under("range").Problem(string(command), "it has no such command; its commands: %s", strings.Join(d.Verbs(), ", ")))
			continue
		}
		for _, name := range output.SortedKeys(d.Limits.Range[command]) {
			if has := command.Parameters(); !slices.Contains(has, name) {
				wrong = append(wrong, limits.Under("range").Under(string(command)).Problem(name, "%s has no such parameter; it has: %s", command, cmp.Or(strings.Join(has, ", "), "none")))
			}
		}
	}
	return wrong
}

// NoTimes returns an error for each time limit of 0. It would mean the default, and the user
// who writes 0 does not expect that.
func NoTimes(limits strictyaml.Node) (wrong strictyaml.Problems) {
	for _, key := range []string{"max_on", "timeout", "long_timeout", "stop_within"} {
		var t *time.Duration
		if limits.Under(key).Decode(&t) == nil && t != nil && *t == 0 {
			wrong = append(wrong, limits.Problem(key, "0 is no time; leave it out for the default, or write a longer one"))
		}
	}
	return wrong
}

// sent returns an error for `sees` of a device without a camera, for `rooms` of a device that
// cannot go to a room, for unknown rooms, and for a class whose commands the device does not
// support.
func (d Device) sent(n strictyaml.Node) (wrong strictyaml.Problems) {
	_, cleans := d.Dev.(drivers.Cleaner)
	_, prints := d.Dev.(drivers.Printer)
	if len(d.Rooms) > 0 && d.Dev != nil && !cleans && !prints {
		return strictyaml.Problems{n.Problem("rooms", "it neither cleans nor prints; write area for where it is")}
	}
	if _, sent := d.Dev.(drivers.AreaLister); len(d.Rooms) > 0 && d.Dev != nil && !sent {
		wrong = append(wrong, n.Problem("rooms", "it cannot go to a room; leave them out, or write segments if its driver has them"))
	}
	if (d.Class == "lock" || d.Class == "garage-door") && d.Dev != nil && slices.Contains(device.Commands(d.Dev), capabilities.SetSwitch) {
		wrong = append(wrong, n.Problem("class", "its driver only switches, so no request would fit; write button (with pulse: if the driver has it) for a press that opens, or switch"))
	}
	if _, ok := d.Dev.(drivers.Photographer); len(d.Sees) > 0 && d.Dev != nil && !ok {
		wrong = append(wrong, n.Problem("sees", "it takes no pictures; write area for where it is"))
	}
	m, ok := d.Dev.(drivers.RoomLister)
	if !ok || len(m.Rooms()) == 0 {
		return wrong
	}
	for i, room := range d.Rooms {
		if !slices.Contains(m.Rooms(), room) {
			wrong = append(wrong, n.Problem(fmt.Sprintf("rooms[%d]", i), "it knows no %q; write one of %s", room, strings.Join(m.Rooms(), ", ")))
		}
	}
	return wrong
}

// groupWith is the first interlock group that two devices have in common, "" if
// none.
func (d Device) groupWith(other Device) string {
	for _, group := range d.Limits.Interlock {
		if slices.Contains(other.Limits.Interlock, group) {
			return group
		}
	}
	return ""
}

// levels returns an error for a start or safe state that a person would have to confirm, or
// that would leave the device on forever.
func (d Device) levels(n strictyaml.Node) (wrong strictyaml.Problems) {
	l, ok := d.Dev.(drivers.StartHaltStates)
	if !ok {
		return nil
	}
	initial, safe := l.StartHaltStates()
	if initial == "on" && confirmed(d.Risk) {
		wrong = append(wrong, n.Problem("initial", "a start would switch it on, which a person has to confirm where the risk is %s; write off or keep", d.Risk))
	}
	if safe == "on" && d.Limits.MaxOn > 0 {
		wrong = append(wrong, n.Problem("safe", "the end would switch it on, and nothing would switch it off after its max_on of %v; write off or keep, or leave out max_on", d.Limits.MaxOn))
	}
	return wrong
}

// confirmed reports whether a person must confirm plans of this risk class by default.
func confirmed(r capabilities.Risk) bool {
	return r == capabilities.RiskAccess || r == capabilities.RiskMotion || r == capabilities.RiskIrreversible
}

// unseen returns the problem with the camera that `seen_by` names, "" for none.
func (h *DeviceSet) unseen(d Device) string {
	if d.SeenBy == "" {
		return ""
	}
	camera := h.Device(d.SeenBy)
	if camera == nil {
		return fmt.Sprintf("there is no device %q; write the name of a camera that is here", d.SeenBy)
	}
	if _, ok := camera.Dev.(drivers.Photographer); camera.Dev != nil && !ok {
		return fmt.Sprintf("%s takes no pictures; write the name of a camera", d.SeenBy)
	}
	return ""
}

// Device returns the device with a name, or nil.
func (h *DeviceSet) Device(name string) *Device {
	i := slices.IndexFunc(h.Devices, func(d Device) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return &h.Devices[i]
}

func (h *DeviceSet) inGroup(group string) int {
	n := 0
	for _, d := range h.Devices {
		if slices.Contains(d.Limits.Interlock, group) {
			n++
		}
	}
	return n
}
