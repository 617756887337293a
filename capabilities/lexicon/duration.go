package lexicon

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// WholeDuration returns the length of time that all words name together, otherwise 0.
func (w *Lexicon) WholeDuration(tokens []Token) (d time.Duration) {
	at := w.Lasting.Longest(tokens, 0)
	w.Durations(tokens, at, func(end int, one time.Duration) {
		if len(w.Bare(tokens[end:])) == 0 {
			d = one
		}
	})
	return d
}

// MaxDuration is the longest duration of a state that a request may have: a year.
const MaxDuration = 365 * 24 * time.Hour

// Durations calls yield for each reading of the words from i on as a length of time: "ten
// minutes", "10min", "an hour and a half", "1 hour and 30 seconds".
func (w *Lexicon) Durations(tokens []Token, i int, yield func(end int, d time.Duration)) {
	if i < len(tokens) {
		if sum, unit := w.compact(tokens[i].Text); sum > 0 {
			w.addSmallerUnits(tokens, i+1, sum, unit, yield)
		}
	}
	w.amounts(tokens, i, func(end int, n float64, unit time.Duration) {
		w.addSmallerUnits(tokens, end, durationOf(n, unit), unit, yield)
	})
}

// durationOf returns n units, or 0 if that is longer than MaxDuration.
func durationOf(n float64, unit time.Duration) time.Duration {
	if n*float64(unit) > float64(MaxDuration) {
		return 0
	}
	return time.Duration(n * float64(unit)).Round(time.Millisecond)
}

// addSmallerUnits yields the time so far, and its sums with smaller units behind it.
func (w *Lexicon) addSmallerUnits(tokens []Token, i int, sum, unit time.Duration, yield func(end int, d time.Duration)) {
	if sum <= 0 || sum > MaxDuration {
		return
	}
	yield(i, sum)
	and := w.Joining.Longest(tokens, i)
	w.amounts(tokens, i+and, func(end int, n float64, smaller time.Duration) {
		if d := durationOf(n, smaller); d > 0 && smaller < unit {
			w.addSmallerUnits(tokens, end, sum+d, smaller, yield)
		}
	})
	if half := i + and + w.Fillers.Longest(tokens, i+and); and > 0 {
		w.Numbers.Each(tokens, half, func(end int, n float64) {
			if n > 0 && n < 1 && end > half {
				yield(end, sum+durationOf(n, unit))
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

// smaller reads a number of minutes behind hours, or of seconds behind minutes, without a unit at
// the end of an order. n is 0 if there is none.
func (w *Lexicon) smaller(tokens []Token, i int) (end, n int) {
	w.EachCardinal(tokens, i, func(to int, v float64) {
		ends := to == len(tokens) || tokens[to].Pause || w.Joining.Longest(tokens, to) > 0
		if ends && v >= 1 && v < 60 && v == math.Trunc(v) {
			end, n = to, int(v)
		}
	})
	return end, n
}

// amounts yields the readings of the words from i on as a number of one unit.
func (w *Lexicon) amounts(tokens []Token, i int, yield func(end int, n float64, unit time.Duration)) {
	if i >= len(tokens) {
		return
	}
	add := func(end int, n float64, letters string) {
		if unit, ok := w.Units[letters]; ok {
			yield(end, n, unit)
		}
	}
	if digits, letters := CutNumber(tokens[i].Text); letters != "" {
		if n, err := strconv.ParseFloat(digits, 64); err == nil {
			add(i+1, n, w.Fold(letters))
		}
	}
	w.EachNumber(tokens, i, func(end int, n float64) {
		if end < len(tokens) {
			add(end+1, n, tokens[end].Folded)
		}
	})
}

// compact reads a length of time in one word: "1h30", "1h30m", "2m15s". sum is 0 if it is none.
// Digits without a unit are of the next smaller one.
func (w *Lexicon) compact(text string) (sum, unit time.Duration) {
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
		one, known := w.Units[w.Fold(letters)]
		if letters == "" {
			one, known = unit/60, unit > time.Second
		}
		if err != nil || !known || n > 0 && (one >= unit || amount >= 60) || amount > int(MaxDuration/time.Second) {
			return 0, 0
		}
		sum, unit, text = sum+time.Duration(amount)*one, one, text[end+len(letters):]
	}
	if text != "" || sum > MaxDuration {
		return 0, 0
	}
	return sum, unit
}

// CutNumber cuts "1.5h" into its digits and letters.
func CutNumber(s string) (digits, letters string) {
	n := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if n < 0 {
		return s, ""
	}
	if strings.ContainsFunc(s[n:], func(r rune) bool { return !unicode.IsLetter(r) }) {
		return "", s
	}
	return s[:n], s[n:]
}

// ReadPause returns the length of time of an order to wait, or 0 for other words.
func (w *Lexicon) ReadPause(tokens []Token) (d time.Duration) {
	at := 0
	for n := 1; n > 0 && at < len(tokens); at += n {
		n = w.Fillers.Longest(tokens, at)
	}
	n := w.Pausing.Longest(tokens, at)
	if n == 0 {
		return 0
	}
	at += n
	w.Durations(tokens, at+w.Lasting.Longest(tokens, at), func(end int, one time.Duration) {
		if len(w.Bare(tokens[end:])) == 0 {
			d = one
		}
	})
	return d
}
