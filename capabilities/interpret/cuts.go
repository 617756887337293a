package interpret

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/timeexpr"
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
		order := x.SkipArticles(timeexpr.DelayEnd(&x.Utterance, at))
		whole := order < len(x.Tokens) && (x.BeginsOrder(order) && (n > 0 || frame.OpensOrder(&x.Utterance, from)) || frame.OpensOrder(&x.Utterance, from) && frame.SwitchesOneThing(&x.Utterance, order))
		whole = whole || frame.SwitchesAnother(&x.Utterance, from, i, order)
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

// bothWhole reports whether the words up to i say what is to be done, and those behind
// it, from word at on, say it of another thing: "hall light off, blind down" needs no
// verbs. Of a question nothing is cut off so.
func (x *request) bothWhole(from, i, at int) bool {
	f, to := frame.Parser{Text: &x.Utterance}, x.partEnd(at)
	first := x.SkipArticles(from)
	if x.IsQuestion || !f.Place(at) || !frame.OpensOrder(&x.Utterance, from) && !f.Place(first) {
		return false
	}
	if !frame.OpensOrder(&x.Utterance, from) {
		from = f.NameEnd(first)
	}
	at = f.NameEnd(at)
	if end := x.partEnd(at); end > to && !f.AnyPlace(at, end) { // "hall light: on"
		to = end
	}
	return (f.Acting(from, i) || f.Setting(from, i)) && (f.Acting(at, to) || f.Setting(at, to))
}

// isUneven reports whether of two things behind one verb, named in words from to i and
// from word at on, only the later has how much or which colour, which may have been said
// of both: "dim the hall light and the kitchen light to 30 percent".
func (x *request) isUneven(from, i, at int) bool {
	f, to := frame.Parser{Text: &x.Utterance}, x.partEnd(at)
	off := slices.ContainsFunc(x.Tokens[from:i], func(t lexicon.Token) bool { return t.Folded == "off" })
	return !off && frame.OpensOrder(&x.Utterance, from) && !f.Setting(from, i) && f.Setting(f.NameEnd(at), to) && !f.Acting(f.NameEnd(at), to)
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
