package entity

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// UnspecifiedUnit is the unit of a number that needs one, in a text that names none.
const UnspecifiedUnit = "unspecified"

// amountMatches returns the readings of the words from i on as an amount of the kind.
func (x *Utterance) amountMatches(kind string, i int) []lexicon.SlotValue {
	var list []lexicon.SlotValue
	l, w := &x.Home.Catalog.Frames, x.Words()
	add := func(end int, n float64) {
		list = append(list, lexicon.SlotValue{End: end, Amount: n, Value: lexicon.DecimalText(n)})
	}
	united := func(unit *lexicon.PhraseSet, end int, n float64) {
		if k := unit.Longest(x.Tokens, end); k > 0 {
			add(end+k, n)
		}
	}
	switch kind {
	case "percent":
		l.Shares.Each(x.Tokens, i, add)
		w.EachCardinal(x.Tokens, i, func(end int, n float64) { united(l.Percent, end, n) })
	case "percentage": // the words around it name the quantity
		w.EachCardinal(x.Tokens, i, func(end int, n float64) {
			if k := l.Percent.Longest(x.Tokens, end); n >= 0 && n <= 100 {
				add(end+k, n)
			}
		})
	case "angle":
		w.EachCardinal(x.Tokens, i, func(end int, n float64) {
			if united(l.Degrees, end, n); end == len(x.Tokens) && !x.IsName(i) { // the interpreter asks whether these are degrees
				list = append(list, lexicon.SlotValue{End: end, Amount: n, Value: lexicon.DecimalText(n), Unit: UnspecifiedUnit})
			}
		})
	case "temperature":
		return x.temperatures(i)
	case "kelvin":
		l.Whites.Each(x.Tokens, i, add)
		w.EachCardinal(x.Tokens, i, func(end int, n float64) { united(l.Kelvins, end, n) })
		if i < len(x.Tokens) { // "2700k"
			digits, unit := lexicon.CutNumber(x.Tokens[i].Text)
			if n, err := strconv.ParseFloat(digits, 64); err == nil && unit != "" && l.Kelvins.Longest([]lexicon.Token{{Text: unit, Folded: unit}}, 0) == 1 {
				add(i+1, n)
			}
		}
	}
	return list
}

// temperatures returns the readings of the words from i on as a temperature, in °C: a number
// alone, or one with its unit.
func (x *Utterance) temperatures(i int) []lexicon.SlotValue {
	var list []lexicon.SlotValue
	for _, m := range x.numberValues(i) {
		if m.Unit == "" && (x.IsName(i) || m.End < len(x.Tokens) && x.Words().Measures[x.Tokens[m.End].Folded]) {
			continue // a number without its unit is another, and one in a name is none
		}
		if celsius, ok := x.Home.Catalog.ConvertTo("temperature", &m); ok {
			list = append(list, lexicon.SlotValue{End: m.End, Amount: celsius, Value: lexicon.DecimalText(celsius)})
		}
	}
	return list
}

// positionMatches returns the angles with a name at word i, and sides that may have none.
func (x *Utterance) positionMatches(i int) []lexicon.SlotValue {
	list := x.nameValues(x.Home.Names.positions, i)
	x.Home.Catalog.Frames.Sides.Each(x.Tokens, i, func(end int, side string) {
		if !slices.ContainsFunc(list, func(m lexicon.SlotValue) bool { return m.End >= end }) {
			list = append(list, lexicon.SlotValue{End: end, Value: side})
		}
	})
	return list
}

// Bounds returns the values that a parameter of device d may have, for a person.
func (r *Home) Bounds(d int, key string, limits capabilities.Range) string {
	if key == "angle" {
		return r.Turnable(d)
	}
	return fmt.Sprintf("it goes from %s to %s", lexicon.DecimalText(limits.Min), lexicon.DecimalText(limits.Max))
}

// Turnable returns the angles and positions of device d, as a sentence for a person.
func (r *Home) Turnable(d int) string {
	limits, names := r.Site.Devices[d].Limits["angle"], AngleNames(r.Site.Devices[d].NamedAngles)
	s := fmt.Sprintf("it turns from %s to %s degrees", lexicon.DecimalText(limits.Min), lexicon.DecimalText(limits.Max))
	if len(names) > 0 {
		s += ", and knows " + strings.Join(names, ", ")
	}
	return s
}

// AngleNames returns the names of the positions.
func AngleNames(list []capabilities.NamedAngle) []string {
	var names []string
	for _, p := range list {
		names = append(names, p.Name)
	}
	return names
}

// numberValues returns the readings of the words from i on as a number, with its unit.
func (x *Utterance) numberValues(i int) []lexicon.SlotValue {
	var list []lexicon.SlotValue
	add := func(end int, n float64, unit string) {
		list = append(list, lexicon.SlotValue{End: end, Amount: n, Unit: unit, Value: strconv.FormatFloat(n, 'f', -1, 64)})
	}
	more := func(end int, n float64) {
		add(end, n, "")
		x.Home.Catalog.Measures.Each(x.Tokens, end, func(to int, unit string) { add(to, n, unit) })
	}
	if i >= len(x.Tokens) {
		return nil
	}
	digits, letters := lexicon.CutNumber(x.Tokens[i].Text)
	if n, err := strconv.ParseFloat(digits, 64); err == nil {
		if letters == "" {
			more(i+1, n)
		} else {
			x.Home.Catalog.Measures.Each(x.Words().Tokens(letters), 0, func(_ int, unit string) { add(i+1, n, unit) })
		}
		return list
	}
	x.Words().Numbers.Each(x.Tokens, i, func(end int, n float64) {
		if x.Words().Fillers.Longest(x.Tokens, i) > 0 {
			return // "a"
		}
		more(end, n)
		if end < len(x.Tokens) && n >= 20 && n < 100 && math.Mod(n, 10) == 0 { // "twenty five"
			if ones := x.Words().Lists.Numbers[x.Tokens[end].Text]; ones >= 1 && ones < 10 {
				more(end+1, n+ones)
			}
		}
	})
	return list
}
