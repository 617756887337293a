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

// describes reports whether a line of context only tells how things are, so that it
// need not be asked about before the plan is carried out. It is known by its grammar:
// a statement has something that it is about, and what that is. What must, may or
// should be is none, nor what warns, counts, or speaks of another thing or room. Of
// what has words that nobody here knows, only a statement beside an act that hurts
// nobody is let pass.
func (r *Interpreter) describes(line string, plan *capabilities.Plan) bool {
	w, c := r.Catalog.Words, &r.Catalog.Context
	tokens := w.Tokens(line)
	x := &request{r: r, Request: resolve.Request{Resolver: &r.Resolver, Utterance: entity.Utterance{Home: &r.Home, Tokens: tokens}}}
	if len(tokens) == 0 || len(tokens) > lexicon.MaxTokens || len(line) > lexicon.MaxText || w.IsQuestion(line, tokens) {
		return false
	}
	for i := range tokens {
		if c.Binding.Longest(tokens, i) > 0 || c.Warning.Longest(tokens, i) > 0 || w.CardinalEnd(tokens, i) > i && w.Fillers.Longest(tokens, i) == 0 || timeexpr.IsDated(&x.Utterance, i) && !x.IsName(i) || timeexpr.BeginsTimes(&x.Utterance, i) || x.elsewhereNamed(i, plan) {
			return false
		}
	}
	for from := 0; from < len(tokens); {
		end := from + 1
		for end < len(tokens) && !tokens[end].Pause && w.Joining.Longest(tokens, end) == 0 {
			end++
		}
		if !r.states(tokens[from:end], plan.Risk == capabilities.RiskComfort) {
			return false
		}
		for n := 1; n > 0 && end < len(tokens); end += n {
			n = w.Joining.Longest(tokens, end)
		}
		from = end
	}
	return true
}

// elsewhereNamed reports whether a thing or place is named at word i that the plan has
// nothing to do with.
func (x *request) elsewhereNamed(i int, plan *capabilities.Plan) bool {
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
			return d >= 0 && s.Command != capabilities.Clean && entity.Reaches(home.Devices[d], m.Value)
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

// cleans reports whether a plan is to clean a place, or all of them.
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
				in = in || slices.ContainsFunc(r.Site.Devices[d].Spots, func(sp capabilities.Spot) bool {
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

// longestSubject is how many words what a statement is about may have.
const longestSubject = 4

// states reports whether a clause only says how something is. mild: what is done hurts
// nobody, and words may be in it that nobody here knows.
func (r *Interpreter) states(tokens []lexicon.Token, mild bool) bool {
	w, c := r.Catalog.Words, &r.Catalog.Context
	x := &request{r: r, Request: resolve.Request{Resolver: &r.Resolver, Utterance: entity.Utterance{Home: &r.Home, Tokens: tokens}}}
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
		return mild && (known || !acts && !x.refers(be))
	case r.Catalog.Frames.OrderWords[first.Folded] && !subject && x.LongestSlot("device", 0) == 0:
		return false
	case x.LongestSlot("device", 0) == len(tokens): // its name alone
		return true
	case names && !acts && mild && !frame.HasValue(&x.Utterance, 0): // "the kitchen", "the blue one", but "near the sink" only where there is one
		return !x.placing() || slices.ContainsFunc(tokens, func(t lexicon.Token) bool { return r.Names.Words[t.Folded] })
	case subject || be == 0 && strings.HasSuffix(first.Text, "ing"): // "we work from home", "planning dinner"
		return mild && !home && len(tokens) > 1 && !x.refers(0)
	}
	return false
}

// placing reports whether a word stands in the text that a place stands behind.
func (x *request) placing() bool {
	w := x.Words()
	for i := range x.Tokens {
		if w.Near.Longest(x.Tokens, i) > 0 || w.Clock.Longest(x.Tokens, i) > 0 {
			return true
		}
	}
	return false
}

// refers reports whether a word stands for the order itself, or for what it is about:
// "the owner is against it", "that is a bad idea".
func (x *request) refers(be int) bool {
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
