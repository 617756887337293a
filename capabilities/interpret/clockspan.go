package interpret

import (
	"fmt"
	"slices"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/timeexpr"
)

// clockSpan reads a span of the clock at word i: "from 7 to 9 pm", "tomorrow from 7 to 9 pm".
// What begins then lasts until its end. end is i if there is none.
func (x *request) clockSpan(i int, t *timeexpr.Timing) (end int, out capabilities.Outcome, ok bool) {
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
	said := lexicon.Join(x.Tokens[i:end])
	x.explain.Leftover = lexicon.Texts(x.Tokens[i:end])
	_, _, _, sure1 := w.ReadHour(x.Tokens, from+n)
	_, _, _, sure2 := w.ReadHour(x.Tokens, first+to)
	bare := sure1 && sure2 && first == from+n+1 && last == first+to+1 && !timeexpr.PlainClock(&x.Utterance, i, end) && x.Tokens[from+n].Text[0] != '0' // "from 19 to 21" may be degrees
	lasts := !bare && timeexpr.DelayingFrom(w, x.Tokens[from:from+n]) && w.Ending.Longest(x.Tokens, first)+w.Toward.Longest(x.Tokens, first) > 0
	switch {
	case !lasts: // "between 7 and 9": some time then, or all of it
		return i, x.refuse(fmt.Sprintf("%q is a span of time; say when it begins and when it ends, like \"from 7 pm to 9 pm\"", said), nil), false
	case !t.Begin.IsZero() || t.Lasts > 0 || t.Ends:
		return i, x.refuse(fmt.Sprintf("%q: more than one time is said; say one", said), nil), false
	case x.r.Site.Unset != "":
		return i, x.refuse(fmt.Sprintf("%q: nobody knows how late it is: %s; say a length of time, or set the clock", said, x.r.Site.Unset), nil), false
	}
	begin, begins, out, ok := x.spanEnds(from+n, first+to, d, said)
	x.explain.Leftover = nil
	if !ok {
		return i, out, false
	}
	t.Begin, t.Ends, t.End = begin, true, begins
	return end, capabilities.Outcome{}, true
}

// spanEnds are the begin and end of a span of the clock whose hours stand at words i and k.
// An hour that may be before or after noon is that which makes it shorter than half a day.
func (x *request) spanEnds(i, k int, d timeexpr.Day, said string) (begin, end time.Time, out capabilities.Outcome, ok bool) {
	w, now := x.Words(), x.r.Site.Now
	if w.Sun.Longest(x.Tokens, i)+w.Sun.Longest(x.Tokens, k) > 0 {
		if d.Named {
			return begin, end, x.refuse(fmt.Sprintf("%q: say the times, and not the sun, of another day", said), nil), false
		}
		if _, begin, out, ok = x.clock(i, now); !ok {
			return begin, end, out, false
		}
		_, end, out, ok = x.clock(k, begin)
		return begin, end, out, ok
	}
	_, h1, m1, sure1 := w.ReadHour(x.Tokens, i)
	_, h2, m2, sure2 := w.ReadHour(x.Tokens, k)
	if !sure1 && !sure2 && d.Half < 0 {
		clock := func(add int) string { return fmt.Sprintf("%02d:%02d to %02d:%02d", h1%12+add, m1, (h2%12+add)%24, m2) }
		options := []string{clock(0), clock(12)}
		picked, out, ok := x.ask(capabilities.Question{Field: "time", Text: fmt.Sprintf("%q: %s?", said, lexicon.OrList(options)), Options: options})
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
		return begin, end, x.refuse(fmt.Sprintf("%q ends when it begins; say another time", said), nil), false
	}
	begin = d.At(now, h1, m1)
	if today := begin.AddDate(0, 0, -1); !d.Named && today.Add(time.Duration(length)*time.Minute).After(now) { // it is that time
		return time.Time{}, today.Add(time.Duration(length) * time.Minute), capabilities.Outcome{}, true
	}
	if !begin.After(now) {
		return begin, end, x.refuse(fmt.Sprintf("%q is over; it is %s now", said, now.Format("15:04")), nil), false
	}
	if begin, out, ok = x.changed(begin, h1, m1); !ok {
		return begin, end, out, false
	}
	return begin, begin.Add(time.Duration(length) * time.Minute), capabilities.Outcome{}, true
}
