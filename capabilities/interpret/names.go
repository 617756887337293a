package interpret

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// names are the words for what is in one home.
type names struct {
	devices, areas, views, spots *lexicon.Trie[meaning]
	positions                    *lexicon.Trie[meaning]
	signed                       []string        // names with signs in them, in lower case
	words                        map[string]bool // all folded words
}

// meaning is what one name stands for: all devices, places or spots that have it.
type meaning struct {
	value   string // as the first of them writes it
	last    string // as the last of them writes it
	how     lexicon.Specificity
	devices []int
	spots   []capabilities.Spot
}

// mean adds what a name means to what it means already. What is more exact stands alone.
func mean(p *lexicon.Trie[meaning], name []lexicon.Token, m meaning) {
	m.last = m.value
	p = p.Node(name)
	switch {
	case len(p.Values) == 0:
		p.Values = []meaning{m}
		return
	case m.how > p.Values[0].how:
		p.Values[0] = m
		return
	}
	is := &p.Values[0]
	is.last = m.value
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

// hasPlace reports whether a place of the home is called so.
func (r *Interpreter) hasPlace(name string) bool { return r.index.rooms[lexicon.FoldKey(name)] }

// knows reports whether a word is in a name of this home, or in anything that a
// frame may have.
func (r *Interpreter) knows(t lexicon.Token) bool {
	return r.catalogue.FrameWords[t.Folded] || r.names.words[t.Folded] || t.Text[0] >= '0' && t.Text[0] <= '9'
}

// spelledOut and stripped are how names are typed where the keyboard lacks their letters.
var (
	spelledOut = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "Ä", "Ae", "Ö", "Oe", "Ü", "Ue", "ß", "ss", "å", "aa", "Å", "Aa", "ø", "oe", "Ø", "Oe", "æ", "ae", "Æ", "Ae")
	stripped   = strings.NewReplacer("ä", "a", "ö", "o", "ü", "u", "Ä", "A", "Ö", "O", "Ü", "U", "å", "a", "Å", "A", "ø", "o", "Ø", "O", "é", "e", "è", "e", "ê", "e", "É", "E", "à", "a", "â", "a", "ç", "c", "ñ", "n", "ó", "o", "í", "i", "á", "a", "ú", "u")
)

// newNames indexes the names of a home.
func newNames(r *Interpreter) *names {
	c := r.catalogue
	n := &names{devices: &lexicon.Trie[meaning]{}, areas: &lexicon.Trie[meaning]{}, views: &lexicon.Trie[meaning]{}, spots: &lexicon.Trie[meaning]{}, positions: &lexicon.Trie[meaning]{}}
	add := func(p *lexicon.Trie[meaning], text string, m meaning) {
		if t := c.Words.PlainTokens(text); len(t) > 0 {
			mean(p, t, m)
			for _, typed := range c.Words.NumberSpellings(t) {
				mean(p, typed, m)
			}
		}
		for _, keyboard := range []*strings.Replacer{spelledOut, stripped} {
			if typed := keyboard.Replace(text); typed != text {
				mean(p, c.Words.PlainTokens(typed), m)
			}
		}
	}
	for i, d := range r.home.Devices {
		n.signed = append(n.signed, signed(d)...)
		for _, name := range lexicon.Distinct(append([]string{d.Name, d.Label}, d.Aliases...)) {
			add(n.devices, name, meaning{how: lexicon.ByName, devices: []int{i}})
		}
		for _, p := range d.Positions {
			add(n.positions, p.Name, meaning{value: p.Name, how: lexicon.ByName, devices: []int{i}})
		}
		for _, area := range lexicon.Distinct(append([]string{d.Area}, rooms(d.Spots)...)) {
			add(n.areas, area, meaning{value: area})
			for _, other := range c.Frames.Lists.Places[strings.ToLower(area)] {
				if !r.hasPlace(other) {
					add(n.areas, other, meaning{value: area})
				}
			}
			add(n.views, area, meaning{value: area, how: lexicon.ByPlace, devices: []int{i}})
		}
		for _, view := range d.Sees {
			for _, text := range lexicon.Distinct(append([]string{view}, c.ClassWords[c.Class(view)]...)) {
				add(n.views, text, meaning{value: view, how: lexicon.ByName, devices: []int{i}})
			}
		}
		for _, s := range d.Spots {
			for _, t := range spotPhrases(c.Words, s) {
				mean(n.spots, t, meaning{value: s.Name, how: lexicon.ByName, devices: []int{i}, spots: []capabilities.Spot{s}})
			}
		}
		for _, room := range rooms(d.Spots) {
			add(n.spots, room, meaning{value: room, how: lexicon.ByName, devices: []int{i}, spots: []capabilities.Spot{{Name: room, Room: room}}})
		}
	}
	n.words = map[string]bool{}
	for _, p := range []*lexicon.Trie[meaning]{n.devices, n.areas, n.views, n.spots, n.positions} {
		p.AddWords(n.words)
	}
	delete(n.words, lexicon.Possessive) // "the kid's room": it is a sign of any name
	return n
}

// signed are the names that a device brings, where they have signs in them.
func signed(d capabilities.Device) []string {
	list := append([]string{d.Name, d.Label, d.Area}, append(d.Aliases[:len(d.Aliases):len(d.Aliases)], d.Sees...)...)
	for _, s := range d.Spots {
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

func rooms(spots []capabilities.Spot) []string {
	var list []string
	for _, s := range spots {
		list = append(list, s.Room)
	}
	return lexicon.Distinct(list)
}

// spotPhrases are the ways to name a spot: by its name, with another word for
// "near", with its room, and by its note: "rice spill by the kitchen sink".
func spotPhrases(w *lexicon.Lexicon, s capabilities.Spot) [][]lexicon.Token {
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

// deviceMatches are the devices that the words from i on may mean, with or
// without "all".
func (x *request) deviceMatches(i int) []lexicon.SlotValue {
	list := x.someDevice(i)
	if n := x.words().All.Longest(x.tokens, i); n > 0 {
		for _, m := range x.someDevice(x.pass(i + n)) {
			last := x.tokens[m.End-1]
			m.All = x.asks || last.Text != last.Folded || x.words().AnyOne.Longest(x.tokens, i) == 0 // "is any light on?" is about all of them
			m.Count, m.Number = x.words().Lists.Counts[x.tokens[i].Text], x.tokens[i].Text
			list = append(list, m)
		}
		x.counted(x.pass(i+n), i, &list)
		list = append(list, lexicon.SlotValue{End: i + n, All: true, Devices: x.everything()})
	}
	x.words().Numbers.Each(x.tokens, i, func(end int, n float64) {
		if n == 1 && x.words().Fillers.Longest(x.tokens, i) == 0 { // "one light"
			for _, m := range x.someDevice(x.pass(end)) {
				m.All = false
				list = append(list, m)
			}
		}
	})
	x.counted(i, i, &list)
	return list
}

// someDevice are the devices named at i: by name, by class, by place and class.
func (x *request) someDevice(i int) []lexicon.SlotValue {
	list := x.called(x.r.names.devices, i)
	for _, m := range list {
		list = append(list, x.withClass(m)...)
	}
	list = append(list, x.classMatches(i, "")...)
	for _, m := range list {
		list = append(append(list, x.withPlaces(m, i)...), x.itsOwn(m)...)
	}
	for _, area := range x.filled("area", i) {
		j := area.End
		if j < len(x.tokens) && x.tokens[j].Folded == lexicon.Possessive {
			j++
		}
		list = append(list, x.classMatches(j, area.Value)...)
		list = append(list, x.ofPlaces(i, area)...)
	}
	return list
}

// withClass is a name with the class of the thing behind it: "the wemo plug".
func (x *request) withClass(m lexicon.SlotValue) []lexicon.SlotValue {
	var list []lexicon.SlotValue
	x.r.catalogue.ClassPhrases.Each(x.tokens, m.End, func(end int, c lexicon.SlotValue) {
		named := m
		named.End = end
		named.Devices = slices.DeleteFunc(slices.Clone(m.Devices), func(d int) bool { return x.r.class[d] != c.Class })
		if len(named.Devices) > 0 {
			list = append(list, named)
		}
	})
	return list
}

// pass steps over "of" and articles.
func (x *request) pass(i int) int {
	for i < len(x.tokens) {
		n := x.words().Fillers.Longest(x.tokens, i)
		if x.tokens[i].Folded == "of" {
			n = 1
		}
		if n == 0 {
			break
		}
		i += n
	}
	return i
}

func (x *request) everything() []int {
	return x.r.index.every
}

// classMatches are the devices of the class named at i, in the area if it is
// not "".
func (x *request) classMatches(i int, area string) []lexicon.SlotValue {
	list := merge(nil, x.r.catalogue.ClassPhrases, x.tokens, i, x.words())
	for k := range list {
		m := &list[k]
		m.Specificity = lexicon.ByClass
		if area != "" {
			m.Specificity, m.Value = lexicon.ByPlace, area
		}
		m.Devices = x.r.ofClass(m.Class, area)
		if last := x.tokens[m.End-1]; len(m.Devices) > 1 && last.Text != last.Folded { // "the lights"
			m.All = true
		}
	}
	return list
}

// ofClass lists the devices of a class, in the area if it is not "".
func (r *Interpreter) ofClass(class, area string) []int {
	list := slices.Clip(r.index.byClass[class])
	if area == "" || len(list) == 0 {
		return list
	}
	return r.index.among(r.index.in(area), func(d int) bool { return r.class[d] == class })
}

// outside returns a test of whether a device is not in the area, for many devices.
func (r *Interpreter) outside(area string) func(d int) bool {
	in := lexicon.MemberTest(r.index.in(area))
	return func(d int) bool { return !in(d) }
}

// in reports whether device d is in the area.
func (r *Interpreter) in(d int, area string) bool {
	return strings.EqualFold(r.home.Devices[d].Area, area)
}
