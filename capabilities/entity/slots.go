package entity

import (
	"slices"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// SlotValues returns what the words from i on may mean in a slot of the kind.
func (x *Utterance) SlotValues(kind string, i int) []lexicon.SlotValue {
	if m, known := x.Slots.Get(kind, i); known {
		return m
	}
	var list []lexicon.SlotValue
	switch n, w := x.Home.Names, x.Words(); kind {
	case "device":
		list = x.deviceMatches(i)
	case "area":
		list = x.nameValues(n.Areas, i)
	case "view":
		list = x.nameValues(n.Views, i)
	case "spot":
		list = x.nameValues(n.Spots, i)
	case "quantity":
		if i > 0 && i < len(x.Tokens) && x.Tokens[i].Text == lexicon.Possessive { // "the vacuum's battery"
			i++
		}
		list = merge(list, x.Home.Catalog.QuantityPhrases, x.Tokens, i, w)
	case "thing":
		list = merge(list, x.Home.Catalog.Frames.Things, x.Tokens, i, w)
	case "angle", "kelvin", "percent", "percentage", "temperature":
		list = x.amountMatches(kind, i)
	case "amount":
		w.EachCardinal(x.Tokens, i, func(end int, n float64) {
			list = append(list, lexicon.SlotValue{End: end, Amount: n, Value: lexicon.DecimalText(n)})
		})
	case "position":
		list = x.positionMatches(i)
	case "number":
		list = x.numberValues(i)
	case "duration":
		w.Durations(x.Tokens, i, func(end int, d time.Duration) {
			list = append(list, lexicon.SlotValue{End: end, Duration: d, Value: capabilities.DurationText(d)})
		})
	default:
		x.Home.Catalog.Waiting.Words[kind].Each(x.Tokens, i, func(end int, _ struct{}) { list = append(list, lexicon.SlotValue{End: end}) })
	}
	x.Slots.Put(kind, i, list)
	return list
}

// SlotCache holds the values of slots, by the word at which they begin.
type SlotCache [][]slotValues

type slotValues struct {
	kind string
	list []lexicon.SlotValue
}

// Get returns the values for a kind of slot at word i. known is false before the first Put for
// them.
func (f SlotCache) Get(kind string, i int) (list []lexicon.SlotValue, known bool) {
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

// usualKinds is the usual number of slot kinds with values for one word.
const usualKinds = 6

// Put stores the values for a kind of slot at word i.
func (f *SlotCache) Put(kind string, i int, list []lexicon.SlotValue) {
	for len(*f) <= i {
		*f = append(*f, nil)
	}
	if (*f)[i] == nil {
		(*f)[i] = make([]slotValues, 0, usualKinds)
	}
	(*f)[i] = append((*f)[i], slotValues{kind, list})
}

// merge adds the phrases that begin at i. Phrases of one length become one value with all their
// meanings. A more specific phrase wins.
func merge(list []lexicon.SlotValue, p *lexicon.Trie[lexicon.SlotValue], tokens []lexicon.Token, i int, w *lexicon.Lexicon) []lexicon.SlotValue {
	within(p, w, tokens, i, func(end int, m lexicon.SlotValue) {
		m.End = end
		list = m.MergeInto(list)
	})
	return list
}

// nameValues returns the matches of names that begin at word i.
func (x *Utterance) nameValues(names *lexicon.Trie[NameMeaning], i int) (list []lexicon.SlotValue) {
	within(names, x.Words(), x.Tokens, i, func(end int, m NameMeaning) {
		list = lexicon.SlotValue{End: end, Value: m.value, Specificity: m.how, Devices: slices.Clip(m.devices), Spots: slices.Clip(m.spots)}.MergeInto(list)
	})
	return list
}

// within works like Trie.Each, and skips articles inside a phrase: "near the sink".
func within[T any](p *lexicon.Trie[T], w *lexicon.Lexicon, tokens []lexicon.Token, i int, yield func(end int, m T)) {
	for _, m := range p.Values {
		yield(i, m)
	}
	if i == len(tokens) || p.Children == nil {
		return
	}
	if next := p.Next(tokens[i]); next != nil {
		within(next, w, tokens, i+1, yield)
		return
	}
	if n := w.Fillers.Longest(tokens, i); n > 0 && i+n < len(tokens) {
		if next := p.Next(tokens[i+n]); next != nil {
			within(next, w, tokens, i+n+1, yield)
		}
	}
}
