package interpret

import (
	"fmt"
	"slices"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/timeexpr"
)

// maxClock is how many words a time of the clock may have: "tomorrow at half past
// seven in the evening".
const maxClock = 8

// clock reads a time of the clock at word i: "7 pm", "half past seven",
// "19 30", "noon", "sunset", with a day before or behind it: the next one after now,
// where no day is said. end is 0 if there is none.
func (x *request) clock(i int, now time.Time) (end int, at time.Time, out capabilities.Outcome, ok bool) {
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
			return 1, at, x.refuse(fmt.Sprintf("%q is not known so far ahead; say a time", lexicon.Join(x.Tokens[i:end])), nil), false
		}
		at, why := timeexpr.SunTime(&x.r.Home, sun, now, d.Tomorrow)
		if why != "" {
			return 1, at, x.refuse(fmt.Sprintf("%q: %s", lexicon.Join(x.Tokens[i:end]), why), nil), false
		}
		return end, at, capabilities.Outcome{}, true
	}
	if end := x.HalfHour(from); end > from {
		return 1, at, x.refuse(fmt.Sprintf("%q is half past one hour to some and half an hour before to others; say \"half past\", or write it like 7:30", lexicon.Join(x.Tokens[from:end])), nil), false
	}
	end, hour, minute, sure := w.ReadHour(x.Tokens, from)
	if end == 0 || x.PercentAt(from) {
		if d.Named && from < len(x.Tokens)+1 && i != from {
			return 1, at, x.refuse(fmt.Sprintf("%q: say the hour too, like \"tomorrow at 7 am\", or put it into constraints.timing.not_before", lexicon.Join(x.Tokens[i:from])), nil), false
		}
		return 0, at, capabilities.Outcome{}, true
	}
	if why := x.r.Site.Unset; why != "" && (from > i || end > from) && (timeexpr.PlainClock(&x.Utterance, i, end) || w.At.Longest(x.Tokens, max(0, i-1)) > 0) {
		return 1, at, x.refuse(fmt.Sprintf("%q: nobody knows how late it is: %s; say a length of time, or set the clock", lexicon.Join(x.Tokens[i:end]), why), nil), false
	}
	end += w.Exactly.Longest(x.Tokens, end)
	end += timeexpr.ReadDay(w, x.Tokens, end, &d)
	said := lexicon.Join(x.Tokens[i:end])
	if more := w.CardinalEnd(x.Tokens, end); more > end && x.Tokens[end].Text[0] <= '9' && !x.PercentAt(end) && (more == len(x.Tokens) || w.Half.Longest(x.Tokens, more) > 0) {
		return 1, at, x.refuse(fmt.Sprintf("%q is no time of the clock; write it like 19:30 or 7 pm", lexicon.Join(x.Tokens[i:more])), nil), false
	}
	options := []string{fmt.Sprintf("%02d:%02d", hour%12, minute), fmt.Sprintf("%02d:%02d", hour%12+12, minute)}
	switch {
	case sure:
	case d.Evening && hour%12 < 5:
		return 1, at, x.refuse(fmt.Sprintf("%q may be at night or in the afternoon; say \"at %d am\" or \"at %d pm\"", said, (hour+11)%12+1, (hour+11)%12+1), nil), false
	case d.Half >= 0:
		hour = hour%12 + d.Half
	default:
		picked, out, ok := x.ask(capabilities.Question{Field: "time", Text: fmt.Sprintf("%q: at %s?", said, lexicon.OrList(options)), Options: options})
		if !ok {
			return end, at, out, false
		}
		hour = hour%12 + 12*slices.Index(options, picked[0])
	}
	if hour == 0 && minute == 0 && (d.Tomorrow || d.Weekday >= 0) {
		at = d.At(now, 0, 0)
		nights := []string{onDay(at), onDay(at.AddDate(0, 0, 1))}
		picked, out, ok := x.ask(capabilities.Question{Field: "time", Text: fmt.Sprintf("%q may be when that day begins or when it ends: %s?", said, lexicon.OrList(nights)), Options: nights})
		if !ok {
			return end, at, out, false
		}
		return end, at.AddDate(0, 0, slices.Index(nights, picked[0])), capabilities.Outcome{}, true
	}
	if at = d.At(now, hour, minute); !at.After(now) {
		return 1, at, x.refuse(fmt.Sprintf("%q is over; it is %s now", said, x.r.Site.Now.Format("15:04")), nil), false
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
		picked, out, ok := x.ask(capabilities.Question{Field: "clock", Text: fmt.Sprintf("the clocks go back on that day, and %02d:%02d is there twice: %s?", hour, minute, lexicon.OrList(options)), Options: options})
		if !ok {
			return at, out, false
		}
		return []time.Time{first, second}[max(0, slices.Index(options, picked[0]))], capabilities.Outcome{}, true
	}
	return at, capabilities.Outcome{}, true
}
