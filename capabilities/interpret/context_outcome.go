package interpret

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/mess"
)

// refines reports whether an outcome has the same subject as the one before, and says more
// about it.
func (r *Interpreter) refines(before, out capabilities.Outcome) bool {
	switch {
	case before.Refusal != nil:
		return out.Plan != nil
	case !r.isAlike(before.Explain.Capability, out.Explain.Capability):
		return false
	case before.Plan == nil:
		return true
	case out.Plan == nil:
		return out.Question.Field != "go_ahead" && !strings.HasPrefix(out.Question.Field, "meaning")
	}
	return before.Plan.Device == out.Plan.Device
}

// isAlike reports whether two capabilities are equal or set the same property of a light:
// an order to turn on a lamp may also say how bright.
func (r *Interpreter) isAlike(one, other string) bool {
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
		unused = append(unused, h.said)
		if h.media || !acts {
			continue
		}
		if h.remark {
			if out.Plan != nil && (r.limits(h.text) || !r.isDescription(h.text, out.Plan)) {
				doubts = append(doubts, h.said)
			}
			continue
		}
		same, other := r.ordersIn(h.text, out)
		if r.limits(h.text) || other {
			explain := out.Explain
			x := r.newRequest(req, nil)
			out = x.Reject(fmt.Sprintf("the context says %q; put the order into the request, and remove this from the context", h.said), nil)
			out.Explain = explain
			return out
		}
		if out.Plan != nil && !same && (h.data || !r.isDescription(h.text, out.Plan)) {
			doubts = append(doubts, h.said)
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

// confirmWithContext asks whether the requester means a plan in spite of what the context
// says.
func (x *request) confirmWithContext(p capabilities.Plan, doubts []string, context bool) capabilities.Outcome {
	says := "the text also says"
	if context {
		says = "the context says"
	}
	q := capabilities.Question{Field: "context", Text: fmt.Sprintf("%s %s: shall I %s?", says, lexicon.QuoteList(doubts), p.Summary), Options: []string{"yes", "no"}}
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
