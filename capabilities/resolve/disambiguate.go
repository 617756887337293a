package resolve

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// Choose makes one outcome of the hypotheses that devices can carry out.
func (x *Request) Choose(able []Hypothesis) capabilities.Outcome {
	if x.IsQuestion { // "garage door open?" asks how it is
		looks := slices.DeleteFunc(slices.Clone(able), func(rd Hypothesis) bool { return rd.Capability.Effect != capabilities.Query })
		if len(looks) > 0 {
			able = looks
		}
	}
	everything := func(rd Hypothesis) bool { return rd.lacksKind() && rd.Capability.Command == capabilities.SetSwitch }
	if slices.ContainsFunc(able, everything) { // "start everything in the kitchen" is not to vacuum it
		able = slices.DeleteFunc(slices.Clone(able), func(rd Hypothesis) bool { return rd.lacksKind() && !everything(rd) })
	}
	able = mostSpecific(able)
	best := able[0]
	if best.Capability.Effect == capabilities.Query && len(best.Devices) > 1 { // a hypothesis with one device needs no question
		for _, rd := range able[1:] {
			if rd.How == best.How && rd.Capability.Effect == capabilities.Query && len(rd.Devices) == 1 {
				best = rd
				break
			}
		}
	}
	x.explainHypothesis(&best, able)
	if best.Capability.Effect != capabilities.Query {
		for _, rd := range able[1:] {
			if rd.How == best.How && rd.lacksKind() && len(rd.Capability.Classes) != 1 {
				if rd.Capability.Command == capabilities.SetSwitch { // requesters more often switch a device than clean with it
					x.Explain.Capability = rd.Capability.ID
				}
				return x.plan(&rd)
			}
			if rd.How == best.How && !best.isSame(&rd) {
				return x.askMeaning(able)
			}
		}
	}
	for _, rd := range able[1:] {
		if rd.How == best.How && best.isSame(&rd) {
			best.Devices = append(best.Devices, lexicon.Subtract(rd.Devices, best.Devices)...)
		}
	}
	slices.Sort(best.Devices)
	return x.plan(&best)
}

// mostSpecific removes a hypothesis if another one does the same with the same devices and has
// a capability for their class: "start the kettle" says more than "switch on".
func mostSpecific(able []Hypothesis) []Hypothesis {
	return slices.DeleteFunc(slices.Clone(able), func(rd Hypothesis) bool {
		c := rd.Capability
		return len(c.Classes) == 0 && slices.ContainsFunc(able, func(o Hypothesis) bool {
			return len(o.Capability.Classes) > 0 && o.Capability.Command == c.Command && o.How >= rd.How && slices.Equal(o.Devices, rd.Devices) &&
				slices.Equal(o.Capability.FixedArgs(), c.FixedArgs()) && slices.Equal(o.Args, rd.Args)
		})
	})
}

// specificCapability returns the capability that replaces c for the class of device d, otherwise
// c: an order to switch a kettle on starts it.
func (r *Resolver) specificCapability(c *grammar.Capability, d int) *grammar.Capability {
	for _, one := range r.Catalog.Capabilities {
		if one.Covers == c.ID && slices.Contains(one.Classes, r.Class[d]) {
			return one
		}
	}
	return c
}

// lacksKind reports whether the hypothesis is for everything without a kind of device: "turn
// on everything".
func (rd *Hypothesis) lacksKind() bool {
	m := rd.Slot("device")
	return m != nil && m.All && m.Class == "" && m.Specificity == lexicon.Unspecified
}

// IsWholeArea reports whether the hypothesis turns off everything in one place.
func (rd *Hypothesis) IsWholeArea() bool {
	return rd.lacksKind() && rd.Value("area") != "" && rd.Capability.Command == capabilities.SetSwitch && stops(*rd)
}

// isSame reports whether two hypotheses would do the same.
func (rd *Hypothesis) isSame(o *Hypothesis) bool {
	if rd.Capability != o.Capability || rd.All != o.All {
		return false
	}
	for _, kind := range []string{"quantity", "thing", "view", "spot", "duration", "position"} {
		if rd.Value(kind) != o.Value(kind) {
			return false
		}
	}
	return rd.asks == o.asks && slices.Equal(rd.Args, o.Args)
}

// askMeaning asks which of several hypotheses the requester means.
func (x *Request) askMeaning(able []Hypothesis) capabilities.Outcome {
	var options []string
	var of []*Hypothesis
	for i := range able {
		rd := &able[i]
		if rd.How != able[0].How {
			break
		}
		text := x.Summary(rd)
		if !slices.Contains(options, text) {
			options, of = append(options, text), append(of, rd)
		}
	}
	if len(of) == 1 {
		return x.plan(of[0])
	}
	q := capabilities.Clarification{Field: "meaning", Text: "which is meant: " + lexicon.OrList(options) + "?", Options: options}
	picked, out, ok := x.AskClarification(q)
	if !ok {
		return out
	}
	if len(picked) > 1 {
		q.Text, q.Given = "pick only one; "+q.Text, WithoutKey(x.Given, q.Field)
		return capabilities.Outcome{Question: &q}
	}
	return x.plan(of[slices.Index(options, picked[0])])
}

// Summary returns what a hypothesis would do. If several devices are possible, it keeps the
// words of the text for them.
func (x *Request) Summary(rd *Hypothesis) string {
	s := x.Resolver.planFor(rd, rd.Devices[0], x.namedAreas(rd)).Summary
	for _, b := range rd.Slots {
		if b.Kind == "device" && len(rd.Devices) > 1 && b.Match.End > b.From {
			s = strings.Replace(s, x.Resolver.Label(rd.Devices[0]), lexicon.Join(x.Words().PlainTokens(lexicon.Join(x.Tokens[b.From:b.Match.End]))), 1)
		}
	}
	return s
}
