package interpret

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// looks reads what asks how several things are, or tells how one is, as looks at them:
// nothing acts on either.
func (x *request) looks() (capabilities.Outcome, bool) {
	if x.part || len(x.tokens) > maxAlmost || x.demand.capabilities != nil {
		return capabilities.Outcome{}, false
	}
	if x.asks {
		return x.lookAtEach()
	}
	return x.told()
}

// lookAtEach reads a question about several things, or several states of one, as a look
// at each: "are the hall light and the tv on", "did I lock the door and close the garage".
func (x *request) lookAtEach() (capabilities.Outcome, bool) {
	for at := 1; at+1 < len(x.tokens); at++ {
		n, or := x.words().Joining.Longest(x.tokens, at), x.tokens[at].Text == "or"
		if or {
			n = 1
		}
		if n == 0 || x.named(at) {
			continue
		}
		behind := at + n
		for _, end := range append(x.thingsFrom(x.pass(behind)), len(x.tokens)) {
			first := x.lookFor(x.tokens[:at], x.tokens[end:])
			if first == nil {
				continue
			}
			for from := at - 1; from >= 0; from-- {
				if second := x.lookFor(x.tokens[:from], x.tokens[behind:]); second != nil && !sameLook(first, second) {
					return x.lookAt(first, second, or), true
				}
			}
			if second := x.lookFor(x.tokens[:at-1], x.tokens[behind:]); second != nil && first.Asks != second.Asks { // "open or closed"
				first.Asks = ""
				return capabilities.Outcome{Plan: first}, true
			}
		}
	}
	return capabilities.Outcome{}, false
}

// lookFor is the look that a question with words left out asks for, nil if that is none.
func (x *request) lookFor(before, behind []lexicon.Token) *capabilities.Plan {
	req := x.req
	req.Intent = withPauses(slices.Concat(before, behind)) + "?"
	y := &request{r: x.r, req: req, part: true}
	out := y.outcome()
	if out.Plan == nil || out.Plan.Actuates() || out.Plan.Command.Watches() || y.explain.Score < 1 {
		return nil
	}
	x.explain = y.explain
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
	x.explain.Capability = p.Capability
	return capabilities.Outcome{Plan: &p}
}

// told reads what only tells how one thing is as a look at it: "I left the garage door
// open", "the hall light went off". It is never an order to do that.
func (x *request) told() (capabilities.Outcome, bool) {
	w, last := x.words(), len(x.tokens)-1
	if last < 2 || x.opens(0) {
		return capabilities.Outcome{}, false
	}
	state := x.tokens[last].Text
	if is := w.States[state]; is == "" || x.named(last) {
		return capabilities.Outcome{}, false
	}
	var thing []lexicon.Token
	tells := false
	for i := 0; i < last; {
		n := max(w.Fillers.Longest(x.tokens, i), w.Recalling.Longest(x.tokens, i))
		if end := x.longest("device", i); thing == nil && end > i && end <= last {
			thing, n = x.tokens[i:end], end-i
		} else if n == 0 {
			return capabilities.Outcome{}, false
		} else if w.Recalling.Longest(x.tokens, i) > 0 {
			tells = true
		}
		i += n
	}
	if thing == nil || !tells {
		return capabilities.Outcome{}, false
	}
	req := x.req
	req.Intent = "is " + lexicon.Join(thing) + " " + state + "?"
	y := &request{r: x.r, req: req, part: true}
	out := y.outcome()
	if out.Refusal != nil || out.Plan != nil && out.Plan.Actuates() {
		return capabilities.Outcome{}, false
	}
	x.explain = y.explain
	if out.Question != nil {
		out.Question.Given = x.given
	}
	return out, true
}
