package interpret

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// numbers are the readings of the words from i on as a number, articles too: "20",
// "twenty five", "one hundred and twenty", "two point five", "a".
func (w *words) numbers(tokens []token, i int, yield func(end int, n float64)) {
	if i >= len(tokens) {
		return
	}
	if c := tokens[i].text[0]; c >= '0' && c <= '9' {
		if n, err := strconv.ParseFloat(tokens[i].text, 64); err == nil {
			yield(i+1, n)
			w.decimal(tokens, i+1, n, yield)
		}
	}
	w.Numbers.each(tokens, i, func(end int, n float64) {
		if end > i {
			yield(end, n)
			w.greater(tokens, end, n, yield)
		}
	})
}

// cardinal are those that are more than an article.
func (w *words) cardinal(tokens []token, i int, yield func(end int, n float64)) {
	w.numbers(tokens, i, func(end int, n float64) {
		if w.Fillers.longest(tokens, i) != end-i {
			yield(end, n)
		}
	})
}

// greater are the numbers that the words from end on make of n: "twenty" five, "two"
// hundred, "one hundred" and twenty.
func (w *words) greater(tokens []token, end int, n float64, yield func(end int, n float64)) {
	if end >= len(tokens) || n != math.Trunc(n) {
		return
	}
	switch {
	case n >= 20 && n < 100 && math.Mod(n, 10) == 0:
		if ones, ok := w.digit(tokens[end]); ok && ones > 0 {
			yield(end+1, n+ones)
			w.decimal(tokens, end+1, n+ones, yield)
		}
	case n >= 1 && n < 10 && w.lists.Numbers[tokens[end].text] == 100:
		yield(end+1, 100*n)
		w.greater(tokens, end+1, 100*n, yield)
	case n >= 100 && n < 1000 && math.Mod(n, 100) == 0:
		w.cardinal(tokens, end+w.Joining.longest(tokens, end), func(to int, more float64) {
			if more >= 1 && more < 100 {
				yield(to, n+more)
			}
		})
	}
	w.decimal(tokens, end, n, yield)
}

// decimal is n with what stands behind a "point" at end.
func (w *words) decimal(tokens []token, end int, n float64, yield func(end int, n float64)) {
	k := w.Point.longest(tokens, end)
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
	if all, err := strconv.ParseFloat(decimalText(n)+"."+digits, 64); err == nil && digits != "" {
		yield(end, all)
	}
}

// digit is a number from 0 to 9 of one word.
func (w *words) digit(t token) (n float64, ok bool) {
	if len(t.text) == 1 && t.text[0] >= '0' && t.text[0] <= '9' {
		return float64(t.text[0] - '0'), true
	}
	n, ok = w.lists.Numbers[t.text]
	return n, ok && n < 10 && n == math.Trunc(n) && w.Fillers.longest([]token{t}, 0) == 0
}

// cardinalEnd is where the longest number at word i ends, i if there is none.
func (w *words) cardinalEnd(tokens []token, i int) int {
	end := i
	w.cardinal(tokens, i, func(to int, _ float64) { end = max(end, to) })
	return end
}

// span is the end of a range of numbers at word i, with its unit: "20 to 30
// percent", "between 10 and 20 minutes"; i if there is none. Nobody can keep one.
func (x *request) span(i int) int {
	w, l := x.words(), &x.r.catalogue.lexicon
	from := i + w.Spanning.longest(x.tokens, i)
	first := w.cardinalEnd(x.tokens, from)
	if first == from || first >= len(x.tokens) {
		return i
	}
	to := w.SpanTo.longest(x.tokens, first)
	if to == 0 && !(x.tokens[first].text == "or") || x.tokens[first].text == "and" && from == i {
		return i
	}
	to = max(to, 1)
	last := w.cardinalEnd(x.tokens, first+to)
	if last == first+to || last >= len(x.tokens) {
		return i
	}
	if n := l.percentOf.longest(x.tokens, last); n > 0 {
		return last + n
	}
	if w.Measures[x.tokens[last].folded] || w.Units[x.tokens[last].folded] > 0 {
		return last + 1
	}
	return i
}

// strangeUnit is a number at word i with a unit that nothing here is set in: "50
// lumens"; "" if there is none.
func (x *request) strangeUnit(i int) string {
	end := x.words().cardinalEnd(x.tokens, i)
	if end == i || end >= len(x.tokens) || !x.words().Measures[x.tokens[end].folded] {
		return ""
	}
	return joined(x.tokens[i : end+1])
}

// ranges says what can be set here to a number, and how far it goes.
func (r *Interpreter) ranges() string {
	var list []string
	for _, c := range r.catalogue.list {
		for _, p := range c.Parameters {
			if _, fixed := c.args().Get(p.Name); !fixed && p.Type == "number" && p.Min != nil && p.Max != nil && r.reach(c) > 0 {
				list = append(list, fmt.Sprintf("%s: %s %v to %v %s", c.ID, p.Name, *p.Min, *p.Max, p.Unit))
			}
		}
	}
	if len(list) == 0 {
		return "nothing here is set to a number"
	}
	return "what is set to a number here: " + strings.Join(list, "; ")
}
