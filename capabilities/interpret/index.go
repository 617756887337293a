package interpret

import (
	"math/bits"
	"slices"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// New makes a resolver for a home. It indexes all names of the devices, so that
// a caller with many requests makes it once and takes At for each moment.
func New(c *catalog.Catalog, home capabilities.Home) *Interpreter {
	r := classed(c, home)
	r.names = newNames(r)
	r.all, r.named = r.spell(), lexicon.LongSpellings(r.names.words)
	r.able = r.examples()
	for _, one := range c.Capabilities {
		if r.reach(one) > 0 {
			r.ids = append(r.ids, one.ID)
		}
	}
	r.ids = append(r.ids, home.Facts...)
	return r
}

// classed makes a resolver that knows what each device is, and no names.
func classed(c *catalog.Catalog, home capabilities.Home) *Interpreter {
	r := &Interpreter{catalogue: c, home: home, class: make([]string, len(home.Devices))}
	for i, d := range home.Devices {
		r.class[i] = c.Class(d.Class)
	}
	r.index = newIndex(r)
	return r
}

// At returns the resolver for another moment, which shares everything else with r. The
// arguments are as in Home.
func (r *Interpreter) At(now time.Time, unset string) *Interpreter {
	at := *r
	at.home.Now, at.home.Unset = now, unset
	return &at
}

// index finds the devices of a home, so that a request does not walk over all of them.
// It never changes, and nor do its lists, which requests share.
type index struct {
	every    []int            // all devices
	kinds    []kind           // in the order of their first device
	kindOf   []int32          // of each device
	byClass  map[string][]int // in the catalogue's words
	byName   map[string]int   // the first of a name
	byArea   map[string][]int // by sameFold
	labels   map[string][]int // as people see them
	called   map[string][]int // as labels, by sameFold
	reaching []int            // the devices with spots
	spots    map[string][]int // the devices that know a spot of the name
	rooms    map[string]bool  // all places of devices and spots, by sameFold
}

// kind is a set of devices with one class, the same commands and the same quantities:
// whatever of these a capability needs, either all of them have or none has.
type kind struct{ devices []int }

func newIndex(r *Interpreter) *index {
	n := len(r.home.Devices)
	x := &index{
		every: make([]int, n), kindOf: make([]int32, n), byClass: map[string][]int{}, byName: make(map[string]int, n),
		byArea: map[string][]int{}, labels: make(map[string][]int, n), called: make(map[string][]int, n), spots: map[string][]int{}, rooms: map[string]bool{},
	}
	for d := range r.home.Devices {
		dev := &r.home.Devices[d]
		x.every[d] = d
		x.byClass[r.class[d]] = append(x.byClass[r.class[d]], d)
		if _, taken := x.byName[dev.Name]; !taken {
			x.byName[dev.Name] = d
		}
		area := lexicon.FoldKey(dev.Area)
		x.byArea[area], x.rooms[area] = append(x.byArea[area], d), true
		label := r.label(d)
		same := lexicon.FoldKey(label)
		x.labels[label], x.called[same] = append(x.labels[label], d), append(x.called[same], d)
		if len(dev.Spots) > 0 {
			x.reaching = append(x.reaching, d)
		}
		for _, s := range dev.Spots {
			if list := x.spots[s.Name]; len(list) == 0 || list[len(list)-1] != d {
				x.spots[s.Name] = append(list, d)
			}
			x.rooms[lexicon.FoldKey(s.Room)] = true
		}
	}
	x.sort(r)
	return x
}

// sort parts the devices into kinds.
func (x *index) sort(r *Interpreter) {
	known := map[string]int32{}
	var key []byte
	for d := range r.home.Devices {
		dev := &r.home.Devices[d]
		key = append(append(key[:0], r.class[d]...), 0)
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

// those lists the devices of the kinds that fit. fits is asked of one device of each.
func (x *index) those(fits func(d int) bool) []int {
	var lists [][]int
	for _, k := range x.kinds {
		if fits(k.devices[0]) {
			lists = append(lists, k.devices)
		}
	}
	return union(len(x.every), lists)
}

// first is the first device of the kinds that fit, -1 if none does.
func (x *index) first(fits func(d int) bool) int {
	i := slices.IndexFunc(x.kinds, func(k kind) bool { return fits(k.devices[0]) })
	if i < 0 {
		return -1
	}
	return x.kinds[i].devices[0]
}

// count is how many devices are of kinds that fit.
func (x *index) count(fits func(d int) bool) (n int) {
	for _, k := range x.kinds {
		if fits(k.devices[0]) {
			n += len(k.devices)
		}
	}
	return n
}

// among lists the devices of a list whose kinds fit. fits is asked of one device of each.
func (x *index) among(list []int, fits func(d int) bool) []int {
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

// in lists the devices in an area.
func (x *index) in(area string) []int { return x.byArea[lexicon.FoldKey(area)] }

// device is the device with a name, -1 if there is none.
func (x *index) device(name string) int {
	if d, known := x.byName[name]; known {
		return d
	}
	return -1
}

// union is the devices of all lists, in order. n is the number of devices of the home.
func union(n int, lists [][]int) []int {
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
