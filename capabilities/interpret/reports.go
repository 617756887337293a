package interpret

import (
	"strings"

	"github.com/messkit/messkit/capabilities/catalog"
)

// reporting reports whether the text may tell what is or happens, and order nothing: a
// verb has the ending of the third person ("the heater turns off"), or of what goes on
// behind a thing ("pump running"), or stands as a noun or before one ("the start of the
// vacuum", "the open door").
func (x *request) reporting() bool {
	c, w := x.r.catalogue, x.words()
	first := x.pass(0)
	for i, t := range x.tokens {
		verb := c.Frames.OrderWords[t.Folded]
		switch {
		case i == 0 && t.Text == "to" && x.ordered(1), i == first && t.Text == "let" && x.tokens[len(x.tokens)-1].Text == "open":
			return true
		case i > 0 && t.Text == "switches" && i+1 < len(x.tokens) && x.r.tells(x.tokens, i+1):
			return true
		case i > 0 && t.Text == "switch" && (x.tokens[i-1].Text == "on" || x.tokens[i-1].Text == "off"): // "the off switch"
			return true
		case verb && t.Text != t.Folded && x.thirdPerson(i):
			return true
		case verb && i == 1 && w.Articles.Longest(x.tokens, 0) == 1 && c.ClassPhrases.Longest(x.tokens, 1) == 0 && !x.named(i):
			return true
		case verb && i == first && i+1 < len(x.tokens) && x.tokens[i+1].Text == "of" && !x.named(i):
			return true
		case i > 0 && strings.HasSuffix(t.Text, "ing") && x.goesOn(i) && !x.begins() && !x.wishes() && !x.named(i):
			return true
		}
	}
	return false
}

// reports reports whether the whole text may be such.
func (x *request) reports() bool {
	y := &request{r: x.r, req: x.req, tokens: x.whole}
	return y.reporting()
}

// thirdPerson reports whether the word at i, which has an ending, is a verb: no name, and
// none of the sun ("when the sun sets").
func (x *request) thirdPerson(i int) bool {
	if x.r.catalogue.ClassPhrases.Longest(x.tokens, i) > 0 && (i == 0 || i+1 == len(x.tokens) || !x.r.tells(x.tokens, i+1) || !x.named(i-1)) {
		return false
	}
	sun, end := x.words().Sun.Find(x.tokens)
	return (i < sun || i >= end) && !x.named(i)
}

// begins reports whether the text begins with an order, and not with a thing that is
// called as one: "vacuum still vacuuming".
func (x *request) begins() bool {
	return x.opens(0) && x.longest("device", x.pass(0)) <= x.pass(0)
}

// wishes reports whether a word of the text wishes for something: "the hall needs vacuuming".
func (x *request) wishes() (is bool) {
	l := &x.r.catalogue.Frames
	for i := range x.tokens {
		l.Signals.Each(x.tokens, i, func(end int, s catalog.Feature) {
			is = is || end > i && s.Has(l.Bits["want"]|l.Bits["should"]|l.Bits["could"])
		})
	}
	return is
}

// goesOn reports whether the word at i says what a thing is at: "running".
func (x *request) goesOn(i int) (is bool) {
	l := &x.r.catalogue.Frames
	l.Signals.Each(x.tokens, i, func(end int, s catalog.Feature) {
		is = is || s.Has(l.Bits[catalog.Gerund]|l.Bits["go"]|l.Bits["process"])
	})
	return is
}

// stillSo reports whether the text has a thing and how it still is, and no order before
// that: "stove still on" asks, or tells.
func (x *request) stillSo() bool {
	for i, t := range x.tokens {
		if i > 0 && (t.Text == "still" || t.Text == "now" && i+1 < len(x.tokens) && x.named(i-1) && x.r.catalogue.Frames.Signals.Longest(x.tokens, i+1) > 0) {
			return !x.begins()
		}
	}
	return false
}
