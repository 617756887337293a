package interpret

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// exemption is what an order for several things leaves out: "all lights except the
// kitchen".
type exemption struct {
	said  string
	names []exempted
}

// exempted is one of those, by everything that its words may mean.
type exempted struct {
	said    string
	devices []int
	areas   []string
}

// has reports whether device d is left out by it.
func (e exempted) has(r *Interpreter, d int) bool {
	return slices.Contains(e.devices, d) || slices.ContainsFunc(e.areas, func(area string) bool { return r.IsIn(d, area) })
}

// exception reads an order for several things of which some are left out. It must
// name them, and they must be among what is meant; else it is none, and refused.
func (x *request) exception() (capabilities.Outcome, bool) {
	if x.spare != nil {
		return capabilities.Outcome{}, false
	}
	for i := 2; i < len(x.Tokens); i++ {
		n := x.Words().Excepting.Longest(x.Tokens, i)
		if n == 0 || x.IsName(i) {
			continue
		}
		end, names := x.exempt(i + n)
		if end == 0 {
			return capabilities.Outcome{}, false
		}
		x.spare = &exemption{lexicon.Join(x.Tokens[i:end]), names}
		out, ok := x.leaving(i, end)
		if !ok {
			x.spare = nil
		}
		return out, ok
	}
	return capabilities.Outcome{}, false
}

// leaving reads the text as one order without the words from i to end.
func (x *request) leaving(i, end int) (capabilities.Outcome, bool) {
	all, before, part := x.Tokens, x.readings, x.part
	x.part = true
	defer func() { x.part = part }()
	x.cut(slices.Concat(all[:i], all[end:]))
	if able := x.able(x.readings); len(able) > 0 {
		return x.choose(able), true
	}
	if out, ok := x.otherwise(); ok {
		return out, true
	}
	x.SetTokens(all)
	x.readings = before
	return capabilities.Outcome{}, false
}

// exempt reads the names from word i on, joined by "and" or commas. end is 0 if there
// is none.
func (x *request) exempt(i int) (end int, names []exempted) {
	w := x.Words()
	for {
		for n := 1; n > 0 && i < len(x.Tokens); i += n {
			n = max(w.Fillers.Longest(x.Tokens, i), w.Picking.Longest(x.Tokens, i)) // "the one in the kitchen"
		}
		to, one := x.anyName(i)
		if to == 0 {
			return end, names
		}
		if to < len(x.Tokens) && x.Tokens[to].Folded == "one" { // "the kitchen one"
			to++
		}
		one.said = lexicon.Join(x.Tokens[i:to])
		end, names = to, append(names, one)
		k := w.Joining.Longest(x.Tokens, end)
		if k == 0 && (end == len(x.Tokens) || !x.Tokens[end].Pause) {
			return end, names
		}
		i = end + k
	}
}

// anyName is the longest name of devices or a place at word i; to is 0 if there is
// none.
func (x *request) anyName(i int) (to int, one exempted) {
	if i >= len(x.Tokens) {
		return 0, one
	}
	for _, kind := range []string{"device", "area", "spot"} {
		for _, m := range x.SlotValues(kind, i) {
			if m.End < to || kind == "device" && (m.Specificity == lexicon.Unspecified || m.Count > 0 || len(m.Devices) == 0) {
				continue
			}
			if m.End > to {
				to, one = m.End, exempted{}
			}
			if kind == "device" {
				one.devices = append(one.devices, m.Devices...)
			} else {
				one.areas = append(one.areas, m.Value)
			}
		}
	}
	return to, one
}

// spared are the devices of a reading without those that are left out.
func (x *request) spared(rd *reading) ([]int, capabilities.Outcome, bool) {
	for _, one := range x.spare.names {
		if !slices.ContainsFunc(rd.devices, func(d int) bool { return one.has(x.r, d) }) {
			return nil, x.refuse(fmt.Sprintf("%q: there is none of that among %s", x.spare.said, strings.Join(x.r.Labels(rd.devices), ", ")), x.r.Labels(rd.devices)), false
		}
	}
	kept := slices.DeleteFunc(slices.Clone(rd.devices), func(d int) bool {
		return slices.ContainsFunc(x.spare.names, func(one exempted) bool { return one.has(x.r, d) })
	})
	if len(kept) == 0 {
		return nil, x.refuse(fmt.Sprintf("%q leaves nothing to do", x.spare.said), nil), false
	}
	return kept, capabilities.Outcome{}, true
}

// otherRooms are the rooms that a cleaner knows without those that are left out.
func (x *request) otherRooms(d int) ([]string, capabilities.Outcome, bool) {
	kept := entity.Rooms(x.r.Site.Devices[d].Spots)
	known := len(kept)
	for _, one := range x.spare.names {
		n := len(kept)
		kept = slices.DeleteFunc(kept, func(room string) bool {
			return slices.ContainsFunc(one.areas, func(a string) bool { return strings.EqualFold(a, room) })
		})
		if len(kept) == n {
			return nil, x.refuse(fmt.Sprintf("%q: the %s knows no room of that name; it knows %s", x.spare.said, x.r.Label(d), oneOfMany(entity.Rooms(x.r.Site.Devices[d].Spots))), nil), false
		}
	}
	if known == 0 || len(kept) == 0 {
		return nil, x.refuse(fmt.Sprintf("%q leaves nothing to do", x.spare.said), nil), false
	}
	return kept, capabilities.Outcome{}, true
}
