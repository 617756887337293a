package entity

import (
	"slices"

	"github.com/messkit/messkit/capabilities/lexicon"
)

// maxRooms bounds how many places one order names.
const maxRooms = 20

// spots returns the values of a slot for places to work on, from word i on. A value is one place,
// or several places with "and", "then" or commas between them: "kitchen, hall and near the sink".
func (x *Utterance) spots(i int) []lexicon.SlotValue {
	if !x.listing() {
		return x.SlotValues("spot", i)
	}
	if list, known := x.Slots.Get("spots", i); known {
		return list
	}
	list, from, count := slices.Clip(x.SlotValues("spot", i)), i, 0
	if i < len(x.Tokens) {
		if count = x.Words().Lists.Counts[x.Tokens[i].Text]; count > 0 { // "both the kitchen and the hall"
			from = x.inside(i + 1)
		}
	}
	one, ok := x.spotName(from)
	all := one
	for n := 2; ok && n <= maxRooms; n++ {
		to, joined := x.afterConjunction(all.End)
		if !joined {
			break
		}
		if one, ok = x.spotName(x.inside(to)); !ok {
			break
		}
		all = all.Both(one)
		if len(all.Devices) > 0 && (count == 0 || count == n) {
			list = append(list, all)
		}
	}
	x.Slots.Put("spots", i, list)
	return list
}

// listing reports whether anything here may join names.
func (x *Utterance) listing() bool {
	list, known := x.Slots.Get("listing", 0)
	for i := 1; !known && i < len(x.Tokens) && list == nil; i++ {
		if _, joined := x.afterConjunction(i); joined {
			list = []lexicon.SlotValue{{}}
		}
	}
	if !known {
		x.Slots.Put("listing", 0, list)
	}
	return list != nil
}

// spotName returns the longest name of one place to work on at word i. It includes a room that
// no cleaner knows, so that the interpreter can name the room in a refusal.
func (x *Utterance) spotName(i int) (best lexicon.SlotValue, ok bool) {
	for _, m := range x.SlotValues("spot", i) {
		if m.End > best.End {
			best = m
		}
	}
	for _, m := range x.SlotValues("area", i) {
		if m.End > best.End {
			best = lexicon.SlotValue{End: m.End, Value: m.Value, Specificity: lexicon.ByName, Devices: x.cleaners()}
		}
	}
	best.Rooms = []string{best.Value}
	return best, best.End > i
}

// cleaners returns the devices that know places to work on, without printers.
func (x *Utterance) cleaners() []int {
	return slices.DeleteFunc(slices.Clone(x.Home.Index.reaching), func(d int) bool { return x.Home.Site.Devices[d].Prints() })
}

// afterConjunction returns the index of the word behind a conjunction or comma at word i. ok is
// false if there is none.
func (x *Utterance) afterConjunction(i int) (to int, ok bool) {
	if i >= len(x.Tokens) {
		return i, false
	}
	to = i
	for n := 1; n > 0 && to < len(x.Tokens); to += n {
		n = x.Words().Joining.Longest(x.Tokens, to)
	}
	return to, to > i || x.Tokens[i].Pause
}

// inside returns the index of the first word from i on that is neither a filler nor "in" nor
// "of".
func (x *Utterance) inside(i int) int {
	for n := 1; n > 0 && i < len(x.Tokens); i += n {
		n = x.Words().Fillers.Longest(x.Tokens, i)
		if t := x.Tokens[i].Text; n == 0 && (t == "in" || t == "of") {
			n = 1
		}
	}
	return i
}

// FillSlot returns SlotValues, and for a spot also lists of several rooms.
func (x *Utterance) FillSlot(kind string, i int) []lexicon.SlotValue {
	if kind == "spot" {
		return x.spots(i)
	}
	return x.SlotValues(kind, i)
}
