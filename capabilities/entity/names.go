package entity

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// NameIndex holds the names of all things in one home.
type NameIndex struct {
	devices, Areas, Views, Spots *lexicon.Trie[NameMeaning]
	positions                    *lexicon.Trie[NameMeaning]
	signed                       []string        // names with signs in them, in lower case
	Words                        map[string]bool // all folded words
}

// NameMeaning is the meaning of one name: all devices, places or spots that have it.
type NameMeaning struct {
	value   string // as the first of them writes it
	Last    string // as the last of them writes it
	how     lexicon.Specificity
	devices []int
	spots   []capabilities.WorkArea
}

// addMeaning adds a meaning to a name. A more specific meaning replaces the others.
func addMeaning(p *lexicon.Trie[NameMeaning], name []lexicon.Token, m NameMeaning) {
	m.Last = m.value
	p = p.Node(name)
	switch {
	case len(p.Values) == 0:
		p.Values = []NameMeaning{m}
		return
	case m.how > p.Values[0].how:
		p.Values[0] = m
		return
	}
	is := &p.Values[0]
	is.Last = m.value
	if m.how < is.how {
		return
	}
	for _, d := range m.devices {
		if is.devices[len(is.devices)-1] != d { // they come in order
			is.devices = append(is.devices, d)
		}
	}
	for _, s := range m.spots {
		if !slices.Contains(is.spots, s) {
			is.spots = append(is.spots, s)
		}
	}
}

// spelledOut and stripped replace the letters that a keyboard may lack.
var (
	spelledOut = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "Ä", "Ae", "Ö", "Oe", "Ü", "Ue", "ß", "ss", "å", "aa", "Å", "Aa", "ø", "oe", "Ø", "Oe", "æ", "ae", "Æ", "Ae")
	stripped   = strings.NewReplacer("ä", "a", "ö", "o", "ü", "u", "Ä", "A", "Ö", "O", "Ü", "U", "å", "a", "Å", "A", "ø", "o", "Ø", "O", "é", "e", "è", "e", "ê", "e", "É", "E", "à", "a", "â", "a", "ç", "c", "ñ", "n", "ó", "o", "í", "i", "á", "a", "ú", "u")
)

// newNameIndex indexes the names of a home.
func newNameIndex(r *Home) *NameIndex {
	c := r.Catalog
	n := &NameIndex{devices: &lexicon.Trie[NameMeaning]{}, Areas: &lexicon.Trie[NameMeaning]{}, Views: &lexicon.Trie[NameMeaning]{}, Spots: &lexicon.Trie[NameMeaning]{}, positions: &lexicon.Trie[NameMeaning]{}}
	add := func(p *lexicon.Trie[NameMeaning], text string, m NameMeaning) {
		if t := c.Words.PlainTokens(text); len(t) > 0 {
			addMeaning(p, t, m)
			for _, typed := range c.Words.NumberSpellings(t) {
				addMeaning(p, typed, m)
			}
		}
		for _, keyboard := range []*strings.Replacer{spelledOut, stripped} {
			if typed := keyboard.Replace(text); typed != text {
				addMeaning(p, c.Words.PlainTokens(typed), m)
			}
		}
	}
	for i, d := range r.Site.Devices {
		n.signed = append(n.signed, signed(d)...)
		for _, name := range lexicon.Distinct(append([]string{d.Name, d.Label}, d.Aliases...)) {
			add(n.devices, name, NameMeaning{how: lexicon.ByName, devices: []int{i}})
		}
		for _, p := range d.NamedAngles {
			add(n.positions, p.Name, NameMeaning{value: p.Name, how: lexicon.ByName, devices: []int{i}})
		}
		for _, area := range lexicon.Distinct(append([]string{d.Area}, Rooms(d.WorkAreas)...)) {
			add(n.Areas, area, NameMeaning{value: area})
			for _, other := range c.Frames.Lists.Places[strings.ToLower(area)] {
				if !r.HasPlace(other) {
					add(n.Areas, other, NameMeaning{value: area})
				}
			}
			add(n.Views, area, NameMeaning{value: area, how: lexicon.ByPlace, devices: []int{i}})
		}
		for _, view := range d.FieldOfView {
			for _, text := range lexicon.Distinct(append([]string{view}, c.ClassWords[c.Class(view)]...)) {
				add(n.Views, text, NameMeaning{value: view, how: lexicon.ByName, devices: []int{i}})
			}
		}
		for _, s := range d.WorkAreas {
			for _, t := range spotPhrases(c.Words, s) {
				addMeaning(n.Spots, t, NameMeaning{value: s.Name, how: lexicon.ByName, devices: []int{i}, spots: []capabilities.WorkArea{s}})
			}
		}
		for _, room := range Rooms(d.WorkAreas) {
			add(n.Spots, room, NameMeaning{value: room, how: lexicon.ByName, devices: []int{i}, spots: []capabilities.WorkArea{{Name: room, Room: room}}})
		}
	}
	n.Words = map[string]bool{}
	for _, p := range []*lexicon.Trie[NameMeaning]{n.devices, n.Areas, n.Views, n.Spots, n.positions} {
		p.AddWords(n.Words)
	}
	delete(n.Words, lexicon.Possessive) // "the kid's room": it is a sign of any name
	return n
}

// signed returns the names of a device that have signs in them.
func signed(d capabilities.Device) []string {
	list := append([]string{d.Name, d.Label, d.Area}, append(d.Aliases[:len(d.Aliases):len(d.Aliases)], d.FieldOfView...)...)
	for _, s := range d.WorkAreas {
		list = append(list, s.Name, s.Room, s.Note)
	}
	list = slices.DeleteFunc(list, func(name string) bool {
		char, _ := lexicon.FirstSign(name)
		return char == "" || len(lexicon.Split(name)) == 0
	})
	for i, name := range list {
		list[i] = strings.ToLower(name)
	}
	return list
}

// Rooms returns the rooms of the spots, each once.
func Rooms(spots []capabilities.WorkArea) []string {
	var list []string
	for _, s := range spots {
		list = append(list, s.Room)
	}
	return lexicon.Distinct(list)
}

// spotPhrases returns the ways to name a spot: by its name, with another word for "near", with
// its room, and by its note: "rice spill by the kitchen sink".
func spotPhrases(w *lexicon.Lexicon, s capabilities.WorkArea) [][]lexicon.Token {
	if s.Name == s.Room {
		return nil
	}
	name, note, room := w.PlainTokens(s.Name), w.PlainTokens(s.Note), w.PlainTokens(s.Room)
	list := [][]lexicon.Token{name}
	if n := w.Near.Longest(name, 0); n > 0 {
		thing := w.PlainTokens(lexicon.Join(name[n:]))
		list = nil
		for _, near := range w.Lists.Near {
			list = append(list, slices.Concat(w.Tokens(near), thing))
			if len(room) > 0 {
				list = append(list, slices.Concat(w.Tokens(near), room, thing))
			}
		}
	}
	if len(note) > 0 {
		for _, place := range slices.Clone(list) {
			list = append(list, slices.Concat(note, place))
		}
		list = append(list, note)
	}
	return slices.DeleteFunc(list, func(t []lexicon.Token) bool { return len(t) == 0 })
}
