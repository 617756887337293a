package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/strictyaml"
)

// depends tells what devices say of each other that cannot be: conditions on
// devices that are not there or cannot tell, and groups of one.
func (h *DeviceSet) depends(nodes map[string]strictyaml.Node) error {
	var wrong strictyaml.Problems
	for _, d := range h.Devices {
		if why := h.unseen(d); why != "" {
			wrong = append(wrong, nodes[d.Name].Problem("seen_by", "%s", why))
		}
		wrong = append(wrong, h.held(d, nodes[d.Name])...)
		n := nodes[d.Name].Under("limits")
		wrong = append(append(wrong, NoTimes(n)...), d.sent(nodes[d.Name])...)
		wrong = append(wrong, d.levels(nodes[d.Name])...)
		for _, need := range d.Limits.Requires {
			other := h.Device(need.Device)
			switch {
			case need.Validate() != nil: // told when it was read
			case other == nil:
				wrong = append(wrong, n.Problem("requires", "there is no device %q; write the name of one that is here", need.Device))
			case need.Device == d.Name:
				wrong = append(wrong, n.Problem("requires", "it cannot depend on itself; write another device"))
			case other.Dev == nil: // it has a mistake of its own
			case need.SupportedBy(other.Dev) != nil:
				wrong = append(wrong, n.Problem("requires", "%v; write what it can tell, or another device", need.SupportedBy(other.Dev)))
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

// held tells of what a device holds that one before it holds already: it would find
// that busy. Of what is only read that is a note.
func (h *DeviceSet) held(d Device, n strictyaml.Node) (wrong strictyaml.Problems) {
	for _, one := range HeldBy(d) {
		for _, other := range h.Devices {
			if other.Name == d.Name {
				break
			}
			i := slices.IndexFunc(HeldBy(other), one.Is)
			if i < 0 {
				continue
			}
			what, theirs := one.What, HeldBy(other)[i]
			if as := theirs.What; as != what && one.Place != nil {
				what += ", which is " + as + ","
			}
			if one.Only != theirs.Only {
				wrong = append(wrong, n.Problem(one.Key, "is missing here or at %s, and that one would be whichever there is; write it at both", other.Name))
			} else if one.Read && theirs.Read {
				h.Notes = append(h.Notes, n.Problem(one.Key, "%s is that of %s as well; leave out one of the two, and write its names as aliases of the other", what, other.Name))
			} else {
				wrong = append(wrong, n.Problem(one.Key, "%s is that of %s; no two devices can have one", what, other.Name))
			}
			break // that is one with others before it, too
		}
	}
	return wrong
}

// HeldBy returns what a device holds: lines, ports and other resources.
func HeldBy(d Device) []drivers.Hold {
	if h, ok := d.Dev.(drivers.Holder); ok {
		return h.Holds()
	}
	return nil
}

// ranges tells of bounds of what no plan for the device can have.
func (d Device) ranges(limits strictyaml.Node) (wrong strictyaml.Problems) {
	if d.Dev == nil {
		return nil
	}
	can := agent.Commands(d.Dev)
	for _, command := range output.SortedKeys(d.Limits.Range) {
		if !command.Known() {
			continue // which was told
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

// NoTimes tells limits of 0: each would be the default, which is not what somebody
// means who writes it.
func NoTimes(limits strictyaml.Node) (wrong strictyaml.Problems) {
	for _, key := range []string{"max_on", "timeout", "long_timeout", "stop_within"} {
		var t *time.Duration
		if limits.Under(key).Decode(&t) == nil && t != nil && *t == 0 {
			wrong = append(wrong, limits.Problem(key, "0 is no time; leave it out for the default, or write a longer one"))
		}
	}
	return wrong
}

// sent tells what is seen of what sees nothing, rooms of what is sent to none, and rooms
// that it does not know; and a class of which the device has no verb.
func (d Device) sent(n strictyaml.Node) (wrong strictyaml.Problems) {
	_, cleans := d.Dev.(drivers.Cleaner)
	_, prints := d.Dev.(drivers.Printer)
	if len(d.Rooms) > 0 && d.Dev != nil && !cleans && !prints {
		return strictyaml.Problems{n.Problem("rooms", "it neither cleans nor prints; write area for where it is")}
	}
	if _, sent := d.Dev.(drivers.Areas); len(d.Rooms) > 0 && d.Dev != nil && !sent {
		wrong = append(wrong, n.Problem("rooms", "it cannot be sent to a room; leave them out, or write segments where its driver has them"))
	}
	if (d.Class == "lock" || d.Class == "garage-door") && d.Dev != nil && slices.Contains(agent.Commands(d.Dev), capabilities.SetSwitch) {
		wrong = append(wrong, n.Problem("class", "its driver switches, and neither locks nor opens: nothing could be asked of it; write button, with pulse: where the driver has it, for what a press opens, or switch"))
	}
	if _, ok := d.Dev.(drivers.Photographer); len(d.Sees) > 0 && d.Dev != nil && !ok {
		wrong = append(wrong, n.Problem("sees", "it takes no pictures; write area for where it is"))
	}
	m, ok := d.Dev.(drivers.Mapped)
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

// levels tells what a device may not be set to at the start and at the end: what
// a person would have to confirm, and what would be on for ever.
func (d Device) levels(n strictyaml.Node) (wrong strictyaml.Problems) {
	l, ok := d.Dev.(drivers.Levels)
	if !ok {
		return nil
	}
	initial, safe := l.Levels()
	if initial == "on" && confirmed(d.Risk) {
		wrong = append(wrong, n.Problem("initial", "a start would switch it on, which a person has to confirm where the risk is %s; write off or keep", d.Risk))
	}
	if safe == "on" && d.Limits.MaxOn > 0 {
		wrong = append(wrong, n.Problem("safe", "the end would switch it on, and nobody would switch it off after its max_on of %v; write off or keep, or leave out max_on", d.Limits.MaxOn))
	}
	return wrong
}

// confirmed reports whether a person has to confirm what has this risk, unless
// told otherwise.
func confirmed(r capabilities.Risk) bool {
	return r == capabilities.RiskAccess || r == capabilities.RiskMotion || r == capabilities.RiskIrreversible
}

// unseen is why nothing sees a device that is said to be seen, "" if all is well.
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

// Device returns the device of a name, or nil.
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
