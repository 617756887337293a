package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// NamesAny reports whether a word from i on names something in this home.
func (x *Request) NamesAny(i int) bool {
	for _, t := range x.Tokens[i:] {
		if x.Resolver.Names.Words[t.Folded] || x.Resolver.Catalog.Frames.NamingWords[t.Folded] {
			return true
		}
	}
	return false
}

// isReport reports whether the text may report a state and order nothing. Its verb is in the
// third person ("the heater turns off") or a gerund behind a device ("pump running"). Or it has a
// noun or an adjective instead ("the start of the vacuum", "the open door").
func (x *Request) isReport() bool {
	c, w := x.Resolver.Catalog, x.Words()
	first := x.SkipArticles(0)
	for i, t := range x.Tokens {
		verb := c.Frames.OrderWords[t.Folded]
		switch {
		case i == 0 && t.Text == "to" && x.BeginsOrder(1), i == first && t.Text == "let" && x.Tokens[len(x.Tokens)-1].Text == "open":
			return true
		case i > 0 && t.Text == "switches" && i+1 < len(x.Tokens) && x.Resolver.SaysSwitch(x.Tokens, i+1):
			return true
		case i > 0 && t.Text == "switch" && (x.Tokens[i-1].Text == "on" || x.Tokens[i-1].Text == "off"): // "the off switch"
			return true
		case verb && t.Text != t.Folded && x.isThirdPerson(i):
			return true
		case verb && i == 1 && w.Articles.Longest(x.Tokens, 0) == 1 && c.ClassPhrases.Longest(x.Tokens, 1) == 0 && !x.IsName(i):
			return true
		case verb && i == first && i+1 < len(x.Tokens) && x.Tokens[i+1].Text == "of" && !x.IsName(i):
			return true
		case i > 0 && strings.HasSuffix(t.Text, "ing") && x.isActivity(i) && !x.BeginsWithOrder() && !x.hasWish() && !x.IsName(i):
			return true
		}
	}
	return false
}

// mayBeReport reports whether the whole text may be a report.
func (x *Request) mayBeReport() bool {
	y := &Request{Resolver: x.Resolver, Utterance: entity.Utterance{Home: &x.Resolver.Home, Tokens: x.Whole}, Message: x.Message}
	return y.isReport()
}

// isThirdPerson reports whether the word at i, which has an ending, is a verb. It is none
// if it is a name or belongs to the sun ("when the sun sets").
func (x *Request) isThirdPerson(i int) bool {
	if x.Resolver.Catalog.ClassPhrases.Longest(x.Tokens, i) > 0 && (i == 0 || i+1 == len(x.Tokens) || !x.Resolver.SaysSwitch(x.Tokens, i+1) || !x.IsName(i-1)) {
		return false
	}
	sun, end := x.Words().Sun.Find(x.Tokens)
	return (i < sun || i >= end) && !x.IsName(i)
}

// BeginsWithOrder reports whether the text begins with an order, and not with a device that
// has the name of one: "vacuum still vacuuming".
func (x *Request) BeginsWithOrder() bool {
	return frame.OpensOrder(&x.Utterance, 0) && x.LongestSlot("device", x.SkipArticles(0)) <= x.SkipArticles(0)
}

// hasWish reports whether a word of the text expresses a wish: "the hall needs vacuuming".
func (x *Request) hasWish() (is bool) {
	l := &x.Resolver.Catalog.Frames
	for i := range x.Tokens {
		l.Signals.Each(x.Tokens, i, func(end int, s catalog.Feature) {
			is = is || end > i && s.Has(l.Bits["want"]|l.Bits["should"]|l.Bits["could"])
		})
	}
	return is
}

// isActivity reports whether the word at i names the present activity of a device: "running".
func (x *Request) isActivity(i int) (is bool) {
	l := &x.Resolver.Catalog.Frames
	l.Signals.Each(x.Tokens, i, func(_ int, s catalog.Feature) {
		is = is || s.Has(l.Bits[catalog.Gerund]|l.Bits["go"]|l.Bits["process"])
	})
	return is
}

// SaysSwitch reports whether a word at i names a switched state.
func (r *Resolver) SaysSwitch(tokens []lexicon.Token, i int) (is bool) {
	l := &r.Catalog.Frames
	l.Signals.Each(tokens, i, func(_ int, s catalog.Feature) {
		is = is || s.Has(l.Bits["on"]|l.Bits["off"]|l.Bits["up"]|l.Bits["down"]|l.Bits["brighter"]|l.Bits["darker"])
	})
	return is
}

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
	if d := x.OrderedCleaner(); d >= 0 {
		return "not understood: " + lexicon.QuoteList(x.UnknownWords) + "; " + x.roomsText(d) + "; without that, "
	}
	return "not understood: " + lexicon.QuoteList(x.UnknownWords) + "; without that, "
}

// FewestSkipped returns the hypotheses that skip the fewest words, and the same words.
func (x *Request) FewestSkipped(able []Hypothesis) []Hypothesis {
	best := slices.MinFunc(able, func(a, b Hypothesis) int { return cmp.Compare(a.pieces, b.pieces) })
	x.UnknownWords = best.lost
	return slices.DeleteFunc(able, func(rd Hypothesis) bool { return rd.pieces != best.pieces || !slices.Equal(rd.lost, best.lost) })
}

// DoubtText returns the first words of a question about a doubtful hypothesis.
func (x *Request) DoubtText(rd *Hypothesis) string {
	switch {
	case x.InQuotes:
		return "quotation marks enclose the text, as if it quotes a person: "
	case (rd.Doubt == "" || rd.Doubt == mayBeWish) && x.mayBeReport():
		return "the text may report an event, or be a name: "
	case rd.Doubt == "" || rd.Doubt == mayBeWish:
		return ""
	}
	return rd.Doubt + ": "
}

// mayBeWish is the doubt of "could the lights be dimmed", which may be a wish.
const mayBeWish = "a wish"

// KnowsAllWords reports whether every word can be part of a hypothesis. Most texts about other
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
