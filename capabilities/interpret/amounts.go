package interpret

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// unsaidUnit is the unit of a number that was said without one, where one is needed.
const unsaidUnit = "unsaid"

// amountMatches are the readings of the words from i on as an amount of the kind.
func (x *request) amountMatches(kind string, i int) []lexicon.SlotValue {
	var list []lexicon.SlotValue
	l, w := &x.r.catalogue.Frames, x.words()
	add := func(end int, n float64) {
		list = append(list, lexicon.SlotValue{End: end, Amount: n, Value: lexicon.DecimalText(n)})
	}
	united := func(unit *lexicon.PhraseSet, end int, n float64) {
		if k := unit.Longest(x.tokens, end); k > 0 {
			add(end+k, n)
		}
	}
	switch kind {
	case "percent":
		l.Shares.Each(x.tokens, i, add)
		w.EachCardinal(x.tokens, i, func(end int, n float64) { united(l.Percent, end, n) })
	case "percentage": // of which is known what it is
		w.EachCardinal(x.tokens, i, func(end int, n float64) {
			if k := l.Percent.Longest(x.tokens, end); n >= 0 && n <= 100 {
				add(end+k, n)
			}
		})
	case "angle":
		w.EachCardinal(x.tokens, i, func(end int, n float64) {
			if united(l.Degrees, end, n); end == len(x.tokens) && !x.named(i) { // it is asked whether these are degrees
				list = append(list, lexicon.SlotValue{End: end, Amount: n, Value: lexicon.DecimalText(n), Unit: unsaidUnit})
			}
		})
	case "temperature":
		return x.temperatures(i)
	case "kelvin":
		l.Whites.Each(x.tokens, i, add)
		w.EachCardinal(x.tokens, i, func(end int, n float64) { united(l.Kelvins, end, n) })
		if i < len(x.tokens) { // "2700k"
			digits, unit := lexicon.CutNumber(x.tokens[i].Text)
			if n, err := strconv.ParseFloat(digits, 64); err == nil && unit != "" && l.Kelvins.Longest([]lexicon.Token{{Text: unit, Folded: unit}}, 0) == 1 {
				add(i+1, n)
			}
		}
	}
	return list
}

// temperatures are the readings of the words from i on as a temperature, in °C: a
// number alone, or one with its unit.
func (x *request) temperatures(i int) []lexicon.SlotValue {
	var list []lexicon.SlotValue
	for _, m := range x.numbers(i) {
		if m.Unit == "" && (x.named(i) || m.End < len(x.tokens) && x.words().Measures[x.tokens[m.End].Folded]) {
			continue // a number without its unit is another, and one in a name is none
		}
		if celsius, ok := x.r.catalogue.ConvertTo("temperature", &m); ok {
			list = append(list, lexicon.SlotValue{End: m.End, Amount: celsius, Value: lexicon.DecimalText(celsius)})
		}
	}
	return list
}

// positionMatches are the angles with a name at word i, and sides that may have none.
func (x *request) positionMatches(i int) []lexicon.SlotValue {
	list := x.called(x.r.names.positions, i)
	x.r.catalogue.Frames.Sides.Each(x.tokens, i, func(end int, side string) {
		if !slices.ContainsFunc(list, func(m lexicon.SlotValue) bool { return m.End >= end }) {
			list = append(list, lexicon.SlotValue{End: end, Value: side})
		}
	})
	return list
}

// measure takes the amounts of a reading to what device d can do: a position to its
// angle, and a part of the way to be closed to how far that is open.
func (x *request) measure(rd *reading, d int) (capabilities.Outcome, bool) {
	if m := rd.slot("position"); m != nil {
		list := x.r.home.Devices[d].Positions
		at := slices.IndexFunc(list, func(p capabilities.Pose) bool { return strings.EqualFold(p.Name, m.Value) })
		if at < 0 {
			return x.refuse(fmt.Sprintf("the %s has no position called %q; %s", x.r.label(d), m.Value, x.r.turnable(d)), positionNames(list)), false
		}
		rd.args = rd.args.Set("angle", list[at].Angle)
	}
	if closing, ok := rd.args.Get("closing"); ok {
		percent, _ := closing.(float64)
		if percent > 100 {
			return x.refuse(fmt.Sprintf("%s percent is more than all of it; ask for 0 to 100", lexicon.DecimalText(percent)), nil), false
		}
		options := []string{lexicon.DecimalText(percent) + " percent open", lexicon.DecimalText(100-percent) + " percent open"}
		values := []float64{percent, 100 - percent}
		at := 0
		if percent != 50 {
			picked, out, ok := x.ask(capabilities.Question{Field: "opening", Text: "how far: " + lexicon.OrList(options) + "?", Options: options})
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
			return x.refuse(fmt.Sprintf("the %s cannot be set to %s %s; %s", x.r.label(d), lexicon.DecimalText(n), grammar.UnitOf(rd.Capability, a.Key), x.r.bounds(d, a.Key, limits)), nil), false
		}
	}
	return capabilities.Outcome{}, true
}

// bounds says what a device can be set to.
func (r *Interpreter) bounds(d int, key string, limits capabilities.Range) string {
	if key == "angle" {
		return r.turnable(d)
	}
	return fmt.Sprintf("it goes from %s to %s", lexicon.DecimalText(limits.Min), lexicon.DecimalText(limits.Max))
}

// turnable says to where a device can be turned.
func (r *Interpreter) turnable(d int) string {
	limits, names := r.home.Devices[d].Within["angle"], positionNames(r.home.Devices[d].Positions)
	s := fmt.Sprintf("it turns from %s to %s degrees", lexicon.DecimalText(limits.Min), lexicon.DecimalText(limits.Max))
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
	text := lexicon.DecimalText(n) + " degrees"
	m := rd.slot("position")
	switch {
	case m != nil && known:
		return m.Value + " (" + text + ")"
	case m != nil:
		return m.Value
	}
	return text
}
