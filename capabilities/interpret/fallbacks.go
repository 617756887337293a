package interpret

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/capabilities/timeexpr"
	"github.com/messkit/messkit/mess"
)

// parseFallbacks reads a text that matches no sentence: as several orders, as an order with
// a time, and by its words.
func (x *request) parseFallbacks() (capabilities.Outcome, bool) { return x.firstOf(fallbacks) }

// parseTimed reads a text without its times, and puts the times into the plan.
func (x *request) parseTimed() (capabilities.Outcome, bool) {
	if x.r.Site.Now.IsZero() {
		return x.parseWithoutTime()
	}
	all := x.Tokens
	rest, t, out, ok := x.ReadTimes()
	switch {
	case !ok && out.Question != nil && !x.hasMeaning():
		return capabilities.Outcome{}, false // "ten past seven" asks for nothing
	case !ok:
		x.noteSubject(rest)
		return out, true
	case len(t.Phrases) == 0:
		return x.parseWithoutTime()
	}
	x.ReadOnly(rest)
	out, ok = capabilities.Outcome{}, false
	if able := x.Executable(x.Hypotheses); len(able) > 0 {
		out, ok = x.Choose(able), true
	} else if out, ok = x.try((*request).parseWait); !ok {
		out, ok = x.parseWithoutTime()
	}
	switch {
	case !ok && len(t.Phrases) == 1 && x.OnlyNameText() != "": // "hall light at 20"
		x.ReadOnly(all)
		return x.parseFrames()
	case !ok && len(x.Hypotheses) > 0: // without the time it is a sentence that no device can do
		return x.RejectUnable(), true
	case !ok:
		return out, false
	case out.Plan == nil:
		return withRequestWords(out, strings.Join(t.Phrases, " ")), true
	}
	p := *out.Plan
	if atOnce := timeexpr.AtOnceWord(&x.Utterance, rest); atOnce != "" && (!t.Begin.IsZero() || t.BeforeAnd != "") && p.Actuates() {
		return x.Reject(fmt.Sprintf("%q and %q are two times; make a request for each", atOnce, strings.Join(t.Phrases, " ")), nil), true
	}
	if no, ok := x.setTimes(&p, t); !ok {
		return no, true
	}
	if length := p.Each()[0].For; t.Ends && length >= timeexpr.PastTimeDoubt && p.Actuates() {
		return x.AskConfirmation(p, fmt.Sprintf("%q is %s, until %s: ", strings.Join(t.Phrases, " "), capabilities.DurationText(length), resolve.OnDay(p.BeginTime(x.r.Site.Now).Add(length)))), true
	}
	areas, _ := p.Args.Get("areas")
	rooms, _ := lexicon.TextList(areas)
	if t.BeforeAnd != "" && (len(p.Steps) > 0 || len(rooms) > 1) && p.Actuates() {
		return x.AskConfirmation(p, fmt.Sprintf("%q may be for one device only: ", t.BeforeAnd)), true
	}
	return capabilities.Outcome{Plan: &p}, true
}

// parseCausative reads the wish to make a device do something as the order for that: "have the
// vacuum pause" is "pause the vacuum". The order must match a sentence.
func (x *request) parseCausative() (capabilities.Outcome, bool) {
	start := x.SkipArticles(0)
	n := x.Words().Causing.Longest(x.Tokens, start)
	from := x.SkipArticles(start + n)
	if n == 0 || from >= len(x.Tokens) {
		return capabilities.Outcome{}, false
	}
	end := x.LongestSlot("device", from)
	verb := end
	if verb < len(x.Tokens) && x.Tokens[verb].Text == "to" {
		verb++
	}
	if end == from || verb >= len(x.Tokens) || x.Tokens[end].Pause || !x.r.Catalog.Vocabulary[x.Tokens[verb].Folded] {
		return capabilities.Outcome{}, false
	}
	x.ReadOnly(slices.Concat(x.Tokens[verb:verb+1], x.Tokens[from:end], x.Tokens[verb+1:]))
	if able := x.Executable(x.Hypotheses); len(able) > 0 {
		return x.Choose(able), true
	}
	return capabilities.Outcome{}, false
}

// hasMeaning reports whether a word of the text orders something or names something of this
// home.
func (x *request) hasMeaning() bool {
	l := &x.r.Catalog.Frames
	return slices.ContainsFunc(x.Tokens, func(t lexicon.Token) bool {
		return l.OrderWords[t.Folded] || l.ActWords[t.Folded] || l.NamingWords[t.Folded] || x.r.Names.Words[t.Folded]
	})
}

// noteSubject notes the capability of a text whose time is unclear.
func (x *request) noteSubject(rest []lexicon.Token) {
	x.ReadOnly(rest)
	if able := x.Executable(x.Hypotheses); len(able) > 0 {
		x.Explain.Capability = able[0].Capability.ID
	} else if out, ok := x.parseWithoutTime(); ok && out.Refusal == nil {
		return // it is noted
	}
}

// parseWithoutTime reads a text without times by its words.
func (x *request) parseWithoutTime() (capabilities.Outcome, bool) {
	if _, bad := x.Constrained(); bad {
		return capabilities.Outcome{}, false
	}
	return x.parseFrames()
}

// parseFrames reads a text that matches no sentence by its words in any order. If the text
// has several meanings, the interpreter asks. A text with a word left over has no such
// hypothesis.
func (x *request) parseFrames() (capabilities.Outcome, bool) {
	if x.Message.Precision == mess.Exact || x.MaxSkips == 0 && !x.KnowsAllWords() {
		return capabilities.Outcome{}, false
	}
	all, bare := x.Tokens, x.OnlyNameText()
	x.SetTokens(x.Words().Bare(all))
	f := frame.Parser{Text: &x.Utterance, Skips: x.MaxSkips}
	ways := f.Readings()
	list := x.FrameHypotheses(ways)
	if len(list) == 0 {
		if out, ok := x.parseTwoValues(ways); ok {
			return out, true
		}
		x.SetTokens(all)
		return capabilities.Outcome{}, false
	}
	able := x.Executable(list)
	if x.MaxSkips > 0 && len(able) > 0 {
		able = x.FewestSkipped(able)
	}
	if len(able) > 0 && slices.ContainsFunc(list, x.leavesDeviceOut) {
		able[0].Doubt = cmp.Or(able[0].Doubt, "the order may be for other devices")
	}
	if len(able) > 0 && x.isForSpeaker(all) {
		for i := range able {
			able[i].Doubt = cmp.Or(able[i].Doubt, "the text may ask to tell, show or allow something, and not to do it")
		}
	}
	if len(able) == 0 && x.MaxSkips == 0 {
		if out, ok := x.parseEachDevice(list); ok {
			return out, true
		}
	}
	switch {
	case len(able) > 0 && bare != "":
		able[0].Doubt = fmt.Sprintf("%q may be a name", bare)
		able = able[:1]
	case len(able) > 0:
	case len(x.Hypotheses) > 0:
		x.SetTokens(all)
		return capabilities.Outcome{}, false // the refusal of a sentence says more
	case x.Message.Precision == mess.Loose:
		return capabilities.Outcome{}, false // a query is possible
	default:
		x.Hypotheses = list
		return x.RejectUnable(), true
	}
	return x.Choose(able), true
}

// isForSpeaker reports whether a text is about an act or view of the speaker: "tell me to turn it
// on", "show me the door open".
func (x *request) isForSpeaker(tokens []lexicon.Token) bool {
	l := &x.r.Catalog.Frames
	for i := 0; i+1 < len(tokens); i++ {
		if x.Words().Telling.Longest(tokens, i) > 0 {
			return true
		}
		if n := x.Words().ToSpeaker.Longest(tokens, i); n > 0 && i+n < len(tokens) {
			next := tokens[i+n].Folded
			if next == "to" || l.OrderWords[next] || l.ActWords[next] {
				return true
			}
		}
	}
	return false
}

// askForOrder asks what the requester wants a device to do that the text names without an
// order.
func (r *Interpreter) askForOrder(req mess.Request, given mess.Object) (capabilities.Outcome, bool) {
	x := r.newRequest(req, given)
	if req.Precision == mess.Exact || len(req.Requires) > 0 || len(req.Intent) > lexicon.MaxText {
		return capabilities.Outcome{}, false
	}
	x.Tokens = x.withoutListNumber(x.Words().Tokens(req.Intent))
	x.IsQuestion = x.Words().IsQuestion(req.Intent, x.Tokens)
	m := x.OnlyName("device")
	if m == nil || len(m.Devices) != 1 || len(x.Tokens) > lexicon.MaxTokens {
		return capabilities.Outcome{}, false
	}
	options := r.understoodOrders(m.Devices[0], x.IsQuestion)
	if len(options) == 0 {
		return capabilities.Outcome{}, false
	}
	options = append(options[:min(len(options), resolve.MaxGuesses)], capabilities.NoneOfThese)
	text := fmt.Sprintf("%q is a name without an order: %s?", lexicon.Join(x.Tokens[x.SkipArticles(0):m.End]), lexicon.OrList(options))
	picked, out, ok := x.AskClarification(capabilities.Clarification{Field: "order", Text: text, Options: options})
	switch {
	case !ok:
		return out, true
	case len(picked) != 1 || picked[0] == capabilities.NoneOfThese:
		return x.Reject("the answer picks none of the options; say it in other words", nil), true
	}
	req.Intent = picked[0]
	return r.resolveText(req, given), true
}

// setTimes puts the times of the text into a plan.
func (x *request) setTimes(p *capabilities.Plan, t timeexpr.Timing) (capabilities.Outcome, bool) {
	now := x.r.Site.Now
	if !t.Begin.IsZero() && t.Begin.Sub(now) > timeexpr.MaxAhead {
		return x.Reject(fmt.Sprintf("%q is more than a day ahead; put it into constraints.timing.not_before, which the exchange keeps, and leave the words out", strings.Join(t.Phrases, " ")), nil), false
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
			if limit, _ := one.Args.Get("limit"); one.Command.IsWait() && limit == "default" {
				one.Summary = strings.TrimSuffix(one.Summary, fmt.Sprintf(", for %s at most", capabilities.DurationText(one.For)))
				if out, ok := x.LastingFor(one, lasts); !ok {
					return out, false
				}
				continue
			}
			on, _ := one.Args.Get("on")
			if one.Command != capabilities.SetSwitch || on != true || one.For > 0 && one.For != lasts {
				return x.Reject(fmt.Sprintf("%q is a length of time; only an order that turns something on can have one", strings.Join(t.Phrases, " ")), nil), false
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
