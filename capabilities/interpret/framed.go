package interpret

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/timeexpr"
	"github.com/messkit/messkit/mess"
)

// otherwise reads a text that is no sentence: as several orders, as one with a
// time in it, and by its words.
func (x *request) otherwise() (capabilities.Outcome, bool) {
	if !x.part {
		if out, ok := x.looks(); ok {
			return out, true
		}
		if out, ok := x.either(); ok {
			return out, true
		}
		if out, ok := x.clauses(); ok {
			return out, true
		}
	}
	if out, ok := x.causing(); ok {
		return out, true
	}
	if out, ok := x.awhile(); ok {
		return out, true
	}
	if out, ok := x.howLongAtTheEnd(); ok {
		return out, true
	}
	if out, ok := x.solely(); ok {
		return out, true
	}
	if out, ok := x.exception(); ok {
		return out, true
	}
	if out, ok := x.repeated(); ok {
		return out, true
	}
	if x.r.Site.Now.IsZero() {
		return x.plainly()
	}
	all, before := x.Tokens, x.readings
	rest, t, out, ok := x.times()
	switch {
	case !ok && out.Question != nil && !x.means():
		return capabilities.Outcome{}, false // "ten past seven" asks for nothing
	case !ok:
		x.about(rest)
		return out, true
	case len(t.Said) == 0:
		return x.plainly()
	}
	x.cut(rest)
	out, ok = capabilities.Outcome{}, false
	if able := x.able(x.readings); len(able) > 0 {
		out, ok = x.choose(able), true
	} else if out, ok = x.watched(); !ok {
		out, ok = x.plainly()
	}
	switch {
	case !ok && len(t.Said) == 1 && x.BareName() != "": // "hall light at 20"
		x.cut(all)
		return x.frames()
	case !ok && len(x.readings) > 0: // without the time it is a sentence, and cannot be done
		return x.cannot(), true
	case !ok:
		x.SetTokens(all)
		x.readings = before
		return out, false
	case out.Plan == nil:
		return noting(out, strings.Join(t.Said, " ")), true
	}
	p := *out.Plan
	if said := timeexpr.AtOnceWord(&x.Utterance, rest); said != "" && (!t.Begin.IsZero() || t.Amid != "") && p.Actuates() {
		return x.refuse(fmt.Sprintf("%q and %q are two times; make a request for each", said, strings.Join(t.Said, " ")), nil), true
	}
	if no, ok := x.later(&p, t); !ok {
		return no, true
	}
	if length := p.Each()[0].For; t.Ends && length >= timeexpr.NearlyADay && p.Actuates() {
		return x.shallI(p, fmt.Sprintf("%q is %s, until %s: ", strings.Join(t.Said, " "), capabilities.DurationText(length), onDay(p.Begins(x.r.Site.Now).Add(length)))), true
	}
	areas, _ := p.Args.Get("areas")
	rooms, _ := lexicon.TextList(areas)
	if t.Amid != "" && (len(p.Steps) > 0 || len(rooms) > 1) && p.Actuates() {
		return x.shallI(p, fmt.Sprintf("%q was said of one: ", t.Amid)), true
	}
	return capabilities.Outcome{Plan: &p}, true
}

// causing reads what a thing is to be made to do as the order for that: "have the vacuum
// pause" is "pause the vacuum". It must be a whole sentence then.
func (x *request) causing() (capabilities.Outcome, bool) {
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
	all, before := x.Tokens, x.readings
	x.cut(slices.Concat(all[verb:verb+1], all[from:end], all[verb+1:]))
	if able := x.able(x.readings); len(able) > 0 {
		return x.choose(able), true
	}
	x.SetTokens(all)
	x.readings = before
	return capabilities.Outcome{}, false
}

// means reports whether a word of the text orders something or stands for something
// here.
func (x *request) means() bool {
	l := &x.r.Catalog.Frames
	return slices.ContainsFunc(x.Tokens, func(t lexicon.Token) bool {
		return l.OrderWords[t.Folded] || l.ActWords[t.Folded] || l.NamingWords[t.Folded] || x.r.Names.Words[t.Folded]
	})
}

// about notes what a text is about of which a time is asked.
func (x *request) about(rest []lexicon.Token) {
	x.cut(rest)
	if able := x.able(x.readings); len(able) > 0 {
		x.explain.Capability = able[0].Capability.ID
	} else if out, ok := x.plainly(); ok && out.Refusal == nil {
		return // it is noted
	}
}

// plainly reads a text without times by its words.
func (x *request) plainly() (capabilities.Outcome, bool) {
	if _, bad := x.constrained(); bad {
		return capabilities.Outcome{}, false
	}
	return x.frames()
}

// frames reads a text that no sentence matches by its words in any order. A text
// that may mean several things is asked about; where a word is left over there
// is no such reading.
func (x *request) frames() (capabilities.Outcome, bool) {
	if x.req.Precision == mess.Exact || x.skips == 0 && !x.knowsAll() {
		return capabilities.Outcome{}, false
	}
	all, bare := x.Tokens, x.BareName()
	x.SetTokens(x.Words().Bare(all))
	f := frame.Parser{Text: &x.Utterance, Skips: x.skips}
	ways := f.Readings()
	list := x.fitting(ways)
	if len(list) == 0 {
		if out, ok := x.bothOf(ways); ok {
			return out, true
		}
		x.SetTokens(all)
		return capabilities.Outcome{}, false
	}
	able := x.able(list)
	if x.skips > 0 && len(able) > 0 {
		able = x.fewest(able)
	}
	if len(able) > 0 && slices.ContainsFunc(list, x.leavesOut) {
		able[0].doubt = cmp.Or(able[0].doubt, "it may be meant for other things")
	}
	if len(able) > 0 && x.toMe(all) {
		for i := range able {
			able[i].doubt = cmp.Or(able[i].doubt, "it may be something to tell, show or allow, and not to do")
		}
	}
	if len(able) == 0 && x.skips == 0 {
		if out, ok := x.eachOf(list); ok {
			return out, true
		}
	}
	switch {
	case len(able) > 0 && bare != "":
		able[0].doubt = fmt.Sprintf("%q may be a name", bare)
		able = able[:1]
	case len(able) > 0:
	case len(x.readings) > 0:
		x.SetTokens(all)
		return capabilities.Outcome{}, false // what a sentence says cannot be done is told better
	case x.req.Precision == mess.Loose:
		return capabilities.Outcome{}, false // something may be looked at
	default:
		x.readings = list
		return x.cannot(), true
	}
	return x.choose(able), true
}

// toMe reports whether a text is about what the speaker is to do or see: "tell me to
// turn it on", "show me the door open".
func (x *request) toMe(tokens []lexicon.Token) bool {
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

// fewest are the readings that pass over the fewest words, and the same.
func (x *request) fewest(able []reading) []reading {
	best := slices.MinFunc(able, func(a, b reading) int { return cmp.Compare(a.pieces, b.pieces) })
	x.lost = best.lost
	return slices.DeleteFunc(able, func(rd reading) bool { return rd.pieces != best.pieces || !slices.Equal(rd.lost, best.lost) })
}

// because is what is said before a question that a doubt leads to.
func (x *request) because(rd *reading) string {
	switch {
	case x.quotes:
		return "it stands in quotation marks, as what somebody said: "
	case (rd.doubt == "" || rd.doubt == unsaid) && x.reports():
		return "it may tell what happens, or be a name: "
	case rd.doubt == "" || rd.doubt == unsaid:
		return ""
	}
	return rd.doubt + ": "
}

// unsaid is the doubt of "could the lights be dimmed": it may be a wish.
const unsaid = "unsaid"

// knowsAll reports whether every word could be part of a reading: most texts
// that are about other things have one that is not.
func (x *request) knowsAll() bool {
	if len(x.Tokens) == 0 {
		return false
	}
	for _, t := range x.Tokens {
		if !x.r.KnowsWord(t) {
			return false
		}
	}
	return true
}

// strange reports whether the text has a word that no sentence and no name here
// has, and no time.
func (x *request) strange() bool {
	for _, t := range x.Tokens {
		if !x.r.KnowsWord(t) && !x.r.Catalog.Vocabulary[t.Folded] && !x.r.Catalog.TimeWords[t.Folded] {
			return true
		}
	}
	return false
}
