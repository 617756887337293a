package interpret

import (
	"strings"
	"sync"

	"github.com/messkit/messkit/capabilities/resolve"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/mess"
)

// limits reports whether a line of context is more than a fact: it forbids, sets
// a condition or a time, calls off, or has signs.
func (r *Interpreter) limits(line string) bool {
	w := r.Catalog.Words
	y := &request{r: r, Request: resolve.Request{Resolver: &r.Resolver, Utterance: entity.Utterance{Home: &r.Home, Tokens: w.Tokens(line)}, Message: mess.Request{Intent: line}}}
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

// HasLimit reports whether what is said beside a yes is more than a fact: see the
// context of a request.
func HasLimit(text string) bool { return nowhere().limitsAny(text) }

var nowhere = sync.OnceValue(func() *Interpreter { return New(catalog.Default(), capabilities.Home{}) })

func (r *Interpreter) limitsAny(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if _, orders := r.orders(line, capabilities.Outcome{}); orders || r.limits(line) || !r.describes(line, &capabilities.Plan{Risk: capabilities.RiskComfort}) {
			return true
		}
	}
	return false
}
