package interpret

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// maxFor bounds how long a state may be asked for: a year.
const maxFor = 365 * 24 * time.Hour

// durations are the readings of the words from i on as a length of time: "ten
// minutes", "10min", "an hour and a half", "1 hour and 30 seconds".
func (w *words) durations(tokens []token, i int, yield func(end int, d time.Duration)) {
	if i < len(tokens) {
		if sum, unit := w.compact(tokens[i].text); sum > 0 {
			w.more(tokens, i+1, sum, unit, yield)
		}
	}
	w.amounts(tokens, i, func(end int, n float64, unit time.Duration) {
		w.more(tokens, end, amount(n, unit), unit, yield)
	})
}

// amount is n units, 0 if that is longer than anything may last.
func amount(n float64, unit time.Duration) time.Duration {
	if n*float64(unit) > float64(maxFor) {
		return 0
	}
	return time.Duration(n * float64(unit)).Round(time.Millisecond)
}

// more yields the time so far, and what it comes to with smaller units behind
// it.
func (w *words) more(tokens []token, i int, sum, unit time.Duration, yield func(end int, d time.Duration)) {
	if sum <= 0 || sum > maxFor {
		return
	}
	yield(i, sum)
	and := w.Joining.longest(tokens, i)
	w.amounts(tokens, i+and, func(end int, n float64, smaller time.Duration) {
		if d := amount(n, smaller); d > 0 && smaller < unit {
			w.more(tokens, end, sum+d, smaller, yield)
		}
	})
	if half := i + and + w.Fillers.longest(tokens, i+and); and > 0 {
		w.Numbers.each(tokens, half, func(end int, n float64) {
			if n > 0 && n < 1 && end > half {
				yield(end, sum+amount(n, unit))
			}
		})
	}
	if and == 0 && unit > time.Second && i < len(tokens) { // "2 hours 30"
		end, n := w.smaller(tokens, i)
		if n > 0 {
			yield(end, sum+time.Duration(n)*unit/60)
		}
	}
}

// smaller is a number of minutes behind hours, or of seconds behind minutes, that
// stands without its unit at the end of an order; n is 0 if there is none.
func (w *words) smaller(tokens []token, i int) (end, n int) {
	w.cardinal(tokens, i, func(to int, v float64) {
		ends := to == len(tokens) || tokens[to].pause || w.Joining.longest(tokens, to) > 0
		if ends && v >= 1 && v < 60 && v == math.Trunc(v) {
			end, n = to, int(v)
		}
	})
	return end, n
}

// amounts are the readings of the words from i on as a number of one unit.
func (w *words) amounts(tokens []token, i int, yield func(end int, n float64, unit time.Duration)) {
	if i >= len(tokens) {
		return
	}
	add := func(end int, n float64, letters string) {
		if unit, ok := w.Units[letters]; ok {
			yield(end, n, unit)
		}
	}
	if digits, letters := cutNumber(tokens[i].text); letters != "" {
		if n, err := strconv.ParseFloat(digits, 64); err == nil {
			add(i+1, n, w.fold(letters))
		}
	}
	w.numbers(tokens, i, func(end int, n float64) {
		if end < len(tokens) {
			add(end+1, n, tokens[end].folded)
		}
	})
}

// compact is a length of time written as one word: "1h30", "1h30m", "2m15s"; 0 if it
// is none. Digits without a unit are of the next smaller one.
func (w *words) compact(text string) (sum, unit time.Duration) {
	for n := 0; text != "" && n < 3; n++ {
		end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
		switch {
		case end == 0:
			return 0, 0
		case end < 0 && n == 0:
			return 0, 0
		case end < 0:
			end = len(text)
		}
		amount, err := strconv.Atoi(text[:end])
		letters := text[end:]
		if k := strings.IndexFunc(letters, unicode.IsDigit); k >= 0 {
			letters = letters[:k]
		}
		one, known := w.Units[w.fold(letters)]
		if letters == "" {
			one, known = unit/60, unit > time.Second
		}
		if err != nil || !known || n > 0 && (one >= unit || amount >= 60) || amount > int(maxFor/time.Second) {
			return 0, 0
		}
		sum, unit, text = sum+time.Duration(amount)*one, one, text[end+len(letters):]
	}
	if text != "" || sum > maxFor {
		return 0, 0
	}
	return sum, unit
}

// cutNumber parts "1.5h" into its digits and letters.
func cutNumber(s string) (digits, letters string) {
	n := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if n < 0 {
		return s, ""
	}
	if strings.ContainsFunc(s[n:], func(r rune) bool { return !unicode.IsLetter(r) }) {
		return "", s
	}
	return s[:n], s[n:]
}
