package entity

import (
	"slices"

	"github.com/messkit/messkit/capabilities/lexicon"
)

// ofPlaces returns devices of one class in several places, whose class stands behind the
// places: "kitchen and hall lights". Each place must have one.
func (x *Utterance) ofPlaces(first lexicon.SlotValue) []lexicon.SlotValue {
	areas := []string{first.Value}
	end := first.End
	for joined := false; !joined; {
		next := x.listed(end)
		if joined = next >= 0; !joined { // "hall, kitchen and porch lights" without its comma
			next = end
		}
		list := x.SlotValues("area", next)
		if len(list) == 0 {
			return nil
		}
		last := slices.MaxFunc(list, func(a, b lexicon.SlotValue) int { return a.End - b.End })
		areas, end = append(areas, last.Value), last.End
		joined = joined && x.listed(end) < 0
	}
	var found []lexicon.SlotValue
	for _, m := range x.classMatches(end, "") {
		if one, ok := x.inEach(m, areas); ok {
			found = append(found, one)
		}
	}
	return found
}

// withPlaces returns the devices of a class at word i that are in the places behind it:
// "the lights in the kitchen and the hall". The place in an order for a cleaner says where
// to clean, and not where the cleaner is.
func (x *Utterance) withPlaces(m lexicon.SlotValue, i int) []lexicon.SlotValue {
	n := x.Words().Placing.Longest(x.Tokens, m.End)
	if n == 0 || m.Specificity != lexicon.ByClass || i == m.End {
		return nil
	}
	var found []lexicon.SlotValue
	var areas []string
	for at := x.SkipArticles(m.End + n); at >= 0 && at < len(x.Tokens); {
		list := x.SlotValues("area", at)
		if len(list) == 0 {
			break
		}
		last := slices.MaxFunc(list, func(a, b lexicon.SlotValue) int { return a.End - b.End })
		areas = append(areas, last.Value)
		one, ok := x.inEach(m, areas)
		if !ok {
			break
		}
		one.End = last.End
		found = append(found, one)
		at = x.listed(last.End)
		if n := x.Words().Placing.Longest(x.Tokens, max(at, 0)); at >= 0 && n > 0 {
			at = x.SkipArticles(at + n)
		}
	}
	return found
}

// listed returns where the next name of a list begins, behind "and" or a comma at word i,
// or -1 if there is none.
func (x *Utterance) listed(i int) int {
	n := x.Words().Joining.Longest(x.Tokens, i)
	if i >= len(x.Tokens) || n == 0 && !x.Tokens[i].Pause {
		return -1
	}
	return x.SkipArticles(i + n)
}

// inEach returns a match of a class narrowed to places. There is none if one of the places
// has no such device.
func (x *Utterance) inEach(m lexicon.SlotValue, areas []string) (lexicon.SlotValue, bool) {
	last := x.Tokens[m.End-1]
	several := m.All || last.Text != last.Folded
	m.Specificity, m.Value, m.Parts = lexicon.ByPlace, areas[0], nil
	of := m.Devices
	m.Devices = nil
	for _, area := range areas {
		outside := x.Home.OutsideTest(area)
		there := slices.DeleteFunc(slices.Clone(of), func(d int) bool { return outside(d) || len(x.Home.Site.Devices[d].WorkAreas) > 0 })
		if len(there) == 0 {
			return m, false
		}
		m.Devices = append(m.Devices, lexicon.Subtract(there, m.Devices)...)
		if len(areas) > 1 {
			m.Parts = append(m.Parts, lexicon.NamedGroup{Devices: there, All: several})
		}
	}
	m.All = len(areas) > 1 || several && len(m.Devices) > 1
	return m, true
}

// counted adds the devices with a count at word i: "three lights", "all three lights". from
// is where the count begins.
func (x *Utterance) counted(i, from int, list *[]lexicon.SlotValue) {
	x.Words().EachCount(x.Tokens, i, func(end, n int) {
		for _, m := range x.someDevice(x.SkipArticles(end)) {
			m.All, m.Count, m.Number = true, n, lexicon.Join(x.Tokens[from:end])
			*list = append(*list, m)
		}
	})
}

// itsOwn returns a class with itself behind it: "the lamp's light".
func (x *Utterance) itsOwn(m lexicon.SlotValue) (list []lexicon.SlotValue) {
	if m.Specificity != lexicon.ByClass || lexicon.TextAt(x.Tokens, m.End) != lexicon.Possessive {
		return nil
	}
	x.Home.Catalog.ClassPhrases.Each(x.Tokens, m.End+1, func(end int, c lexicon.SlotValue) {
		if m.End = end; c.Class == m.Class {
			list = append(list, m)
		}
	})
	return list
}
