package entity

import (
	"math/bits"
	"slices"

	"github.com/messkit/messkit/capabilities/lexicon"
)

// Index finds the devices of a home, so that a request does not walk over all of them. It
// and its lists never change.
type Index struct {
	Every    []int            // all devices
	kinds    []kind           // in the order of their first device
	kindOf   []int32          // of each device
	ByClass  map[string][]int // by class of the catalog
	byName   map[string]int   // the first of a name
	byArea   map[string][]int // by sameFold
	Labels   map[string][]int // as people see them
	Called   map[string][]int // as labels, by sameFold
	reaching []int            // the devices with spots
	Spots    map[string][]int // the devices that know a spot of the name
	rooms    map[string]bool  // all places of devices and spots, by sameFold
}

// kind is a set of devices with one class, the same commands and the same quantities. Either all
// of them meet the needs of a capability, or none does.
type kind struct{ devices []int }

func newIndex(r *Home) *Index {
	n := len(r.Site.Devices)
	x := &Index{
		Every: make([]int, n), kindOf: make([]int32, n), ByClass: map[string][]int{}, byName: make(map[string]int, n),
		byArea: map[string][]int{}, Labels: make(map[string][]int, n), Called: make(map[string][]int, n), Spots: map[string][]int{}, rooms: map[string]bool{},
	}
	for d := range r.Site.Devices {
		dev := &r.Site.Devices[d]
		x.Every[d] = d
		x.ByClass[r.Class[d]] = append(x.ByClass[r.Class[d]], d)
		if _, taken := x.byName[dev.Name]; !taken {
			x.byName[dev.Name] = d
		}
		area := lexicon.FoldKey(dev.Area)
		x.byArea[area], x.rooms[area] = append(x.byArea[area], d), true
		label := r.Label(d)
		same := lexicon.FoldKey(label)
		x.Labels[label], x.Called[same] = append(x.Labels[label], d), append(x.Called[same], d)
		if len(dev.WorkAreas) > 0 {
			x.reaching = append(x.reaching, d)
		}
		for _, s := range dev.WorkAreas {
			if list := x.Spots[s.Name]; len(list) == 0 || list[len(list)-1] != d {
				x.Spots[s.Name] = append(list, d)
			}
			x.rooms[lexicon.FoldKey(s.Room)] = true
		}
	}
	x.sort(r)
	return x
}

// sort divides the devices into kinds.
func (x *Index) sort(r *Home) {
	known := map[string]int32{}
	var key []byte
	for d := range r.Site.Devices {
		dev := &r.Site.Devices[d]
		key = append(append(key[:0], r.Class[d]...), 0)
		for _, c := range dev.Commands {
			key = append(append(key, c...), 1)
		}
		if dev.Quantities != nil {
			key = append(key, 2)
		}
		for _, q := range dev.Quantities {
			key = append(append(key, q...), 3)
		}
		k, seen := known[string(key)]
		if !seen {
			k = int32(len(x.kinds))
			known[string(key)], x.kinds = k, append(x.kinds, kind{})
		}
		x.kindOf[d], x.kinds[k].devices = k, append(x.kinds[k].devices, d)
	}
}

// Fitting returns the devices of the kinds that fit. It calls fits for one device of each kind.
func (x *Index) Fitting(fits func(d int) bool) []int {
	var lists [][]int
	for _, k := range x.kinds {
		if fits(k.devices[0]) {
			lists = append(lists, k.devices)
		}
	}
	return Union(len(x.Every), lists)
}

// First returns the first device of the kinds that fit, -1 if none does.
func (x *Index) First(fits func(d int) bool) int {
	i := slices.IndexFunc(x.kinds, func(k kind) bool { return fits(k.devices[0]) })
	if i < 0 {
		return -1
	}
	return x.kinds[i].devices[0]
}

// Count counts the devices of the kinds that fit.
func (x *Index) Count(fits func(d int) bool) (n int) {
	for _, k := range x.kinds {
		if fits(k.devices[0]) {
			n += len(k.devices)
		}
	}
	return n
}

// FittingAmong returns the devices of a list whose kinds fit. It calls fits for one device
// of each kind.
func (x *Index) FittingAmong(list []int, fits func(d int) bool) []int {
	verdicts := make([]int8, len(x.kinds)) // 0: not asked yet
	var found []int
	for _, d := range list {
		k := x.kindOf[d]
		if verdicts[k] == 0 {
			verdicts[k] = -1
			if fits(d) {
				verdicts[k] = 1
			}
		}
		if verdicts[k] > 0 {
			found = append(found, d)
		}
	}
	return found
}

// InArea returns the devices in an area.
func (x *Index) InArea(area string) []int { return x.byArea[lexicon.FoldKey(area)] }

// Device returns the device with a name, -1 if there is none.
func (x *Index) Device(name string) int {
	if d, known := x.byName[name]; known {
		return d
	}
	return -1
}

// Union returns the devices of all lists, in order. n is the number of devices of the home.
func Union(n int, lists [][]int) []int {
	total := 0
	for _, list := range lists {
		total += len(list)
	}
	if total == 0 {
		return nil
	}
	set := make([]uint64, (n+63)/64)
	for _, list := range lists {
		for _, d := range list {
			set[d/64] |= 1 << (d % 64)
		}
	}
	all := make([]int, 0, total)
	for i, word := range set {
		for ; word != 0; word &= word - 1 {
			all = append(all, i*64+bits.TrailingZeros64(word))
		}
	}
	return all
}
