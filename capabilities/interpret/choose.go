package interpret

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// choose makes one outcome of the readings that can be done.
func (x *request) choose(able []reading) capabilities.Outcome {
	if x.IsQuestion { // "garage door open?" asks how it is
		looks := slices.DeleteFunc(slices.Clone(able), func(rd reading) bool { return rd.Capability.Effect != capabilities.Query })
		if len(looks) > 0 {
			able = looks
		}
	}
	everything := func(rd reading) bool { return rd.ofWhat() && rd.Capability.Command == capabilities.SetSwitch }
	if slices.ContainsFunc(able, everything) { // "start everything in the kitchen" is not to vacuum it
		able = slices.DeleteFunc(slices.Clone(able), func(rd reading) bool { return rd.ofWhat() && !everything(rd) })
	}
	able = ofItsKind(able)
	best := able[0]
	if best.Capability.Effect == capabilities.Query && len(best.devices) > 1 { // where one answers, nobody is asked which
		for _, rd := range able[1:] {
			if rd.how == best.how && rd.Capability.Effect == capabilities.Query && len(rd.devices) == 1 {
				best = rd
				break
			}
		}
	}
	x.explainReading(&best, able)
	if best.Capability.Effect != capabilities.Query {
		for _, rd := range able[1:] {
			if rd.how == best.how && rd.ofWhat() && len(rd.Capability.Classes) != 1 {
				if rd.Capability.Command == capabilities.SetSwitch { // more things are switched than cleaned with
					x.explain.Capability = rd.Capability.ID
				}
				return x.settle(&rd)
			}
			if rd.how == best.how && !best.same(&rd) {
				return x.whichMeaning(able)
			}
		}
	}
	for _, rd := range able[1:] {
		if rd.how == best.how && best.same(&rd) {
			best.devices = append(best.devices, lexicon.Subtract(rd.devices, best.devices)...)
		}
	}
	slices.Sort(best.devices)
	return x.settle(&best)
}

// ofItsKind leaves out what does the same with the same devices as a capability that
// is made for their classes: "start the kettle" is more than to switch something on.
func ofItsKind(able []reading) []reading {
	return slices.DeleteFunc(slices.Clone(able), func(rd reading) bool {
		c := rd.Capability
		return len(c.Classes) == 0 && slices.ContainsFunc(able, func(o reading) bool {
			return len(o.Capability.Classes) > 0 && o.Capability.Command == c.Command && o.how >= rd.how && slices.Equal(o.devices, rd.devices) &&
				slices.Equal(o.Capability.FixedArgs(), c.FixedArgs()) && slices.Equal(o.args, rd.args)
		})
	})
}

// made is the capability that stands for c with the class of device d, else c: to
// switch a kettle on is to start it, however it is said.
func (r *Interpreter) made(c *grammar.Capability, d int) *grammar.Capability {
	for _, one := range r.Catalog.Capabilities {
		if one.Covers == c.ID && slices.Contains(one.Classes, r.Class[d]) {
			return one
		}
	}
	return c
}

// ofWhat reports whether it is for all of it was not said what: "turn on everything".
func (rd *reading) ofWhat() bool {
	m := rd.slot("device")
	return m != nil && m.All && m.Class == "" && m.Specificity == lexicon.Unspecified
}

// sweeps reports whether it is to turn off everything of one place.
func (rd *reading) sweeps() bool {
	return rd.ofWhat() && rd.value("area") != "" && rd.Capability.Command == capabilities.SetSwitch && halts(*rd)
}

// same reports whether two readings would do the same.
func (rd *reading) same(o *reading) bool {
	if rd.Capability != o.Capability || rd.all != o.all {
		return false
	}
	for _, kind := range []string{"quantity", "thing", "view", "spot", "duration", "position"} {
		if rd.value(kind) != o.value(kind) {
			return false
		}
	}
	return rd.asks == o.asks && slices.Equal(rd.args, o.args)
}

// whichMeaning asks which of several things is meant.
func (x *request) whichMeaning(able []reading) capabilities.Outcome {
	var options []string
	var of []*reading
	for i := range able {
		rd := &able[i]
		if rd.how != able[0].how {
			break
		}
		text := x.summary(rd)
		if !slices.Contains(options, text) {
			options, of = append(options, text), append(of, rd)
		}
	}
	if len(of) == 1 {
		return x.settle(of[0])
	}
	q := capabilities.Question{Field: "meaning", Text: "which is meant: " + lexicon.OrList(options) + "?", Options: options}
	picked, out, ok := x.ask(q)
	if !ok {
		return out
	}
	if len(picked) > 1 {
		q.Text, q.Given = "only one can be meant; "+q.Text, without(x.given, q.Field)
		return capabilities.Outcome{Question: &q}
	}
	return x.settle(of[slices.Index(options, picked[0])])
}

// summary says what a reading would do. Where there is not yet one device for
// it, it says what the text says.
func (x *request) summary(rd *reading) string {
	s := x.r.planFor(rd, rd.devices[0], x.areas(rd)).Summary
	for _, b := range rd.slots {
		if b.Kind == "device" && len(rd.devices) > 1 && b.Match.End > b.From {
			s = strings.Replace(s, x.r.Label(rd.devices[0]), lexicon.Join(x.Words().PlainTokens(lexicon.Join(x.Tokens[b.From:b.Match.End]))), 1)
		}
	}
	return s
}
