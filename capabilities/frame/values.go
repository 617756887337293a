package frame

import (
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
)

// HasOpposites reports whether word i names two states that exclude each other: "on and
// off", "up or down".
func HasOpposites(x *entity.Utterance, i int) bool {
	l := &x.Home.Catalog.Frames
	either := i + 2
	if either >= len(x.Tokens) || x.Words().Joining.Longest(x.Tokens, i+1) == 0 && x.Tokens[i+1].Text != "or" {
		return false
	}
	says := func(i int) (all catalog.Feature) {
		l.Signals.Each(x.Tokens, i, func(end int, s catalog.Feature) {
			if end == i+1 {
				all |= s
			}
		})
		return all
	}
	a, b := says(i), says(either)
	for _, pair := range [][2]string{{"on", "off"}, {"up", "down"}} {
		one, other := l.Bits[pair[0]], l.Bits[pair[1]]
		if a.Has(one) && b.Has(other) || a.Has(other) && b.Has(one) {
			return true
		}
	}
	return false
}

// HasValue reports whether a value begins at word i.
func HasValue(x *entity.Utterance, i int) bool {
	l := &x.Home.Catalog.Frames
	for ; i < len(x.Tokens); i++ {
		if l.Colors.Longest(x.Tokens, i) > 0 || l.Levels.Longest(x.Tokens, i) > 0 {
			return true
		}
	}
	return false
}

// HasNumber reports whether the words before word i are a number, which may count the next
// words.
func HasNumber(x *entity.Utterance, i int) bool {
	for from := max(0, i-3); from < i; from++ {
		if x.Words().CardinalEnd(x.Tokens, from) == i && (i == len(x.Tokens) || !x.Tokens[i].Pause) {
			return true
		}
	}
	return false
}
