package interpret

import (
	"slices"
	"time"

	"github.com/messkit/messkit/capabilities"
)

// filled are the matches for a gap of the kind at word i of the request.
func (x *request) filled(kind string, i int) []match {
	if m, known := x.matches.at(kind, i); known {
		return m
	}
	var list []match
	switch n, w := x.r.names, x.words(); kind {
	case "device":
		list = x.deviceMatches(i)
	case "area":
		list = x.called(n.areas, i)
	case "view":
		list = x.called(n.views, i)
	case "spot":
		list = x.called(n.spots, i)
	case "quantity":
		if i > 0 && i < len(x.tokens) && x.tokens[i].text == possessive { // "the vacuum's battery"
			i++
		}
		list = merge(list, x.r.catalogue.quantity, x.tokens, i, w)
	case "thing":
		list = merge(list, x.r.catalogue.lexicon.thing, x.tokens, i, w)
	case "angle", "kelvin", "percent", "percentage", "temperature":
		list = x.amountMatches(kind, i)
	case "amount":
		w.cardinal(x.tokens, i, func(end int, n float64) {
			list = append(list, match{end: end, amount: n, value: decimalText(n)})
		})
	case "position":
		list = x.positionMatches(i)
	case "number":
		list = x.numbers(i)
	case "duration":
		w.durations(x.tokens, i, func(end int, d time.Duration) {
			list = append(list, match{end: end, duration: d, value: capabilities.DurationText(d)})
		})
	default:
		x.r.catalogue.watching.Words[kind].each(x.tokens, i, func(end int, _ struct{}) { list = append(list, match{end: end}) })
	}
	x.matches.put(kind, i, list)
	return list
}

// fillings are what was found for gaps of a kind, by the word at which they begin.
type fillings [][]filling

type filling struct {
	kind string
	list []match
}

func (f fillings) at(kind string, i int) (list []match, known bool) {
	if i >= len(f) {
		return nil, false
	}
	for _, one := range f[i] {
		if one.kind == kind {
			return one.list, true
		}
	}
	return nil, false
}

// usualKinds is for how many kinds of gaps most words are looked at.
const usualKinds = 6

func (f *fillings) put(kind string, i int, list []match) {
	for len(*f) <= i {
		*f = append(*f, nil)
	}
	if (*f)[i] == nil {
		(*f)[i] = make([]filling, 0, usualKinds)
	}
	(*f)[i] = append((*f)[i], filling{kind, list})
}

// merge adds the phrases that begin at i. Those of one length are one match of
// all that they may mean: what is named exactly wins over what is near.
func merge(list []match, p *phrases[match], tokens []token, i int, w *words) []match {
	within(p, w, tokens, i, func(end int, m match) {
		m.end = end
		list = m.into(list)
	})
	return list
}

// into adds a match to others, as merge does.
func (m match) into(list []match) []match {
	j := slices.IndexFunc(list, func(o match) bool { return o.end == m.end && o.class == m.class })
	switch {
	case j < 0:
		list = append(list, m)
	case m.how > list[j].how:
		list[j] = m
	case m.how == list[j].how:
		list[j] = list[j].with(m)
	}
	return list
}

// called are the matches of names that begin at word i.
func (x *request) called(names *phrases[meaning], i int) (list []match) {
	within(names, x.words(), x.tokens, i, func(end int, m meaning) {
		list = match{end: end, value: m.value, how: m.how, devices: slices.Clip(m.devices), spots: slices.Clip(m.spots)}.into(list)
	})
	return list
}

// within is phrases.each with articles passed over inside: "near the sink".
func within[T any](p *phrases[T], w *words, tokens []token, i int, yield func(end int, m T)) {
	for _, m := range p.here {
		yield(i, m)
	}
	if i == len(tokens) || p.next == nil {
		return
	}
	if next := p.after(tokens[i]); next != nil {
		within(next, w, tokens, i+1, yield)
		return
	}
	if n := w.Fillers.longest(tokens, i); n > 0 && i+n < len(tokens) {
		if next := p.after(tokens[i+n]); next != nil {
			within(next, w, tokens, i+n+1, yield)
		}
	}
}
