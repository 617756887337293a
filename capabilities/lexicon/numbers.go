package lexicon

import (
	"math"
	"slices"
	"strconv"
)

// DecimalText writes a number in decimal digits without an exponent.
func DecimalText(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// maxCount is the largest count of things.
const maxCount = 1000

// EachCount calls yield for each reading of the words from i on as a count of two things
// or more.
func (w *Lexicon) EachCount(tokens []Token, i int, yield func(end, n int)) {
	if i >= len(tokens) {
		return
	}
	if n, err := strconv.Atoi(tokens[i].Text); err == nil && n > 1 && n <= maxCount {
		yield(i+1, n)
	}
	w.Numbers.Each(tokens, i, func(end int, n float64) {
		if n > 1 && n == math.Trunc(n) {
			yield(end, int(n))
		}
	})
}

// IsDecimal reports whether a word is a number with a decimal point.
func (w *Lexicon) IsDecimal(t Token) bool {
	n, err := strconv.ParseFloat(t.Text, 64)
	return err == nil && n != math.Trunc(n)
}

// NumberSpellings returns the other ways to write the number at the end of a name: "lamp
// two" for "lamp 2", and "lamp 2" for "lamp two".
func (w *Lexicon) NumberSpellings(name []Token) [][]Token {
	last := len(name) - 1
	if last < 1 {
		return nil
	}
	with := func(text string) []Token {
		return append(slices.Clone(name[:last]), Token{Text: text, Folded: w.Fold(text)})
	}
	n, err := strconv.Atoi(name[last].Text)
	if err != nil {
		if value, ok := w.Lists.Numbers[name[last].Text]; ok && value == math.Trunc(value) && w.Fillers.Longest(name, last) == 0 {
			return [][]Token{with(DecimalText(value))}
		}
		return nil
	}
	var list [][]Token
	for _, text := range w.Spelled[float64(n)] {
		list = append(list, with(text))
	}
	return list
}

// EachNumber calls yield for each reading of the words from i on as a number, articles
// too: "20", "twenty five", "one hundred and twenty", "two point five", "a".
func (w *Lexicon) EachNumber(tokens []Token, i int, yield func(end int, n float64)) {
	if i >= len(tokens) {
		return
	}
	if c := tokens[i].Text[0]; c >= '0' && c <= '9' {
		if n, err := strconv.ParseFloat(tokens[i].Text, 64); err == nil {
			yield(i+1, n)
			w.decimal(tokens, i+1, n, yield)
		}
	}
	w.Numbers.Each(tokens, i, func(end int, n float64) {
		if end > i {
			yield(end, n)
			w.greater(tokens, end, n, yield)
		}
	})
}

// EachCardinal calls yield for each number at word i that is more than an article.
func (w *Lexicon) EachCardinal(tokens []Token, i int, yield func(end int, n float64)) {
	w.EachNumber(tokens, i, func(end int, n float64) {
		if w.Fillers.Longest(tokens, i) != end-i {
			yield(end, n)
		}
	})
}

// greater yields the numbers that the words from end on make of n: "twenty" five, "two" hundred,
// "one hundred" and twenty.
func (w *Lexicon) greater(tokens []Token, end int, n float64, yield func(end int, n float64)) {
	if end >= len(tokens) || n != math.Trunc(n) {
		return
	}
	switch {
	case n >= 20 && n < 100 && math.Mod(n, 10) == 0:
		if ones, ok := w.digit(tokens[end]); ok && ones > 0 {
			yield(end+1, n+ones)
			w.decimal(tokens, end+1, n+ones, yield)
		}
	case n >= 1 && n < 10 && w.Lists.Numbers[tokens[end].Text] == 100:
		yield(end+1, 100*n)
		w.greater(tokens, end+1, 100*n, yield)
	case n >= 100 && n < 1000 && math.Mod(n, 100) == 0:
		w.EachCardinal(tokens, end+w.Joining.Longest(tokens, end), func(to int, smaller float64) {
			if smaller >= 1 && smaller < 100 {
				yield(to, n+smaller)
			}
		})
	}
	w.decimal(tokens, end, n, yield)
}

// decimal yields n with the digits behind a "point" at end.
func (w *Lexicon) decimal(tokens []Token, end int, n float64, yield func(end int, n float64)) {
	k := w.Point.Longest(tokens, end)
	if k == 0 || n != math.Trunc(n) {
		return
	}
	digits := ""
	for end += k; end < len(tokens) && len(digits) < 6; end++ {
		one, ok := w.digit(tokens[end])
		if !ok {
			break
		}
		digits += strconv.Itoa(int(one))
	}
	if all, err := strconv.ParseFloat(DecimalText(n)+"."+digits, 64); err == nil && digits != "" {
		yield(end, all)
	}
}

// digit returns the number from 0 to 9 that one word names.
func (w *Lexicon) digit(t Token) (n float64, ok bool) {
	if len(t.Text) == 1 && t.Text[0] >= '0' && t.Text[0] <= '9' {
		return float64(t.Text[0] - '0'), true
	}
	n, ok = w.Lists.Numbers[t.Text]
	return n, ok && n < 10 && n == math.Trunc(n) && w.Fillers.Longest([]Token{t}, 0) == 0
}

// CardinalEnd returns where the longest number at word i ends, i if there is none.
func (w *Lexicon) CardinalEnd(tokens []Token, i int) int {
	end := i
	w.EachCardinal(tokens, i, func(to int, _ float64) { end = max(end, to) })
	return end
}

// NumberOf returns the number of one word: an ordinal, digits or a number word. It is 0 for
// another word.
func (w *Lexicon) NumberOf(t Token) int {
	if i := slices.Index(w.Lists.Ordinals, t.Text); i >= 0 {
		return i + 1
	}
	if n, err := strconv.Atoi(t.Text); err == nil {
		return n
	}
	if n, ok := w.Lists.Numbers[t.Text]; ok && w.Fillers.Longest([]Token{t}, 0) == 0 {
		return int(n)
	}
	return 0
}

// NumberLen returns how many words from i on are a number, 0 if none are.
func (w *Lexicon) NumberLen(tokens []Token, i int) int {
	switch {
	case i >= len(tokens) || w.Fillers.Longest(tokens, i) > 0:
		return 0
	case tokens[i].Text[0] >= '0' && tokens[i].Text[0] <= '9':
		return 1
	}
	return w.Numbers.Longest(tokens, i)
}
