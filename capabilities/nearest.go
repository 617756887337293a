package capabilities

import (
	"cmp"
	"slices"
	"strings"
)

// maxNearest is how many names a refusal offers: more are not read.
const maxNearest = 5

// nearest are the names that come near the words, else what this home can do.
func (r *Resolver) nearest(words []string) []string {
	if list := r.near(words); len(list) > 0 {
		return list
	}
	return r.offered()
}

// near are the names of this home that come nearest to the words.
func (r *Resolver) near(words []string) []string {
	type near struct {
		name string
		far  int
	}
	far := make([]int, len(r.all.names))
	for i, b := range r.all.words {
		best := tooFar
		for _, a := range words {
			if more := len(a) - len(b); more < tooFar && more > -tooFar || !ascii(a) || !ascii(b) { // letters, of which each more is one to take out
				best = min(best, distance(strings.ToLower(a), b))
			}
		}
		for _, name := range r.all.of[i] {
			far[name] = max(far[name], tooFar-best)
		}
	}
	var list []near
	for i, name := range r.all.names {
		if far[i] > 0 {
			list = append(list, near{name, tooFar - far[i]})
		}
	}
	slices.SortStableFunc(list, func(a, b near) int { return cmp.Compare(a.far, b.far) })
	var names []string
	for _, n := range list[:min(len(list), maxNearest)] {
		names = append(names, n.name)
	}
	return names
}

// closest are the names that come closest to what was asked, first the one that shares
// most with it: its words, those of what a capability does, and words that are
// spelt alike. Names that share as much stay in their order.
func (x *request) closest(names []string) []string {
	if len(names) < 2 {
		return names
	}
	words := make([]string, 0, len(x.tokens))
	for _, t := range x.tokens {
		if !slices.Contains(meaningless, t.folded) {
			words = append(words, t.folded)
		}
	}
	shares := make(map[string]float64, len(names))
	for _, name := range names {
		own, does := x.r.catalogue.ids[name], x.r.catalogue.does[name]
		if own == nil {
			own = split(name)
		}
		for _, w := range words {
			best := 0.0
			for _, n := range own {
				best = max(best, alike(w, n))
			}
			if best < 0.5 && slices.Contains(does, w) {
				best = 0.5
			}
			shares[name] += best
		}
	}
	list := slices.Clone(names)
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(shares[b], shares[a]) })
	return list[:min(len(list), maxNearest)]
}

// meaningless are words that make nothing alike.
var meaningless = []string{"the", "a", "an", "and", "of", "to", "in", "it", "is", "me", "please"}

// alike is 1 for words that are one, and 0 for those with little in common.
func alike(a, b string) float64 {
	longer := max(len(a), len(b))
	switch {
	case a == b:
		return 1
	case min(len(a), len(b)) < 4, longer-min(len(a), len(b)) > tooFar:
		return 0
	}
	if same := 1 - float64(distance(a, b))/float64(longer); same > 0.35 {
		return same
	}
	return 0
}

func ascii(s string) bool { return !strings.ContainsFunc(s, func(r rune) bool { return r > 127 }) }

// tooFar is how many letters may not be changed, added or taken out.
const tooFar = 3

// spelled are names, and the words in them: each once, with the names that have it.
type spelled struct {
	names []string
	words []string
	of    [][]int
}

func (r *Resolver) spell() (s spelled) {
	s.names = r.allNames()
	at := map[string]int{}
	for i, name := range s.names {
		for _, word := range distinct(split(name)) {
			n, known := at[word]
			if !known {
				n = len(s.words)
				at[word], s.words, s.of = n, append(s.words, word), append(s.of, nil)
			}
			s.of[n] = append(s.of[n], i)
		}
	}
	return s
}

// sharing are the devices whose name has one of the words.
func (r *Resolver) sharing(tokens []token) (list []string) {
	for d := range r.home.Devices {
		name := r.label(d)
		own := split(name)
		if slices.ContainsFunc(tokens, func(t token) bool { return len(t.folded) > 3 && slices.Contains(own, t.folded) }) {
			list = append(list, name)
		}
	}
	return list
}

func (r *Resolver) allNames() []string {
	var list []string
	for d, dev := range r.home.Devices {
		list = append(list, r.label(d), dev.Area)
		list = append(append(list, dev.Sees...), rooms(dev.Spots)...)
	}
	for _, c := range r.catalogue.list {
		list = append(list, c.ID)
	}
	return distinct(list)
}

// distance counts the letters to change, add or take out to make b of a. Words
// of up to three letters are all alike by it, so they count as far apart.
func distance(a, b string) int {
	if a == b {
		return 0
	}
	x, y := []rune(a), []rune(b)
	if min(len(x), len(y)) < 4 {
		return 3
	}
	var short [24]int // of which most words have fewer letters
	row := short[:]
	if len(y) >= len(row) {
		row = make([]int, len(y)+1)
	}
	row = row[:len(y)+1]
	for j := range row {
		row[j] = j
	}
	for i := range x {
		before := row[0]
		row[0] = i + 1
		for j := range y {
			change := before
			if x[i] != y[j] {
				change++
			}
			before, row[j+1] = row[j+1], min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}

// meantBy is the one word of a name here, or of an order, that a misspelt word is a letter
// away from; "" where there is none or several.
func (r *Resolver) meantBy(word string) string {
	l, found := &r.catalogue.lexicon, ""
	if len(word) < 4 {
		return ""
	}
	for _, known := range []map[string]bool{r.names.words, l.naming, l.orders} {
		for one := range known {
			if d := len(one) - len(word); one == found || d > 1 || d < -1 || len(one) < 4 || one[0] != word[0] && one[len(one)-1] != word[len(word)-1] || !swapped(one, word) && distance(word, one) > 1 {
				continue
			}
			if found != "" {
				return ""
			}
			found = one
		}
	}
	return found
}

// swapped reports whether b is a with two letters that stand beside each other changed
// over.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := 0; i+1 < len(a); i++ {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		}
	}
	return false
}
