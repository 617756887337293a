package interpret

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// cuts are the ends of the parts of a text of several orders: where it is joined, or
// there is a comma behind an order, and an order begins.
func (x *request) cuts() []int {
	var list []int
	from := 0
	for i := 1; i < len(x.Tokens); i++ {
		n := x.Words().Joining.Longest(x.Tokens, i)
		if n == 0 && !x.Tokens[i].Pause || x.IsName(i) && !x.Tokens[i].Pause {
			continue
		}
		at := i + n
		for k := 1; k > 0 && at < len(x.Tokens); at += k {
			if k = x.Words().Joining.Longest(x.Tokens, at); k == 0 {
				k = x.Words().Fillers.Longest(x.Tokens, at)
			}
		}
		order := x.SkipArticles(x.delayed(at))
		whole := order < len(x.Tokens) && (x.BeginsOrder(order) && (n > 0 || x.opens(from)) || x.opens(from) && x.turns(order))
		whole = whole || x.turnsOther(from, i, order)
		if !whole && order < len(x.Tokens) && x.bothWhole(from, i, order) {
			whole = true
			x.uneven = x.uneven || x.isUneven(from, i, order)
		}
		if whole {
			list = append(list, i)
			from = at
		}
		i = max(i, at-1)
	}
	return list
}

// delayed is the end of "after ten minutes" at word i, i if it is not there.
func (x *request) delayed(i int) int {
	n := x.Words().Delaying.Longest(x.Tokens, i)
	if n == 0 {
		return i
	}
	if end, _ := x.DurationAt(i + n); end > 0 {
		return end
	}
	return i
}

// opens reports whether an order begins at word i, or behind fillers.
func (x *request) opens(i int) bool {
	for n := 1; n > 0 && i < len(x.Tokens); i += n {
		if x.BeginsOrder(i) {
			return true
		}
		n = x.Words().Fillers.Longest(x.Tokens, i)
	}
	return false
}

// turns reports whether "on" or "off" stands at word i with a time behind it: "turn it on
// at 7 pm and off at 11 pm".
func (x *request) turns(i int) bool {
	return x.switching(x.Tokens[i]) && i+1 < len(x.Tokens) && x.dated(i+1)
}

// turnsOther reports whether "on" or "off" stands at word i with another thing behind it,
// and the other of the two in words from on: "lights off in the hall, on in the bedroom".
func (x *request) turnsOther(from, before, i int) bool {
	if i+1 >= len(x.Tokens) || !x.switching(x.Tokens[i]) {
		return false
	}
	other := slices.ContainsFunc(x.Tokens[from:before], func(t lexicon.Token) bool { return x.switching(t) && t.Folded != x.Tokens[i].Folded })
	f, at := framer{x: x}, x.SkipArticles(i+1)
	if at < len(x.Tokens) && x.r.Catalog.Frames.LooseWords[x.Tokens[at].Folded] {
		at = x.SkipArticles(at + 1)
	}
	return other && f.place(at)
}

// switching reports whether a word is "on" or "off".
func (x *request) switching(t lexicon.Token) (is bool) {
	l := &x.r.Catalog.Frames
	l.Signals.Each([]lexicon.Token{t}, 0, func(end int, s catalog.Feature) { is = is || end == 1 && s.Has(l.Bits["on"]|l.Bits["off"]) })
	return is && !l.OrderWords[t.Folded]
}

// bothWhole reports whether the words up to i say what is to be done, and those behind
// it, from word at on, say it of another thing: "hall light off, blind down" needs no
// verbs. Of a question nothing is cut off so.
func (x *request) bothWhole(from, i, at int) bool {
	f, to := framer{x: x}, x.partEnd(at)
	first := x.SkipArticles(from)
	if x.IsQuestion || !f.place(at) || !x.opens(from) && !f.place(first) {
		return false
	}
	if !x.opens(from) {
		from = f.nameEnd(first)
	}
	at = f.nameEnd(at)
	if end := x.partEnd(at); end > to && !f.anyPlace(at, end) { // "hall light: on"
		to = end
	}
	return (f.acting(from, i) || f.setting(from, i)) && (f.acting(at, to) || f.setting(at, to))
}

// anyPlace reports whether a name begins among the words.
func (f *framer) anyPlace(from, to int) bool {
	for ; from < to; from++ {
		if f.place(from) {
			return true
		}
	}
	return false
}

// isUneven reports whether of two things behind one verb, named in words from to i and
// from word at on, only the later has how much or which colour, which may have been said
// of both: "dim the hall light and the kitchen light to 30 percent".
func (x *request) isUneven(from, i, at int) bool {
	f, to := framer{x: x}, x.partEnd(at)
	off := slices.ContainsFunc(x.Tokens[from:i], func(t lexicon.Token) bool { return t.Folded == "off" })
	return !off && x.opens(from) && !f.setting(from, i) && f.setting(f.nameEnd(at), to) && !f.acting(f.nameEnd(at), to)
}

// partEnd is where the next word stands before which a text may be cut.
func (x *request) partEnd(i int) int {
	for i++; i < len(x.Tokens) && !x.Tokens[i].Pause && x.Words().Joining.Longest(x.Tokens, i) == 0; {
		i++
	}
	return i
}

// withPauses is a part of a text with its commas.
func withPauses(tokens []lexicon.Token) string {
	var b strings.Builder
	for i, t := range tokens {
		switch {
		case i > 0 && t.Pause:
			b.WriteString(", ")
		case i > 0 && t.Text != lexicon.Possessive:
			b.WriteByte(' ')
		}
		b.WriteString(t.Text)
	}
	return b.String()
}
