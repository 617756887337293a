package resolve

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/messkit/messkit/capabilities/lexicon"
)

// DroppedText is what is said before a question about what is left.
func (x *Request) DroppedText() string {
	if len(x.UnknownWords) == 0 {
		return ""
	}
	if len(x.Corrections) > 0 {
		return fmt.Sprintf("not understood: %s; with %s instead, ", lexicon.QuoteList(x.UnknownWords), lexicon.QuoteList(x.Corrections))
	}
	w := x.Words()
	if from, _ := w.Conditionals.Find(w.Tokens(x.UnknownWords[0])); from >= 0 {
		return fmt.Sprintf("nothing here waits for %q; without that, ", x.UnknownWords[0])
	}
	if d := x.Sweeping(); d >= 0 {
		return "not understood: " + lexicon.QuoteList(x.UnknownWords) + "; " + x.knowsRooms(d) + "; without what was not understood, "
	}
	return "not understood: " + lexicon.QuoteList(x.UnknownWords) + "; without that, "
}

// Fewest are the readings that pass over the fewest words, and the same.
func (x *Request) Fewest(able []Hypothesis) []Hypothesis {
	best := slices.MinFunc(able, func(a, b Hypothesis) int { return cmp.Compare(a.pieces, b.pieces) })
	x.UnknownWords = best.lost
	return slices.DeleteFunc(able, func(rd Hypothesis) bool { return rd.pieces != best.pieces || !slices.Equal(rd.lost, best.lost) })
}

// DoubtText is what is said before a question that a doubt leads to.
func (x *Request) DoubtText(rd *Hypothesis) string {
	switch {
	case x.InQuotes:
		return "it stands in quotation marks, as what somebody said: "
	case (rd.Doubt == "" || rd.Doubt == unsaid) && x.reports():
		return "it may tell what happens, or be a name: "
	case rd.Doubt == "" || rd.Doubt == unsaid:
		return ""
	}
	return rd.Doubt + ": "
}

// unsaid is the doubt of "could the lights be dimmed": it may be a wish.
const unsaid = "unsaid"

// KnowsAllWords reports whether every word could be part of a reading: most texts
// that are about other things have one that is not.
func (x *Request) KnowsAllWords() bool {
	if len(x.Tokens) == 0 {
		return false
	}
	for _, t := range x.Tokens {
		if !x.Resolver.KnowsWord(t) {
			return false
		}
	}
	return true
}

// HasUnknownStart reports whether the text has a word that no sentence and no name here
// has, and no time.
func (x *Request) HasUnknownStart() bool {
	for _, t := range x.Tokens {
		if !x.Resolver.KnowsWord(t) && !x.Resolver.Catalog.Vocabulary[t.Folded] && !x.Resolver.Catalog.TimeWords[t.Folded] {
			return true
		}
	}
	return false
}
