package interpret

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/capabilities/timeexpr"
)

// maxLost is how many words a text may have that are not understood and still
// be asked about: one with more is about something else.
const maxLost = 4

// almost reads an order in which something is not understood, or has no meaning
// here: a word that nobody knows ("the security light"), and what is said behind
// the order ("when I get home", "to charge my phone"). It never acts on that: it
// asks whether what is left is meant, and names what it would leave out. What
// forbids, reports or asks how is no such order.
func (x *request) almost() (capabilities.Outcome, bool) {
	if out, ok := x.misspelt(); ok {
		return out, true
	}
	if !x.hasOrder() {
		return capabilities.Outcome{}, false
	}
	all, readings, explain := x.Tokens, x.Readings, x.Explain
	again := func(tokens []lexicon.Token, lost []string, skips int) (capabilities.Outcome, bool) {
		x.SetTokens(tokens)
		x.Readings = nil
		x.UnknownWords, x.MaxSkips = lost, skips
		if skips == 0 && x.BareName() != "" { // "vacuum" of "vacuum the garden"
			return capabilities.Outcome{}, false
		}
		if out, ok := x.without(); ok && len(x.UnknownWords) > 0 && out.Refusal == nil {
			x.Explain.Leftover = x.UnknownWords
			return out, true
		}
		x.Explain = explain
		return capabilities.Outcome{}, false
	}
	for i := range all { // a number without its unit is another, and so is half of a range
		if !x.IsName(i) && (x.RangeEnd(i) > i || x.UnknownUnit(i) != "") {
			return capabilities.Outcome{}, false
		}
	}
	if order, remark := x.remark(); order != nil {
		if out, ok := x.remarked(order, remark); ok {
			return out, true
		}
		if out, ok := again(order, []string{remark}, 0); ok {
			return out, true
		}
		x.SetTokens(all)
		x.Readings, x.UnknownWords, x.MaxSkips = readings, nil, 0
	}
	from, kept := x.strangeFrom()
	if !kept || slices.ContainsFunc(readings, x.fits) { // what is understood whole, and cannot be done, is nothing less
		return capabilities.Outcome{}, false
	}
	if !x.anyForeign() {
		if out, ok := again(all, nil, maxLost); ok {
			return out, true
		}
	}
	if x.Words().Conditionals.Longest(all, 0) > 0 { // "when I get home, turn on the light"
		for i := 2; i < len(all); i++ {
			if !x.r.Catalog.Frames.OrderWords[all[i].Folded] {
				continue
			}
			if out, ok := again(all[i:], []string{lexicon.Join(all[:i])}, 0); ok {
				return out, true
			}
		}
	}
	for end := from; end >= 2 && !frame.HasValue(&x.Utterance, end); end-- {
		if frame.HasNumber(&x.Utterance, end) {
			break
		}
		if out, ok := again(all[:end:end], []string{lexicon.Join(all[end:])}, 0); ok {
			return out, true
		}
		if !x.r.Catalog.Frames.LooseWords[all[end-1].Folded] {
			break
		}
	}
	x.SetTokens(all)
	x.Readings = readings
	x.UnknownWords, x.MaxSkips = nil, 0
	return capabilities.Outcome{}, false
}

// without reads what is left as a sentence, else by its words.
func (x *request) without() (capabilities.Outcome, bool) {
	if x.MaxSkips == 0 {
		x.Read()
		acts := slices.DeleteFunc(x.Able(x.Readings), func(rd resolve.Hypothesis) bool { return rd.Capability.Effect == capabilities.Query })
		if len(acts) > 0 {
			return x.Choose(acts), true
		}
		x.Readings = nil
	}
	return x.frames()
}

// hasOrder reports whether the text has a word that orders something and one that
// names or stands for something here, and nothing that makes it no order.
func (x *request) hasOrder() bool {
	w, c := x.Words(), x.r.Catalog
	waits := w.Conditionals.Longest(x.Tokens, 0) > 0 && !strings.Contains(x.Message.Intent, "?") // "when I get home, turn on the light"
	if x.part || x.IsQuestion && !waits || x.Demand.Capabilities != nil || x.Message.Precision != "" && x.Message.Precision != "guided" || len(x.Tokens) > maxAlmost {
		return false
	}
	order, thing := false, false
	for i, t := range x.Tokens {
		if frame.HasOpposites(&x.Utterance, i) {
			return false
		}
		if w.Negations.Longest(x.Tokens, i) > 0 || w.Reported.Longest(x.Tokens, i) > 0 || timeexpr.Recurs(&x.Utterance, i) {
			return false
		}
		order = order || c.Frames.OrderWords[t.Folded] || c.Frames.ActWords[t.Folded]
		thing = thing || x.r.Names.Words[t.Folded] || c.Frames.NamingWords[t.Folded]
	}
	return order && thing
}

// remark parts an order from what is said beside it, behind a comma or a full stop, and
// orders nothing: "I'm in the driveway, open the garage door". order is nil if there is no
// such thing.
func (x *request) remark() (order []lexicon.Token, said string) {
	for i := 2; i+1 < len(x.Tokens); i++ {
		if !x.Tokens[i].Pause {
			continue
		}
		before, behind := x.Tokens[:i:i], x.Tokens[i:]
		tells := func(tokens []lexicon.Token) bool {
			return !x.commands(tokens) || x.r.describes(lexicon.Join(tokens), &capabilities.Plan{Risk: capabilities.RiskComfort})
		}
		switch {
		case frame.OpensOrder(&x.Utterance, i) && tells(before):
			return behind, lexicon.Join(before)
		case x.commands(before) && tells(behind):
			return before, lexicon.Join(behind)
		}
	}
	return nil, ""
}

// remarked carries out an order beside which a remark stands that only tells how things
// are, as beside a request: "it's dark, turn on the porch light". What is refused for the
// order alone is so with it.
func (x *request) remarked(order []lexicon.Token, remark string) (capabilities.Outcome, bool) {
	req := x.Message
	req.Intent = withPauses(order)
	o := x.r.said(req, x.Given)
	if o.Plan == nil && o.Refusal == nil || len(o.Explain.Leftover) > 0 {
		return capabilities.Outcome{}, false
	}
	if o.Refusal != nil {
		if !x.r.describes(remark, &capabilities.Plan{Risk: capabilities.RiskComfort}) {
			return capabilities.Outcome{}, false
		}
		x.Explain = o.Explain
		return o, true
	}
	if len(o.Plan.Steps) > 0 || x.r.limits(remark) || !x.r.describes(remark, o.Plan) {
		return capabilities.Outcome{}, false
	}
	p := *o.Plan
	p.Unused = append(p.Unused, remark)
	x.Explain = o.Explain
	return capabilities.Outcome{Plan: &p}, true
}

// commands reports whether the words order something, limit what is done, or say
// when.
func (x *request) commands(tokens []lexicon.Token) bool {
	y := &request{r: x.r, Request: resolve.Request{Resolver: &x.r.Resolver, Utterance: entity.Utterance{Home: &x.r.Home, Tokens: tokens}}}
	l, w := &x.r.Catalog.Frames, x.Words()
	for i, t := range tokens {
		if l.OrderWords[t.Folded] || l.ActWords[t.Folded] && x.r.Catalog.Context.Being.Longest(tokens, i) == 0 || w.Conditionals.Longest(tokens, i) > 0 || w.Excepting.Longest(tokens, i) > 0 || timeexpr.IsDated(&y.Utterance, i) || timeexpr.BeginsTimes(&y.Utterance, i) ||
			w.CardinalEnd(tokens, i) > i || l.Colors.Longest(tokens, i) > 0 || l.Levels.Longest(tokens, i) > 0 {
			return true
		}
	}
	return false
}

// maxMisspelt is how many words of a text may be misspelt, and maxSpellings how many
// ways to mend them are tried.
const maxMisspelt, maxSpellings = 3, 8

// misspelt reads an order in which words are one letter away from words for something
// here. It asks whether those are meant. Where they may be several, and more than one
// way makes an order, it is none.
func (x *request) misspelt() (capabilities.Outcome, bool) {
	if x.IsQuestion || x.part || len(x.Tokens) > maxAlmost {
		return capabilities.Outcome{}, false
	}
	c, l := x.r.Catalog, &x.r.Catalog.Frames
	var wrong []int
	likely := false
	for i, t := range x.Tokens {
		if x.r.KnowsWord(t) || c.Vocabulary[t.Folded] || c.TimeWords[t.Folded] {
			likely = likely || l.OrderWords[t.Folded] || l.ActWords[t.Folded] || x.r.Names.Words[t.Folded] || l.NamingWords[t.Folded]
		} else if wrong = append(wrong, i); len(wrong) > maxMisspelt || x.Words().Reported.Longest(x.Tokens, i) > 0 {
			return capabilities.Outcome{}, false
		}
	}
	if len(wrong) == 0 || !likely && len(wrong) == len(x.Tokens) {
		return capabilities.Outcome{}, false
	}
	all, readings, explain := x.Tokens, x.Readings, x.Explain
	ways := [][]lexicon.Token{slices.Clone(all)}
	for _, i := range wrong {
		var next [][]lexicon.Token
		for _, way := range ways {
			for _, word := range x.r.meantBy(all[i].Folded) {
				fixed := slices.Clone(way)
				fixed[i].Text, fixed[i].Folded = word, word
				next = append(next, fixed)
			}
		}
		if ways = next; len(ways) == 0 || len(ways) > maxSpellings {
			return capabilities.Outcome{}, false
		}
	}
	var found capabilities.Outcome
	var mended request
	for _, way := range ways {
		out, ok := x.mended(way, wrong)
		if ok && mended.Tokens != nil {
			ok, mended.Tokens = false, nil
			found = capabilities.Outcome{}
			break
		}
		if ok {
			found, mended = out, *x
		}
		x.SetTokens(all)
		x.Readings, x.Explain = readings, explain
		x.UnknownWords, x.Corrections = nil, nil
	}
	if mended.Tokens == nil {
		x.SetTokens(all)
		x.Readings, x.Explain = readings, explain
		x.UnknownWords, x.Corrections = nil, nil
		return capabilities.Outcome{}, false
	}
	*x = mended
	return found, true
}

// actsBy reports whether a capability changes the world.
func (x *request) actsBy(id string) bool {
	c := x.r.Catalog.Find(id)
	return c != nil && c.Effect != capabilities.Query
}

// mended reads the order with other words in the place of those that are misspelt.
func (x *request) mended(tokens []lexicon.Token, wrong []int) (capabilities.Outcome, bool) {
	was, is := make([]string, len(wrong)), make([]string, len(wrong))
	for n, i := range wrong {
		was[n], is[n] = x.Tokens[i].Text, tokens[i].Text
	}
	x.SetTokens(tokens)
	x.Readings = nil
	if !x.hasOrder() || x.anyForeign() {
		return capabilities.Outcome{}, false
	}
	x.UnknownWords, x.Corrections = was, is
	out, ok := x.without()
	if !ok {
		if out, ok = x.Score(); ok && !x.actsBy(x.Explain.Capability) { // what only looks is told with what is nearest
			return capabilities.Outcome{}, false
		}
	}
	if !ok || out.Refusal != nil || out.Plan != nil && len(x.Given) == 0 && out.Plan.Actuates() {
		return capabilities.Outcome{}, false
	}
	x.Explain.Leftover = was
	return out, true
}

// maxAlmost is how many words a text may have to be read so: longer ones tell a
// story.
const maxAlmost = 20

// anyForeign reports whether there is a condition or a time in the text.
func (x *request) anyForeign() bool {
	for i := range x.Tokens {
		if timeexpr.IsForeign(&x.Utterance, i) {
			return true
		}
	}
	return false
}

// strangeFrom is the first word that is not understood, or cannot be kept; 0 if
// there is none behind an order. kept is false where a time stands before it.
func (x *request) strangeFrom() (i int, kept bool) {
	for i, t := range x.Tokens {
		switch {
		case x.IsName(i):
		case timeexpr.IsDated(&x.Utterance, i):
			return 0, false
		case x.Words().Conditionals.Longest(x.Tokens, i) > 0, !x.r.KnowsWord(t):
			if i >= 2 {
				return i, true
			}
		}
	}
	return 0, true
}

// meantBy are the words of names here, or of orders, that a misspelt word is a letter away
// from.
func (r *Interpreter) meantBy(word string) (list []string) {
	if len(word) < 4 {
		return nil
	}
	meant := lexicon.NewSpelling(word)
	for _, known := range [][]lexicon.Spelling{r.nameSpellings, r.Catalog.Frames.Spelled} {
		for _, one := range known {
			if one.Word[0] != word[0] && one.Word[len(one.Word)-1] != word[len(word)-1] || meant.Apart(one) > 1 || !lexicon.IsSwapped(one.Word, word) && lexicon.Distance(word, one.Word) > 1 {
				continue
			}
			if !slices.Contains(list, one.Word) {
				list = append(list, one.Word)
			}
		}
	}
	slices.Sort(list)
	return list
}

// fits reports whether a sentence is for what was named, or for a class of what is here.
func (x *request) fits(rd resolve.Hypothesis) bool {
	return x.Suits(&rd) == 1 || rd.Slot("device") == nil && x.r.Has(rd.Capability.Classes)
}
