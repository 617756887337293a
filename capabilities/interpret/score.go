package interpret

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

// margin is how much better than the next a scored reading must be to stand
// alone. A word that two capabilities share counts half for each, so this is
// about one telling word in five.
const margin = 0.1

// maxGuesses is how many scored readings are offered.
const maxGuesses = 4

// scored is a reading whose words are all known, in an order that no sentence
// has.
type scored struct {
	reading
	score    float64
	leftover []string
}

// score reads a text that no sentence matches, by its words in any order. Such
// a reading is only ever asked about; where the request is to be taken loosely,
// the best one that changes nothing is done.
func (x *request) score() (capabilities.Outcome, bool) {
	if len(x.readings) > 0 || x.req.Precision == mess.Exact || len(x.Tokens) == 0 || x.joins() {
		return capabilities.Outcome{}, false
	}
	if _, bad := x.constrained(); bad {
		return capabilities.Outcome{}, false
	}
	list := x.guesses()
	if len(list) == 0 {
		return capabilities.Outcome{}, false
	}
	best := list[0]
	list = slices.DeleteFunc(list, func(s scored) bool { return s.score < best.score-margin })
	x.explainReading(&best.reading, nil)
	x.explain.Score, x.explain.Leftover = best.score, best.leftover
	if len(list) > 1 {
		x.explain.RunnerUp = fmt.Sprintf("%s (%.2f)", list[1].Capability.ID, list[1].score)
	}
	if x.req.Precision == mess.Loose && best.Capability.Effect == capabilities.Query {
		return asNearest(x.settle(&best.reading), best.leftover), true
	}
	return x.guess(list[:min(len(list), maxGuesses)]), true
}

// asNearest is the outcome of a request that was taken loosely, whose plan says so where
// words of it were passed over.
func asNearest(o capabilities.Outcome, leftover []string) capabilities.Outcome {
	if o.Plan == nil || len(leftover) == 0 {
		return o
	}
	p := *o.Plan
	p.Unused = append(slices.Clip(p.Unused), lexicon.QuoteList(leftover)+" (this is the nearest thing that only looks)")
	o.Plan = &p
	return o
}

// guess asks whether one of the readings is meant.
func (x *request) guess(list []scored) capabilities.Outcome {
	var options []string
	for i := range list {
		options = append(options, x.summary(&list[i].reading))
	}
	q := capabilities.Question{Field: "meaning", Text: fmt.Sprintf("by %q, is this meant: %s?", lexicon.Join(x.Tokens), lexicon.OrList(append(options, capabilities.NoneOfThese)))}
	q.Options = append(slices.Clone(options), capabilities.NoneOfThese)
	picked, out, ok := x.ask(q)
	switch {
	case !ok:
		return out
	case len(picked) != 1 || picked[0] == capabilities.NoneOfThese:
		return x.refuse("none of what was offered is meant; say it in other words", nil)
	}
	return x.settle(&list[slices.Index(options, picked[0])].reading)
}

// guesses are the scored readings, the best first.
func (x *request) guesses() []scored {
	var list []scored
	for _, c := range x.r.Catalog.Capabilities {
		if x.IsQuestion && c.Effect != capabilities.Query {
			continue
		}
		s, ok := x.scoreOf(c)
		if !ok {
			continue
		}
		for _, rd := range x.able([]reading{s.reading}) {
			s.reading = rd
			list = append(list, s)
		}
	}
	order.By(list, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), x.r.reach(b.Capability)-x.r.reach(a.Capability)) // what is for more things is meant more often
	})
	return list
}

// reach is how many devices here a capability is for.
func (r *Interpreter) reach(c *grammar.Capability) int {
	return r.Index.Count(func(d int) bool { return r.offers(c, d) })
}

// scoreOf reads the text as words of one capability and names. Words of
// neither are let pass for what only looks, where it is to be taken loosely.
func (x *request) scoreOf(c *grammar.Capability) (scored, bool) {
	s := scored{reading: reading{Pattern: &grammar.Pattern{Capability: c, Text: "words of " + c.ID}}}
	loose := x.req.Precision == mess.Loose && c.Effect == capabilities.Query
	own, words, weight := x.r.Catalog.WordsOf[c.ID], 0, 0.0
	for i := 0; i < len(x.Tokens); {
		t := x.Tokens[i]
		if n := cmp.Or(x.mention(&s.reading, i), x.Words().Fillers.Longest(x.Tokens, i)); n > 0 {
			i += n
			continue
		}
		i++
		words++
		if own[t.Folded] {
			weight += 1 / float64(x.r.Catalog.CapabilitiesWith(t.Folded))
		} else if s.leftover = append(s.leftover, t.Text); !loose {
			return scored{}, false
		}
	}
	if strings.Contains(c.Summary, "{thing}") && s.value("thing") == "" { // it says not what to look for
		return scored{}, false
	}
	for _, p := range c.Parameters { // it says not how much
		if _, given := c.FixedArgs().Get(p.Name); p.Type == "number" && !given {
			return scored{}, false
		}
	}
	if words == 0 || weight == 0 && !loose || s.how == lexicon.Unspecified {
		return scored{}, false
	}
	s.score = 0.9 * weight / float64(words)
	return s, true
}
