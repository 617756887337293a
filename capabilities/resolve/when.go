package resolve

import (
	"fmt"
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
		t.Said = append(t.Said, lexicon.Join(x.Tokens[i:end]))
		if timeexpr.SeparatesList(&x.Utterance, i, end) || timeexpr.HasPauseBetweenNames(&x.Utterance, i) {
			t.Amid = lexicon.Join(x.Tokens[i:end])
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
		return i, x.Reject(fmt.Sprintf("%q: the text has more than one time; say one", strings.Join(append(t.Said, x.Tokens[i].Text), " ... ")), nil), false
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
	// The one that is meant is the next of which d before, or after, is to come.
	if end, at, out, ok = x.readClock(behind, now.Add(-d)); !ok || end == 0 {
		return end, at, out, ok
	}
	return end, at.Add(d), capabilities.Outcome{}, true
}
