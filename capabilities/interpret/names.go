package interpret

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities"
)

// how tells by what a device was meant; more is more exact.
type how int

const (
	byNothing how = iota // no word for it
	byClass              // "the light"
	byPlace              // "the kitchen light"
	byName               // "the reading lamp"
)

// match is what a gap may take: words up to end, and what they mean.
type match struct {
	end      int
	value    string // area, view or quantity as the home writes it
	how      how
	devices  []int               // that may be meant
	class    string              // where meant by class
	all      bool                // "all lights"
	count    int                 // "two lights"; 0: no number was said
	number   string              // the word for it
	spots    []capabilities.Spot // places to work on
	parts    []share             // that were named one by one
	rooms    []string            // several of them, by name; nil for one
	duration time.Duration
	amount   float64 // percent, degrees or kelvin, or of a number
	unit     string  // of a number, as a quantity has it; "" where none was said
}

// share is what one name of several means.
type share struct {
	devices []int
	all     bool // of them; else one, and it is asked which
}

// names are the words for what is in one home.
type names struct {
	devices, areas, views, spots *phrases[meaning]
	positions                    *phrases[meaning]
	signed                       []string        // names with signs in them, in lower case
	words                        map[string]bool // all folded words
}

// meaning is what one name stands for: all devices, places or spots that have it.
type meaning struct {
	value   string // as the first of them writes it
	last    string // as the last of them writes it
	how     how
	devices []int
	spots   []capabilities.Spot
}

// mean adds what a name means to what it means already. What is more exact stands alone.
func mean(p *phrases[meaning], name []token, m meaning) {
	m.last = m.value
	p = p.node(name)
	switch {
	case len(p.here) == 0:
		p.here = []meaning{m}
		return
	case m.how > p.here[0].how:
		p.here[0] = m
		return
	}
	is := &p.here[0]
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
func (r *Interpreter) hasPlace(name string) bool { return r.index.rooms[sameFold(name)] }

// knows reports whether a word is in a name of this home, or in anything that a
// frame may have.
func (r *Interpreter) knows(t token) bool {
	return r.catalogue.said[t.folded] || r.names.words[t.folded] || t.text[0] >= '0' && t.text[0] <= '9'
}

// spelledOut and stripped are how names are typed where the keyboard lacks their letters.
var (
	spelledOut = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "Ä", "Ae", "Ö", "Oe", "Ü", "Ue", "ß", "ss", "å", "aa", "Å", "Aa", "ø", "oe", "Ø", "Oe", "æ", "ae", "Æ", "Ae")
	stripped   = strings.NewReplacer("ä", "a", "ö", "o", "ü", "u", "Ä", "A", "Ö", "O", "Ü", "U", "å", "a", "Å", "A", "ø", "o", "Ø", "O", "é", "e", "è", "e", "ê", "e", "É", "E", "à", "a", "â", "a", "ç", "c", "ñ", "n", "ó", "o", "í", "i", "á", "a", "ú", "u")
)

// newNames indexes the names of a home.
func newNames(r *Interpreter) *names {
	c := r.catalogue
	n := &names{devices: &phrases[meaning]{}, areas: &phrases[meaning]{}, views: &phrases[meaning]{}, spots: &phrases[meaning]{}, positions: &phrases[meaning]{}}
	add := func(p *phrases[meaning], text string, m meaning) {
		if t := c.words.plainTokens(text); len(t) > 0 {
			mean(p, t, m)
			for _, typed := range c.words.otherwiseNumbered(t) {
				mean(p, typed, m)
			}
		}
		for _, keyboard := range []*strings.Replacer{spelledOut, stripped} {
			if typed := keyboard.Replace(text); typed != text {
				mean(p, c.words.plainTokens(typed), m)
			}
		}
	}
	for i, d := range r.home.Devices {
		n.signed = append(n.signed, signed(d)...)
		for _, name := range distinct(append([]string{d.Name, d.Label}, d.Aliases...)) {
			add(n.devices, name, meaning{how: byName, devices: []int{i}})
		}
		for _, p := range d.Positions {
			add(n.positions, p.Name, meaning{value: p.Name, how: byName, devices: []int{i}})
		}
		for _, area := range distinct(append([]string{d.Area}, rooms(d.Spots)...)) {
			add(n.areas, area, meaning{value: area})
			for _, other := range c.lexicon.Places[strings.ToLower(area)] {
				if !r.hasPlace(other) {
					add(n.areas, other, meaning{value: area})
				}
			}
			add(n.views, area, meaning{value: area, how: byPlace, devices: []int{i}})
		}
		for _, view := range d.Sees {
			for _, text := range distinct(append([]string{view}, c.classes[c.class(view)]...)) {
				add(n.views, text, meaning{value: view, how: byName, devices: []int{i}})
			}
		}
		for _, s := range d.Spots {
			for _, t := range spotPhrases(c.words, s) {
				mean(n.spots, t, meaning{value: s.Name, how: byName, devices: []int{i}, spots: []capabilities.Spot{s}})
			}
		}
		for _, room := range rooms(d.Spots) {
			add(n.spots, room, meaning{value: room, how: byName, devices: []int{i}, spots: []capabilities.Spot{{Name: room, Room: room}}})
		}
	}
	n.words = map[string]bool{}
	for _, p := range []*phrases[meaning]{n.devices, n.areas, n.views, n.spots, n.positions} {
		p.words(n.words)
	}
	delete(n.words, possessive) // "the kid's room": it is a sign of any name
	return n
}

// signed are the names that a device brings, where they have signs in them.
func signed(d capabilities.Device) []string {
	list := append([]string{d.Name, d.Label, d.Area}, append(d.Aliases[:len(d.Aliases):len(d.Aliases)], d.Sees...)...)
	for _, s := range d.Spots {
		list = append(list, s.Name, s.Room, s.Note)
	}
	list = slices.DeleteFunc(list, func(name string) bool {
		char, _ := sign(name)
		return char == "" || len(split(name)) == 0
	})
	for i, name := range list {
		list[i] = strings.ToLower(name)
	}
	return list
}

// plainTokens are the words of a name, without articles before it.
func (w *words) plainTokens(name string) []token {
	t := w.tokens(name)
	for len(t) > 0 {
		n := w.Fillers.longest(t, 0)
		if n == 0 || n == len(t) {
			break
		}
		t = t[n:]
	}
	return t
}

func distinct(list []string) []string {
	var kept []string
	if len(list) > fewNames {
		seen := map[string]bool{"": true}
		for _, s := range list {
			if !seen[s] {
				seen[s], kept = true, append(kept, s)
			}
		}
		return kept
	}
	for _, s := range list {
		if s != "" && !slices.Contains(kept, s) {
			kept = append(kept, s)
		}
	}
	return kept
}

// fewNames is how many are compared one by one.
const fewNames = 16

func rooms(spots []capabilities.Spot) []string {
	var list []string
	for _, s := range spots {
		list = append(list, s.Room)
	}
	return distinct(list)
}

// spotPhrases are the ways to name a spot: by its name, with another word for
// "near", with its room, and by its note: "rice spill by the kitchen sink".
func spotPhrases(w *words, s capabilities.Spot) [][]token {
	if s.Name == s.Room {
		return nil
	}
	name, note, room := w.plainTokens(s.Name), w.plainTokens(s.Note), w.plainTokens(s.Room)
	list := [][]token{name}
	if n := w.Near.longest(name, 0); n > 0 {
		thing := w.plainTokens(joined(name[n:]))
		list = nil
		for _, near := range w.lists.Near {
			list = append(list, slices.Concat(w.tokens(near), thing))
			if len(room) > 0 {
				list = append(list, slices.Concat(w.tokens(near), room, thing))
			}
		}
	}
	if len(note) > 0 {
		for _, place := range slices.Clone(list) {
			list = append(list, slices.Concat(note, place))
		}
		list = append(list, note)
	}
	return slices.DeleteFunc(list, func(t []token) bool { return len(t) == 0 })
}

// with is either of two matches.
func (m match) with(o match) match {
	m.devices = slices.Concat(m.devices, subtract(o.devices, m.devices))
	m.spots = slices.Clone(m.spots)
	for _, s := range o.spots {
		if !slices.Contains(m.spots, s) {
			m.spots = append(m.spots, s)
		}
	}
	return m
}

// deviceMatches are the devices that the words from i on may mean, with or
// without "all".
func (x *request) deviceMatches(i int) []match {
	list := x.someDevice(i)
	if n := x.words().All.longest(x.tokens, i); n > 0 {
		for _, m := range x.someDevice(x.pass(i + n)) {
			last := x.tokens[m.end-1]
			m.all = x.asks || last.text != last.folded || x.words().AnyOne.longest(x.tokens, i) == 0 // "is any light on?" is about all of them
			m.count, m.number = x.words().lists.Counts[x.tokens[i].text], x.tokens[i].text
			list = append(list, m)
		}
		x.counted(x.pass(i+n), i, &list)
		list = append(list, match{end: i + n, all: true, devices: x.everything()})
	}
	x.words().Numbers.each(x.tokens, i, func(end int, n float64) {
		if n == 1 && x.words().Fillers.longest(x.tokens, i) == 0 { // "one light"
			for _, m := range x.someDevice(x.pass(end)) {
				m.all = false
				list = append(list, m)
			}
		}
	})
	x.counted(i, i, &list)
	return list
}

// maxCount bounds how many things a number may count.
const maxCount = 1000

// counts are the readings of the words from i on as a number of things, of two
// or more.
func (w *words) counts(tokens []token, i int, yield func(end, n int)) {
	if i >= len(tokens) {
		return
	}
	if n, err := strconv.Atoi(tokens[i].text); err == nil && n > 1 && n <= maxCount {
		yield(i+1, n)
	}
	w.Numbers.each(tokens, i, func(end int, n float64) {
		if n > 1 && n == math.Trunc(n) {
			yield(end, int(n))
		}
	})
}

// someDevice are the devices named at i: by name, by class, by place and class.
func (x *request) someDevice(i int) []match {
	list := x.called(x.r.names.devices, i)
	for _, m := range list {
		list = append(list, x.withClass(m)...)
	}
	list = append(list, x.classMatches(i, "")...)
	for _, m := range list {
		list = append(append(list, x.withPlaces(m, i)...), x.itsOwn(m)...)
	}
	for _, area := range x.filled("area", i) {
		j := area.end
		if j < len(x.tokens) && x.tokens[j].folded == possessive {
			j++
		}
		list = append(list, x.classMatches(j, area.value)...)
		list = append(list, x.ofPlaces(i, area)...)
	}
	return list
}

// withClass is a name with the class of the thing behind it: "the wemo plug".
func (x *request) withClass(m match) []match {
	var list []match
	x.r.catalogue.classPhrase.each(x.tokens, m.end, func(end int, c match) {
		named := m
		named.end = end
		named.devices = slices.DeleteFunc(slices.Clone(m.devices), func(d int) bool { return x.r.class[d] != c.class })
		if len(named.devices) > 0 {
			list = append(list, named)
		}
	})
	return list
}

// pass steps over "of" and articles.
func (x *request) pass(i int) int {
	for i < len(x.tokens) {
		n := x.words().Fillers.longest(x.tokens, i)
		if x.tokens[i].folded == "of" {
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
func (x *request) classMatches(i int, area string) []match {
	list := merge(nil, x.r.catalogue.classPhrase, x.tokens, i, x.words())
	for k := range list {
		m := &list[k]
		m.how = byClass
		if area != "" {
			m.how, m.value = byPlace, area
		}
		m.devices = x.r.ofClass(m.class, area)
		if last := x.tokens[m.end-1]; len(m.devices) > 1 && last.text != last.folded { // "the lights"
			m.all = true
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
	in := memberOf(r.index.in(area))
	return func(d int) bool { return !in(d) }
}

// in reports whether device d is in the area.
func (r *Interpreter) in(d int, area string) bool {
	return strings.EqualFold(r.home.Devices[d].Area, area)
}
