package interpret

import (
	"github.com/messkit/messkit/capabilities/catalog"
)

// compares reports whether "brighter" or "darker" stands at word i.
func (f *framer) compares(i int) (is bool) {
	l := &f.x.r.Catalog.Frames
	l.Signals.Each(f.x.Tokens, i, func(_ int, s catalog.Feature) { is = is || s.Has(l.Bits["brighter"]|l.Bits["darker"]) })
	return is
}

// counts reports whether the number from word i to end counts things or times, or stands
// for a thing: "three lights", "three times", "the one in the hall". It is no level then.
func (f *framer) counts(i, end int) bool {
	x := f.x
	toward := i > 0 && x.Words().Toward.Longest(x.Tokens, i-1) == 1
	return x.Tokens[i].Noun || f.one(i, end) || i == 0 && end < len(x.Tokens) && x.BeginsOrder(end) || x.howOften(i) || !toward && x.r.Catalog.ClassPhrases.Longest(x.Tokens, end) > 0
}

// one reports whether the number from word i to end stands for a thing: "the big one".
func (f *framer) one(i, end int) bool {
	w := f.x.Words()
	return end == i+1 && w.Picking.Longest(f.x.Tokens, i) == 1 && (i == 0 || w.Toward.Longest(f.x.Tokens, i-1) == 0)
}

// ofPlace reports whether the number from word i to end is a small one behind the name of a
// place, which may be one of several: "bedroom two".
func (f *framer) ofPlace(i, end int) bool {
	if i == 0 || end != i+1 || f.x.Tokens[i].Text[0] <= '9' {
		return false
	}
	for from := range i {
		if f.x.LongestSlot("area", from) == i {
			return true
		}
	}
	return false
}
