package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/mess"
)

// Choose makes one outcome of the hypotheses that devices can carry out.
func (x *Request) Choose(able []Hypothesis) capabilities.Outcome {
	if x.IsQuestion { // "garage door open?" asks how it is
		looks := slices.DeleteFunc(slices.Clone(able), func(rd Hypothesis) bool { return rd.Capability.Effect != capabilities.Query })
		if len(looks) > 0 {
			able = looks
		}
	}
	everything := func(rd Hypothesis) bool { return rd.lacksKind() && rd.Capability.Command == capabilities.SetSwitch }
	if slices.ContainsFunc(able, everything) { // "start everything in the kitchen" is not to vacuum it
		able = slices.DeleteFunc(slices.Clone(able), func(rd Hypothesis) bool { return rd.lacksKind() && !everything(rd) })
	}
	able = mostSpecific(able)
	best := able[0]
	if best.Capability.Effect == capabilities.Query && len(best.Devices) > 1 { // a hypothesis with one device needs no question
		for _, rd := range able[1:] {
			if rd.How == best.How && rd.Capability.Effect == capabilities.Query && len(rd.Devices) == 1 {
				best = rd
				break
			}
		}
	}
	x.explainHypothesis(&best, able)
	if best.Capability.Effect != capabilities.Query {
		for _, rd := range able[1:] {
			if rd.How == best.How && rd.lacksKind() && len(rd.Capability.Classes) != 1 {
				if rd.Capability.Command == capabilities.SetSwitch { // requesters more often switch a device than clean with it
					x.Explain.Capability = rd.Capability.ID
				}
				return x.plan(&rd)
			}
			if rd.How == best.How && !best.isSame(&rd) {
				return x.askMeaning(able)
			}
		}
	}
	for _, rd := range able[1:] {
		if rd.How == best.How && best.isSame(&rd) {
			best.Devices = append(best.Devices, lexicon.Subtract(rd.Devices, best.Devices)...)
		}
	}
	slices.Sort(best.Devices)
	return x.plan(&best)
}

// mostSpecific removes a hypothesis if another one does the same with the same devices and has
// a capability for their class: "start the kettle" says more than "switch on".
func mostSpecific(able []Hypothesis) []Hypothesis {
	return slices.DeleteFunc(slices.Clone(able), func(rd Hypothesis) bool {
		c := rd.Capability
		return len(c.Classes) == 0 && slices.ContainsFunc(able, func(o Hypothesis) bool {
			return len(o.Capability.Classes) > 0 && o.Capability.Command == c.Command && o.How >= rd.How && slices.Equal(o.Devices, rd.Devices) &&
				slices.Equal(o.Capability.FixedArgs(), c.FixedArgs()) && slices.Equal(o.Args, rd.Args)
		})
	})
}

// specificCapability returns the capability that replaces c for the class of device d, otherwise
// c: an order to switch a kettle on starts it.
func (r *Resolver) specificCapability(c *grammar.Capability, d int) *grammar.Capability {
	for _, one := range r.Catalog.Capabilities {
		if one.Covers == c.ID && slices.Contains(one.Classes, r.Class[d]) {
			return one
		}
	}
	return c
}

// lacksKind reports whether the hypothesis is for everything without a kind of device: "turn
// on everything".
func (rd *Hypothesis) lacksKind() bool {
	m := rd.Slot("device")
	return m != nil && m.All && m.Class == "" && m.Specificity == lexicon.Unspecified
}

// IsWholeArea reports whether the hypothesis turns off everything in one place.
func (rd *Hypothesis) IsWholeArea() bool {
	return rd.lacksKind() && rd.Value("area") != "" && rd.Capability.Command == capabilities.SetSwitch && stops(*rd)
}

// isSame reports whether two hypotheses would do the same.
func (rd *Hypothesis) isSame(o *Hypothesis) bool {
	if rd.Capability != o.Capability || rd.All != o.All {
		return false
	}
	for _, kind := range []string{"quantity", "thing", "view", "spot", "duration", "position"} {
		if rd.Value(kind) != o.Value(kind) {
			return false
		}
	}
	return rd.asks == o.asks && slices.Equal(rd.Args, o.Args)
}

// askMeaning asks which of several hypotheses the requester means.
func (x *Request) askMeaning(able []Hypothesis) capabilities.Outcome {
	var options []string
	var of []*Hypothesis
	for i := range able {
		rd := &able[i]
		if rd.How != able[0].How {
			break
		}
		text := x.Summary(rd)
		if !slices.Contains(options, text) {
			options, of = append(options, text), append(of, rd)
		}
	}
	if len(of) == 1 {
		return x.plan(of[0])
	}
	q := capabilities.Clarification{Field: "meaning", Text: "which is meant: " + lexicon.OrList(options) + "?", Options: options}
	picked, out, ok := x.AskClarification(q)
	if !ok {
		return out
	}
	if len(picked) > 1 {
		q.Text, q.Given = "pick only one; "+q.Text, WithoutKey(x.Given, q.Field)
		return capabilities.Outcome{Question: &q}
	}
	return x.plan(of[slices.Index(options, picked[0])])
}

// Summary returns what a hypothesis would do. If several devices are possible, it keeps the
// words of the text for them.
func (x *Request) Summary(rd *Hypothesis) string {
	s := x.Resolver.planFor(rd, rd.Devices[0], x.namedAreas(rd)).Summary
	for _, b := range rd.Slots {
		if b.Kind == "device" && len(rd.Devices) > 1 && b.Match.End > b.From {
			s = strings.Replace(s, x.Resolver.Label(rd.Devices[0]), lexicon.Join(x.Words().PlainTokens(lexicon.Join(x.Tokens[b.From:b.Match.End]))), 1)
		}
	}
	return s
}

// margin is the smallest lead over the next hypothesis with which a scored hypothesis stands
// alone. A word that two capabilities share counts half for each, so this is about one telling
// word in five.
const margin = 0.1

// MaxGuesses is the largest number of scored hypotheses that a question offers.
const MaxGuesses = 4

// scored is a hypothesis with only known words, in an order that no sentence has.
type scored struct {
	Hypothesis
	score    float64
	leftover []string
}

// ScoreWords reads a text that matches no sentence by its words in any order. The interpreter
// asks about such a hypothesis. If the precision is loose, it does the best hypothesis that
// changes nothing.
func (x *Request) ScoreWords() (capabilities.Outcome, bool) {
	if len(x.Hypotheses) > 0 || x.Message.Precision == mess.Exact || len(x.Tokens) == 0 || x.JoinsNames() {
		return capabilities.Outcome{}, false
	}
	if _, bad := x.Constrained(); bad {
		return capabilities.Outcome{}, false
	}
	list := x.guesses()
	if len(list) == 0 {
		return capabilities.Outcome{}, false
	}
	best := list[0]
	list = slices.DeleteFunc(list, func(s scored) bool { return s.score < best.score-margin })
	x.explainHypothesis(&best.Hypothesis, nil)
	x.Explain.Score, x.Explain.Leftover = best.score, best.leftover
	if len(list) > 1 {
		x.Explain.RunnerUp = fmt.Sprintf("%s (%.2f)", list[1].Capability.ID, list[1].score)
	}
	if x.Message.Precision == mess.Loose && best.Capability.Effect == capabilities.Query {
		return AddUnusedNote(x.plan(&best.Hypothesis), best.leftover), true
	}
	return x.askGuess(list[:min(len(list), MaxGuesses)]), true
}

// AddUnusedNote returns the outcome of a request with loose precision. Its plan lists the
// words that the interpreter did not use.
func AddUnusedNote(o capabilities.Outcome, leftover []string) capabilities.Outcome {
	if o.Plan == nil || len(leftover) == 0 {
		return o
	}
	p := *o.Plan
	p.Unused = append(slices.Clip(p.Unused), lexicon.QuoteList(leftover)+" (this is the nearest thing that only looks)")
	o.Plan = &p
	return o
}

// askGuess asks whether the requester means one of the hypotheses.
func (x *Request) askGuess(list []scored) capabilities.Outcome {
	var options []string
	for i := range list {
		options = append(options, x.Summary(&list[i].Hypothesis))
	}
	q := capabilities.Clarification{Field: "meaning", Text: fmt.Sprintf("by %q, is this meant: %s?", lexicon.Join(x.Tokens), lexicon.OrList(append(options, capabilities.NoneOfThese)))}
	q.Options = append(slices.Clone(options), capabilities.NoneOfThese)
	picked, out, ok := x.AskClarification(q)
	switch {
	case !ok:
		return out
	case len(picked) != 1 || picked[0] == capabilities.NoneOfThese:
		return x.Reject("the answer picks none of the options; say it in other words", nil)
	}
	return x.plan(&list[slices.Index(options, picked[0])].Hypothesis)
}

// guesses returns the scored hypotheses, the best first.
func (x *Request) guesses() []scored {
	var list []scored
	for _, c := range x.Resolver.Catalog.Capabilities {
		if x.IsQuestion && c.Effect != capabilities.Query {
			continue
		}
		s, ok := x.scoreOf(c)
		if !ok {
			continue
		}
		for _, rd := range x.Executable([]Hypothesis{s.Hypothesis}) {
			s.Hypothesis = rd
			list = append(list, s)
		}
	}
	order.By(list, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), x.Resolver.reach(b.Capability)-x.Resolver.reach(a.Capability)) // requesters more often mean a capability of more devices
	})
	return list
}

// reach returns the number of devices of this home that have a capability.
func (r *Resolver) reach(c *grammar.Capability) int {
	return r.Index.Count(func(d int) bool { return r.CanOffer(c, d) })
}

// scoreOf reads the text as words of one capability and names. If the precision is loose, a
// query may have other words, too.
func (x *Request) scoreOf(c *grammar.Capability) (scored, bool) {
	s := scored{Hypothesis: Hypothesis{Pattern: &grammar.Pattern{Capability: c, Text: "words of " + c.ID}}}
	loose := x.Message.Precision == mess.Loose && c.Effect == capabilities.Query
	own, words, weight := x.Resolver.Catalog.WordsOf[c.ID], 0, 0.0
	for i := 0; i < len(x.Tokens); {
		t := x.Tokens[i]
		if n := cmp.Or(x.ReadName(&s.Hypothesis, i), x.Words().Fillers.Longest(x.Tokens, i)); n > 0 {
			i += n
			continue
		}
		i++
		words++
		if own[t.Folded] {
			weight += 1 / float64(x.Resolver.Catalog.CapabilitiesWith(t.Folded))
		} else if s.leftover = append(s.leftover, t.Text); !loose {
			return scored{}, false
		}
	}
	if strings.Contains(c.Summary, "{thing}") && s.Value("thing") == "" { // it says not what to look for
		return scored{}, false
	}
	for _, p := range c.Parameters { // it says not how much
		if _, given := c.FixedArgs().Get(p.Name); p.Type == "number" && !given {
			return scored{}, false
		}
	}
	if words == 0 || weight == 0 && !loose || s.How == lexicon.Unspecified {
		return scored{}, false
	}
	s.score = 0.9 * weight / float64(words)
	return s, true
}
