package interpret

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
)

// looks reads what asks how several things are, or tells how one is, as looks at them:
// nothing acts on either.
func (x *request) looks() (capabilities.Outcome, bool) {
	if x.part || len(x.Tokens) > maxAlmost || x.Demand.Capabilities != nil {
		return capabilities.Outcome{}, false
	}
	if x.IsQuestion {
		return x.lookAtEach()
	}
	return x.told()
}

// lookAtEach reads a question about several things, or several states of one, as a look
// at each: "are the hall light and the tv on", "did I lock the door and close the garage".
func (x *request) lookAtEach() (capabilities.Outcome, bool) {
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
			first := x.lookFor(x.Tokens[:at], x.Tokens[end:])
			if first == nil {
				continue
			}
			for from := at - 1; from >= 0; from-- {
				if second := x.lookFor(x.Tokens[:from], x.Tokens[behind:]); second != nil && !sameLook(first, second) {
					return x.lookAt(first, second, or), true
				}
			}
			if second := x.lookFor(x.Tokens[:at-1], x.Tokens[behind:]); second != nil && first.Asks != second.Asks { // "open or closed"
				first.Asks = ""
				return capabilities.Outcome{Plan: first}, true
			}
		}
	}
	return capabilities.Outcome{}, false
}

// lookFor is the look that a question with words left out asks for, nil if that is none.
func (x *request) lookFor(before, behind []lexicon.Token) *capabilities.Plan {
	req := x.Message
	req.Intent = withPauses(slices.Concat(before, behind)) + "?"
	y := &request{r: x.r, Request: resolve.Request{Resolver: &x.r.Resolver, Utterance: entity.Utterance{Home: &x.r.Home}, Message: req}, part: true}
	out := y.outcome()
	if out.Plan == nil || out.Plan.Actuates() || out.Plan.Command.Watches() || y.Explain.Score < 1 {
		return nil
	}
	x.Explain = y.Explain
	return out.Plan
}

// sameLook reports whether two plans look at the same things.
func sameLook(a, b *capabilities.Plan) bool {
	return a.Device == b.Device && a.Capability == b.Capability
}

// lookAt is a plan of two looks. Of "or" one is enough for a yes.
func (x *request) lookAt(first, second *capabilities.Plan, or bool) capabilities.Outcome {
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

// told reads what only tells how one thing is as a look at it: "I left the garage door
// open", "the hall light went off". It is never an order to do that.
func (x *request) told() (capabilities.Outcome, bool) {
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
	y := &request{r: x.r, Request: resolve.Request{Resolver: &x.r.Resolver, Utterance: entity.Utterance{Home: &x.r.Home}, Message: req}, part: true}
	out := y.outcome()
	if out.Refusal != nil || out.Plan != nil && out.Plan.Actuates() {
		return capabilities.Outcome{}, false
	}
	x.Explain = y.Explain
	if out.Question != nil {
		out.Question.Given = x.Given
	}
	return out, true
}
