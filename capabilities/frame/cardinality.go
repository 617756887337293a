package frame

import (
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/timeexpr"
)

// compares reports whether "brighter" or "darker" stands at word i.
func (f *Parser) compares(i int) (is bool) {
	l := &f.Text.Home.Catalog.Frames
	l.Signals.Each(f.Text.Tokens, i, func(_ int, s catalog.Feature) { is = is || s.Has(l.Bits["brighter"]|l.Bits["darker"]) })
	return is
}

// counts reports whether the number from word i to end counts devices or times, or stands
// for a device: "three lights", "three times", "the one in the hall". It is no level then.
func (f *Parser) counts(i, end int) bool {
	x := f.Text
	toward := i > 0 && x.Words().Toward.Longest(x.Tokens, i-1) == 1
	return x.Tokens[i].Noun || f.one(i, end) || i == 0 && end < len(x.Tokens) && x.BeginsOrder(end) || timeexpr.BeginsTimes(x, i) || !toward && x.Home.Catalog.ClassPhrases.Longest(x.Tokens, end) > 0
}

// one reports whether the number from word i to end stands for a thing: "the big one".
func (f *Parser) one(i, end int) bool {
	w := f.Text.Words()
	return end == i+1 && w.Picking.Longest(f.Text.Tokens, i) == 1 && (i == 0 || w.Toward.Longest(f.Text.Tokens, i-1) == 0)
}

// ofPlace reports whether the number from word i to end is a small one behind the name of a
// place, which may belong to the name: "bedroom two".
func (f *Parser) ofPlace(i, end int) bool {
	if i == 0 || end != i+1 || f.Text.Tokens[i].Text[0] <= '9' {
		return false
	}
	for from := range i {
		if f.Text.LongestSlot("area", from) == i {
			return true
		}
	}
	return false
}
