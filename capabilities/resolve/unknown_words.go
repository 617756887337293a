package resolve

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/messkit/messkit/capabilities/lexicon"
)

// DroppedText returns the first words of a question about an order without its unknown
// words.
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
		return "not understood: " + lexicon.QuoteList(x.UnknownWords) + "; " + x.roomsText(d) + "; without that, "
	}
	return "not understood: " + lexicon.QuoteList(x.UnknownWords) + "; without that, "
}

// Fewest returns the readings that skip the fewest words, and the same words.
func (x *Request) Fewest(able []Hypothesis) []Hypothesis {
	best := slices.MinFunc(able, func(a, b Hypothesis) int { return cmp.Compare(a.pieces, b.pieces) })
	x.UnknownWords = best.lost
	return slices.DeleteFunc(able, func(rd Hypothesis) bool { return rd.pieces != best.pieces || !slices.Equal(rd.lost, best.lost) })
}

// DoubtText returns the first words of a question about a doubtful reading.
func (x *Request) DoubtText(rd *Hypothesis) string {
	switch {
	case x.InQuotes:
		return "quotation marks enclose it, as if it quotes a person: "
	case (rd.Doubt == "" || rd.Doubt == mayBeWish) && x.mayBeReport():
		return "it may report an event, or be a name: "
	case rd.Doubt == "" || rd.Doubt == mayBeWish:
		return ""
	}
	return rd.Doubt + ": "
}

// mayBeWish is the doubt of "could the lights be dimmed": it may be a wish.
const mayBeWish = "unsaid"

// KnowsAllWords reports whether every word can be part of a reading. Most texts about other
// subjects have a word that cannot.
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

// HasUnknownWord reports whether the text has a word that no sentence, no name of this
// home, and no time has.
func (x *Request) HasUnknownWord() bool {
	for _, t := range x.Tokens {
		if !x.Resolver.KnowsWord(t) && !x.Resolver.Catalog.Vocabulary[t.Folded] && !x.Resolver.Catalog.TimeWords[t.Folded] {
			return true
		}
	}
	return false
}
