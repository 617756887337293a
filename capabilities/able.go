package capabilities

import (
	"slices"

	"github.com/messkit/messkit/internal/order"
)

// able are the readings that some device can do, the most exact first.
func (x *request) able(readings []reading) []reading {
	var list []reading
	for _, rd := range readings {
		if !x.demand.measures(&rd) {
			continue
		}
		if rd.devices = x.candidates(&rd); len(rd.devices) > 0 && !rd.partly() {
			list = append(list, rd)
		}
	}
	if len(list) == 0 {
		for _, rd := range readings {
			if rd.devices = x.measuring(&rd); len(rd.devices) > 0 && !rd.partly() {
				list = append(list, rd)
			}
		}
	}
	order.By(list, func(a, b reading) int { return int(b.how - a.how) })
	return list
}

// measuring are the devices that are named and asked for all that they measure, though
// they are no sensors by their class: a plug that knows its power, a vacuum its battery.
func (x *request) measuring(rd *reading) []int {
	c := rd.capability
	if !c.senses() || rd.slot("device") == nil || rd.value("quantity") != "" || !x.demand.measures(rd) {
		return nil
	}
	var list []int
	for d, dev := range x.r.home.Devices {
		if dev.Quantities == nil && slices.Contains(dev.Commands, ReadState) && rd.sentence.suits(x.r.class[d]) && x.meant(rd, d) && x.demand.allows(x.r, c, dev) {
			list = append(list, d)
		}
	}
	return list
}

// senses reports whether a capability is to tell what is measured.
func (c *capability) senses() bool {
	return c.Command == ReadState && slices.ContainsFunc(c.Also, func(a fixed) bool { return a.Quantity != "" })
}

// candidates are the devices that can do what the reading says.
func (x *request) candidates(rd *reading) []int {
	var list []int
	for d, dev := range x.r.home.Devices {
		if x.r.can(rd.capability, rd.value("quantity"), d) && rd.sentence.suits(x.r.class[d]) && x.meant(rd, d) && x.demand.allows(x.r, rd.capability, dev) {
			list = append(list, d)
		}
	}
	full := slices.DeleteFunc(slices.Clone(list), func(d int) bool {
		return !slices.Contains(x.r.home.Devices[d].Commands, rd.capability.Command)
	})
	if len(full) > 0 {
		list = full
	}
	if q := x.r.catalogue.quantities[rd.value("quantity")]; len(list) > 1 && rd.slot("device") == nil {
		list = x.r.firstClass(list, q.Classes)
	}
	if thing := rd.value("thing"); len(list) > 1 && thing != "" && rd.slot("view") == nil && rd.slot("device") == nil {
		list = x.r.whereKept(list, thing)
	}
	return list
}

// whereKept keeps the devices that see the place where a thing is looked for.
func (r *Resolver) whereKept(list []int, thing string) []int {
	for place, things := range r.catalogue.lexicon.Kept {
		if !slices.Contains(things, thing) {
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(list), func(d int) bool { return !slices.Contains(r.home.Devices[d].Sees, place) })
		if len(kept) > 0 {
			return kept
		}
	}
	return list
}

// firstClass keeps the devices of the class that stands first: a thermometer
// knows the temperature of a room better than its heater.
func (r *Resolver) firstClass(list []int, classes []string) []int {
	for _, class := range classes {
		kept := slices.DeleteFunc(slices.Clone(list), func(d int) bool { return r.class[d] != class })
		if len(kept) > 0 {
			return kept
		}
	}
	return list
}

// can reports whether device d has the verb for a capability, and the class.
func (r *Resolver) can(c *capability, quantity string, d int) bool {
	if c.command(r.home.Devices[d]) == "" || quantity != "" && !r.home.Devices[d].tells(quantity) {
		return false
	}
	if q, ok := r.catalogue.quantities[quantity]; ok && len(q.Classes) > 0 {
		return slices.Contains(q.Classes, r.class[d])
	}
	return c.suits(r.class[d])
}

// tells reports whether a device may be asked for a quantity.
func (d Device) tells(quantity string) bool {
	return d.Quantities == nil || slices.Contains(d.Quantities, quantity)
}

// meant reports whether the words of the reading allow device d.
func (x *request) meant(rd *reading, d int) bool {
	for _, b := range rd.slots {
		switch b.kind {
		case "device", "view", "spot":
			if !slices.Contains(b.match.devices, d) {
				return false
			}
		case "area":
			if !x.r.in(d, b.match.value) {
				return false
			}
		}
	}
	return true
}
