package interpret

import (
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/timeexpr"
)

// times takes what is said of time out of the text. The refusal or question is
// of a time that cannot be kept or is not clear.
func (x *request) times() (rest []lexicon.Token, t timeexpr.Timing, out capabilities.Outcome, ok bool) {
	for i := 0; i < len(x.Tokens); {
		if x.IsName(i) {
			rest = append(rest, x.Tokens[i])
			i++
			continue
		}
		if timeexpr.Recurs(&x.Utterance, i) {
			return rest, t, x.refuse(x.recurring(i), nil), false
		}
		if end := x.RangeEnd(i); end > i {
			x.explain.Leftover = lexicon.Texts(x.Tokens[i:end])
			return rest, t, x.refuse(fmt.Sprintf("%q is a range; say one number of it", lexicon.Join(x.Tokens[i:end])), nil), false
		}
		end, out, ok := x.clockSpan(i, &t)
		if ok && end == i {
			end, out, ok = x.time(i, &t)
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
			return rest, t, x.refuse(fmt.Sprintf("%q is not clear; say it with its unit, like \"2 hours 30 minutes\"", lexicon.Join(x.Tokens[i:more])), nil), false
		}
		t.Said = append(t.Said, lexicon.Join(x.Tokens[i:end]))
		if timeexpr.SeparatesList(&x.Utterance, i, end) || timeexpr.HasPauseBetweenNames(&x.Utterance, i) {
			t.Amid = lexicon.Join(x.Tokens[i:end])
		}
		i = end
	}
	return rest, t, capabilities.Outcome{}, true
}

// recurring is why that is not done.
func (x *request) recurring(i int) string {
	x.explain.Leftover = lexicon.Texts(x.Tokens[i:])
	return fmt.Sprintf("%q: a request is done once; what comes again and again needs schedules, and none are configured here", lexicon.Join(x.Tokens[i:]))
}

// time reads what is said of time from word i on, and returns its end, i if
// nothing is.
func (x *request) time(i int, t *timeexpr.Timing) (int, capabilities.Outcome, bool) {
	w := x.Words()
	twice := func() (int, capabilities.Outcome, bool) {
		return i, x.refuse(fmt.Sprintf("%q: more than one time is said; say one", strings.Join(append(t.Said, x.Tokens[i].Text), " ... ")), nil), false
	}
	if n := w.Delaying.Longest(x.Tokens, i); n > 0 {
		if end, d := timeexpr.ApproximateDuration(&x.Utterance, i+n); end > 0 {
			if !t.Begin.IsZero() {
				return twice()
			}
			t.Begin = x.r.Site.Now.Add(d)
			return end, capabilities.Outcome{}, true
		}
	}
	if end, d := x.DurationAt(i); end > 0 {
		if n := w.FromNow.Longest(x.Tokens, end); n > 0 {
			if !t.Begin.IsZero() {
				return twice()
			}
			t.Begin = x.r.Site.Now.Add(d)
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
		end, at, out, ok := x.moment(i + n)
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
	end, begin, out, ok := x.moment(at)
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

// moment reads a time of the clock at word i, or one before or after it: "ten minutes
// before sunset". end is 0 if there is none.
func (x *request) moment(i int) (end int, at time.Time, out capabilities.Outcome, ok bool) {
	now := x.r.Site.Now
	behind, d := timeexpr.OffsetAt(&x.Utterance, i)
	if behind == i {
		return x.clock(i, now)
	}
	// The one that is meant is the next of which d before, or after, is to come.
	if end, at, out, ok = x.clock(behind, now.Add(-d)); !ok || end == 0 {
		return end, at, out, ok
	}
	return end, at.Add(d), capabilities.Outcome{}, true
}

// later puts what was said of time into a plan.
func (x *request) later(p *capabilities.Plan, t timeexpr.Timing) (capabilities.Outcome, bool) {
	now := x.r.Site.Now
	if !t.Begin.IsZero() && t.Begin.Sub(now) > timeexpr.MaxAhead {
		return x.refuse(fmt.Sprintf("%q is more than a day ahead; put it into constraints.timing.not_before, which is kept whatever happens here, and leave the words out", strings.Join(t.Said, " ")), nil), false
	}
	begin := t.Begin
	if begin.IsZero() {
		begin = now
	}
	lasts := t.Lasts
	if t.Ends {
		if !t.End.After(begin) {
			t.End = t.End.AddDate(0, 0, 1)
		}
		lasts = t.End.Sub(begin).Round(time.Second)
	}
	if lasts > 0 {
		for i := range p.Each() {
			one := p
			if len(p.Steps) > 0 {
				one = &p.Steps[i]
			}
			if limit, _ := one.Args.Get("limit"); one.Command.Watches() && limit == "default" {
				one.Summary = strings.TrimSuffix(one.Summary, fmt.Sprintf(", for %s at most", capabilities.DurationText(one.For)))
				if out, ok := x.lastingFor(one, lasts); !ok {
					return out, false
				}
				continue
			}
			on, _ := one.Args.Get("on")
			if one.Command != capabilities.SetSwitch || on != true || one.For > 0 && one.For != lasts {
				return x.refuse(fmt.Sprintf("%q is a length of time, and that cannot be kept here; only what is switched on can be for a time", strings.Join(t.Said, " ")), nil), false
			}
			one.For = lasts
			one.Summary += " for " + capabilities.DurationText(lasts)
		}
		if len(p.Steps) > 0 {
			*p = capabilities.Sequence(p.Steps)
		}
	}
	if !t.Begin.IsZero() {
		p.NotBefore = t.Begin
		p.Summary += fmt.Sprintf(", on %s", t.Begin.Format("Monday 2 January at 15:04:05"))
	}
	return capabilities.Outcome{}, true
}
