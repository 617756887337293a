package timeexpr

import (
	"time"

	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// IsUnsupported reports whether a condition or a time begins at word i that no executor
// supports.
func IsUnsupported(x *entity.Utterance, i int) bool {
	return !x.IsName(i) && (x.Words().Conditionals.Longest(x.Tokens, i) > 0 || IsDated(x, i))
}

// IsDated reports whether a time begins at word i.
func IsDated(x *entity.Utterance, i int) bool {
	return x.BeginsTime(i) || x.BeginsTime(i+1) && x.Words().Clock.Longest(x.Tokens, i) > 0 || x.DurationSpan(i).End > 0
}

// DelayEnd returns the end of "after ten minutes" at word i, or i if there is none.
func DelayEnd(x *entity.Utterance, i int) int {
	n := x.Words().Delaying.Longest(x.Tokens, i)
	if n == 0 {
		return i
	}
	if end, _ := x.DurationAt(i + n); end > 0 {
		return end
	}
	return i
}

// MaxAhead is the longest time before the begin of a plan. A later begin belongs into
// constraints.timing.not_before, which the exchange keeps over restarts.
const MaxAhead = 24 * time.Hour

// Timing is the times of a text, and their words.
type Timing struct {
	Begin     time.Time     // zero: at once
	Lasts     time.Duration // 0: until another order
	Ends      bool          // it lasts until end
	End       time.Time
	Phrases   []string // the words of each time
	BeforeAnd string   // a time with an "and" next to it and more words behind: "for ten minutes and the heater"
}

// BareNumber returns the end of a number at word i that counts nothing and has no unit; i
// if there is none.
func BareNumber(x *entity.Utterance, i int) int {
	end := x.Words().CardinalEnd(x.Tokens, i)
	if to, _ := x.DurationAt(i); end == i || to > 0 || x.PercentAt(i) || BeginsTimes(x, i) || len(x.SlotValues("device", i)) > 0 {
		return i
	}
	return end
}

// SeparatesList reports whether the words from i to end separate a list: there is an "and"
// or a comma next to them, and words before and behind.
func SeparatesList(x *entity.Utterance, i, end int) bool {
	if x.SkipArticles(0) >= i || end >= len(x.Tokens) {
		return false
	}
	return x.Words().Joining.Longest(x.Tokens, end) > 0 || x.Words().Joining.Longest(x.Tokens, i-1) > 0 || x.Tokens[end].Pause || x.Tokens[i].Pause
}

// HasPauseBetweenNames reports whether a pause stands between the names before word i:
// "turn off the stove, the fan at 9 pm".
func HasPauseBetweenNames(x *entity.Utterance, i int) bool {
	p := i - 1
	for p > 0 && !x.Tokens[p].Pause {
		p--
	}
	names := func(from, to int) bool {
		for k := from; k < to; k++ {
			if x.IsName(k) {
				return true
			}
		}
		return false
	}
	return p > 0 && names(0, p) && names(p, i)
}

// AtOnceWord returns a word of the text that says at once, or "" if there is none.
func AtOnceWord(x *entity.Utterance, tokens []lexicon.Token) string {
	for i := range tokens {
		if n := x.Home.Catalog.Context.AtOnce.Longest(tokens, i); n > 0 {
			return lexicon.Join(tokens[i : i+n])
		}
	}
	return ""
}

// Recurs reports whether word i says that something repeats: "every morning", "daily",
// "every two hours", "twice a day", "mondays".
func Recurs(x *entity.Utterance, i int) bool {
	w := x.Words()
	if w.Repeating.Longest(x.Tokens, i) > 0 {
		return true
	}
	if t := x.Tokens[i]; t.Text != t.Folded && weekday(x, t) {
		return true
	}
	if n := w.All.Longest(x.Tokens, i); n > 0 && w.AnyOne.Longest(x.Tokens, i) == 0 {
		end := i + n
		end += w.Other.Longest(x.Tokens, end)
		return IsPeriod(x, max(end, w.CardinalEnd(x.Tokens, end)))
	}
	end, n := ReadTimes(x, i)
	if n == 0 && x.Tokens[i].Text == "once" {
		end, n = i+1, 1
	}
	per := 0
	if n > 0 {
		per = w.Per.Longest(x.Tokens, end)
	}
	return per > 0 && IsPeriod(x, end+per)
}

// IsPeriod reports whether a word for a part of the calendar or a unit of time is at word
// i.
func IsPeriod(x *entity.Utterance, i int) bool {
	w := x.Words()
	return i < len(x.Tokens) && (w.Times.Longest(x.Tokens, i) > 0 || w.Units[x.Tokens[i].Folded] > 0)
}

// weekday reports whether a word is the name of a day of the week.
func weekday(x *entity.Utterance, t lexicon.Token) bool {
	_, is := x.Words().Weekday[t.Folded]
	return is
}

// OffsetAt reads the difference to a clock time at word i. It returns where that time
// begins, or i if there is none, and the difference.
func OffsetAt(x *entity.Utterance, i int) (int, time.Duration) {
	w := x.Words()
	end, d := x.DurationAt(i)
	if end == 0 {
		return i, 0
	}
	if n := w.Ahead.Longest(x.Tokens, end); n > 0 {
		return end + n, -d
	}
	if n := w.Afterwards.Longest(x.Tokens, end); n > 0 {
		return end + n, d
	}
	return i, 0
}

// PlainMoment reports whether the words are a time without "at" before them.
func PlainMoment(x *entity.Utterance, i, end int) bool {
	behind, _ := OffsetAt(x, i)
	return behind > i || PlainClock(x, i, end)
}

// ApproximateDuration reads an approximate duration at word i: "about five minutes", "five
// minutes or so". end is i if there is none.
func ApproximateDuration(x *entity.Utterance, i int) (end int, d time.Duration) {
	if end, d = x.DurationAt(i + x.Words().Roughly.Longest(x.Tokens, i)); end > 0 {
		end += x.Words().Exactly.Longest(x.Tokens, end)
	}
	return end, d
}

// PastTimeDoubt is the duration until a clock time from which on the requester may mean the
// time that has passed.
const PastTimeDoubt = 18 * time.Hour
