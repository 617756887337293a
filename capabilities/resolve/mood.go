package resolve

import (
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

// isReport reports whether the text may report a state and order nothing: a verb is in the
// third person ("the heater turns off"), is a gerund behind a device ("pump running"), or
// is a noun or an adjective ("the start of the vacuum", "the open door").
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

// isActivity reports whether the word at i says what a device is doing: "running".
func (x *Request) isActivity(i int) (is bool) {
	l := &x.Resolver.Catalog.Frames
	l.Signals.Each(x.Tokens, i, func(end int, s catalog.Feature) {
		is = is || s.Has(l.Bits[catalog.Gerund]|l.Bits["go"]|l.Bits["process"])
	})
	return is
}

// SaysSwitch reports whether a word at i names a switched state.
func (r *Resolver) SaysSwitch(tokens []lexicon.Token, i int) (is bool) {
	l := &r.Catalog.Frames
	l.Signals.Each(tokens, i, func(end int, s catalog.Feature) {
		is = is || s.Has(l.Bits["on"]|l.Bits["off"]|l.Bits["up"]|l.Bits["down"]|l.Bits["brighter"]|l.Bits["darker"])
	})
	return is
}
