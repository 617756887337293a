package interpret

import (
	"slices"
	"strings"
	"sync"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/reply"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/mess"
)

// Answer resolves a request again with the answer to a question about it. The object answers
// has the answers by field. If it has none for the field of the question, text is the answer
// in words; otherwise text is a remark. The outcome is the same question if the answer fits no
// option, or if the remark limits the act. It is a refusal if the answer withdraws the request.
func (r *Interpreter) Answer(q capabilities.Clarification, answers mess.Object, text string, req mess.Request) capabilities.Outcome {
	var raw any = text
	if v, ok := answers.Get(q.Field); ok {
		raw = v
	}
	p := reply.NewMatcher(&r.Home, q, req)
	picked := p.Pick(raw)
	if raw != any(text) && r.Catalog.IsStop(text) {
		raw, picked = text, nil
	} else if raw != any(text) && r.hasLimitingLine(text) {
		picked = nil
	}
	if len(picked) == 0 {
		switch answer, _ := raw.(string); {
		case r.Catalog.IsWithdrawal(answer):
			return capabilities.Outcome{Refusal: &capabilities.Rejection{Reason: "the requester withdrew it; nothing happens"}}
		case p.RejectsAll(answer):
			return capabilities.Outcome{Refusal: &capabilities.Rejection{Reason: "the answer picks none of them; nothing happens"}}
		}
		again := q
		return capabilities.Outcome{Question: &again}
	}
	switch { // the answer rejects all options, so no other hypothesis of the request counts
	case picked[0] == capabilities.NoneOfThese:
		return capabilities.Outcome{Refusal: &capabilities.Rejection{Reason: "the answer picks none of the options; say it in other words"}}
	case slices.Equal(q.Options, capabilities.YesOrNo) && picked[0] == "no":
		return capabilities.Outcome{Refusal: &capabilities.Rejection{Reason: "the answer was no; nothing happens"}}
	}
	return r.resolveWith(req, append(resolve.WithoutKey(q.Given, q.Field), mess.Field{Key: q.Field, Value: picked}))
}

// isLimit reports whether a line of context is more than a fact: it forbids something, sets
// a condition or a time, cancels something, or has an unknown sign.
func (r *Interpreter) isLimit(line string) bool {
	w := r.Catalog.Words
	y := r.withTokens(w.Tokens(line))
	if char, _ := r.UnknownSign(line); char != "" {
		return true
	}
	if from, _ := w.Stop.Find(y.Tokens); from >= 0 {
		return true
	}
	for i := 0; i < len(y.Tokens); i++ {
		if n := max(w.Facts.Longest(y.Tokens, i), w.Fillers.Longest(y.Tokens, i)); n > 1 { // "I am", "good evening"
			i += n - 1
			continue
		}
		limits := w.Negations.Longest(y.Tokens, i) > 0 || w.Conditionals.Longest(y.Tokens, i) > 0 || y.BeginsTime(i)
		if limits && !y.IsName(i) {
			return true
		}
	}
	return false
}

// HasLimit reports whether a remark next to a confirmation does more than describe a state: it
// limits the plan, orders something, or has unknown words. It is safe for concurrent use.
func HasLimit(text string) bool { return emptyHome().hasLimitingLine(text) }

// emptyHome returns an interpreter for a home without devices.
var emptyHome = sync.OnceValue(func() *Interpreter { return New(catalog.Default(), capabilities.Home{}) })

// hasLimitingLine reports whether a line of the text limits an act, orders something, or is no
// plain description.
func (r *Interpreter) hasLimitingLine(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if _, orders := r.ordersIn(line, capabilities.Outcome{}); orders || r.isLimit(line) || !r.isDescription(line, &capabilities.Plan{Risk: capabilities.RiskComfort}) {
			return true
		}
	}
	return false
}

// EqualIgnoringPlural reports whether two words are equal, or differ in case or in the ending of
// a plural only.
func EqualIgnoringPlural(a, b string) bool {
	w := emptyHome().Catalog.Words
	return w.Fold(lexicon.Lower(a)) == w.Fold(lexicon.Lower(b))
}
