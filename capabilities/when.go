package capabilities

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxAhead is how far ahead a plan may begin: what is later is for
// constraints.timing.not_before, which the exchange keeps over restarts.
const maxAhead = 24 * time.Hour

// timing is what the words say of time, and the words.
type timing struct {
	begin time.Time     // zero: at once
	lasts time.Duration // 0: until told otherwise
	ends  bool          // it lasts until end
	end   time.Time
	said  []string
	amid  string // what was said so with "and" beside it and more behind: "for ten minutes and the heater"
}

// times takes what is said of time out of the text. The refusal or question is
// of a time that cannot be kept or is not clear.
func (x *request) times() (rest []token, t timing, out Outcome, ok bool) {
	for i := 0; i < len(x.tokens); {
		if x.named(i) {
			rest = append(rest, x.tokens[i])
			i++
			continue
		}
		if x.repeats(i) {
			return rest, t, x.refuse(x.recurring(i), nil), false
		}
		if end := x.span(i); end > i {
			x.explain.Leftover = texts(x.tokens[i:end])
			return rest, t, x.refuse(fmt.Sprintf("%q is a range; say one number of it", joined(x.tokens[i:end])), nil), false
		}
		if end := x.clockSpan(i); end > i {
			said := joined(x.tokens[i:end])
			x.explain.Leftover = texts(x.tokens[i:end])
			return rest, t, x.refuse(fmt.Sprintf("%q is a span of time; say when it begins and for how long, like \"at 7 pm for two hours\"", said), nil), false
		}
		end, out, ok := x.time(i, &t)
		if !ok {
			return rest, t, out, false
		}
		if end == i {
			rest = append(rest, x.tokens[i])
			i++
			continue
		}
		if more := x.bareNumber(end); more > end {
			return rest, t, x.refuse(fmt.Sprintf("%q is not clear; say it with its unit, like \"2 hours 30 minutes\"", joined(x.tokens[i:more])), nil), false
		}
		t.said = append(t.said, joined(x.tokens[i:end]))
		if x.between(i, end) {
			t.amid = joined(x.tokens[i:end])
		}
		i = end
	}
	return rest, t, Outcome{}, true
}

// bareNumber is the end of a number at word i that counts nothing and has no unit; i if
// there is none.
func (x *request) bareNumber(i int) int {
	end := x.words().cardinalEnd(x.tokens, i)
	if to, _ := x.length(i); end == i || to > 0 || x.percents(i) || x.howOften(i) || len(x.filled("device", i)) > 0 {
		return i
	}
	return end
}

// between reports whether what stands from word i to end parts a list: there is an
// "and" or a comma beside it, and words before and behind.
func (x *request) between(i, end int) bool {
	if x.pass(0) >= i || end >= len(x.tokens) {
		return false
	}
	return x.words().joining.longest(x.tokens, end) > 0 || x.words().joining.longest(x.tokens, i-1) > 0 || x.tokens[end].pause || x.tokens[i].pause
}

// repeats reports whether word i says that something comes again and again: "every
// morning", "daily", "every two hours", "twice a day", "mondays".
func (x *request) repeats(i int) bool {
	w := x.words()
	if w.repeating.longest(x.tokens, i) > 0 {
		return true
	}
	if t := x.tokens[i]; t.text != t.folded && x.weekday(t) {
		return true
	}
	if n := w.all.longest(x.tokens, i); n > 0 && w.anyOne.longest(x.tokens, i) == 0 {
		end := i + n
		end += w.other.longest(x.tokens, end)
		return x.period(max(end, w.cardinalEnd(x.tokens, end)))
	}
	end, n := x.often(i)
	if n == 0 && x.tokens[i].text == "once" {
		end, n = i+1, 1
	}
	per := 0
	if n > 0 {
		per = w.per.longest(x.tokens, end)
	}
	return per > 0 && x.period(end+per)
}

// period reports whether a word for a part of the calendar or a unit of time stands at
// i.
func (x *request) period(i int) bool {
	w := x.words()
	return i < len(x.tokens) && (w.times.longest(x.tokens, i) > 0 || w.unit[x.tokens[i].folded] > 0)
}

// weekday reports whether a word is the name of a day of the week.
func (x *request) weekday(t token) bool {
	_, is := x.words().weekday[t.folded]
	return is
}

// recurring is why that is not done.
func (x *request) recurring(i int) string {
	x.explain.Leftover = texts(x.tokens[i:])
	return fmt.Sprintf("%q: a request is done once; what comes again and again needs schedules, and none are configured here", joined(x.tokens[i:]))
}

// clockSpan is the end of a span of the clock at word i: "from 7 to 9 pm"; i if there
// is none.
func (x *request) clockSpan(i int) int {
	w := x.words()
	n := w.spanning.longest(x.tokens, i)
	if n == 0 {
		return i
	}
	first, _, _, _ := w.hour(x.tokens, i+n)
	if first == 0 || first >= len(x.tokens) {
		return i
	}
	to := w.spanTo.longest(x.tokens, first)
	last, _, _, _ := w.hour(x.tokens, first+to)
	if to == 0 || last == 0 {
		return i
	}
	return last
}

// time reads what is said of time from word i on, and returns its end, i if
// nothing is.
func (x *request) time(i int, t *timing) (int, Outcome, bool) {
	w := x.words()
	twice := func() (int, Outcome, bool) {
		return i, x.refuse(fmt.Sprintf("%q: more than one time is said; say one", strings.Join(append(t.said, x.tokens[i].text), " ... ")), nil), false
	}
	if n := w.delaying.longest(x.tokens, i); n > 0 {
		if end, d := x.length(i + n); end > 0 {
			if !t.begin.IsZero() {
				return twice()
			}
			t.begin = x.r.home.Now.Add(d)
			return end, Outcome{}, true
		}
	}
	if end, d := x.length(i); end > 0 {
		if n := w.fromNow.longest(x.tokens, end); n > 0 {
			if !t.begin.IsZero() {
				return twice()
			}
			t.begin = x.r.home.Now.Add(d)
			return end + n, Outcome{}, true
		}
	}
	if n := w.lasting.longest(x.tokens, i); n > 0 {
		if end, d := x.length(i + n); end > 0 {
			if t.lasts > 0 || t.ends {
				return twice()
			}
			t.lasts = d
			return end, Outcome{}, true
		}
	}
	if n := w.ending.longest(x.tokens, i); n > 0 {
		end, at, out, ok := x.clock(i + n)
		if !ok || end == 0 {
			return i, out, end == 0
		}
		if t.lasts > 0 || t.ends {
			return twice()
		}
		t.ends, t.end = true, at
		return end, Outcome{}, true
	}
	at := i + w.at.longest(x.tokens, i)
	if at == i && !x.plainClock(i, min(len(x.tokens), i+maxClock)) {
		return i, Outcome{}, true
	}
	end, begin, out, ok := x.clock(at)
	switch {
	case !ok:
		return i, out, false
	case end == 0 || at == i && !x.plainClock(at, end):
		return i, Outcome{}, true
	case !t.begin.IsZero():
		return twice()
	}
	t.begin = begin
	return end, Outcome{}, true
}

// length is the longest length of time at word i.
func (x *request) length(i int) (end int, d time.Duration) {
	x.words().durations(x.tokens, i, func(to int, one time.Duration) {
		if to > end {
			end, d = to, one
		}
	})
	return end, d
}

// maxClock is how many words a time of the clock may have: "tomorrow at half past
// seven in the evening".
const maxClock = 8

// plainClock reports whether words are a time of the clock without "at" before
// them: "tomorrow" or "7 pm", but not "seven".
func (x *request) plainClock(i, end int) bool {
	for ; i < end; i++ {
		if _, _, ok := written(x.tokens[i].text); ok && strings.Contains(x.tokens[i].text, "h") || x.weekday(x.tokens[i]) {
			return true
		}
		if x.words().half.longest(x.tokens, i) > 0 || x.words().day.longest(x.tokens, i) > 0 || x.words().sun.longest(x.tokens, i) > 0 || x.words().fixed.longest(x.tokens, i) > 0 {
			return true
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
	if n := w.day.longest(tokens, i); n > 0 {
		d.evening = d.evening || w.evening.longest(tokens, i) > 0
		d.named, d.tomorrow = true, d.tomorrow || w.tomorrow.longest(tokens, i) > 0
		if half, ok := w.DayHalf[joined(tokens[i:i+n])]; ok {
			d.half = half
		}
		return n
	}
	on := w.onDay.longest(tokens, i)
	if i+on < len(tokens) {
		if t := tokens[i+on]; t.text == t.folded {
			if day, ok := w.weekday[t.folded]; ok {
				d.named, d.weekday = true, day
				return on + 1
			}
		}
	}
	return 0
}

// at is an hour of that day, the next one to come where no day was said.
func (d date) at(now time.Time, hour, minute int) time.Time {
	ahead := 0
	switch {
	case d.tomorrow:
		ahead = 1
	case d.weekday >= 0:
		ahead = (d.weekday - int(now.Weekday()) + 7) % 7
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
// "19 30", "noon", "sunset", with a day before or behind it. end is 0 if there is
// none.
func (x *request) clock(i int) (end int, at time.Time, out Outcome, ok bool) {
	w, now := x.words(), x.r.home.Now
	d := date{weekday: -1, half: -1}
	from := i
	if n := w.someDay(x.tokens, i, &d); n > 0 {
		from += n
		from += w.at.longest(x.tokens, from)
	}
	if n, sun := w.sunAt(x.tokens, from); n > 0 {
		end := from + n
		end += w.someDay(x.tokens, end, &d)
		if d.weekday >= 0 {
			return 1, at, x.refuse(fmt.Sprintf("%q is not known so far ahead; say a time", joined(x.tokens[i:end])), nil), false
		}
		at, why := x.r.sun(sun, d.tomorrow)
		if why != "" {
			return 1, at, x.refuse(fmt.Sprintf("%q: %s", joined(x.tokens[i:end]), why), nil), false
		}
		return end, at, Outcome{}, true
	}
	end, hour, minute, sure := w.hour(x.tokens, from)
	if end == 0 || x.percents(from) {
		if d.named && from < len(x.tokens)+1 && i != from {
			return 1, at, x.refuse(fmt.Sprintf("%q: say the hour too, like \"tomorrow at 7 am\", or put it into constraints.timing.not_before", joined(x.tokens[i:from])), nil), false
		}
		return 0, at, Outcome{}, true
	}
	if why := x.r.home.Unset; why != "" && (from > i || end > from) && (x.plainClock(i, end) || w.at.longest(x.tokens, max(0, i-1)) > 0) {
		return 1, at, x.refuse(fmt.Sprintf("%q: nobody knows how late it is: %s; say a length of time, or set the clock", joined(x.tokens[i:end]), why), nil), false
	}
	end += w.someDay(x.tokens, end, &d)
	said := joined(x.tokens[i:end])
	if more := w.cardinalEnd(x.tokens, end); more > end && x.tokens[end].text[0] <= '9' && !x.percents(end) && more == len(x.tokens) {
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
		picked, out, ok := x.ask(Question{Field: "time", Text: fmt.Sprintf("%q: at %s?", said, oneOf(options)), Options: options})
		if !ok {
			return end, at, out, false
		}
		hour = hour%12 + 12*slices.Index(options, picked[0])
	}
	if at = d.at(now, hour, minute); !at.After(now) {
		return 1, at, x.refuse(fmt.Sprintf("%q is over; it is %s now", said, now.Format("15:04")), nil), false
	}
	return end, at, Outcome{}, true
}

// hour reads an hour, and the minutes behind it. sure is false where it may be
// before or after noon.
func (w *words) hour(tokens []token, i int) (end, hour, minute int, sure bool) {
	if n := w.fixed.longest(tokens, i); n > 0 {
		at := w.Fixed[joined(tokens[i:i+n])]
		return i + n, at / 60, at % 60, true
	}
	past := 0
	from := i
	w.past.each(tokens, i, func(to int, minutes int) { from, past = to, minutes })
	w.cardinal(tokens, i, func(to int, n float64) { // "5 past noon"
		if k := w.pastIs.longest(tokens, to); k > 0 && n >= 1 && n < 60 && n == math.Trunc(n) {
			from, past = to+k, int(n)
		}
	})
	if n := w.fixed.longest(tokens, from); from > i && n > 0 { // "ten to midnight"
		at := (w.Fixed[joined(tokens[from:from+n])] + past + 24*60) % (24 * 60)
		return from + n, at / 60, at % 60, true
	}
	if past == 0 {
		if hour, minute, ok := written(text(tokens, i)); ok {
			end = i + 1
			if w.hours.longest(tokens, end) > 0 {
				end++
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
		w.number.each(tokens, from, func(to int, v float64) {
			if v == float64(int(v)) && w.filler.longest(tokens, from) == 0 {
				end, n = to, int(v)
			}
		})
	}
	if end == 0 || n > 24 {
		return 0, 0, 0, false
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
		end += w.oclock.longest(tokens, end)
	}
	switch of, ok := w.Half[half]; {
	case half != "" && !ok:
		return 0, 0, 0, false
	case half != "":
		return end, (n%12 + of + (minute+60)/60 + 23) % 24, (minute + 60) % 60, n >= 1 && n <= 12
	}
	if k := w.half.longest(tokens, end); k > 0 && n >= 1 && n <= 12 {
		of := w.Half[joined(tokens[end:end+k])]
		return end + k, (n%12 + of + (minute+60)/60 + 23) % 24, (minute + 60) % 60, true
	}
	sure = n > 12 || n == 0
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

// later puts what was said of time into a plan.
func (x *request) later(p *Plan, t timing) (Outcome, bool) {
	now := x.r.home.Now
	if !t.begin.IsZero() && t.begin.Sub(now) > maxAhead {
		return x.refuse(fmt.Sprintf("%q is more than a day ahead; put it into constraints.timing.not_before, which is kept whatever happens here, and leave the words out", strings.Join(t.said, " ")), nil), false
	}
	begin := t.begin
	if begin.IsZero() {
		begin = now
	}
	lasts := t.lasts
	if t.ends {
		if !t.end.After(begin) {
			t.end = t.end.AddDate(0, 0, 1)
		}
		lasts = t.end.Sub(begin).Round(time.Second)
	}
	if lasts > 0 {
		for i := range p.Each() {
			one := p
			if len(p.Steps) > 0 {
				one = &p.Steps[i]
			}
			if limit, _ := one.Args.Get("limit"); one.Command.Watches() && limit == "default" {
				one.Summary = strings.TrimSuffix(one.Summary, fmt.Sprintf(", for %s at most", spoken(one.For)))
				if out, ok := x.lastingFor(one, lasts); !ok {
					return out, false
				}
				continue
			}
			on, _ := one.Args.Get("on")
			if one.Command != SetSwitch || on != true || one.For > 0 && one.For != lasts {
				return x.refuse(fmt.Sprintf("%q is a length of time, and that cannot be kept here; only what is switched on can be for a time", strings.Join(t.said, " ")), nil), false
			}
			one.For = lasts
			one.Summary += " for " + spoken(lasts)
		}
		if len(p.Steps) > 0 {
			*p = ofSteps(p.Steps)
		}
	}
	if !t.begin.IsZero() {
		p.NotBefore = t.begin
		p.Summary += fmt.Sprintf(", on %s", t.begin.Format("Monday 2 January at 15:04:05"))
	}
	return Outcome{}, true
}
