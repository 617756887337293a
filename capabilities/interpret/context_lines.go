package interpret

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/capabilities/timeexpr"
	"github.com/messkit/messkit/mess"
)

// isDescription reports whether a line of context only describes a state, so that the plan needs
// no question about it. A description has a subject and a predicate. A line is no description if
// it has a modal verb ("must", "may", "should"), a warning, a number, or a time. Nor is it one if
// it names a device or place that the plan does not use. A line with unknown words is a
// description only if the act is harmless.
func (r *Interpreter) isDescription(line string, plan *capabilities.Plan) bool {
	w, c := r.Catalog.Words, &r.Catalog.Context
	tokens := w.Tokens(line)
	x := r.withTokens(tokens)
	if len(tokens) == 0 || len(tokens) > lexicon.MaxTokens || len(line) > lexicon.MaxText || w.IsQuestion(line, tokens) {
		return false
	}
	for i := range tokens {
		if c.Binding.Longest(tokens, i) > 0 || c.Warning.Longest(tokens, i) > 0 || w.CardinalEnd(tokens, i) > i && w.Fillers.Longest(tokens, i) == 0 || timeexpr.IsDated(&x.Utterance, i) && !x.IsName(i) || timeexpr.BeginsTimes(&x.Utterance, i) || x.namesOther(i, plan) {
			return false
		}
	}
	for from := 0; from < len(tokens); {
		end := from + 1
		for end < len(tokens) && !tokens[end].Pause && w.Joining.Longest(tokens, end) == 0 {
			end++
		}
		if !r.isStatement(tokens[from:end], plan.Risk == capabilities.RiskComfort) {
			return false
		}
		for n := 1; n > 0 && end < len(tokens); end += n {
			n = w.Joining.Longest(tokens, end)
		}
		from = end
	}
	return true
}

// namesOther reports whether a device or place that the plan does not use has its name at
// word i.
func (x *request) namesOther(i int, plan *capabilities.Plan) bool {
	home := x.r.Site
	other := func(d int) bool {
		return !slices.ContainsFunc(plan.Each(), func(s capabilities.Plan) bool { return s.Device == home.Devices[d].Name })
	}
	for _, m := range x.SlotValues("device", i) {
		if m.End > i && !(m.All && m.Class == "") && !slices.ContainsFunc(m.Devices, func(d int) bool { return !other(d) }) {
			return true
		}
	}
	for _, m := range x.SlotValues("area", i) {
		if !slices.ContainsFunc(plan.Each(), func(s capabilities.Plan) bool {
			d := x.r.Index.Device(s.Device)
			return d >= 0 && s.Command != capabilities.Clean && entity.IsAtPlace(home.Devices[d], m.Value)
		}) && !x.r.cleans(plan, m.Value) {
			return true
		}
	}
	for _, m := range x.SlotValues("view", i) {
		if !x.r.HasPlace(m.Value) && !slices.ContainsFunc(m.Devices, func(d int) bool { return !other(d) }) {
			return true
		}
	}
	for _, m := range x.SlotValues("spot", i) {
		if !x.r.HasPlace(m.Value) && !x.r.cleans(plan, m.Value) {
			return true
		}
	}
	return false
}

// cleans reports whether a plan cleans a place, or all places.
func (r *Interpreter) cleans(plan *capabilities.Plan, place string) bool {
	for _, s := range plan.Each() {
		if s.Command != capabilities.Clean {
			continue
		}
		v, _ := s.Args.Get("areas")
		areas, _ := lexicon.TextList(v)
		if len(areas) == 0 {
			return true
		}
		for _, area := range areas {
			in := strings.EqualFold(area, place)
			if d := r.Index.Device(s.Device); d >= 0 {
				in = in || slices.ContainsFunc(r.Site.Devices[d].WorkAreas, func(sp capabilities.WorkArea) bool {
					return strings.EqualFold(sp.Room, place) && (sp.Name == area) || strings.EqualFold(sp.Name, place) && sp.Room == area
				})
			}
			if in {
				return true
			}
		}
	}
	return false
}

// longestSubject is the largest number of words in the subject of a statement.
const longestSubject = 4

// isStatement reports whether a clause only describes its subject. mild means that the act is
// harmless: the clause may then have words that this home does not know.
func (r *Interpreter) isStatement(tokens []lexicon.Token, mild bool) bool {
	w, c := r.Catalog.Words, &r.Catalog.Context
	x := r.withTokens(tokens)
	known, names, acts, home, be := true, true, false, false, 0
	for i, t := range tokens {
		is := c.Being.Longest(tokens, i) > 0
		says := !is && (x.BeginsOrder(i) || r.SaysSwitch(tokens, i))
		acts = acts || says
		home = home || says || r.Names.Words[t.Folded]
		known = known && (is || r.KnowsWord(t) || mild && r.Catalog.Vocabulary[t.Folded] || w.Clock.Longest(tokens, i) > 0 || w.Near.Longest(tokens, i) > 0 || c.Subjects.Longest(tokens, i) > 0 || w.Picking.Longest(tokens, i) > 0)
		names = names && (r.Names.Words[t.Folded] || r.Catalog.Frames.NamingWords[t.Folded] || r.Catalog.Frames.Colors.Longest(tokens, i) > 0 ||
			w.Fillers.Longest(tokens, i) > 0 || w.Clock.Longest(tokens, i) > 0 || w.Near.Longest(tokens, i) > 0 || w.Picking.Longest(tokens, i) > 0 || c.Subjects.Longest(tokens, i) > 0)
		if is && be == 0 {
			be = i
		}
	}
	first := tokens[0]
	subject := c.Subjects.Longest(tokens, 0) > 0
	if len(w.Bare(tokens)) == 0 || w.Whole(w.Yes, tokens) || w.Affirms(tokens) { // "thanks"
		return true
	}
	switch {
	case be > 0 && be <= longestSubject && (subject || be == 1 || x.LongestSlot("device", 0) == be || x.LongestSlot("area", 0) == be): // "the floor is dirty"
		return mild && (known || !acts && !x.hasPronoun(be))
	case r.Catalog.Frames.OrderWords[first.Folded] && !subject && x.LongestSlot("device", 0) == 0:
		return false
	case x.LongestSlot("device", 0) == len(tokens): // its name alone
		return true
	case names && !acts && mild && !frame.HasValue(&x.Utterance, 0): // "the kitchen", "the blue one", but "near the sink" only where there is one
		return !x.hasPlaceWord() || slices.ContainsFunc(tokens, func(t lexicon.Token) bool { return r.Names.Words[t.Folded] })
	case subject || be == 0 && strings.HasSuffix(first.Text, "ing"): // "we work from home", "planning dinner"
		return mild && !home && len(tokens) > 1 && !x.hasPronoun(0)
	}
	return false
}

// hasPlaceWord reports whether the text has a preposition of place.
func (x *request) hasPlaceWord() bool {
	w := x.Words()
	for i := range x.Tokens {
		if w.Near.Longest(x.Tokens, i) > 0 || w.Clock.Longest(x.Tokens, i) > 0 {
			return true
		}
	}
	return false
}

// hasPronoun reports whether a pronoun stands for the order or for its object: "the owner
// is against it", "that is a bad idea".
func (x *request) hasPronoun(be int) bool {
	for i, t := range x.Tokens {
		switch t.Text {
		case "it":
			if i > be && be > 0 || be == 0 {
				return true
			}
		case "this", "that", "so":
			return true
		}
	}
	return false
}

// refines reports whether an outcome has the same subject as the one before, and says more
// about it.
func (r *Interpreter) refines(before, out capabilities.Outcome) bool {
	switch {
	case before.Refusal != nil:
		return out.Plan != nil
	case !r.setSameProperty(before.Explain.Capability, out.Explain.Capability):
		return false
	case before.Plan == nil:
		return true
	case out.Plan == nil:
		return out.Question.Field != "go_ahead" && !strings.HasPrefix(out.Question.Field, "meaning")
	}
	return before.Plan.Device == out.Plan.Device
}

// setSameProperty reports whether two capabilities are equal or set the same property of a light:
// an order to turn on a lamp may also say how bright.
func (r *Interpreter) setSameProperty(one, other string) bool {
	a, b := r.Catalog.Find(one), r.Catalog.Find(other)
	return one == other || a != nil && b != nil && a.SetsLight() && b.SetsLight()
}

// applyContext returns the outcome with the hints that changed nothing. It refuses a hint
// that limits the act, asks about a hint that it does not understand, and lists the rest as
// unused.
func (r *Interpreter) applyContext(req mess.Request, given mess.Object, out capabilities.Outcome, hints []*hint, doubts []string) capabilities.Outcome {
	acts := out.Plan != nil && out.Plan.Actuates()
	if out.Question != nil {
		c := r.Catalog.Find(out.Explain.Capability)
		acts = c == nil || c.Effect != capabilities.Query
	}
	var unused []string
	for _, h := range hints {
		if h.used {
			continue
		}
		unused = append(unused, h.quote)
		if h.media || !acts {
			continue
		}
		if h.remark {
			if out.Plan != nil && (r.isLimit(h.text) || !r.isDescription(h.text, out.Plan)) {
				doubts = append(doubts, h.quote)
			}
			continue
		}
		same, other := r.ordersIn(h.text, out)
		if r.isLimit(h.text) || other {
			explain := out.Explain
			x := r.newRequest(req, nil)
			out = x.Reject(fmt.Sprintf("the context says %q; put the order into the request, and remove this from the context", h.quote), nil)
			out.Explain = explain
			return out
		}
		if out.Plan != nil && !same && (h.data || !r.isDescription(h.text, out.Plan)) {
			doubts = append(doubts, h.quote)
		}
	}
	if out.Plan == nil {
		return out
	}
	plan := *out.Plan
	plan.Unused, out.Plan = unused, &plan
	if acts && len(doubts) > 0 {
		explain := out.Explain
		x := r.newRequest(req, given)
		out = x.confirmWithContext(plan, doubts, slices.ContainsFunc(hints, func(h *hint) bool { return !h.remark }))
		out.Explain = explain
	}
	return out
}

// confirmWithContext asks whether the requester means a plan in spite of its context.
func (x *request) confirmWithContext(p capabilities.Plan, doubts []string, context bool) capabilities.Outcome {
	says := "the text also says"
	if context {
		says = "the context says"
	}
	q := capabilities.Clarification{Field: "context", Text: fmt.Sprintf("%s %s: shall I %s?", says, lexicon.QuoteList(doubts), p.Summary), Options: []string{"yes", "no"}}
	other := x.correctedPlan(&p, doubts)
	if other != nil {
		q.Options = []string{p.Summary, other.Summary}
		q.Text = fmt.Sprintf("%s %s: shall I %s?", says, lexicon.QuoteList(doubts), lexicon.OrList(q.Options))
	}
	picked, out, ok := x.AskClarification(q)
	switch {
	case !ok:
		return out
	case len(picked) > 1:
		q.Text, q.Given = "pick one of the two; "+q.Text, resolve.WithoutKey(x.Given, q.Field)
		return capabilities.Outcome{Question: &q}
	case other != nil && picked[0] == other.Summary:
		return capabilities.Outcome{Plan: other}
	case other != nil:
	case picked[0] != "yes":
		return x.Reject("the answer was no; nothing happens", nil)
	}
	return capabilities.Outcome{Plan: &p}
}

// ordersIn reports whether a line of context has an order: for the act of the outcome
// (same), or for another act.
func (r *Interpreter) ordersIn(line string, out capabilities.Outcome) (same, other bool) {
	w := r.Catalog.Words
	if tokens := w.Tokens(line); len(tokens) > 0 && w.Joining.Longest(tokens, 0) > 0 { // "and then turn on the heater"
		for n := 1; n > 0; tokens = tokens[n:] {
			n = w.Joining.Longest(tokens, 0)
		}
		line = lexicon.Join(tokens)
	}
	o := r.resolveText(mess.Request{Intent: line}, nil)
	switch {
	case o.Plan != nil && o.Plan.Actuates():
		same = out.Plan != nil && slices.ContainsFunc(out.Plan.Each(), func(step capabilities.Plan) bool { return step.Digest() == o.Plan.Digest() })
		return same, !same
	case o.Question != nil && len(o.Explain.Leftover) == 0:
		c := r.Catalog.Find(o.Explain.Capability)
		return false, (c == nil || c.Effect != capabilities.Query) && (out.Plan == nil || c == nil || c.ID != out.Plan.Capability)
	}
	return false, false
}
