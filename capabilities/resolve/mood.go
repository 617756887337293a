package resolve

import (
	"strings"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// NamesAny reports whether a word from i on names or stands for something here.
func (x *Request) NamesAny(i int) bool {
	for _, t := range x.Tokens[i:] {
		if x.Resolver.Names.Words[t.Folded] || x.Resolver.Catalog.Frames.NamingWords[t.Folded] {
			return true
		}
	}
	return false
}

// reporting reports whether the text may tell what is or happens, and order nothing: a
// verb has the ending of the third person ("the heater turns off"), or of what goes on
// behind a thing ("pump running"), or stands as a noun or before one ("the start of the
// vacuum", "the open door").
func (x *Request) reporting() bool {
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
		case verb && t.Text != t.Folded && x.thirdPerson(i):
			return true
		case verb && i == 1 && w.Articles.Longest(x.Tokens, 0) == 1 && c.ClassPhrases.Longest(x.Tokens, 1) == 0 && !x.IsName(i):
			return true
		case verb && i == first && i+1 < len(x.Tokens) && x.Tokens[i+1].Text == "of" && !x.IsName(i):
			return true
		case i > 0 && strings.HasSuffix(t.Text, "ing") && x.goesOn(i) && !x.Begins() && !x.wishes() && !x.IsName(i):
			return true
		}
	}
	return false
}

// reports reports whether the whole text may be such.
func (x *Request) reports() bool {
	y := &Request{Resolver: x.Resolver, Utterance: entity.Utterance{Home: &x.Resolver.Home, Tokens: x.Whole}, Message: x.Message}
	return y.reporting()
}

// thirdPerson reports whether the word at i, which has an ending, is a verb: no name, and
// none of the sun ("when the sun sets").
func (x *Request) thirdPerson(i int) bool {
	if x.Resolver.Catalog.ClassPhrases.Longest(x.Tokens, i) > 0 && (i == 0 || i+1 == len(x.Tokens) || !x.Resolver.SaysSwitch(x.Tokens, i+1) || !x.IsName(i-1)) {
		return false
	}
	sun, end := x.Words().Sun.Find(x.Tokens)
	return (i < sun || i >= end) && !x.IsName(i)
}

// Begins reports whether the text begins with an order, and not with a thing that is
// called as one: "vacuum still vacuuming".
func (x *Request) Begins() bool {
	return frame.OpensOrder(&x.Utterance, 0) && x.LongestSlot("device", x.SkipArticles(0)) <= x.SkipArticles(0)
}

// wishes reports whether a word of the text wishes for something: "the hall needs vacuuming".
func (x *Request) wishes() (is bool) {
	l := &x.Resolver.Catalog.Frames
	for i := range x.Tokens {
		l.Signals.Each(x.Tokens, i, func(end int, s catalog.Feature) {
			is = is || end > i && s.Has(l.Bits["want"]|l.Bits["should"]|l.Bits["could"])
		})
	}
	return is
}

// goesOn reports whether the word at i says what a thing is at: "running".
func (x *Request) goesOn(i int) (is bool) {
	l := &x.Resolver.Catalog.Frames
	l.Signals.Each(x.Tokens, i, func(end int, s catalog.Feature) {
		is = is || s.Has(l.Bits[catalog.Gerund]|l.Bits["go"]|l.Bits["process"])
	})
	return is
}

// SaysSwitch reports whether a word at i says how something is switched.
func (r *Resolver) SaysSwitch(tokens []lexicon.Token, i int) (is bool) {
	l := &r.Catalog.Frames
	l.Signals.Each(tokens, i, func(end int, s catalog.Feature) {
		is = is || s.Has(l.Bits["on"]|l.Bits["off"]|l.Bits["up"]|l.Bits["down"]|l.Bits["brighter"]|l.Bits["darker"])
	})
	return is
}
