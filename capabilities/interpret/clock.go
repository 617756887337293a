package interpret

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities"
)

// maxClock is how many words a time of the clock may have: "tomorrow at half past
// seven in the evening".
const maxClock = 8

// plainClock reports whether words are a time of the clock without "at" before
// them: "tomorrow", "7 pm" or "half past seven", but not "seven".
func (x *request) plainClock(i, end int) bool {
	w := x.words()
	for ; i < end; i++ {
		word := x.tokens[i].text
		if _, _, ok := written(word); ok && strings.Contains(word, "h") || x.weekday(x.tokens[i]) {
			return true
		}
		if digits, half := cutNumber(word); digits != "" && half != "" {
			if _, ok := w.lists.Half[half]; ok { // "7pm"
				return true
			}
		}
		for _, set := range []*set{w.Half, w.Days, w.Sun, w.Fixed, w.PlainPast} {
			if set.longest(x.tokens, i) > 0 {
				return true
			}
		}
	}
	return false
}

// date is the day that a time of the clock is on.
type date struct {
	tomorrow bool
	named    bool // it was said: "today", "on Monday"
	weekday  int  // -1 for none
	evening  bool // it was said so: "tonight"
	half     int  // hours that its part adds; -1 where none was said
}

// day reads a day at word i, and returns how many words it has: "tomorrow", "this
// evening", "on Monday".
func (w *words) someDay(tokens []token, i int, d *date) int {
	if n := w.Days.longest(tokens, i); n > 0 {
		d.evening = d.evening || w.Evenings.longest(tokens, i) > 0
		d.named, d.tomorrow = true, d.tomorrow || w.Tomorrow.longest(tokens, i) > 0
		if half, ok := w.lists.DayHalf[joined(tokens[i:i+n])]; ok {
			d.half = half
		}
		return n
	}
	on := w.OnDay.longest(tokens, i)
	if i+on < len(tokens) {
		if t := tokens[i+on]; t.text == t.folded {
			if day, ok := w.Weekday[t.folded]; ok {
				d.named, d.weekday = true, day
				return on + 1
			}
		}
	}
	return 0
}

// at is an hour of that day, the next one to come where no day was said. It may not be
// there, or be there twice, where the clocks are changed.
func (d date) at(now time.Time, hour, minute int) time.Time {
	ahead := 0
	switch {
	case d.tomorrow:
		ahead = 1
	case d.weekday >= 0:
		ahead = (d.weekday - int(now.Weekday()) + 7) % 7
	case hour == 0 && minute == 0: // "tonight at midnight" is when today ends
		ahead = 1
	}
	on := func(ahead int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()+ahead, hour, minute, 0, 0, now.Location())
	}
	at := on(ahead)
	switch {
	case at.After(now) || d.tomorrow:
	case d.weekday >= 0:
		at = on(ahead + 7)
	case !d.named:
		at = on(1)
	}
	return at
}

// clock reads a time of the clock at word i: "7 pm", "half past seven",
// "19 30", "noon", "sunset", with a day before or behind it: the next one after now,
// where no day is said. end is 0 if there is none.
func (x *request) clock(i int, now time.Time) (end int, at time.Time, out capabilities.Outcome, ok bool) {
	w := x.words()
	d := date{weekday: -1, half: -1}
	from := i
	if n := w.someDay(x.tokens, i, &d); n > 0 {
		from += n
		from += w.At.longest(x.tokens, from)
	}
	if n, sun := w.sunAt(x.tokens, from); n > 0 {
		end := from + n
		end += w.someDay(x.tokens, end, &d)
		if d.weekday >= 0 {
			return 1, at, x.refuse(fmt.Sprintf("%q is not known so far ahead; say a time", joined(x.tokens[i:end])), nil), false
		}
		at, why := x.r.sun(sun, now, d.tomorrow)
		if why != "" {
			return 1, at, x.refuse(fmt.Sprintf("%q: %s", joined(x.tokens[i:end]), why), nil), false
		}
		return end, at, capabilities.Outcome{}, true
	}
	if end := x.halfHour(from); end > from {
		return 1, at, x.refuse(fmt.Sprintf("%q is half past one hour to some and half an hour before to others; say \"half past\", or write it like 7:30", joined(x.tokens[from:end])), nil), false
	}
	end, hour, minute, sure := w.hour(x.tokens, from)
	if end == 0 || x.percents(from) {
		if d.named && from < len(x.tokens)+1 && i != from {
			return 1, at, x.refuse(fmt.Sprintf("%q: say the hour too, like \"tomorrow at 7 am\", or put it into constraints.timing.not_before", joined(x.tokens[i:from])), nil), false
		}
		return 0, at, capabilities.Outcome{}, true
	}
	if why := x.r.home.Unset; why != "" && (from > i || end > from) && (x.plainClock(i, end) || w.At.longest(x.tokens, max(0, i-1)) > 0) {
		return 1, at, x.refuse(fmt.Sprintf("%q: nobody knows how late it is: %s; say a length of time, or set the clock", joined(x.tokens[i:end]), why), nil), false
	}
	end += w.Exactly.longest(x.tokens, end)
	end += w.someDay(x.tokens, end, &d)
	said := joined(x.tokens[i:end])
	if more := w.cardinalEnd(x.tokens, end); more > end && x.tokens[end].text[0] <= '9' && !x.percents(end) && (more == len(x.tokens) || w.Half.longest(x.tokens, more) > 0) {
		return 1, at, x.refuse(fmt.Sprintf("%q is no time of the clock; write it like 19:30 or 7 pm", joined(x.tokens[i:more])), nil), false
	}
	options := []string{fmt.Sprintf("%02d:%02d", hour%12, minute), fmt.Sprintf("%02d:%02d", hour%12+12, minute)}
	switch {
	case sure:
	case d.evening && hour%12 < 5:
		return 1, at, x.refuse(fmt.Sprintf("%q may be at night or in the afternoon; say \"at %d am\" or \"at %d pm\"", said, (hour+11)%12+1, (hour+11)%12+1), nil), false
	case d.half >= 0:
		hour = hour%12 + d.half
	default:
		picked, out, ok := x.ask(capabilities.Question{Field: "time", Text: fmt.Sprintf("%q: at %s?", said, oneOf(options)), Options: options})
		if !ok {
			return end, at, out, false
		}
		hour = hour%12 + 12*slices.Index(options, picked[0])
	}
	if hour == 0 && minute == 0 && (d.tomorrow || d.weekday >= 0) {
		at = d.at(now, 0, 0)
		nights := []string{onDay(at), onDay(at.AddDate(0, 0, 1))}
		picked, out, ok := x.ask(capabilities.Question{Field: "time", Text: fmt.Sprintf("%q may be when that day begins or when it ends: %s?", said, oneOf(nights)), Options: nights})
		if !ok {
			return end, at, out, false
		}
		return end, at.AddDate(0, 0, slices.Index(nights, picked[0])), capabilities.Outcome{}, true
	}
	if at = d.at(now, hour, minute); !at.After(now) {
		return 1, at, x.refuse(fmt.Sprintf("%q is over; it is %s now", said, x.r.home.Now.Format("15:04")), nil), false
	}
	if at, out, ok = x.changed(at, hour, minute); !ok {
		return 1, at, out, false
	}
	return end, at, capabilities.Outcome{}, true
}

// changed holds a time to a day on which the clocks are changed: an hour of it is not
// there, or is there twice, and then it is asked which.
func (x *request) changed(at time.Time, hour, minute int) (time.Time, capabilities.Outcome, bool) {
	if at.Hour() != hour || at.Minute() != minute {
		return at, x.refuse(fmt.Sprintf("%02d:%02d is no time of that day, as the clocks go forward then; say another", hour, minute), nil), false
	}
	_, before := at.Add(-3 * time.Hour).Zone()
	_, behind := at.Add(3 * time.Hour).Zone()
	back := time.Duration(before-behind) * time.Second
	if back <= 0 {
		return at, capabilities.Outcome{}, true
	}
	for _, first := range []time.Time{at, at.Add(-back)} {
		second := first.Add(back)
		if first.Format("15:04") != second.Format("15:04") {
			continue
		}
		options := []string{first.Format("15:04 MST"), second.Format("15:04 MST")}
		picked, out, ok := x.ask(capabilities.Question{Field: "clock", Text: fmt.Sprintf("the clocks go back on that day, and %02d:%02d is there twice: %s?", hour, minute, oneOf(options)), Options: options})
		if !ok {
			return at, out, false
		}
		return []time.Time{first, second}[max(0, slices.Index(options, picked[0]))], capabilities.Outcome{}, true
	}
	return at, capabilities.Outcome{}, true
}

// halfHour is the end of "half seven" at word i, i if that is not there.
func (x *request) halfHour(i int) int {
	w := x.words()
	n := w.HalfOf.longest(x.tokens, i)
	if n == 0 || w.Past.longest(x.tokens, i) > 0 {
		return i
	}
	end := w.cardinalEnd(x.tokens, i+n)
	if _, d := x.length(i); end == i+n || d > 0 || x.percents(i+n) {
		return i
	}
	return end
}

// hour reads an hour, and the minutes behind it. sure is false where it may be
// before or after noon.
func (w *words) hour(tokens []token, i int) (end, hour, minute int, sure bool) {
	if n := w.Fixed.longest(tokens, i); n > 0 {
		at := w.lists.Fixed[joined(tokens[i:i+n])]
		return i + n, at / 60, at % 60, true
	}
	past := 0
	from := i
	w.Past.each(tokens, i, func(to int, minutes int) { from, past = to, minutes })
	w.cardinal(tokens, i, func(to int, n float64) { // "5 past noon"
		if k := w.PastIs.longest(tokens, to); k > 0 && n >= 1 && n < 60 && n == math.Trunc(n) {
			from, past = to+k, int(n)
		}
	})
	if n := w.Fixed.longest(tokens, from); from > i && n > 0 { // "ten to midnight"
		at := (w.lists.Fixed[joined(tokens[from:from+n])] + past + 24*60) % (24 * 60)
		return from + n, at / 60, at % 60, true
	}
	if past == 0 {
		digits, half := cutNumber(text(tokens, i))
		if of, known := w.lists.Half[half]; known { // "8.15pm"
			if len(digits) == 3 { // "830pm"
				digits = "0" + digits
			}
			if hour, minute, ok := written(digits); ok && len(digits) > 3 && hour >= 1 && hour <= 12 {
				return i + 1, hour%12 + of, minute, true
			}
		}
		if hour, minute, ok := written(text(tokens, i)); ok {
			end = i + 1
			if w.Hours.longest(tokens, end) > 0 {
				end++
			}
			if k := w.Half.longest(tokens, end); k > 0 && hour >= 1 && hour <= 12 { // "8.30 pm"
				return end + k, hour%12 + w.lists.Half[joined(tokens[end:end+k])], minute, true
			}
			return end, hour, minute, hour > 12 || hour == 0 || text(tokens, i)[0] == '0'
		}
	}
	digits, half := cutNumber(text(tokens, from))
	n := 0
	if k, err := strconv.Atoi(digits); err == nil {
		end, n = from+1, k
	} else {
		half = ""
		w.Numbers.each(tokens, from, func(to int, v float64) {
			if v == float64(int(v)) && w.Fillers.longest(tokens, from) == 0 {
				end, n = to, int(v)
			}
		})
	}
	if end == 0 || n > 24 {
		return 0, 0, 0, false
	}
	if k := w.Fixed.longest(tokens, end); k > 0 && n == 12 && half == "" && past == 0 { // "12 noon"
		return end + k, w.lists.Fixed[joined(tokens[end:end+k])] / 60, 0, true
	}
	if half == "" && past == 0 {
		end, minute = w.minutes(tokens, end)
		if d, h := cutNumber(text(tokens, end)); minute < 0 && d != "" && h != "" { // "7 30pm"
			if k, err := strconv.Atoi(d); err == nil && k < 60 {
				end, minute, half = end+1, k, h
			}
		}
	}
	minute = max(0, minute) + past
	if half == "" {
		end += w.OClock.longest(tokens, end)
	}
	switch of, ok := w.lists.Half[half]; {
	case half != "" && !ok:
		return 0, 0, 0, false
	case half != "":
		return end, (n%12 + of + (minute+60)/60 + 23) % 24, (minute + 60) % 60, n >= 1 && n <= 12
	}
	if k := w.Half.longest(tokens, end); k > 0 && n >= 1 && n <= 12 {
		of := w.lists.Half[joined(tokens[end:end+k])]
		return end + k, (n%12 + of + (minute+60)/60 + 23) % 24, (minute + 60) % 60, true
	}
	sure = n > 12 || n == 0 || strings.HasPrefix(digits, "0") && end > from+1 // "08:30"
	return end, ((n+(minute+60)/60-1)%24 + 24) % 24, (minute + 60) % 60, sure
}

// written reads a time of the clock that is one word: "19h", "19h30", "19.30", "1930",
// "0730".
func written(word string) (hour, minute int, ok bool) {
	h, m, cut := strings.Cut(word, "h")
	if !cut {
		if h, m, cut = strings.Cut(word, "."); cut && len(m) != 2 {
			return 0, 0, false
		}
	}
	if !cut && len(word) == 4 {
		h, m, cut = word[:2], word[2:], true
	}
	hour, err := strconv.Atoi(h)
	if m != "" && err == nil {
		minute, err = strconv.Atoi(m)
	}
	return hour, minute, cut && err == nil && len(h) <= 2 && len(m) != 1 && hour >= 0 && hour < 24 && minute >= 0 && minute < 60
}

// minutes are those behind an hour: "7 30", "seven thirty"; -1 for none.
func (w *words) minutes(tokens []token, i int) (end, minute int) {
	if i >= len(tokens) {
		return i, -1
	}
	if t := tokens[i].text; len(t) == 2 {
		if n, err := strconv.Atoi(t); err == nil && n < 60 {
			return i + 1, n
		}
	}
	end, minute = i, -1
	w.cardinal(tokens, i, func(to int, n float64) {
		if tokens[i].text[0] > '9' && n >= 10 && n < 60 && to > end {
			end, minute = to, int(n)
		}
	})
	return end, minute
}

func text(tokens []token, i int) string {
	if i >= len(tokens) {
		return ""
	}
	return tokens[i].text
}
