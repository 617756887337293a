package capabilities

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
	and := w.joining.longest(tokens, i)
	w.amounts(tokens, i+and, func(end int, n float64, smaller time.Duration) {
		if d := amount(n, smaller); d > 0 && smaller < unit {
			w.more(tokens, end, sum+d, smaller, yield)
		}
	})
	if half := i + and + w.filler.longest(tokens, i+and); and > 0 {
		w.number.each(tokens, half, func(end int, n float64) {
			if n == 0.5 && end == half+1 {
				yield(end, sum+unit/2)
			}
		})
	}
}

// amounts are the readings of the words from i on as a number of one unit.
func (w *words) amounts(tokens []token, i int, yield func(end int, n float64, unit time.Duration)) {
	if i >= len(tokens) {
		return
	}
	add := func(end int, n float64, letters string) {
		if unit, ok := w.unit[letters]; ok {
			yield(end, n, unit)
		}
	}
	digits, letters := cutNumber(tokens[i].text)
	if n, err := strconv.ParseFloat(digits, 64); err == nil {
		if letters != "" {
			add(i+1, n, w.fold(letters))
		} else if i+1 < len(tokens) {
			add(i+2, n, tokens[i+1].folded)
		}
	}
	w.number.each(tokens, i, func(end int, n float64) {
		if end < len(tokens) {
			add(end+1, n, tokens[end].folded)
		}
		if end+1 < len(tokens) && n >= 20 && n < 100 && math.Mod(n, 10) == 0 { // "twenty five"
			if ones := w.Numbers[tokens[end].text]; ones >= 1 && ones < 10 && w.filler.longest(tokens, end) == 0 {
				add(end+2, n+ones, tokens[end+1].folded)
			}
		}
	})
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

// spoken says a length of time in words.
func spoken(d time.Duration) string {
	var parts []string
	add := func(n float64, unit string) {
		if n != 1 {
			unit += "s"
		}
		if n > 0 {
			parts = append(parts, strconv.FormatFloat(n, 'f', -1, 64)+" "+unit)
		}
	}
	add(float64(d/time.Hour), "hour")
	add(float64(d%time.Hour/time.Minute), "minute")
	add((d % time.Minute).Seconds(), "second")
	return strings.Join(parts, " ")
}
