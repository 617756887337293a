package frame

import (
	"slices"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/timeexpr"
)

// OpensOrder reports whether an order begins at word i, or behind fillers.
func OpensOrder(x *entity.Utterance, i int) bool {
	for n := 1; n > 0 && i < len(x.Tokens); i += n {
		if x.BeginsOrder(i) {
			return true
		}
		n = x.Words().Fillers.Longest(x.Tokens, i)
	}
	return false
}

// SwitchesOneThing reports whether "on" or "off" stands at word i with a time behind it:
// "turn it on at 7 pm and off at 11 pm".
func SwitchesOneThing(x *entity.Utterance, i int) bool {
	return IsOnOrOff(x, x.Tokens[i]) && i+1 < len(x.Tokens) && timeexpr.IsDated(x, i+1)
}

// SwitchesAnother reports whether "on" or "off" stands at word i with another device behind it.
// The words from index from to before have the opposite: "lights off in the hall, on in the
// bedroom".
func SwitchesAnother(x *entity.Utterance, from, before, i int) bool {
	if i+1 >= len(x.Tokens) || !IsOnOrOff(x, x.Tokens[i]) {
		return false
	}
	other := slices.ContainsFunc(x.Tokens[from:before], func(t lexicon.Token) bool { return IsOnOrOff(x, t) && t.Folded != x.Tokens[i].Folded })
	f, at := Parser{Text: x}, x.SkipArticles(i+1)
	if at < len(x.Tokens) && x.Home.Catalog.Frames.LooseWords[x.Tokens[at].Folded] {
		at = x.SkipArticles(at + 1)
	}
	return other && f.IsPlace(at)
}

// IsOnOrOff reports whether a word is "on" or "off".
func IsOnOrOff(x *entity.Utterance, t lexicon.Token) (is bool) {
	l := &x.Home.Catalog.Frames
	l.Signals.Each([]lexicon.Token{t}, 0, func(end int, s catalog.Feature) { is = is || end == 1 && s.Has(l.Bits["on"]|l.Bits["off"]) })
	return is && !l.OrderWords[t.Folded]
}

// HasPlace reports whether a name begins among the words.
func (f *Parser) HasPlace(from, to int) bool {
	for ; from < to; from++ {
		if f.IsPlace(from) {
			return true
		}
	}
	return false
}
