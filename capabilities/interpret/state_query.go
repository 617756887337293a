package interpret

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/mess"
)

// parseStateQueries reads a question about the states of several devices, or a report about
// the state of one, as queries of the states. Neither acts.
func (x *request) parseStateQueries() (capabilities.Outcome, bool) {
	if x.part || len(x.Tokens) > maxRecovered || x.Demand.Capabilities != nil {
		return capabilities.Outcome{}, false
	}
	if x.IsQuestion {
		return x.parseQueryOfEach()
	}
	return x.parseReportedState()
}

// parseQueryOfEach reads a question about several devices, or several states of one, as a query
// of each. Examples are "are the hall light and the tv on", "did I lock the door and close the
// garage".
func (x *request) parseQueryOfEach() (capabilities.Outcome, bool) {
	for at := 1; at+1 < len(x.Tokens); at++ {
		n, or := x.Words().Joining.Longest(x.Tokens, at), x.Tokens[at].Text == "or"
		if or {
			n = 1
		}
		if n == 0 || x.IsName(at) {
			continue
		}
		behind := at + n
		for _, end := range append(x.thingsFrom(x.SkipArticles(behind)), len(x.Tokens)) {
			first := x.queryWithout(x.Tokens[:at], x.Tokens[end:])
			if first == nil {
				continue
			}
			for from := at - 1; from >= 0; from-- {
				if second := x.queryWithout(x.Tokens[:from], x.Tokens[behind:]); second != nil && !isSameQuery(first, second) {
					return x.joinQueries(first, second, or), true
				}
			}
			if second := x.queryWithout(x.Tokens[:at-1], x.Tokens[behind:]); second != nil && first.Asks != second.Asks { // "open or closed"
				first.Asks = ""
				return capabilities.Outcome{Plan: first}, true
			}
		}
	}
	return capabilities.Outcome{}, false
}

// queryWithout returns the query of a question without some of its words, or nil if there
// is none.
func (x *request) queryWithout(before, behind []lexicon.Token) *capabilities.Plan {
	req := x.Message
	req.Intent = withPauses(slices.Concat(before, behind)) + "?"
	y := x.r.newPart(req, nil)
	out := y.parse()
	if out.Plan == nil || out.Plan.Actuates() || out.Plan.Command.IsWait() || y.Explain.Score < 1 {
		return nil
	}
	x.Explain = y.Explain
	return out.Plan
}

// isSameQuery reports whether two plans query the same devices.
func isSameQuery(a, b *capabilities.Plan) bool {
	return a.Device == b.Device && a.Capability == b.Capability
}

// joinQueries returns a plan with two queries. With "or", one yes is enough for a yes.
func (x *request) joinQueries(first, second *capabilities.Plan, or bool) capabilities.Outcome {
	steps := append(slices.Clone(first.Each()), second.Each()...)
	for i, s := range steps {
		if or && s.Asks != "" && !strings.HasPrefix(s.Asks, capabilities.AnyOf) {
			steps[i].Asks = capabilities.AnyOf + s.Asks
		}
	}
	p := capabilities.Sequence(steps)
	x.Explain.Capability = p.Capability
	return capabilities.Outcome{Plan: &p}
}

// parseReportedState reads a report about the state of one device as a query of that state:
// "I left the garage door open", "the hall light went off". It is never an order.
func (x *request) parseReportedState() (capabilities.Outcome, bool) {
	w, last := x.Words(), len(x.Tokens)-1
	if last < 2 || frame.OpensOrder(&x.Utterance, 0) {
		return capabilities.Outcome{}, false
	}
	state := x.Tokens[last].Text
	if is := w.States[state]; is == "" || x.IsName(last) {
		return capabilities.Outcome{}, false
	}
	var thing []lexicon.Token
	tells := false
	for i := 0; i < last; {
		n := max(w.Fillers.Longest(x.Tokens, i), w.Recalling.Longest(x.Tokens, i))
		if end := x.LongestSlot("device", i); thing == nil && end > i && end <= last {
			thing, n = x.Tokens[i:end], end-i
		} else if n == 0 {
			return capabilities.Outcome{}, false
		} else if w.Recalling.Longest(x.Tokens, i) > 0 {
			tells = true
		}
		i += n
	}
	if thing == nil || !tells {
		return capabilities.Outcome{}, false
	}
	req := x.Message
	req.Intent = "is " + lexicon.Join(thing) + " " + state + "?"
	y := x.r.newPart(req, nil)
	out := y.parse()
	if out.Refusal != nil || out.Plan != nil && out.Plan.Actuates() {
		return capabilities.Outcome{}, false
	}
	x.Explain = y.Explain
	if out.Question != nil {
		out.Question.Given = x.Given
	}
	return out, true
}

// parseWait reads a text that waits for an event. The plan only observes: an act after the
// event is no part of it.
func (x *request) parseWait() (capabilities.Outcome, bool) {
	if x.Message.Precision == mess.Loose {
		return capabilities.Outcome{}, false
	}
	f, ok := x.WaitCondition()
	if !ok {
		return capabilities.Outcome{}, false
	}
	x.FindHypotheses()
	if able := x.Executable(x.Hypotheses); len(able) > 0 { // "let me know if the door is open" asks how it is now
		return x.Choose(able), true
	}
	x.SetTokens(f.Event)
	x.Hypotheses = nil
	x.Wait = &f
	x.readEvents(f.Object)
	able := x.Executable(x.Hypotheses)
	switch {
	case len(able) > 0:
		x.ImageWords = f.Photo
		return x.Choose(able), true
	case len(x.Hypotheses) > 0:
		return x.RejectUnable(), true
	case x.JoinsNames():
		x.Explain.Leftover = lexicon.Texts(x.Tokens)
		return x.Reject(fmt.Sprintf("%q: one request waits for one event, and no order can follow it; make a request for each", lexicon.Join(x.Tokens)), nil), true
	}
	return capabilities.Outcome{}, false
}

// readEvents finds the hypotheses of an event, or of an object to watch.
func (x *request) readEvents(object bool) {
	g := x.r.Catalog.Events
	if object {
		g = x.r.Catalog.Objects
	}
	walk := grammar.Walker{Words: x.Words(), Tokens: x.Tokens, Fill: x.SlotValues}
	walk.Found = func(s *grammar.Pattern, slots []grammar.BoundSlot) {
		rd := resolve.Hypothesis{Pattern: s, Slots: slots, Args: slices.Clone(s.Args)}
		for _, b := range slots {
			if b.Kind == "device" {
				rd.How = max(rd.How, b.Match.Specificity)
				rd.All = rd.All || b.Match.All
			}
			if b.Kind == "number" {
				n, ok := x.r.Catalog.ConvertTo(rd.Value("quantity"), b.Match)
				if !ok {
					return
				}
				rd.Args = rd.Args.Set("value", n)
			}
		}
		x.Hypotheses = append(x.Hypotheses, rd)
	}
	walk.Walk(g, 0)
	if object && len(x.Hypotheses) == 0 { // "watch for somebody at the door"
		x.readEvents(false)
	}
}

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
