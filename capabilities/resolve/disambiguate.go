package resolve

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// Choose makes one outcome of the readings that can be done.
func (x *Request) Choose(able []Hypothesis) capabilities.Outcome {
	if x.IsQuestion { // "garage door open?" asks how it is
		looks := slices.DeleteFunc(slices.Clone(able), func(rd Hypothesis) bool { return rd.Capability.Effect != capabilities.Query })
		if len(looks) > 0 {
			able = looks
		}
	}
	everything := func(rd Hypothesis) bool { return rd.ofWhat() && rd.Capability.Command == capabilities.SetSwitch }
	if slices.ContainsFunc(able, everything) { // "start everything in the kitchen" is not to vacuum it
		able = slices.DeleteFunc(slices.Clone(able), func(rd Hypothesis) bool { return rd.ofWhat() && !everything(rd) })
	}
	able = ofItsKind(able)
	best := able[0]
	if best.Capability.Effect == capabilities.Query && len(best.Devices) > 1 { // where one answers, nobody is asked which
		for _, rd := range able[1:] {
			if rd.How == best.How && rd.Capability.Effect == capabilities.Query && len(rd.Devices) == 1 {
				best = rd
				break
			}
		}
	}
	x.explainReading(&best, able)
	if best.Capability.Effect != capabilities.Query {
		for _, rd := range able[1:] {
			if rd.How == best.How && rd.ofWhat() && len(rd.Capability.Classes) != 1 {
				if rd.Capability.Command == capabilities.SetSwitch { // more things are switched than cleaned with
					x.Explain.Capability = rd.Capability.ID
				}
				return x.settle(&rd)
			}
			if rd.How == best.How && !best.same(&rd) {
				return x.whichMeaning(able)
			}
		}
	}
	for _, rd := range able[1:] {
		if rd.How == best.How && best.same(&rd) {
			best.Devices = append(best.Devices, lexicon.Subtract(rd.Devices, best.Devices)...)
		}
	}
	slices.Sort(best.Devices)
	return x.settle(&best)
}

// ofItsKind leaves out what does the same with the same devices as a capability that
// is made for their classes: "start the kettle" is more than to switch something on.
func ofItsKind(able []Hypothesis) []Hypothesis {
	return slices.DeleteFunc(slices.Clone(able), func(rd Hypothesis) bool {
		c := rd.Capability
		return len(c.Classes) == 0 && slices.ContainsFunc(able, func(o Hypothesis) bool {
			return len(o.Capability.Classes) > 0 && o.Capability.Command == c.Command && o.How >= rd.How && slices.Equal(o.Devices, rd.Devices) &&
				slices.Equal(o.Capability.FixedArgs(), c.FixedArgs()) && slices.Equal(o.Args, rd.Args)
		})
	})
}

// made is the capability that stands for c with the class of device d, else c: to
// switch a kettle on is to start it, however it is said.
func (r *Resolver) made(c *grammar.Capability, d int) *grammar.Capability {
	for _, one := range r.Catalog.Capabilities {
		if one.Covers == c.ID && slices.Contains(one.Classes, r.Class[d]) {
			return one
		}
	}
	return c
}

// ofWhat reports whether it is for all of it was not said what: "turn on everything".
func (rd *Hypothesis) ofWhat() bool {
	m := rd.Slot("device")
	return m != nil && m.All && m.Class == "" && m.Specificity == lexicon.Unspecified
}

// IsWholeArea reports whether it is to turn off everything of one place.
func (rd *Hypothesis) IsWholeArea() bool {
	return rd.ofWhat() && rd.Value("area") != "" && rd.Capability.Command == capabilities.SetSwitch && halts(*rd)
}

// same reports whether two readings would do the same.
func (rd *Hypothesis) same(o *Hypothesis) bool {
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

// whichMeaning asks which of several things is meant.
func (x *Request) whichMeaning(able []Hypothesis) capabilities.Outcome {
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
		return x.settle(of[0])
	}
	q := capabilities.Question{Field: "meaning", Text: "which is meant: " + lexicon.OrList(options) + "?", Options: options}
	picked, out, ok := x.AskClarification(q)
	if !ok {
		return out
	}
	if len(picked) > 1 {
		q.Text, q.Given = "only one can be meant; "+q.Text, WithoutKey(x.Given, q.Field)
		return capabilities.Outcome{Question: &q}
	}
	return x.settle(of[slices.Index(options, picked[0])])
}

// Summary says what a reading would do. Where there is not yet one device for
// it, it says what the text says.
func (x *Request) Summary(rd *Hypothesis) string {
	s := x.Resolver.planFor(rd, rd.Devices[0], x.areas(rd)).Summary
	for _, b := range rd.Slots {
		if b.Kind == "device" && len(rd.Devices) > 1 && b.Match.End > b.From {
			s = strings.Replace(s, x.Resolver.Label(rd.Devices[0]), lexicon.Join(x.Words().PlainTokens(lexicon.Join(x.Tokens[b.From:b.Match.End]))), 1)
		}
	}
	return s
}
