package interpret

import (
	"slices"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// filled are the matches for a gap of the kind at word i of the request.
func (x *request) filled(kind string, i int) []lexicon.SlotValue {
	if m, known := x.matches.at(kind, i); known {
		return m
	}
	var list []lexicon.SlotValue
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
		if i > 0 && i < len(x.tokens) && x.tokens[i].Text == lexicon.Possessive { // "the vacuum's battery"
			i++
		}
		list = merge(list, x.r.catalogue.QuantityPhrases, x.tokens, i, w)
	case "thing":
		list = merge(list, x.r.catalogue.Frames.Things, x.tokens, i, w)
	case "angle", "kelvin", "percent", "percentage", "temperature":
		list = x.amountMatches(kind, i)
	case "amount":
		w.EachCardinal(x.tokens, i, func(end int, n float64) {
			list = append(list, lexicon.SlotValue{End: end, Amount: n, Value: lexicon.DecimalText(n)})
		})
	case "position":
		list = x.positionMatches(i)
	case "number":
		list = x.numbers(i)
	case "duration":
		w.Durations(x.tokens, i, func(end int, d time.Duration) {
			list = append(list, lexicon.SlotValue{End: end, Duration: d, Value: capabilities.DurationText(d)})
		})
	default:
		x.r.catalogue.Waiting.Words[kind].Each(x.tokens, i, func(end int, _ struct{}) { list = append(list, lexicon.SlotValue{End: end}) })
	}
	x.matches.put(kind, i, list)
	return list
}

// fillings are what was found for gaps of a kind, by the word at which they begin.
type fillings [][]filling

type filling struct {
	kind string
	list []lexicon.SlotValue
}

func (f fillings) at(kind string, i int) (list []lexicon.SlotValue, known bool) {
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

func (f *fillings) put(kind string, i int, list []lexicon.SlotValue) {
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
func merge(list []lexicon.SlotValue, p *lexicon.Trie[lexicon.SlotValue], tokens []lexicon.Token, i int, w *lexicon.Lexicon) []lexicon.SlotValue {
	within(p, w, tokens, i, func(end int, m lexicon.SlotValue) {
		m.End = end
		list = m.MergeInto(list)
	})
	return list
}

// called are the matches of names that begin at word i.
func (x *request) called(names *lexicon.Trie[meaning], i int) (list []lexicon.SlotValue) {
	within(names, x.words(), x.tokens, i, func(end int, m meaning) {
		list = lexicon.SlotValue{End: end, Value: m.value, Specificity: m.how, Devices: slices.Clip(m.devices), Spots: slices.Clip(m.spots)}.MergeInto(list)
	})
	return list
}

// within is phrases.each with articles passed over inside: "near the sink".
func within[T any](p *lexicon.Trie[T], w *lexicon.Lexicon, tokens []lexicon.Token, i int, yield func(end int, m T)) {
	for _, m := range p.Values {
		yield(i, m)
	}
	if i == len(tokens) || p.Children == nil {
		return
	}
	if next := p.After(tokens[i]); next != nil {
		within(next, w, tokens, i+1, yield)
		return
	}
	if n := w.Fillers.Longest(tokens, i); n > 0 && i+n < len(tokens) {
		if next := p.After(tokens[i+n]); next != nil {
			within(next, w, tokens, i+n+1, yield)
		}
	}
}
