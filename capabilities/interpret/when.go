package interpret

import (
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
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
func (x *request) times() (rest []lexicon.Token, t timing, out capabilities.Outcome, ok bool) {
	for i := 0; i < len(x.Tokens); {
		if x.IsName(i) {
			rest = append(rest, x.Tokens[i])
			i++
			continue
		}
		if x.repeats(i) {
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
		if more := x.bareNumber(end); more > end {
			return rest, t, x.refuse(fmt.Sprintf("%q is not clear; say it with its unit, like \"2 hours 30 minutes\"", lexicon.Join(x.Tokens[i:more])), nil), false
		}
		t.said = append(t.said, lexicon.Join(x.Tokens[i:end]))
		if x.between(i, end) || x.apart(i) {
			t.amid = lexicon.Join(x.Tokens[i:end])
		}
		i = end
	}
	return rest, t, capabilities.Outcome{}, true
}

// bareNumber is the end of a number at word i that counts nothing and has no unit; i if
// there is none.
func (x *request) bareNumber(i int) int {
	end := x.Words().CardinalEnd(x.Tokens, i)
	if to, _ := x.DurationAt(i); end == i || to > 0 || x.PercentAt(i) || x.howOften(i) || len(x.SlotValues("device", i)) > 0 {
		return i
	}
	return end
}

// between reports whether what stands from word i to end parts a list: there is an
// "and" or a comma beside it, and words before and behind.
func (x *request) between(i, end int) bool {
	if x.SkipArticles(0) >= i || end >= len(x.Tokens) {
		return false
	}
	return x.Words().Joining.Longest(x.Tokens, end) > 0 || x.Words().Joining.Longest(x.Tokens, i-1) > 0 || x.Tokens[end].Pause || x.Tokens[i].Pause
}

// apart reports whether a pause stands between what is named before word i: "turn off the
// stove, the fan at 9 pm".
func (x *request) apart(i int) bool {
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

// immediate is a word of the text that says at once, "" if there is none.
func (x *request) immediate(tokens []lexicon.Token) string {
	for i := range tokens {
		if n := x.r.Catalog.Context.AtOnce.Longest(tokens, i); n > 0 {
			return lexicon.Join(tokens[i : i+n])
		}
	}
	return ""
}

// repeats reports whether word i says that something comes again and again: "every
// morning", "daily", "every two hours", "twice a day", "mondays".
func (x *request) repeats(i int) bool {
	w := x.Words()
	if w.Repeating.Longest(x.Tokens, i) > 0 {
		return true
	}
	if t := x.Tokens[i]; t.Text != t.Folded && x.weekday(t) {
		return true
	}
	if n := w.All.Longest(x.Tokens, i); n > 0 && w.AnyOne.Longest(x.Tokens, i) == 0 {
		end := i + n
		end += w.Other.Longest(x.Tokens, end)
		return x.period(max(end, w.CardinalEnd(x.Tokens, end)))
	}
	end, n := x.often(i)
	if n == 0 && x.Tokens[i].Text == "once" {
		end, n = i+1, 1
	}
	per := 0
	if n > 0 {
		per = w.Per.Longest(x.Tokens, end)
	}
	return per > 0 && x.period(end+per)
}

// period reports whether a word for a part of the calendar or a unit of time stands at
// i.
func (x *request) period(i int) bool {
	w := x.Words()
	return i < len(x.Tokens) && (w.Times.Longest(x.Tokens, i) > 0 || w.Units[x.Tokens[i].Folded] > 0)
}

// weekday reports whether a word is the name of a day of the week.
func (x *request) weekday(t lexicon.Token) bool {
	_, is := x.Words().Weekday[t.Folded]
	return is
}

// recurring is why that is not done.
func (x *request) recurring(i int) string {
	x.explain.Leftover = lexicon.Texts(x.Tokens[i:])
	return fmt.Sprintf("%q: a request is done once; what comes again and again needs schedules, and none are configured here", lexicon.Join(x.Tokens[i:]))
}

// time reads what is said of time from word i on, and returns its end, i if
// nothing is.
func (x *request) time(i int, t *timing) (int, capabilities.Outcome, bool) {
	w := x.Words()
	twice := func() (int, capabilities.Outcome, bool) {
		return i, x.refuse(fmt.Sprintf("%q: more than one time is said; say one", strings.Join(append(t.said, x.Tokens[i].Text), " ... ")), nil), false
	}
	if n := w.Delaying.Longest(x.Tokens, i); n > 0 {
		if end, d := x.some(i + n); end > 0 {
			if !t.begin.IsZero() {
				return twice()
			}
			t.begin = x.r.Site.Now.Add(d)
			return end, capabilities.Outcome{}, true
		}
	}
	if end, d := x.DurationAt(i); end > 0 {
		if n := w.FromNow.Longest(x.Tokens, end); n > 0 {
			if !t.begin.IsZero() {
				return twice()
			}
			t.begin = x.r.Site.Now.Add(d)
			return end + n, capabilities.Outcome{}, true
		}
	}
	if n := w.Lasting.Longest(x.Tokens, i); n > 0 {
		if end, d := x.some(i + n); end > 0 {
			if t.lasts > 0 || t.ends {
				return twice()
			}
			t.lasts = d
			return end, capabilities.Outcome{}, true
		}
	}
	if n := w.Ending.Longest(x.Tokens, i); n > 0 {
		end, at, out, ok := x.moment(i + n)
		if !ok || end == 0 {
			return i, out, end == 0
		}
		if t.lasts > 0 || t.ends {
			return twice()
		}
		t.ends, t.end = true, at
		return end, capabilities.Outcome{}, true
	}
	at := i + w.Exactly.Longest(x.Tokens, i)
	at += w.At.Longest(x.Tokens, at)
	at += w.Exactly.Longest(x.Tokens, at)
	if at == i && !x.plainMoment(i, min(len(x.Tokens), i+maxClock)) {
		return i, capabilities.Outcome{}, true
	}
	end, begin, out, ok := x.moment(at)
	switch {
	case !ok:
		return i, out, false
	case end == 0 || at == i && !x.plainMoment(at, end):
		return i, capabilities.Outcome{}, true
	case !t.begin.IsZero():
		return twice()
	}
	t.begin = begin
	return end, capabilities.Outcome{}, true
}

// moment reads a time of the clock at word i, or one before or after it: "ten minutes
// before sunset". end is 0 if there is none.
func (x *request) moment(i int) (end int, at time.Time, out capabilities.Outcome, ok bool) {
	now := x.r.Site.Now
	behind, d := x.beside(i)
	if behind == i {
		return x.clock(i, now)
	}
	// The one that is meant is the next of which d before, or after, is to come.
	if end, at, out, ok = x.clock(behind, now.Add(-d)); !ok || end == 0 {
		return end, at, out, ok
	}
	return end, at.Add(d), capabilities.Outcome{}, true
}

// beside reads how long before or after a time of the clock at word i, and returns
// where that begins, i if there is no such thing, and how long after.
func (x *request) beside(i int) (int, time.Duration) {
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

// plainMoment reports whether words are a time without "at" before them.
func (x *request) plainMoment(i, end int) bool {
	behind, _ := x.beside(i)
	return behind > i || x.plainClock(i, end)
}

// some is a length of time at word i that is not meant to the second: "about five minutes",
// "five minutes or so".
func (x *request) some(i int) (end int, d time.Duration) {
	if end, d = x.DurationAt(i + x.Words().Roughly.Longest(x.Tokens, i)); end > 0 {
		end += x.Words().Exactly.Longest(x.Tokens, end)
	}
	return end, d
}

// nearlyADay is from how long on until a time of the clock somebody may have meant the
// time that is over.
const nearlyADay = 18 * time.Hour

// later puts what was said of time into a plan.
func (x *request) later(p *capabilities.Plan, t timing) (capabilities.Outcome, bool) {
	now := x.r.Site.Now
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
				one.Summary = strings.TrimSuffix(one.Summary, fmt.Sprintf(", for %s at most", capabilities.DurationText(one.For)))
				if out, ok := x.lastingFor(one, lasts); !ok {
					return out, false
				}
				continue
			}
			on, _ := one.Args.Get("on")
			if one.Command != capabilities.SetSwitch || on != true || one.For > 0 && one.For != lasts {
				return x.refuse(fmt.Sprintf("%q is a length of time, and that cannot be kept here; only what is switched on can be for a time", strings.Join(t.said, " ")), nil), false
			}
			one.For = lasts
			one.Summary += " for " + capabilities.DurationText(lasts)
		}
		if len(p.Steps) > 0 {
			*p = capabilities.Sequence(p.Steps)
		}
	}
	if !t.begin.IsZero() {
		p.NotBefore = t.begin
		p.Summary += fmt.Sprintf(", on %s", t.begin.Format("Monday 2 January at 15:04:05"))
	}
	return capabilities.Outcome{}, true
}
