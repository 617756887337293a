package interpret

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/timeexpr"
)

// isDescription reports whether a line of context only describes a state, so that the plan
// needs no question about it. A description has a subject and a predicate. A line is no
// description if it has a modal verb ("must", "may", "should"), a warning, a number, a
// time, or the name of a device or place that the plan does not use. A line with unknown
// words is a description only if the act hurts nobody.
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

// isStatement reports whether a clause only says what something is. mild means that the act
// hurts nobody: the clause may then have words that this home does not know.
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
