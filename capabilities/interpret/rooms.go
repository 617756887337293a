package interpret

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// maxRooms bounds how many places one order names.
const maxRooms = 20

// spots are what a gap for a place to work on takes at word i: one place, or several
// that are joined, by "and", "then" or commas: "kitchen, hall and near the sink".
func (x *request) spots(i int) []lexicon.SlotValue {
	if !x.listing() {
		return x.filled("spot", i)
	}
	if list, known := x.matches.at("spots", i); known {
		return list
	}
	list, from, count := slices.Clip(x.filled("spot", i)), i, 0
	if i < len(x.tokens) {
		if count = x.words().Lists.Counts[x.tokens[i].Text]; count > 0 { // "both the kitchen and the hall"
			from = x.inside(i + 1)
		}
	}
	one, ok := x.workplace(from)
	all := one
	for n := 2; ok && n <= maxRooms; n++ {
		to, joined := x.joint(all.End)
		if !joined {
			break
		}
		if one, ok = x.workplace(x.inside(to)); !ok {
			break
		}
		all = all.Both(one)
		if len(all.Devices) > 0 && (count == 0 || count == n) {
			list = append(list, all)
		}
	}
	x.matches.put("spots", i, list)
	return list
}

// listing reports whether anything here may join names.
func (x *request) listing() bool {
	list, known := x.matches.at("listing", 0)
	for i := 1; !known && i < len(x.tokens) && list == nil; i++ {
		if _, joined := x.joint(i); joined {
			list = []lexicon.SlotValue{{}}
		}
	}
	if !known {
		x.matches.put("listing", 0, list)
	}
	return list != nil
}

// workplace is the longest name of one place to work on at word i. A room that no
// cleaner knows is one, too, so that this can be told.
func (x *request) workplace(i int) (best lexicon.SlotValue, ok bool) {
	for _, m := range x.filled("spot", i) {
		if m.End > best.End {
			best = m
		}
	}
	for _, m := range x.filled("area", i) {
		if m.End > best.End {
			best = lexicon.SlotValue{End: m.End, Value: m.Value, Specificity: lexicon.ByName, Devices: x.cleaners()}
		}
	}
	best.Rooms = []string{best.Value}
	return best, best.End > i
}

// cleaners are the devices that know places to work on, and print nothing there.
func (x *request) cleaners() []int {
	return slices.DeleteFunc(slices.Clone(x.r.index.reaching), func(d int) bool { return x.r.home.Devices[d].Prints() })
}

// joint is what stands behind what joins two names at word i.
func (x *request) joint(i int) (to int, ok bool) {
	if i >= len(x.tokens) {
		return i, false
	}
	to = i
	for n := 1; n > 0 && to < len(x.tokens); to += n {
		n = x.words().Joining.Longest(x.tokens, to)
	}
	return to, to > i || x.tokens[i].Pause
}

// inside is what stands behind "in the" at word i.
func (x *request) inside(i int) int {
	for n := 1; n > 0 && i < len(x.tokens); i += n {
		n = x.words().Fillers.Longest(x.tokens, i)
		if t := x.tokens[i].Text; n == 0 && (t == "in" || t == "of") {
			n = 1
		}
	}
	return i
}

// severalRooms are the rooms of an order that names more than one. They are taken as
// they stand: it is not asked what of each is meant. ok is false where device d does
// not know one of them.
func (x *request) severalRooms(m *lexicon.SlotValue, d int) ([]string, capabilities.Outcome, bool) {
	spots := x.r.home.Devices[d].Spots
	for _, room := range m.Rooms {
		if !slices.ContainsFunc(spots, func(s capabilities.Spot) bool {
			return strings.EqualFold(s.Name, room) || strings.EqualFold(s.Room, room)
		}) {
			return nil, x.unreachable(d, room), false
		}
	}
	return m.Rooms, capabilities.Outcome{}, true
}

// unreachable refuses a room that a cleaner does not know.
func (x *request) unreachable(d int, room string) capabilities.Outcome {
	known := rooms(x.r.home.Devices[d].Spots)
	return x.refuse(fmt.Sprintf("the %s does not know the way to the %s; it knows %s", x.r.label(d), room, oneOfMany(known)), known)
}

// placed are the matches for a gap in a sentence: as filled, with several places to
// work on.
func (x *request) placed(kind string, i int) []lexicon.SlotValue {
	if kind == "spot" {
		return x.spots(i)
	}
	return x.filled(kind, i)
}

// sweeping is the cleaner that is told to clean something; -1 where nothing is told
// so. "The vacuum" is one's name, and "is it clean" no order.
func (x *request) sweeping() int {
	politely := slices.ContainsFunc(x.tokens, func(t lexicon.Token) bool { return t.Folded == "you" })
	for i, t := range x.tokens {
		switch t.Folded {
		case "vacuum":
			if i > 0 && !slices.Contains([]string{"please", "you", "to", "and", "then"}, x.tokens[i-1].Folded) {
				continue
			}
		case "send":
			if i > 0 {
				continue
			}
		case "hoover", "clean", "sweep", "vacuuming", "hoovering", "cleaning", "sweeping":
		default:
			continue
		}
		if x.asks && !politely {
			return -1
		}
		return x.r.index.first(func(d int) bool { return slices.Contains(x.r.home.Devices[d].Commands, capabilities.Clean) })
	}
	return -1
}

// knowsRooms says which rooms a cleaner knows, for a room that nobody knows.
func (x *request) knowsRooms(d int) string {
	if known := rooms(x.r.home.Devices[d].Spots); len(known) > 0 {
		return fmt.Sprintf("the %s knows these rooms: %s", x.r.label(d), strings.Join(known, ", "))
	}
	if !x.r.home.Devices[d].Places {
		return fmt.Sprintf("the %s knows no rooms: it cleans everything", x.r.label(d))
	}
	return fmt.Sprintf("no rooms of the %s are known; look whether it answers, and whether it has a map with rooms", x.r.label(d))
}
