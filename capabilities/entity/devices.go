package entity

import (
	"slices"

	"github.com/messkit/messkit/capabilities/lexicon"
)

// deviceMatches returns the devices that the words from i on may mean, with or without
// "all".
func (x *Utterance) deviceMatches(i int) []lexicon.SlotValue {
	list := x.someDevice(i)
	if n := x.Words().All.Longest(x.Tokens, i); n > 0 {
		for _, m := range x.someDevice(x.SkipArticles(i + n)) {
			last := x.Tokens[m.End-1]
			m.All = x.IsQuestion || last.Text != last.Folded || x.Words().AnyOne.Longest(x.Tokens, i) == 0 // "is any light on?" is about all of them
			m.Count, m.Number = x.Words().Lists.Counts[x.Tokens[i].Text], x.Tokens[i].Text
			list = append(list, m)
		}
		x.counted(x.SkipArticles(i+n), i, &list)
		list = append(list, lexicon.SlotValue{End: i + n, All: true, Devices: x.everything()})
	}
	x.Words().Numbers.Each(x.Tokens, i, func(end int, n float64) {
		if n == 1 && x.Words().Fillers.Longest(x.Tokens, i) == 0 { // "one light"
			for _, m := range x.someDevice(x.SkipArticles(end)) {
				m.All = false
				list = append(list, m)
			}
		}
	})
	x.counted(i, i, &list)
	return list
}

// someDevice returns the devices at word i: by name, by class, by place and class.
func (x *Utterance) someDevice(i int) []lexicon.SlotValue {
	list := x.nameValues(x.Home.Names.devices, i)
	for _, m := range list {
		list = append(list, x.withClass(m)...)
	}
	list = append(list, x.classMatches(i, "")...)
	for _, m := range list {
		list = append(append(list, x.withPlaces(m, i)...), x.itsOwn(m)...)
	}
	for _, area := range x.SlotValues("area", i) {
		j := area.End
		if j < len(x.Tokens) && x.Tokens[j].Folded == lexicon.Possessive {
			j++
		}
		list = append(list, x.classMatches(j, area.Value)...)
		list = append(list, x.ofPlaces(area)...)
	}
	return list
}

// withClass returns a name with the class of the device behind it: "the wemo plug".
func (x *Utterance) withClass(m lexicon.SlotValue) []lexicon.SlotValue {
	var list []lexicon.SlotValue
	x.Home.Catalog.ClassPhrases.Each(x.Tokens, m.End, func(end int, c lexicon.SlotValue) {
		named := m
		named.End = end
		named.Devices = slices.DeleteFunc(slices.Clone(m.Devices), func(d int) bool { return x.Home.Class[d] != c.Class })
		if len(named.Devices) > 0 {
			list = append(list, named)
		}
	})
	return list
}

// SkipArticles returns the first word from i on that is neither an article nor "of".
func (x *Utterance) SkipArticles(i int) int {
	for i < len(x.Tokens) {
		n := x.Words().Fillers.Longest(x.Tokens, i)
		if x.Tokens[i].Folded == "of" {
			n = 1
		}
		if n == 0 {
			break
		}
		i += n
	}
	return i
}

func (x *Utterance) everything() []int {
	return x.Home.Index.Every
}

// classMatches returns the devices of the class at word i, in the area if it is not "".
func (x *Utterance) classMatches(i int, area string) []lexicon.SlotValue {
	list := merge(nil, x.Home.Catalog.ClassPhrases, x.Tokens, i, x.Words())
	for k := range list {
		m := &list[k]
		m.Specificity = lexicon.ByClass
		if area != "" {
			m.Specificity, m.Value = lexicon.ByPlace, area
		}
		m.Devices = x.Home.OfClass(m.Class, area)
		if last := x.Tokens[m.End-1]; len(m.Devices) > 1 && last.Text != last.Folded { // "the lights"
			m.All = true
		}
	}
	return list
}
