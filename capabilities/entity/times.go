package entity

import (
	"time"
)

// HalfHour returns the end of a time like "half seven" at word i, or i if there is none.
func (x *Utterance) HalfHour(i int) int {
	w := x.Words()
	n := w.HalfOf.Longest(x.Tokens, i)
	if n == 0 || w.Past.Longest(x.Tokens, i) > 0 {
		return i
	}
	end := w.CardinalEnd(x.Tokens, i+n)
	if _, d := x.DurationAt(i); end == i+n || d > 0 || x.PercentAt(i+n) {
		return i
	}
	return end
}

// DurationAt returns the longest length of time at word i, with its end; both are 0 if there is
// none.
func (x *Utterance) DurationAt(i int) (end int, d time.Duration) {
	x.Words().Durations(x.Tokens, i, func(to int, one time.Duration) {
		if to > end {
			end, d = to, one
		}
	})
	return end, d
}
