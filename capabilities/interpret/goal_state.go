package interpret

import (
	"fmt"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// parseGoalState reads the state that a device shall have as the order for it: "make sure
// the stove is off" is "turn off the stove".
func (x *request) parseGoalState() (capabilities.Outcome, bool) {
	w, start, last := x.Words(), x.SkipArticles(0), len(x.Tokens)-1
	n := w.Ensuring.Longest(x.Tokens, start)
	from := x.SkipArticles(start + n)
	if n == 0 || x.part || from >= last || x.IsName(last) {
		return capabilities.Outcome{}, false
	}
	verb, end := orderForState[w.States[x.Tokens[last].Text]], x.LongestSlot("device", from)
	if verb == "" || end <= from || x.SkipArticles(end+1) != last || x.Tokens[end].Text != "is" && x.Tokens[end].Text != "are" {
		return capabilities.Outcome{}, false
	}
	return x.parseOtherText(verb + " " + lexicon.Join(x.Tokens[from:end]))
}

// orderForState are the orders that lead to a state.
var orderForState = map[string]string{"on": "turn on", "off": "turn off", "open": "open", "closed": "close", "locked": "lock", "unlocked": "unlock"}

// confirmIndirectOrder asks for a confirmation of an order behind words that may address
// another person or ask for permission: "don't forget to lock the door", "shall we open the
// blind?".
func (x *request) confirmIndirectOrder() (capabilities.Outcome, bool) {
	start := x.SkipArticles(0)
	n := x.Words().Minding.Longest(x.Tokens, start)
	if n == 0 || x.part || start+n >= len(x.Tokens) {
		return capabilities.Outcome{}, false
	}
	phrase := lexicon.Join(x.Tokens[start : start+n])
	out, ok := x.parseOtherText(withPauses(x.Tokens[start+n:]))
	if !ok || out.Plan == nil || !out.Plan.Actuates() {
		return out, ok && out.Refusal == nil && out.Plan == nil
	}
	return x.AskConfirmation(*out.Plan, fmt.Sprintf("%q may address another person: ", phrase)), true
}

// parseOtherText reads another text in the place of the request's text. ok is true if that
// text is an order.
func (x *request) parseOtherText(text string) (capabilities.Outcome, bool) {
	req := x.Message
	req.Intent = text
	y := x.r.newPart(req, x.Given)
	out := y.parse()
	if out.Refusal != nil && len(y.Explain.Leftover) > 0 {
		return capabilities.Outcome{}, false
	}
	x.Explain = y.Explain
	if out.Question != nil {
		out.Question.Given = x.Given
	}
	return out, true
}

// rejectNoChange refuses an order to change nothing: "leave the door open" is no order to
// open it.
func (x *request) rejectNoChange() (capabilities.Outcome, bool) {
	if x.IsQuestion {
		return capabilities.Outcome{}, false
	}
	for i := range x.Tokens {
		begins := i == 0 || x.Tokens[i].Pause || x.Words().Joining.Longest(x.Tokens, i-1) > 0
		at := x.SkipArticles(i)
		if begins && at < len(x.Tokens) && x.r.Catalog.Context.Leaving.Longest(x.Tokens, at) > 0 && x.NamesAny(at+1) {
			return x.Reject(fmt.Sprintf("%q asks for no change, so nothing happens; for a change say an order, like \"turn it on\" or \"open it\" with its name", lexicon.Join(x.Tokens[at:])), nil), true
		}
	}
	return capabilities.Outcome{}, false
}
