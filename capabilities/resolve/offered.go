package resolve

import (
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// Offers returns the offers of a home without the work of making a resolver.
func Offers(c *catalog.Catalog, home capabilities.Home) []mess.Capability {
	return (&Resolver{Home: *entity.NewHomeWithoutNames(c, home)}).Offers()
}

// Offers returns the capabilities of the devices of this home as an executor registers them
// (MESS 1.0 section 8.3), with the devices and areas as metadata. If the risk depends on
// the class of a device, the metadata have the classes, too.
func (r *Resolver) Offers() []mess.Capability {
	var list []mess.Capability
	for _, c := range r.Catalog.Capabilities {
		if can := r.Index.Those(func(d int) bool { return r.CanOffer(c, d) }); len(can) > 0 {
			devices, areas := r.offerOf(can)
			meta := mess.Object{{Key: "devices", Value: devices}}
			if len(areas) > 0 {
				meta = append(meta, mess.Field{Key: "areas", Value: areas})
			}
			if len(c.Risks) > 0 {
				meta = append(meta, mess.Field{Key: "classes", Value: r.classesOf(can)})
			}
			meta = append(meta, mess.Field{Key: "effect", Value: string(c.Effect)})
			list = append(list, mess.Capability{ID: c.ID, Meta: meta})
		}
	}
	for _, id := range r.Site.Facts {
		list = append(list, mess.Capability{ID: id, Meta: mess.Object{{Key: "effect", Value: string(capabilities.Query)}}})
	}
	return list
}

// classesOf returns the classes of the devices by their names.
func (r *Resolver) classesOf(devices []int) mess.Object {
	o := make(mess.Object, len(devices))
	for i, d := range devices {
		o[i] = mess.Field{Key: r.Site.Devices[d].Name, Value: r.Site.Devices[d].Class}
	}
	return o
}

// offerOf returns the names of the devices that have a capability, and the places where
// they work.
func (r *Resolver) offerOf(can []int) (devices, areas []any) {
	places := map[string]bool{}
	for _, d := range can {
		dev := &r.Site.Devices[d]
		devices = append(devices, dev.Name)
		for _, place := range lexicon.Distinct(slices.Concat([]string{dev.Area}, entity.Rooms(dev.Spots), dev.Sees)) {
			places[strings.ToLower(place)] = true
		}
	}
	for _, place := range slices.Sorted(maps.Keys(places)) {
		areas = append(areas, place)
	}
	return devices, areas
}

// CanOffer reports whether device d has the capability for some quantity.
func (r *Resolver) CanOffer(c *grammar.Capability, d int) bool {
	if r.CanDo(c, "", d) {
		return true
	}
	for _, also := range c.Also {
		if r.CanDo(c, also.Quantity, d) {
			return true
		}
	}
	return false
}
