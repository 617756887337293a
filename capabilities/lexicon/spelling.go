package lexicon

import (
	"math/bits"
	"slices"
)

// MaxNearest is the largest number of names that a refusal offers.
const MaxNearest = 5

// CommonWords returns how much the words have in common with those of a name, and with the
// words of its description.
func CommonWords(words, own []Spelling, does []string) (sum float64) {
	for _, w := range words {
		best := 0.0
		for _, n := range own {
			best = max(best, Likeness(w, n))
		}
		if best < 0.5 && slices.Contains(does, w.Word) {
			best = 0.5
		}
		sum += best
	}
	return sum
}

// CommonWords returns a function that computes CommonWords of asked with a name. It compares each
// word of the home once, because several names may have it.
func (s *SpelledNames) CommonWords(asked []Spelling) func(name string) float64 {
	like := make([][]float64, len(s.Words)) // of each word with each of asked; nil: not compared yet
	return func(name string) (sum float64) {
		i, known := s.Index[name]
		if !known {
			return CommonWords(asked, Spellings(Split(name)), nil)
		}
		for k := range asked {
			best := 0.0
			for _, word := range s.Has[i] {
				if like[word] == nil {
					like[word] = make([]float64, len(asked))
					for j, a := range asked {
						like[word][j] = Likeness(a, s.Words[word])
					}
				}
				best = max(best, like[word][k])
			}
			sum += best
		}
		return sum
	}
}

// PlacingWords are words that more often name a place than an object.
var PlacingWords = []string{"on", "at", "by", "for", "with", "from", "that", "this", "there", "i", "my", "me"}

// MeaninglessWords are words that do not count for a similarity.
var MeaninglessWords = []string{"the", "a", "an", "and", "of", "to", "in", "it", "is", "me", "please"}

// Likeness is 1 for equal words, and 0 for words with little in common.
func Likeness(a, b Spelling) float64 {
	longer := max(a.n, b.n)
	same := func(distance int) float64 { return 1 - float64(distance)/float64(longer) }
	switch {
	case a.Word == b.Word:
		return 1
	case min(a.n, b.n) < 4, longer-min(a.n, b.n) > MaxDistance, same(a.MinDistance(b)) <= 0.35:
		return 0
	}
	if same := same(Distance(a.Word, b.Word)); same > 0.35 {
		return same
	}
	return 0
}

// Spelling is a word with its letters as bits, of which rare letters share theirs, and its
// length.
type Spelling struct {
	Word    string
	letters uint32
	n       int
}

// NewSpelling notes the letters of a word, which is in lower case.
func NewSpelling(word string) Spelling {
	s := Spelling{Word: word}
	for _, r := range word {
		s.letters |= 1 << (r & 31)
		s.n++
	}
	return s
}

// Spellings returns the spelling of each word.
func Spellings(words []string) []Spelling {
	list := make([]Spelling, len(words))
	for i, w := range words {
		list[i] = NewSpelling(w)
	}
	return list
}

// MinDistance returns a lower bound of Distance, faster than Distance itself.
func (s Spelling) MinDistance(other Spelling) int {
	return max(bits.OnesCount32(s.letters&^other.letters), bits.OnesCount32(other.letters&^s.letters), s.n-other.n, other.n-s.n)
}

// MaxDistance is the limit of Distance for similar words.
const MaxDistance = 3

// SpelledNames are names, and the words in them: each word once, with the names that have
// it.
type SpelledNames struct {
	Names  []string
	Device []bool         // whether a name is that of a device
	Index  map[string]int // of the names
	Has    [][]int32      // the words of each name
	Words  []Spelling
	Of     [][]int32
	At     map[string]int // of the words
}

// Distance counts the letters to change, add or take out to make b of a. Words of up to
// three letters are all alike by it, so they count as far apart.
func Distance(a, b string) int {
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

// LongSpellings returns the spellings of words that are long enough to recognize a misspelling.
func LongSpellings(sets ...map[string]bool) (list []Spelling) {
	for _, set := range sets {
		for word := range set {
			if len(word) >= 4 {
				list = append(list, NewSpelling(word))
			}
		}
	}
	return list
}

// IsSwapped reports whether b is a with two neighboring letters exchanged.
func IsSwapped(a, b string) bool {
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
