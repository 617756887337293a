package resolve

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/timeexpr"
)

// ReadTimes takes the times out of the text. It refuses a time that this home cannot keep,
// and asks about one that is not clear.
func (x *Request) ReadTimes() (rest []lexicon.Token, t timeexpr.Timing, out capabilities.Outcome, ok bool) {
	for i := 0; i < len(x.Tokens); {
		if x.IsName(i) {
			rest = append(rest, x.Tokens[i])
			i++
			continue
		}
		if timeexpr.Recurs(&x.Utterance, i) {
			return rest, t, x.Reject(x.recurringText(i), nil), false
		}
		if end := x.RangeEnd(i); end > i {
			x.Explain.Leftover = lexicon.Texts(x.Tokens[i:end])
			return rest, t, x.Reject(fmt.Sprintf("%q is a range; say one number of it", lexicon.Join(x.Tokens[i:end])), nil), false
		}
		end, out, ok := x.readClockRange(i, &t)
		if ok && end == i {
			end, out, ok = x.readTime(i, &t)
		}
		if !ok {
			return rest, t, out, false
		}
		if end == i {
			rest = append(rest, x.Tokens[i])
			i++
			continue
		}
		if more := timeexpr.BareNumber(&x.Utterance, end); more > end {
			return rest, t, x.Reject(fmt.Sprintf("%q is not clear; say it with its unit, like \"2 hours 30 minutes\"", lexicon.Join(x.Tokens[i:more])), nil), false
		}
		t.Phrases = append(t.Phrases, lexicon.Join(x.Tokens[i:end]))
		if timeexpr.SeparatesList(&x.Utterance, i, end) || timeexpr.HasPauseBetweenNames(&x.Utterance, i) {
			t.BeforeAnd = lexicon.Join(x.Tokens[i:end])
		}
		i = end
	}
	return rest, t, capabilities.Outcome{}, true
}

// recurringText returns the reason for refusing a recurring order.
func (x *Request) recurringText(i int) string {
	x.Explain.Leftover = lexicon.Texts(x.Tokens[i:])
	return fmt.Sprintf("%q: a request runs once; messkit has no schedules for recurring orders", lexicon.Join(x.Tokens[i:]))
}

// readTime reads a time from word i on and returns its end, or i if there is none.
func (x *Request) readTime(i int, t *timeexpr.Timing) (int, capabilities.Outcome, bool) {
	w := x.Words()
	twice := func() (int, capabilities.Outcome, bool) {
		return i, x.Reject(fmt.Sprintf("%q: the text has more than one time; say one", strings.Join(append(t.Phrases, x.Tokens[i].Text), " ... ")), nil), false
	}
	if n := w.Delaying.Longest(x.Tokens, i); n > 0 {
		if end, d := timeexpr.ApproximateDuration(&x.Utterance, i+n); end > 0 {
			if !t.Begin.IsZero() {
				return twice()
			}
			t.Begin = x.Resolver.Site.Now.Add(d)
			return end, capabilities.Outcome{}, true
		}
	}
	if end, d := x.DurationAt(i); end > 0 {
		if n := w.FromNow.Longest(x.Tokens, end); n > 0 {
			if !t.Begin.IsZero() {
				return twice()
			}
			t.Begin = x.Resolver.Site.Now.Add(d)
			return end + n, capabilities.Outcome{}, true
		}
	}
	if n := w.Lasting.Longest(x.Tokens, i); n > 0 {
		if end, d := timeexpr.ApproximateDuration(&x.Utterance, i+n); end > 0 {
			if t.Lasts > 0 || t.Ends {
				return twice()
			}
			t.Lasts = d
			return end, capabilities.Outcome{}, true
		}
	}
	if n := w.Ending.Longest(x.Tokens, i); n > 0 {
		end, at, out, ok := x.readMoment(i + n)
		if !ok || end == 0 {
			return i, out, end == 0
		}
		if t.Lasts > 0 || t.Ends {
			return twice()
		}
		t.Ends, t.End = true, at
		return end, capabilities.Outcome{}, true
	}
	at := i + w.Exactly.Longest(x.Tokens, i)
	at += w.At.Longest(x.Tokens, at)
	at += w.Exactly.Longest(x.Tokens, at)
	if at == i && !timeexpr.PlainMoment(&x.Utterance, i, min(len(x.Tokens), i+maxClock)) {
		return i, capabilities.Outcome{}, true
	}
	end, begin, out, ok := x.readMoment(at)
	switch {
	case !ok:
		return i, out, false
	case end == 0 || at == i && !timeexpr.PlainMoment(&x.Utterance, at, end):
		return i, capabilities.Outcome{}, true
	case !t.Begin.IsZero():
		return twice()
	}
	t.Begin = begin
	return end, capabilities.Outcome{}, true
}

// readMoment reads a clock time at word i, or a time before or after it: "ten minutes
// before sunset". end is 0 if there is none.
func (x *Request) readMoment(i int) (end int, at time.Time, out capabilities.Outcome, ok bool) {
	now := x.Resolver.Site.Now
	behind, d := timeexpr.OffsetAt(&x.Utterance, i)
	if behind == i {
		return x.readClock(i, now)
	}
	// The requester means the next such time that, moved by d, is in the future.
	if end, at, out, ok = x.readClock(behind, now.Add(-d)); !ok || end == 0 {
		return end, at, out, ok
	}
	return end, at.Add(d), capabilities.Outcome{}, true
}

// maxClock is the largest number of words in a clock time: "tomorrow at half past seven in
// the evening".
const maxClock = 8

// readClock reads a clock time at word i: "7 pm", "half past seven", "19 30", "noon",
// "sunset", with a day before or behind it. Without a day it is the next such time after
// now. end is 0 if there is none.
func (x *Request) readClock(i int, now time.Time) (end int, at time.Time, out capabilities.Outcome, ok bool) {
	w := x.Words()
	d := timeexpr.Day{Weekday: -1, Half: -1}
	from := i
	if n := timeexpr.ReadDay(w, x.Tokens, i, &d); n > 0 {
		from += n
		from += w.At.Longest(x.Tokens, from)
	}
	if n, sun := w.ReadSun(x.Tokens, from); n > 0 {
		end := from + n
		end += timeexpr.ReadDay(w, x.Tokens, end, &d)
		if d.Weekday >= 0 {
			return 1, at, x.Reject(fmt.Sprintf("%q is too far ahead to calculate; say a time", lexicon.Join(x.Tokens[i:end])), nil), false
		}
		at, reason := timeexpr.SunTime(&x.Resolver.Home, sun, now, d.Tomorrow)
		if reason != "" {
			return 1, at, x.Reject(fmt.Sprintf("%q: %s", lexicon.Join(x.Tokens[i:end]), reason), nil), false
		}
		return end, at, capabilities.Outcome{}, true
	}
	if end := x.HalfHour(from); end > from {
		return 1, at, x.Reject(fmt.Sprintf("%q is half past one hour to some and half an hour before to others; say \"half past\", or write it like 7:30", lexicon.Join(x.Tokens[from:end])), nil), false
	}
	end, hour, minute, sure := w.ReadHour(x.Tokens, from)
	if end == 0 || x.PercentAt(from) {
		if d.Named && from < len(x.Tokens)+1 && i != from {
			return 1, at, x.Reject(fmt.Sprintf("%q: say the hour too, like \"tomorrow at 7 am\", or put it into constraints.timing.not_before", lexicon.Join(x.Tokens[i:from])), nil), false
		}
		return 0, at, capabilities.Outcome{}, true
	}
	if reason := x.Resolver.Site.ClockDoubt; reason != "" && (from > i || end > from) && (timeexpr.PlainClock(&x.Utterance, i, end) || w.At.Longest(x.Tokens, max(0, i-1)) > 0) {
		return 1, at, x.Reject(fmt.Sprintf("%q: the time of day is unknown: %s; say a length of time, or set the clock", lexicon.Join(x.Tokens[i:end]), reason), nil), false
	}
	end += w.Exactly.Longest(x.Tokens, end)
	end += timeexpr.ReadDay(w, x.Tokens, end, &d)
	phrase := lexicon.Join(x.Tokens[i:end])
	if more := w.CardinalEnd(x.Tokens, end); more > end && x.Tokens[end].Text[0] <= '9' && !x.PercentAt(end) && (more == len(x.Tokens) || w.Half.Longest(x.Tokens, more) > 0) {
		return 1, at, x.Reject(fmt.Sprintf("%q is no time of the clock; write it like 19:30 or 7 pm", lexicon.Join(x.Tokens[i:more])), nil), false
	}
	options := []string{fmt.Sprintf("%02d:%02d", hour%12, minute), fmt.Sprintf("%02d:%02d", hour%12+12, minute)}
	switch {
	case sure:
	case d.Evening && hour%12 < 5:
		return 1, at, x.Reject(fmt.Sprintf("%q may be at night or in the afternoon; say \"at %d am\" or \"at %d pm\"", phrase, (hour+11)%12+1, (hour+11)%12+1), nil), false
	case d.Half >= 0:
		hour = hour%12 + d.Half
	default:
		picked, out, ok := x.AskClarification(capabilities.Clarification{Field: "time", Text: fmt.Sprintf("%q: at %s?", phrase, lexicon.OrList(options)), Options: options})
		if !ok {
			return end, at, out, false
		}
		hour = hour%12 + 12*slices.Index(options, picked[0])
	}
	if hour == 0 && minute == 0 && (d.Tomorrow || d.Weekday >= 0) {
		at = d.At(now, 0, 0)
		nights := []string{OnDay(at), OnDay(at.AddDate(0, 0, 1))}
		picked, out, ok := x.AskClarification(capabilities.Clarification{Field: "time", Text: fmt.Sprintf("%q may be when that day begins or when it ends: %s?", phrase, lexicon.OrList(nights)), Options: nights})
		if !ok {
			return end, at, out, false
		}
		return end, at.AddDate(0, 0, slices.Index(nights, picked[0])), capabilities.Outcome{}, true
	}
	if at = d.At(now, hour, minute); !at.After(now) {
		return 1, at, x.Reject(fmt.Sprintf("%q is over; it is %s now", phrase, x.Resolver.Site.Now.Format("15:04")), nil), false
	}
	if at, out, ok = x.checkClockChange(at, hour, minute); !ok {
		return 1, at, out, false
	}
	return end, at, capabilities.Outcome{}, true
}

// checkClockChange checks a time on a day on which the clocks change: an hour of that day
// does not exist, or exists twice, and then it asks which one.
func (x *Request) checkClockChange(at time.Time, hour, minute int) (time.Time, capabilities.Outcome, bool) {
	if at.Hour() != hour || at.Minute() != minute {
		return at, x.Reject(fmt.Sprintf("%02d:%02d is no time of that day, as the clocks go forward then; say another", hour, minute), nil), false
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
		picked, out, ok := x.AskClarification(capabilities.Clarification{Field: "clock", Text: fmt.Sprintf("the clocks go back on that day, and %02d:%02d is there twice: %s?", hour, minute, lexicon.OrList(options)), Options: options})
		if !ok {
			return at, out, false
		}
		return []time.Time{first, second}[max(0, slices.Index(options, picked[0]))], capabilities.Outcome{}, true
	}
	return at, capabilities.Outcome{}, true
}

// readClockRange reads a range of clock times at word i: "from 7 to 9 pm", "tomorrow from 7
// to 9 pm". The act lasts until the end of the range. end is i if there is none.
func (x *Request) readClockRange(i int, t *timeexpr.Timing) (end int, out capabilities.Outcome, ok bool) {
	w := x.Words()
	d := timeexpr.Day{Weekday: -1, Half: -1}
	from := i + timeexpr.ReadDay(w, x.Tokens, i, &d)
	n := w.Spanning.Longest(x.Tokens, from)
	if n == 0 {
		return i, capabilities.Outcome{}, true
	}
	first := timeexpr.ClockEnd(&x.Utterance, from+n)
	if first == 0 || first >= len(x.Tokens) {
		return i, capabilities.Outcome{}, true
	}
	to := w.SpanTo.Longest(x.Tokens, first)
	last := timeexpr.ClockEnd(&x.Utterance, first+to)
	if to == 0 || last == 0 {
		return i, capabilities.Outcome{}, true
	}
	end = last + timeexpr.ReadDay(w, x.Tokens, last, &d)
	phrase := lexicon.Join(x.Tokens[i:end])
	x.Explain.Leftover = lexicon.Texts(x.Tokens[i:end])
	_, _, _, sure1 := w.ReadHour(x.Tokens, from+n)
	_, _, _, sure2 := w.ReadHour(x.Tokens, first+to)
	bare := sure1 && sure2 && first == from+n+1 && last == first+to+1 && !timeexpr.PlainClock(&x.Utterance, i, end) && x.Tokens[from+n].Text[0] != '0' // "from 19 to 21" may be degrees
	lasts := !bare && timeexpr.NamesBegin(w, x.Tokens[from:from+n]) && w.Ending.Longest(x.Tokens, first)+w.Toward.Longest(x.Tokens, first) > 0
	switch {
	case !lasts: // "between 7 and 9": some time then, or all of it
		return i, x.Reject(fmt.Sprintf("%q is a span of time; say when it begins and when it ends, like \"from 7 pm to 9 pm\"", phrase), nil), false
	case !t.Begin.IsZero() || t.Lasts > 0 || t.Ends:
		return i, x.Reject(fmt.Sprintf("%q: the text has more than one time; say one", phrase), nil), false
	case x.Resolver.Site.ClockDoubt != "":
		return i, x.Reject(fmt.Sprintf("%q: the time of day is unknown: %s; say a length of time, or set the clock", phrase, x.Resolver.Site.ClockDoubt), nil), false
	}
	begin, begins, out, ok := x.rangeEnds(from+n, first+to, d, phrase)
	x.Explain.Leftover = nil
	if !ok {
		return i, out, false
	}
	t.Begin, t.Ends, t.End = begin, true, begins
	return end, capabilities.Outcome{}, true
}

// rangeEnds returns the begin and end of a range of clock times whose hours stand at words
// i and k. An hour that may be before or after noon is the one that makes the range shorter
// than half a day.
func (x *Request) rangeEnds(i, k int, d timeexpr.Day, phrase string) (begin, end time.Time, out capabilities.Outcome, ok bool) {
	w, now := x.Words(), x.Resolver.Site.Now
	if w.Sun.Longest(x.Tokens, i)+w.Sun.Longest(x.Tokens, k) > 0 {
		if d.Named {
			return begin, end, x.Reject(fmt.Sprintf("%q: say the times, and not the sun, of another day", phrase), nil), false
		}
		if _, begin, out, ok = x.readClock(i, now); !ok {
			return begin, end, out, false
		}
		_, end, out, ok = x.readClock(k, begin)
		return begin, end, out, ok
	}
	_, h1, m1, sure1 := w.ReadHour(x.Tokens, i)
	_, h2, m2, sure2 := w.ReadHour(x.Tokens, k)
	if !sure1 && !sure2 && d.Half < 0 {
		clock := func(add int) string { return fmt.Sprintf("%02d:%02d to %02d:%02d", h1%12+add, m1, (h2%12+add)%24, m2) }
		options := []string{clock(0), clock(12)}
		picked, out, ok := x.AskClarification(capabilities.Clarification{Field: "time", Text: fmt.Sprintf("%q: %s?", phrase, lexicon.OrList(options)), Options: options})
		if !ok {
			return begin, end, out, false
		}
		d.Half = 12 * slices.Index(options, picked[0])
	}
	if !sure1 && d.Half >= 0 {
		h1, sure1 = h1%12+d.Half, true
	}
	if !sure1 { // the last before the end
		if h1 %= 12; (h2*60+m2-(h1+12)*60-m1+24*60)%(24*60) < (h2*60+m2-h1*60-m1+24*60)%(24*60) && (h1+12)*60+m1 != h2*60+m2 {
			h1 += 12
		}
	}
	length := (h2*60 + m2 - h1*60 - m1 + 48*60) % (24 * 60)
	if !sure2 { // the first behind the begin
		length %= 12 * 60
	}
	if length == 0 {
		return begin, end, x.Reject(fmt.Sprintf("%q ends when it begins; say another time", phrase), nil), false
	}
	begin = d.At(now, h1, m1)
	if today := begin.AddDate(0, 0, -1); !d.Named && today.Add(time.Duration(length)*time.Minute).After(now) { // the present time is in the range
		return time.Time{}, today.Add(time.Duration(length) * time.Minute), capabilities.Outcome{}, true
	}
	if !begin.After(now) {
		return begin, end, x.Reject(fmt.Sprintf("%q is over; it is %s now", phrase, now.Format("15:04")), nil), false
	}
	if begin, out, ok = x.checkClockChange(begin, h1, m1); !ok {
		return begin, end, out, false
	}
	return begin, begin.Add(time.Duration(length) * time.Minute), capabilities.Outcome{}, true
}
