package interpret

import (
	"fmt"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
)

// ensured reads how a thing is to be as the order for that: "make sure the stove is off"
// is "turn off the stove".
func (x *request) ensured() (capabilities.Outcome, bool) {
	w, start, last := x.Words(), x.SkipArticles(0), len(x.Tokens)-1
	n := w.Ensuring.Longest(x.Tokens, start)
	from := x.SkipArticles(start + n)
	if n == 0 || x.part || from >= last || x.IsName(last) {
		return capabilities.Outcome{}, false
	}
	verb, end := turning[w.States[x.Tokens[last].Text]], x.LongestSlot("device", from)
	if verb == "" || end <= from || x.SkipArticles(end+1) != last || x.Tokens[end].Text != "is" && x.Tokens[end].Text != "are" {
		return capabilities.Outcome{}, false
	}
	return x.instead(verb + " " + lexicon.Join(x.Tokens[from:end]))
}

// turning are the orders for states.
var turning = map[string]string{"on": "turn on", "off": "turn off", "open": "open", "closed": "close", "locked": "lock", "unlocked": "unlock"}

// minded asks whether an order is meant behind words that may be for somebody else, or
// ask for leave: "don't forget to lock the door", "shall we open the blind?".
func (x *request) minded() (capabilities.Outcome, bool) {
	start := x.SkipArticles(0)
	n := x.Words().Minding.Longest(x.Tokens, start)
	if n == 0 || x.part || start+n >= len(x.Tokens) {
		return capabilities.Outcome{}, false
	}
	said := lexicon.Join(x.Tokens[start : start+n])
	out, ok := x.instead(withPauses(x.Tokens[start+n:]))
	if !ok || out.Plan == nil || !out.Plan.Actuates() {
		return out, ok && out.Refusal == nil && out.Plan == nil
	}
	return x.AskConfirmation(*out.Plan, fmt.Sprintf("%q may be meant for somebody: ", said)), true
}

// instead reads other words in the place of the request's. It is ok if they are an order.
func (x *request) instead(text string) (capabilities.Outcome, bool) {
	req := x.Message
	req.Intent = text
	y := &request{r: x.r, Request: resolve.Request{Resolver: &x.r.Resolver, Utterance: entity.Utterance{Home: &x.r.Home}, Message: req, Given: x.Given}, part: true}
	out := y.outcome()
	if out.Refusal != nil && len(y.Explain.Leftover) > 0 {
		return capabilities.Outcome{}, false
	}
	x.Explain = y.Explain
	if out.Question != nil {
		out.Question.Given = x.Given
	}
	return out, true
}

// leaves refuses what asks that a thing stays as it is: "leave the door open" is no
// order to open it, and nothing is done for it.
func (x *request) leaves() (capabilities.Outcome, bool) {
	if x.IsQuestion {
		return capabilities.Outcome{}, false
	}
	for i := range x.Tokens {
		begins := i == 0 || x.Tokens[i].Pause || x.Words().Joining.Longest(x.Tokens, i-1) > 0
		at := x.SkipArticles(i)
		if begins && at < len(x.Tokens) && x.r.Catalog.Context.Leaving.Longest(x.Tokens, at) > 0 && x.NamesAny(at+1) {
			return x.Reject(fmt.Sprintf("%q asks that it stays as it is, and nothing is done for that; if something is to be done, say what, like \"turn it on\" or \"open it\" with its name", lexicon.Join(x.Tokens[at:])), nil), true
		}
	}
	return capabilities.Outcome{}, false
}
