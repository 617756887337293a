package interpret

import (
	"strings"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/frame"
)

// reporting reports whether the text may tell what is or happens, and order nothing: a
// verb has the ending of the third person ("the heater turns off"), or of what goes on
// behind a thing ("pump running"), or stands as a noun or before one ("the start of the
// vacuum", "the open door").
func (x *request) reporting() bool {
	c, w := x.r.Catalog, x.Words()
	first := x.SkipArticles(0)
	for i, t := range x.Tokens {
		verb := c.Frames.OrderWords[t.Folded]
		switch {
		case i == 0 && t.Text == "to" && x.BeginsOrder(1), i == first && t.Text == "let" && x.Tokens[len(x.Tokens)-1].Text == "open":
			return true
		case i > 0 && t.Text == "switches" && i+1 < len(x.Tokens) && x.r.tells(x.Tokens, i+1):
			return true
		case i > 0 && t.Text == "switch" && (x.Tokens[i-1].Text == "on" || x.Tokens[i-1].Text == "off"): // "the off switch"
			return true
		case verb && t.Text != t.Folded && x.thirdPerson(i):
			return true
		case verb && i == 1 && w.Articles.Longest(x.Tokens, 0) == 1 && c.ClassPhrases.Longest(x.Tokens, 1) == 0 && !x.IsName(i):
			return true
		case verb && i == first && i+1 < len(x.Tokens) && x.Tokens[i+1].Text == "of" && !x.IsName(i):
			return true
		case i > 0 && strings.HasSuffix(t.Text, "ing") && x.goesOn(i) && !x.begins() && !x.wishes() && !x.IsName(i):
			return true
		}
	}
	return false
}

// reports reports whether the whole text may be such.
func (x *request) reports() bool {
	y := &request{r: x.r, Utterance: entity.Utterance{Home: &x.r.Home, Tokens: x.whole}, req: x.req}
	return y.reporting()
}

// thirdPerson reports whether the word at i, which has an ending, is a verb: no name, and
// none of the sun ("when the sun sets").
func (x *request) thirdPerson(i int) bool {
	if x.r.Catalog.ClassPhrases.Longest(x.Tokens, i) > 0 && (i == 0 || i+1 == len(x.Tokens) || !x.r.tells(x.Tokens, i+1) || !x.IsName(i-1)) {
		return false
	}
	sun, end := x.Words().Sun.Find(x.Tokens)
	return (i < sun || i >= end) && !x.IsName(i)
}

// begins reports whether the text begins with an order, and not with a thing that is
// called as one: "vacuum still vacuuming".
func (x *request) begins() bool {
	return frame.OpensOrder(&x.Utterance, 0) && x.LongestSlot("device", x.SkipArticles(0)) <= x.SkipArticles(0)
}

// wishes reports whether a word of the text wishes for something: "the hall needs vacuuming".
func (x *request) wishes() (is bool) {
	l := &x.r.Catalog.Frames
	for i := range x.Tokens {
		l.Signals.Each(x.Tokens, i, func(end int, s catalog.Feature) {
			is = is || end > i && s.Has(l.Bits["want"]|l.Bits["should"]|l.Bits["could"])
		})
	}
	return is
}

// goesOn reports whether the word at i says what a thing is at: "running".
func (x *request) goesOn(i int) (is bool) {
	l := &x.r.Catalog.Frames
	l.Signals.Each(x.Tokens, i, func(end int, s catalog.Feature) {
		is = is || s.Has(l.Bits[catalog.Gerund]|l.Bits["go"]|l.Bits["process"])
	})
	return is
}

// stillSo reports whether the text has a thing and how it still is, and no order before
// that: "stove still on" asks, or tells.
func (x *request) stillSo() bool {
	for i, t := range x.Tokens {
		if i > 0 && (t.Text == "still" || t.Text == "now" && i+1 < len(x.Tokens) && x.IsName(i-1) && x.r.Catalog.Frames.Signals.Longest(x.Tokens, i+1) > 0) {
			return !x.begins()
		}
	}
	return false
}
