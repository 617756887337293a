package interpret

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/messkit/messkit/internal/order"
)

// maxNearest is how many names a refusal offers: more are not read.
const maxNearest = 5

// nearest are the names that come near the words, else what this home can do.
func (r *Interpreter) nearest(words []string) []string {
	if list := r.near(words); len(list) > 0 {
		return list
	}
	return r.offered()
}

// near are the names of this home that come nearest to the words.
func (r *Interpreter) near(words []string) []string {
	type near struct {
		name string
		far  int
	}
	far := make([]int, len(r.all.names))
	asked := make([]spelling, len(words))
	for i, a := range words {
		asked[i] = spellingOf(strings.ToLower(a))
	}
	for i, b := range r.all.words {
		best := tooFar
		for _, a := range asked {
			if a.apart(b) < tooFar {
				best = min(best, distance(a.word, b.word))
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
	order.By(list, func(a, b near) int { return cmp.Compare(a.far, b.far) })
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
	words := make([]spelling, 0, len(x.tokens))
	for _, t := range x.tokens {
		if !slices.Contains(meaningless, t.folded) {
			words = append(words, spellingOf(t.folded))
		}
	}
	var list []string
	var shares []float64 // of each in list
	known := x.r.all.likeness(words)
	for _, name := range names {
		share := known(name)
		if own := x.r.catalogue.ids[name]; own != nil {
			share = shared(words, own, x.r.catalogue.does[name])
		}
		at := len(list)
		for at > 0 && shares[at-1] < share {
			at--
		}
		if at < maxNearest {
			list, shares = slices.Insert(list, at, name), slices.Insert(shares, at, share)
			list, shares = list[:min(len(list), maxNearest)], shares[:min(len(list), maxNearest)]
		}
	}
	return list
}

// shared is how much words have in common with those of a name, and with what it does.
func shared(words, own []spelling, does []string) (sum float64) {
	for _, w := range words {
		best := 0.0
		for _, n := range own {
			best = max(best, alike(w, n))
		}
		if best < 0.5 && slices.Contains(does, w.word) {
			best = 0.5
		}
		sum += best
	}
	return sum
}

// likeness returns shared for names, with the words that were asked. It compares each word
// of the home once, however many names have it.
func (s *spelled) likeness(asked []spelling) func(name string) float64 {
	like := make([][]float64, len(s.words)) // of a word with each that was asked; nil: not compared yet
	return func(name string) (sum float64) {
		i, known := s.index[name]
		if !known {
			return shared(asked, spellings(split(name)), nil)
		}
		for k := range asked {
			best := 0.0
			for _, word := range s.has[i] {
				if like[word] == nil {
					like[word] = make([]float64, len(asked))
					for j, a := range asked {
						like[word][j] = alike(a, s.words[word])
					}
				}
				best = max(best, like[word][k])
			}
			sum += best
		}
		return sum
	}
}

// related are the capabilities that share a word with what was asked: the others are
// nearest to nothing. A letter may be wrong.
func (x *request) related(ids []string) (list []string) {
	for _, id := range ids {
		if slices.ContainsFunc(x.tokens, func(t token) bool {
			return !slices.Contains(meaningless, t.folded) && !slices.Contains(placing, t.folded) &&
				(slices.ContainsFunc(x.r.catalogue.ids[id], func(own spelling) bool { return alike(spellingOf(t.folded), own) >= 0.75 }) || slices.Contains(x.r.catalogue.does[id], t.folded))
		}) {
			list = append(list, id)
		}
	}
	return list
}

// placing are words that say where more often than what.
var placing = []string{"on", "at", "by", "for", "with", "from", "that", "this", "there", "i", "my", "me"}

// meaningless are words that make nothing alike.
var meaningless = []string{"the", "a", "an", "and", "of", "to", "in", "it", "is", "me", "please"}

// alike is 1 for words that are one, and 0 for those with little in common.
func alike(a, b spelling) float64 {
	longer := max(a.n, b.n)
	same := func(distance int) float64 { return 1 - float64(distance)/float64(longer) }
	switch {
	case a.word == b.word:
		return 1
	case min(a.n, b.n) < 4, longer-min(a.n, b.n) > tooFar, same(a.apart(b)) <= 0.35:
		return 0
	}
	if same := same(distance(a.word, b.word)); same > 0.35 {
		return same
	}
	return 0
}

// spelling is a word with the letters that it has, as bits, of which rare ones share
// theirs, and how many it has.
type spelling struct {
	word    string
	letters uint32
	n       int
}

func spellingOf(word string) spelling {
	s := spelling{word: word}
	for _, r := range word {
		s.letters |= 1 << (r & 31)
		s.n++
	}
	return s
}

func spellings(words []string) []spelling {
	list := make([]spelling, len(words))
	for i, w := range words {
		list[i] = spellingOf(w)
	}
	return list
}

// apart is a distance that two words have at least: each letter that only one of
// them has is one to change, add or take out.
func (s spelling) apart(other spelling) int {
	return max(bits.OnesCount32(s.letters&^other.letters), bits.OnesCount32(other.letters&^s.letters), s.n-other.n, other.n-s.n)
}

// tooFar is how many letters may not be changed, added or taken out.
const tooFar = 3

// spelled are names, and the words in them: each once, with the names that have it.
type spelled struct {
	names  []string
	device []bool         // whether a name is that of a device
	index  map[string]int // of the names
	has    [][]int32      // the words of each name
	words  []spelling
	of     [][]int32
	at     map[string]int // of the words
}

func (r *Interpreter) spell() (s spelled) {
	s.names, s.at = r.allNames(), map[string]int{}
	s.index, s.has = make(map[string]int, len(s.names)), make([][]int32, len(s.names))
	for i, name := range s.names {
		s.index[name] = i
		s.device = append(s.device, len(r.index.labels[name]) > 0)
		for _, word := range distinct(split(name)) {
			n, known := s.at[word]
			if !known {
				n = len(s.words)
				s.at[word], s.words, s.of = n, append(s.words, spellingOf(word)), append(s.of, nil)
			}
			s.of[n] = append(s.of[n], int32(i))
			s.has[i] = append(s.has[i], int32(n))
		}
	}
	return s
}

// sharing are the devices whose name has one of the words.
func (r *Interpreter) sharing(tokens []token) (list []string) {
	var found []int32
	for _, t := range tokens {
		if n, known := r.all.at[t.folded]; known && len(t.folded) > 3 {
			found = append(found, r.all.of[n]...)
		}
	}
	slices.Sort(found)
	for _, i := range slices.Compact(found) {
		if r.all.device[i] {
			list = append(list, r.all.names[i])
		}
	}
	return list
}

func (r *Interpreter) allNames() []string {
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

// meantBy are the words of names here, or of orders, that a misspelt word is a letter away
// from.
func (r *Interpreter) meantBy(word string) (list []string) {
	if len(word) < 4 {
		return nil
	}
	meant := spellingOf(word)
	for _, known := range [][]spelling{r.named, r.catalogue.lexicon.spelled} {
		for _, one := range known {
			if one.word[0] != word[0] && one.word[len(one.word)-1] != word[len(word)-1] || meant.apart(one) > 1 || !swapped(one.word, word) && distance(word, one.word) > 1 {
				continue
			}
			if !slices.Contains(list, one.word) {
				list = append(list, one.word)
			}
		}
	}
	slices.Sort(list)
	return list
}

// mistakable are the words of sets that are long enough to be told from others when
// they are misspelt.
func mistakable(sets ...map[string]bool) (list []spelling) {
	for _, set := range sets {
		for word := range set {
			if len(word) >= 4 {
				list = append(list, spellingOf(word))
			}
		}
	}
	return list
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
