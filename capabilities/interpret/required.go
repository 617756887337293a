package interpret

import (
	"fmt"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/mess"
)

// resolveRequired makes the outcome of a request whose requires names capabilities: the
// text may say less than a sentence, but must not contradict them.
func (x *request) resolveRequired() capabilities.Outcome {
	if able := x.Executable(x.Hypotheses); len(able) > 0 {
		return x.Choose(able)
	}
	if out, ok := x.parseRelated(); ok {
		return out
	}
	if out, ok := x.try((*request).parseRequiredFrames); ok {
		return out
	}
	if len(x.Hypotheses) > 0 {
		return x.rejectContradiction()
	}
	if acts := x.ImageRequest(); len(acts) > 0 {
		return x.Choose(acts)
	}
	if out, bad := x.Constrained(); bad {
		return out
	}
	var able []resolve.Hypothesis
	for i := range x.Demand.Capabilities {
		w := &x.Demand.Capabilities[i]
		rd, out, ok := x.parseFromRequires(w)
		if !ok {
			return out
		}
		able = append(able, x.Executable([]resolve.Hypothesis{rd})...)
	}
	switch {
	case len(able) == 0:
		return x.Reject(fmt.Sprintf("requires: no device here is all of %s, as the request narrows it", strings.Join(x.Demand.IDs(), ", ")), nil)
	case len(able) > 1:
		return x.Reject(fmt.Sprintf("requires: %s are several tasks; make a request for each", strings.Join(x.Demand.IDs(), ", ")), nil)
	}
	return x.Choose(able)
}

// parseRelated reads a text that asks for the act of a required capability, and leaves open the
// value that the metadata give: "dim the light" may be to 40 percent.
func (x *request) parseRelated() (capabilities.Outcome, bool) {
	if len(x.Demand.Capabilities) != 1 || len(x.Demand.Capabilities[0].Args) == 0 || x.IsQuestion {
		return capabilities.Outcome{}, false
	}
	for i := range x.Tokens {
		if x.Words().CardinalEnd(x.Tokens, i) > i && x.Words().Fillers.Longest(x.Tokens, i) == 0 {
			return capabilities.Outcome{}, false
		}
	}
	w, req := &x.Demand.Capabilities[0], x.Message
	req.Requires = nil
	o := x.r.resolveText(req, x.Given)
	c := x.r.Catalog.Find(o.Explain.Capability)
	if frame.HasValue(&x.Utterance, 0) || c == nil || c.Command != w.Command && !x.r.setSameProperty(c.ID, w.ID) || len(o.Explain.Leftover) > 0 {
		return capabilities.Outcome{}, false
	}
	rd := resolve.Hypothesis{Pattern: &grammar.Pattern{Capability: w.Capability, Text: "requires"}, How: lexicon.ByName}
	var meant [][]int
	if o.Plan != nil && len(o.Plan.Steps) == 0 && o.Plan.For == 0 && o.Plan.NotBefore.IsZero() {
		if d := x.r.Index.Device(o.Plan.Device); d >= 0 {
			meant = append(meant, []int{d})
		}
	}
	if o.Question != nil && o.Question.Field == "device" {
		for _, label := range o.Question.Options {
			meant = append(meant, x.r.Index.Labels[label])
		}
	}
	for _, d := range entity.Union(len(x.r.Index.Every), meant) {
		if x.r.CanDo(w.Capability, "", d) && x.Demand.Allows(w.Capability, x.r.Site.Devices[d]) {
			rd.Devices = append(rd.Devices, d)
		}
	}
	if len(rd.Devices) == 0 {
		return capabilities.Outcome{}, false
	}
	return x.Choose([]resolve.Hypothesis{rd}), true
}

// parseRequiredFrames reads a text by its words if requires names the capability.
func (x *request) parseRequiredFrames() (capabilities.Outcome, bool) {
	explain := x.Explain
	x.Hypotheses = nil
	if out, ok := x.parseWithoutTime(); ok && (out.Refusal == nil || x.Disagrees) {
		return out, true
	}
	x.Explain = explain
	return capabilities.Outcome{}, false
}

// rejectContradiction refuses a text that asks for another act than requires.
func (x *request) rejectContradiction() capabilities.Outcome {
	d := x.Demand
	x.Demand = resolve.Demand{}
	able := x.Executable(x.Hypotheses)
	x.Demand = d
	if len(able) == 0 {
		return x.NotUnderstood()
	}
	return x.Reject(fmt.Sprintf("the text asks to %s, but requires asks for %s; make them agree",
		x.Summary(&able[0]), strings.Join(d.IDs(), ", ")), nil)
}

// parseFromRequires reads a text that matches no sentence with the help of requires. Words that
// order another capability contradict it. Able checks the names of other devices. Unknown words
// are allowed if requires names the device, unless the precision is exact.
func (x *request) parseFromRequires(w *resolve.RequiredCapability) (resolve.Hypothesis, capabilities.Outcome, bool) {
	rd := resolve.Hypothesis{Pattern: &grammar.Pattern{Capability: w.Capability, Text: "requires", Quantity: w.Quantity}}
	if x.IsQuestion && w.Effect != capabilities.Query {
		return rd, x.Reject(fmt.Sprintf("a question never acts, and requires asks for %s; say it as an order", w.ID), nil), false
	}
	own := x.r.Catalog.WordsOf[w.ID]
	var leftover []string
	for i := 0; i < len(x.Tokens); {
		if n := x.ReadName(&rd, i); n > 0 {
			i += n
			continue
		}
		if n := x.Words().Fillers.Longest(x.Tokens, i); n > 0 {
			i += n
			continue
		}
		t := x.Tokens[i]
		if x.r.Catalog.OrderWords[t.Folded] && !own[t.Folded] {
			return rd, x.Reject(fmt.Sprintf("%q in the text does not go with %s in requires; make them agree", t.Text, w.ID), nil), false
		}
		if !own[t.Folded] {
			leftover = append(leftover, t.Text)
		}
		i++
	}
	x.Explain.Leftover = leftover
	pinned := len(w.Devices) > 0 || len(w.Areas) > 0
	if len(leftover) > 0 && (!pinned || x.Message.Precision == mess.Exact) {
		return rd, x.Reject(fmt.Sprintf("not understood: %s; leave it out, or say in requires which device", lexicon.QuoteList(leftover)), x.r.Nearest(leftover)), false
	}
	return rd, capabilities.Outcome{}, true
}
