package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
)

// Exclusion is what an order for several things leaves out: "all lights except the
// kitchen".
type Exclusion struct {
	Said  string
	Names []Exempted
}

// Exempted is one of those, by everything that its words may mean.
type Exempted struct {
	Said    string
	Devices []int
	Areas   []string
}

// has reports whether the exclusion has device d.
func (e Exempted) has(r *Resolver, d int) bool {
	return slices.Contains(e.Devices, d) || slices.ContainsFunc(e.Areas, func(area string) bool { return r.IsIn(d, area) })
}

// withoutExcluded returns the devices of a reading without the excluded ones.
func (x *Request) withoutExcluded(rd *Hypothesis) ([]int, capabilities.Outcome, bool) {
	for _, one := range x.Exclusion.Names {
		if !slices.ContainsFunc(rd.Devices, func(d int) bool { return one.has(x.Resolver, d) }) {
			return nil, x.Reject(fmt.Sprintf("%q: there is none of that among %s", x.Exclusion.Said, strings.Join(x.Resolver.Labels(rd.Devices), ", ")), x.Resolver.Labels(rd.Devices)), false
		}
	}
	kept := slices.DeleteFunc(slices.Clone(rd.Devices), func(d int) bool {
		return slices.ContainsFunc(x.Exclusion.Names, func(one Exempted) bool { return one.has(x.Resolver, d) })
	})
	if len(kept) == 0 {
		return nil, x.Reject(fmt.Sprintf("%q leaves nothing to do", x.Exclusion.Said), nil), false
	}
	return kept, capabilities.Outcome{}, true
}

// otherRooms returns the rooms that a cleaner knows without the excluded ones.
func (x *Request) otherRooms(d int) ([]string, capabilities.Outcome, bool) {
	kept := entity.Rooms(x.Resolver.Site.Devices[d].Spots)
	known := len(kept)
	for _, one := range x.Exclusion.Names {
		n := len(kept)
		kept = slices.DeleteFunc(kept, func(room string) bool {
			return slices.ContainsFunc(one.Areas, func(a string) bool { return strings.EqualFold(a, room) })
		})
		if len(kept) == n {
			return nil, x.Reject(fmt.Sprintf("%q: the %s knows no room of that name; it knows %s", x.Exclusion.Said, x.Resolver.Label(d), listPlaces(entity.Rooms(x.Resolver.Site.Devices[d].Spots))), nil), false
		}
	}
	if known == 0 || len(kept) == 0 {
		return nil, x.Reject(fmt.Sprintf("%q leaves nothing to do", x.Exclusion.Said), nil), false
	}
	return kept, capabilities.Outcome{}, true
}
