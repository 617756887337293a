package timeexpr

import (
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// NamesBegin reports whether the word before a range says when it begins, as "from" does
// and "between" does not.
func NamesBegin(w *lexicon.Lexicon, tokens []lexicon.Token) bool {
	return w.At.Longest(tokens, 0) == len(tokens)
}

// ClockEnd returns the end of an hour or a word for the sun at word i, 0 if there is none.
func ClockEnd(x *entity.Utterance, i int) int {
	w := x.Words()
	if n := w.Sun.Longest(x.Tokens, i); n > 0 {
		return i + n
	}
	end, _, _, _ := w.ReadHour(x.Tokens, i)
	return end
}
