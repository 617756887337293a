package interpret

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/capabilities/timeexpr"
)

// maxLost is the largest number of unknown words in a text that the interpreter still asks
// about. A text with more is about something else.
const maxLost = 4

// recoverUnknown reads an order with a part that the interpreter does not understand or cannot do.
// The part is an unknown word ("the security light"), or a clause behind the order ("when I get
// home", "to charge my phone"). The interpreter never acts on it. It asks whether the requester
// means the rest of the order, and names what it would leave out. A text that forbids, reports, or
// asks how is no such order.
func (x *request) recoverUnknown() (capabilities.Outcome, bool) {
	if out, ok := x.recoverMisspelling(); ok {
		return out, true
	}
	if !x.hasOrder() {
		return capabilities.Outcome{}, false
	}
	all, explain := x.Tokens, x.Explain
	again := func(tokens []lexicon.Token, lost []string, skips int) (capabilities.Outcome, bool) {
		return x.try(func(x *request) (capabilities.Outcome, bool) {
			x.SetTokens(tokens)
			x.Hypotheses = nil
			x.UnknownWords, x.MaxSkips = lost, skips
			if skips == 0 && x.OnlyNameText() != "" { // "vacuum" of "vacuum the garden"
				return capabilities.Outcome{}, false
			}
			out, ok := x.parseRest()
			if !ok || len(x.UnknownWords) == 0 || out.Refusal != nil {
				x.Explain = explain
				return capabilities.Outcome{}, false
			}
			x.Explain.Leftover = x.UnknownWords
			return out, true
		})
	}
	for i := range all { // a number without its unit is another, and so is half of a range
		if !x.IsName(i) && (x.RangeEnd(i) > i || x.UnknownUnit(i) != "") {
			return capabilities.Outcome{}, false
		}
	}
	if order, remark := x.splitRemark(); order != nil {
		if out, ok := x.parseWithRemark(order, remark); ok {
			return out, true
		}
		if out, ok := again(order, []string{remark}, 0); ok {
			return out, true
		}
	}
	from, kept := x.firstUnknown()
	if !kept || slices.ContainsFunc(x.Hypotheses, x.fits) { // the interpreter understands the whole text, and no device can do it
		return capabilities.Outcome{}, false
	}
	if !x.hasConditionOrTime() {
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
	return capabilities.Outcome{}, false
}

// parseRest reads the rest of the text as a sentence, otherwise by its words.
func (x *request) parseRest() (capabilities.Outcome, bool) {
	if x.MaxSkips == 0 {
		x.FindHypotheses()
		acts := slices.DeleteFunc(x.Executable(x.Hypotheses), func(rd resolve.Hypothesis) bool { return rd.Capability.Effect == capabilities.Query })
		if len(acts) > 0 {
			return x.Choose(acts), true
		}
		x.Hypotheses = nil
	}
	return x.parseFrames()
}

// hasOrder reports whether the text has an order word and the name of something in this
// home, and nothing that shows that it is no order.
func (x *request) hasOrder() bool {
	w, c := x.Words(), x.r.Catalog
	waits := w.Conditionals.Longest(x.Tokens, 0) > 0 && !strings.Contains(x.Message.Intent, "?") // "when I get home, turn on the light"
	if x.part || x.IsQuestion && !waits || x.Demand.Capabilities != nil || x.Message.Precision != "" && x.Message.Precision != "guided" || len(x.Tokens) > maxRecovered {
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

// splitRemark splits an order from a remark before or behind it, with a comma or a full stop
// between them: "I'm in the driveway, open the garage door". The remark orders nothing. The
// result order is nil if there is no remark.
func (x *request) splitRemark() (order []lexicon.Token, remark string) {
	for i := 2; i+1 < len(x.Tokens); i++ {
		if !x.Tokens[i].Pause {
			continue
		}
		before, behind := x.Tokens[:i:i], x.Tokens[i:]
		tells := func(tokens []lexicon.Token) bool {
			return !x.hasCommand(tokens) || x.r.isDescription(lexicon.Join(tokens), &capabilities.Plan{Risk: capabilities.RiskComfort})
		}
		switch {
		case frame.OpensOrder(&x.Utterance, i) && tells(before):
			return behind, lexicon.Join(before)
		case x.hasCommand(before) && tells(behind):
			return before, lexicon.Join(behind)
		}
	}
	return nil, ""
}

// parseWithRemark carries out an order with a remark that only describes a state, like a
// line of context: "it's dark, turn on the porch light". A refusal of the order alone holds
// for the order with its remark, too.
func (x *request) parseWithRemark(order []lexicon.Token, remark string) (capabilities.Outcome, bool) {
	req := x.Message
	req.Intent = withPauses(order)
	o := x.r.resolveText(req, x.Given)
	if o.Plan == nil && o.Refusal == nil || len(o.Explain.Leftover) > 0 {
		return capabilities.Outcome{}, false
	}
	if o.Refusal != nil {
		if !x.r.isDescription(remark, &capabilities.Plan{Risk: capabilities.RiskComfort}) {
			return capabilities.Outcome{}, false
		}
		x.Explain = o.Explain
		return o, true
	}
	if len(o.Plan.Steps) > 0 || x.r.isLimit(remark) || !x.r.isDescription(remark, o.Plan) {
		return capabilities.Outcome{}, false
	}
	p := *o.Plan
	p.Unused = append(p.Unused, remark)
	x.Explain = o.Explain
	return capabilities.Outcome{Plan: &p}, true
}

// hasCommand reports whether the words order something, limit an act, or say when.
func (x *request) hasCommand(tokens []lexicon.Token) bool {
	y := x.r.withTokens(tokens)
	l, w := &x.r.Catalog.Frames, x.Words()
	for i, t := range tokens {
		if l.OrderWords[t.Folded] || l.ActWords[t.Folded] && x.r.Catalog.Context.Being.Longest(tokens, i) == 0 || w.Conditionals.Longest(tokens, i) > 0 || w.Excepting.Longest(tokens, i) > 0 || timeexpr.IsDated(&y.Utterance, i) || timeexpr.BeginsTimes(&y.Utterance, i) ||
			w.CardinalEnd(tokens, i) > i || l.Colors.Longest(tokens, i) > 0 || l.Levels.Longest(tokens, i) > 0 {
			return true
		}
	}
	return false
}

// maxMisspelt is the largest number of misspelled words in a text, and maxSpellings the largest
// number of corrections to try.
const maxMisspelt, maxSpellings = 3, 8

// recoverMisspelling reads an order with misspelled words as the one order that is a letter
// away. It always asks for a confirmation before it acts.
func (x *request) recoverMisspelling() (capabilities.Outcome, bool) {
	if x.IsQuestion || x.part || len(x.Tokens) > maxRecovered {
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
	ways := [][]lexicon.Token{x.Tokens}
	for _, i := range wrong {
		var next [][]lexicon.Token
		for _, way := range ways {
			for _, word := range x.r.similarWords(x.Tokens[i].Folded) {
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
	var corrected *request
	for _, way := range ways {
		y := *x
		out, ok := y.parseCorrected(way, wrong)
		if !ok {
			continue
		}
		if corrected != nil { // several corrections are orders
			return capabilities.Outcome{}, false
		}
		found, corrected = out, &y
	}
	if corrected == nil {
		return capabilities.Outcome{}, false
	}
	*x = *corrected
	return found, true
}

// isAct reports whether a capability changes the physical state of something.
func (x *request) isAct(id string) bool {
	c := x.r.Catalog.Find(id)
	return c != nil && c.Effect != capabilities.Query
}

// parseCorrected reads the order with known words in the place of the misspelled ones.
func (x *request) parseCorrected(tokens []lexicon.Token, wrong []int) (capabilities.Outcome, bool) {
	was, is := make([]string, len(wrong)), make([]string, len(wrong))
	for n, i := range wrong {
		was[n], is[n] = x.Tokens[i].Text, tokens[i].Text
	}
	x.SetTokens(tokens)
	x.Hypotheses = nil
	if !x.hasOrder() || x.hasConditionOrTime() {
		return capabilities.Outcome{}, false
	}
	x.UnknownWords, x.Corrections = was, is
	out, ok := x.parseRest()
	if !ok {
		if out, ok = x.ScoreWords(); ok && !x.isAct(x.Explain.Capability) { // the refusal of a query names the nearest words
			return capabilities.Outcome{}, false
		}
	}
	if !ok || out.Refusal != nil || out.Plan != nil && len(x.Given) == 0 && out.Plan.Actuates() {
		return capabilities.Outcome{}, false
	}
	x.Explain.Leftover = was
	return out, true
}

// maxRecovered is the largest number of words of a text that the interpreter recovers. A
// longer text is a story and no order.
const maxRecovered = 20

// hasConditionOrTime reports whether the text has a condition or a time.
func (x *request) hasConditionOrTime() bool {
	for i := range x.Tokens {
		if timeexpr.IsUnsupported(&x.Utterance, i) {
			return true
		}
	}
	return false
}

// firstUnknown returns the index of the first word behind an order that the interpreter does not
// know or cannot act on. It returns 0 if there is none. The result kept is false if a time stands
// before the word.
func (x *request) firstUnknown() (i int, kept bool) {
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

// similarWords returns the words of names of this home, and of orders, that are one letter
// away from a word.
func (r *Interpreter) similarWords(word string) (list []string) {
	if len(word) < 4 {
		return nil
	}
	meant := lexicon.NewSpelling(word)
	for _, known := range [][]lexicon.Spelling{r.nameSpellings, r.Catalog.Frames.Spelled} {
		for _, one := range known {
			if one.Word[0] != word[0] && one.Word[len(one.Word)-1] != word[len(word)-1] || meant.MinDistance(one) > 1 || !lexicon.IsSwapped(one.Word, word) && lexicon.Distance(word, one.Word) > 1 {
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

// fits reports whether a hypothesis is for a device or place that the text names, or for a class of
// device in this home.
func (x *request) fits(rd resolve.Hypothesis) bool {
	return x.ClassScore(&rd) == 1 || rd.Slot("device") == nil && x.r.HasClass(rd.Capability.Classes)
}
