package interpret

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/messkit/messkit/capabilities"
)

// amountWords adds the words of amounts to a list.
func (l *lexicon) amountWords(into map[string]bool) {
	l.share.words(into)
	l.white.words(into)
	l.side.words(into)
	l.degree.words(into)
	l.kelvin.words(into)
}

// amounts compiles the words of amounts.
func (l *lexicon) amounts(w *words) {
	l.share, l.white, l.side = &phrases[float64]{}, &phrases[float64]{}, &phrases[string]{}
	for _, text := range slices.Sorted(maps.Keys(l.Shares)) {
		l.share.add(w.bare(w.tokens(text)), l.Shares[text])
	}
	for _, text := range slices.Sorted(maps.Keys(l.Whites)) {
		l.white.add(w.tokens(text), l.Whites[text])
	}
	for _, text := range l.Sides {
		l.side.add(w.tokens(text), text)
	}
	l.degree, l.kelvin = w.set(l.Degrees), w.set(l.Kelvins)
}

// unsaidUnit is the unit of a number that was said without one, where one is needed.
const unsaidUnit = "unsaid"

// amountKinds are the gaps that hold a number with its unit.
var amountKinds = []string{"angle", "kelvin", "percent", "percentage", "temperature"}

// amountMatches are the readings of the words from i on as an amount of the kind.
func (x *request) amountMatches(kind string, i int) []match {
	var list []match
	l, w := &x.r.catalogue.lexicon, x.words()
	add := func(end int, n float64) { list = append(list, match{end: end, amount: n, value: decimalText(n)}) }
	united := func(unit *set, end int, n float64) {
		if k := unit.longest(x.tokens, end); k > 0 {
			add(end+k, n)
		}
	}
	switch kind {
	case "percent":
		l.share.each(x.tokens, i, add)
		w.cardinal(x.tokens, i, func(end int, n float64) { united(l.percentOf, end, n) })
	case "percentage": // of which is known what it is
		w.cardinal(x.tokens, i, func(end int, n float64) {
			if k := l.percentOf.longest(x.tokens, end); n >= 0 && n <= 100 {
				add(end+k, n)
			}
		})
	case "angle":
		w.cardinal(x.tokens, i, func(end int, n float64) {
			if united(l.degree, end, n); end == len(x.tokens) && !x.named(i) { // it is asked whether these are degrees
				list = append(list, match{end: end, amount: n, value: decimalText(n), unit: unsaidUnit})
			}
		})
	case "temperature":
		return x.temperatures(i)
	case "kelvin":
		l.white.each(x.tokens, i, add)
		w.cardinal(x.tokens, i, func(end int, n float64) { united(l.kelvin, end, n) })
		if i < len(x.tokens) { // "2700k"
			digits, unit := cutNumber(x.tokens[i].text)
			if n, err := strconv.ParseFloat(digits, 64); err == nil && unit != "" && l.kelvin.longest([]token{{text: unit, folded: unit}}, 0) == 1 {
				add(i+1, n)
			}
		}
	}
	return list
}

// temperatures are the readings of the words from i on as a temperature, in °C: a
// number alone, or one with its unit.
func (x *request) temperatures(i int) []match {
	var list []match
	for _, m := range x.numbers(i) {
		if m.unit == "" && (x.named(i) || m.end < len(x.tokens) && x.words().Measures[x.tokens[m.end].folded]) {
			continue // a number without its unit is another, and one in a name is none
		}
		if celsius, ok := x.r.catalogue.inUnitOf("temperature", &m); ok {
			list = append(list, match{end: m.end, amount: celsius, value: decimalText(celsius)})
		}
	}
	return list
}

// positionMatches are the angles with a name at word i, and sides that may have none.
func (x *request) positionMatches(i int) []match {
	list := x.called(x.r.names.positions, i)
	x.r.catalogue.lexicon.side.each(x.tokens, i, func(end int, side string) {
		if !slices.ContainsFunc(list, func(m match) bool { return m.end >= end }) {
			list = append(list, match{end: end, value: side})
		}
	})
	return list
}

// measure takes the amounts of a reading to what device d can do: a position to its
// angle, and a part of the way to be closed to how far that is open.
func (x *request) measure(rd *reading, d int) (capabilities.Outcome, bool) {
	if m := rd.slot("position"); m != nil {
		list := x.r.home.Devices[d].Positions
		at := slices.IndexFunc(list, func(p capabilities.Pose) bool { return strings.EqualFold(p.Name, m.value) })
		if at < 0 {
			return x.refuse(fmt.Sprintf("the %s has no position called %q; %s", x.r.label(d), m.value, x.r.turnable(d)), positionNames(list)), false
		}
		rd.args = rd.args.Set("angle", list[at].Angle)
	}
	if closing, ok := rd.args.Get("closing"); ok {
		percent, _ := closing.(float64)
		if percent > 100 {
			return x.refuse(fmt.Sprintf("%s percent is more than all of it; ask for 0 to 100", decimalText(percent)), nil), false
		}
		options := []string{decimalText(percent) + " percent open", decimalText(100-percent) + " percent open"}
		values := []float64{percent, 100 - percent}
		at := 0
		if percent != 50 {
			picked, out, ok := x.ask(capabilities.Question{Field: "opening", Text: "how far: " + oneOf(options) + "?", Options: options})
			if !ok {
				return out, false
			}
			if at = slices.Index(options, picked[0]); len(picked) != 1 || at < 0 {
				return x.refuse("that is none of what can be done; say it in other words", nil), false
			}
		}
		rd.args = without(rd.args, "closing").Set("opening", values[at])
	}
	for _, a := range rd.args {
		limits, bounded := x.r.home.Devices[d].Within[a.Key]
		n, number := a.Value.(float64)
		if bounded && number && (n < limits.Min || n > limits.Max) {
			return x.refuse(fmt.Sprintf("the %s cannot be set to %s %s; %s", x.r.label(d), decimalText(n), unitOf(rd.capability, a.Key), x.r.bounds(d, a.Key, limits)), nil), false
		}
	}
	return capabilities.Outcome{}, true
}

func unitOf(c *capability, key string) string {
	for _, p := range c.Parameters {
		if p.Name == key {
			return p.Unit
		}
	}
	return ""
}

// bounds says what a device can be set to.
func (r *Interpreter) bounds(d int, key string, limits capabilities.Range) string {
	if key == "angle" {
		return r.turnable(d)
	}
	return fmt.Sprintf("it goes from %s to %s", decimalText(limits.Min), decimalText(limits.Max))
}

// turnable says to where a device can be turned.
func (r *Interpreter) turnable(d int) string {
	limits, names := r.home.Devices[d].Within["angle"], positionNames(r.home.Devices[d].Positions)
	s := fmt.Sprintf("it turns from %s to %s degrees", decimalText(limits.Min), decimalText(limits.Max))
	if len(names) > 0 {
		s += ", and knows " + strings.Join(names, ", ")
	}
	return s
}

func positionNames(list []capabilities.Pose) []string {
	var names []string
	for _, p := range list {
		names = append(names, p.Name)
	}
	return names
}

// angleText is an angle of a plan in words: "45 degrees", "left (30 degrees)".
func (rd *reading) angleText() string {
	at, _ := rd.args.Get("angle")
	n, known := at.(float64)
	text := decimalText(n) + " degrees"
	m := rd.slot("position")
	switch {
	case m != nil && known:
		return m.value + " (" + text + ")"
	case m != nil:
		return m.value
	}
	return text
}
