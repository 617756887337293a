package capabilities

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// maxFor bounds how long a state may be asked for: a year.
const maxFor = 365 * 24 * time.Hour

// durations are the readings of the words from i on as a length of time: "ten
// minutes", "10min", "an hour".
func (w *words) durations(tokens []token, i int, yield func(end int, d time.Duration)) {
	if i >= len(tokens) {
		return
	}
	add := func(end int, n float64, unit time.Duration) {
		if d := time.Duration(n * float64(unit)); n > 0 && n*float64(unit) <= float64(maxFor) && d > 0 {
			yield(end, d)
		}
	}
	digits, letters := cutNumber(tokens[i].text)
	if n, err := strconv.ParseFloat(digits, 64); err == nil {
		if unit, ok := w.unit[w.fold(letters)]; ok {
			add(i+1, n, unit)
		} else if letters == "" && i+1 < len(tokens) {
			add(i+2, n, w.unit[tokens[i+1].folded])
		}
	}
	w.number.each(tokens, i, func(end int, n float64) {
		if end < len(tokens) {
			add(end+1, n, w.unit[tokens[end].folded])
		}
	})
}

// cutNumber parts "10min" into its digits and letters.
func cutNumber(s string) (digits, letters string) {
	n := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
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
	for _, u := range []struct {
		name string
		size time.Duration
	}{{"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		if n := int(d / u.size); n == 1 {
			parts = append(parts, "1 "+u.name)
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf("%d %ss", n, u.name))
		}
		d %= u.size
	}
	if len(parts) == 0 {
		return "less than a second"
	}
	return strings.Join(parts, " ")
}
