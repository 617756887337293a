package timeexpr

import (
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// PlainClock reports whether the words are a clock time without "at" before them:
// "tomorrow", "7 pm" or "half past seven", but not "seven".
func PlainClock(x *entity.Utterance, i, end int) bool {
	w := x.Words()
	for ; i < end; i++ {
		word := x.Tokens[i].Text
		if _, _, ok := lexicon.ClockWord(word); ok && strings.Contains(word, "h") || weekday(x, x.Tokens[i]) {
			return true
		}
		if digits, half := lexicon.CutNumber(word); digits != "" && half != "" {
			if _, ok := w.Lists.Half[half]; ok { // "7pm"
				return true
			}
		}
		for _, set := range []*lexicon.PhraseSet{w.Half, w.Days, w.Sun, w.Fixed, w.PlainPast} {
			if set.Longest(x.Tokens, i) > 0 {
				return true
			}
		}
	}
	return false
}

// Day is the day of a clock time.
type Day struct {
	Tomorrow bool
	Named    bool // the text names it: "today", "on Monday"
	Weekday  int  // -1 for none
	Evening  bool // the text names the evening: "tonight"
	Half     int  // hours that the part of the day adds; -1 if the text names none
}

// ReadDay reads a day at word i into d, and returns how many words it has: "tomorrow",
// "this evening", "on Monday".
func ReadDay(w *lexicon.Lexicon, tokens []lexicon.Token, i int, d *Day) int {
	if n := w.Days.Longest(tokens, i); n > 0 {
		d.Evening = d.Evening || w.Evenings.Longest(tokens, i) > 0
		d.Named, d.Tomorrow = true, d.Tomorrow || w.Tomorrow.Longest(tokens, i) > 0
		if half, ok := w.Lists.DayHalf[lexicon.Join(tokens[i:i+n])]; ok {
			d.Half = half
		}
		return n
	}
	on := w.OnDay.Longest(tokens, i)
	if i+on < len(tokens) {
		if t := tokens[i+on]; t.Text == t.Folded {
			if day, ok := w.Weekday[t.Folded]; ok {
				d.Named, d.Weekday = true, day
				return on + 1
			}
		}
	}
	return 0
}

// At returns an hour of that day, or of the next possible day if the text names none. On a
// day on which the clocks change, the hour may not exist, or exist twice.
func (d Day) At(now time.Time, hour, minute int) time.Time {
	ahead := 0
	switch {
	case d.Tomorrow:
		ahead = 1
	case d.Weekday >= 0:
		ahead = (d.Weekday - int(now.Weekday()) + 7) % 7
	case hour == 0 && minute == 0: // "tonight at midnight" is when today ends
		ahead = 1
	}
	on := func(ahead int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()+ahead, hour, minute, 0, 0, now.Location())
	}
	at := on(ahead)
	switch {
	case at.After(now) || d.Tomorrow:
	case d.Weekday >= 0:
		at = on(ahead + 7)
	case !d.Named:
		at = on(1)
	}
	return at
}
