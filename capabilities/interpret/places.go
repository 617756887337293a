package interpret

import (
	"slices"
)

// ofPlaces are things of one class in several places, named behind them: "kitchen and
// hall lights". In each place there must be one.
func (x *request) ofPlaces(i int, first match) []match {
	areas := []string{first.value}
	end := first.end
	for joined := false; !joined; {
		next := x.listed(end)
		if joined = next >= 0; !joined { // "hall, kitchen and porch lights" without its comma
			next = end
		}
		list := x.filled("area", next)
		if len(list) == 0 {
			return nil
		}
		last := slices.MaxFunc(list, func(a, b match) int { return a.end - b.end })
		areas, end = append(areas, last.value), last.end
		joined = joined && x.listed(end) < 0
	}
	var found []match
	for _, m := range x.classMatches(end, "") {
		if one, ok := x.inEach(m, areas); ok {
			found = append(found, one)
		}
	}
	return found
}

// withPlaces are the things of a class named at word i that are in the places behind them:
// "the lights in the kitchen and the hall". What cleans is in no place that it is told of.
func (x *request) withPlaces(m match, i int) []match {
	n := x.words().Placing.longest(x.tokens, m.end)
	if n == 0 || m.how != byClass || i == m.end {
		return nil
	}
	var found []match
	var areas []string
	for at := x.pass(m.end + n); at >= 0 && at < len(x.tokens); {
		list := x.filled("area", at)
		if len(list) == 0 {
			break
		}
		last := slices.MaxFunc(list, func(a, b match) int { return a.end - b.end })
		areas = append(areas, last.value)
		one, ok := x.inEach(m, areas)
		if !ok {
			break
		}
		one.end = last.end
		found = append(found, one)
		at = x.listed(last.end)
		if n := x.words().Placing.longest(x.tokens, max(at, 0)); at >= 0 && n > 0 {
			at = x.pass(at + n)
		}
	}
	return found
}

// listed is where the next of a list begins, behind "and" or a comma at word i; -1 if there
// is none.
func (x *request) listed(i int) int {
	n := x.words().Joining.longest(x.tokens, i)
	if i >= len(x.tokens) || n == 0 && !x.tokens[i].pause {
		return -1
	}
	return x.pass(i + n)
}

// inEach is a match of a class narrowed to places. It is none where one of them has no
// such thing.
func (x *request) inEach(m match, areas []string) (match, bool) {
	last := x.tokens[m.end-1]
	several := m.all || last.text != last.folded
	m.how, m.value, m.parts = byPlace, areas[0], nil
	of := m.devices
	m.devices = nil
	for _, area := range areas {
		outside := x.r.outside(area)
		there := slices.DeleteFunc(slices.Clone(of), func(d int) bool { return outside(d) || len(x.r.home.Devices[d].Spots) > 0 })
		if len(there) == 0 {
			return m, false
		}
		m.devices = append(m.devices, subtract(there, m.devices)...)
		if len(areas) > 1 {
			m.parts = append(m.parts, share{there, several})
		}
	}
	m.all = len(areas) > 1 || several && len(m.devices) > 1
	return m, true
}

// counted adds the devices of which so many are named at word i: "three lights", "all three
// lights". from is where that begins.
func (x *request) counted(i, from int, list *[]match) {
	x.words().counts(x.tokens, i, func(end, n int) {
		for _, m := range x.someDevice(x.pass(end)) {
			m.all, m.count, m.number = true, n, joined(x.tokens[from:end])
			*list = append(*list, m)
		}
	})
}

// itsOwn is a class with itself behind it: "the lamp's light".
func (x *request) itsOwn(m match) (list []match) {
	if m.how != byClass || text(x.tokens, m.end) != possessive {
		return nil
	}
	x.r.catalogue.classPhrase.each(x.tokens, m.end+1, func(end int, c match) {
		if m.end = end; c.class == m.class {
			list = append(list, m)
		}
	})
	return list
}
