package entity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// Home is the devices of one home with an index of them and of their names. It is
// immutable and safe for concurrent use.
type Home struct {
	Catalog *catalog.Catalog
	Site    capabilities.Home
	Class   []string // of each device, in the words of the catalog
	Index   *Index
	Names   *NameIndex // nil after NewHomeWithoutNames
}

// PlaceNames returns the names of all places of the home.
func (r *Home) PlaceNames() []string {
	var list []string
	for _, d := range r.Site.Devices {
		list = append(append(append(list, d.Area), Rooms(d.WorkAreas)...), d.FieldOfView...)
	}
	return lexicon.Distinct(list)
}

// IsAtPlace reports whether a device stands in a place, sees it or works on it.
func IsAtPlace(d capabilities.Device, place string) bool {
	same := func(s string) bool { return strings.EqualFold(s, place) }
	return same(d.Area) || slices.ContainsFunc(d.FieldOfView, same) ||
		slices.ContainsFunc(d.WorkAreas, func(s capabilities.WorkArea) bool { return same(s.Name) || same(s.Room) })
}

// NewHome makes a home with an index of all names.
func NewHome(c *catalog.Catalog, home capabilities.Home) *Home {
	r := NewHomeWithoutNames(c, home)
	r.Names = newNameIndex(r)
	return r
}

// NewHomeWithoutNames makes a home with the classes of the devices, and without their names. It
// is faster than NewHome.
func NewHomeWithoutNames(c *catalog.Catalog, home capabilities.Home) *Home {
	r := &Home{Catalog: c, Site: home, Class: make([]string, len(home.Devices))}
	for i, d := range home.Devices {
		r.Class[i] = c.Class(d.Class)
	}
	r.Index = newIndex(r)
	return r
}

// HasPlace reports whether a place of the home has the name.
func (r *Home) HasPlace(name string) bool { return r.Index.rooms[lexicon.FoldKey(name)] }

// KnowsWord reports whether a word is in a name of this home, or in anything that a
// frame may have.
func (r *Home) KnowsWord(t lexicon.Token) bool {
	return r.Catalog.FrameWords[t.Folded] || r.Names.Words[t.Folded] || t.Text[0] >= '0' && t.Text[0] <= '9'
}

// OfClass lists the devices of a class, in the area if it is not "".
func (r *Home) OfClass(class, area string) []int {
	list := slices.Clip(r.Index.ByClass[class])
	if area == "" || len(list) == 0 {
		return list
	}
	return r.Index.FittingAmong(r.Index.InArea(area), func(d int) bool { return r.Class[d] == class })
}

// OutsideTest returns a test of whether a device is not in the area, for many devices.
func (r *Home) OutsideTest(area string) func(d int) bool {
	in := lexicon.MemberTest(r.Index.InArea(area))
	return func(d int) bool { return !in(d) }
}

// IsIn reports whether device d is in the area.
func (r *Home) IsIn(d int, area string) bool {
	return strings.EqualFold(r.Site.Devices[d].Area, area)
}

// Labels returns the names of the devices for a person, made distinct by their name in the
// configuration.
func (r *Home) Labels(devices []int) []string {
	list := make([]string, len(devices))
	for i, d := range devices {
		list[i] = r.Label(d)
	}
	if len(list) < 2 {
		return list
	}
	named := make(map[string]int, len(list))
	for _, label := range list {
		named[lexicon.FoldKey(label)]++
	}
	for i, d := range devices {
		if label := r.Label(d); named[lexicon.FoldKey(label)] > 1 {
			list[i] = fmt.Sprintf("%s (%s)", label, r.Site.Devices[d].Name)
			named[lexicon.FoldKey(label)]--
			named[lexicon.FoldKey(list[i])]++
		}
	}
	return list
}

// Label returns the name of device d for a person.
func (r *Home) Label(d int) string {
	dev := &r.Site.Devices[d]
	if dev.Label != "" {
		return dev.Label
	}
	return lexicon.SpaceHyphens(dev.Name)
}
