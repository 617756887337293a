package entity

import (
	"github.com/messkit/messkit/capabilities/lexicon"
)

// RangeEnd returns the end of a range of numbers at word i, with its unit: "20 to 30
// percent", "between 10 and 20 minutes"; i if there is none. No device can keep a range.
func (x *Utterance) RangeEnd(i int) int {
	w, l := x.Words(), &x.Home.Catalog.Frames
	from := i + w.Spanning.Longest(x.Tokens, i)
	first := w.CardinalEnd(x.Tokens, from)
	if first == from || first >= len(x.Tokens) {
		return i
	}
	to := w.SpanTo.Longest(x.Tokens, first)
	if to == 0 && !(x.Tokens[first].Text == "or") || x.Tokens[first].Text == "and" && from == i {
		return i
	}
	to = max(to, 1)
	last := w.CardinalEnd(x.Tokens, first+to)
	if last == first+to || last >= len(x.Tokens) {
		return i
	}
	if n := l.Percent.Longest(x.Tokens, last); n > 0 {
		return last + n
	}
	if w.Measures[x.Tokens[last].Folded] || w.Units[x.Tokens[last].Folded] > 0 {
		return last + 1
	}
	return i
}

// UnknownUnit returns a number at word i with a unit that no parameter has: "50 lumens". It is ""
// if there is none.
func (x *Utterance) UnknownUnit(i int) string {
	end := x.Words().CardinalEnd(x.Tokens, i)
	if end == i || end >= len(x.Tokens) || !x.Words().Measures[x.Tokens[end].Folded] {
		return ""
	}
	return lexicon.Join(x.Tokens[i : end+1])
}
