package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// applyAmounts converts the amounts of a reading to what device d can do: a named position
// to its angle, and a degree of closing to a degree of opening.
func (x *Request) applyAmounts(rd *Hypothesis, d int) (capabilities.Outcome, bool) {
	if m := rd.Slot("position"); m != nil {
		list := x.Resolver.Site.Devices[d].Positions
		at := slices.IndexFunc(list, func(p capabilities.Pose) bool { return strings.EqualFold(p.Name, m.Value) })
		if at < 0 {
			return x.Reject(fmt.Sprintf("the %s has no position called %q; %s", x.Resolver.Label(d), m.Value, x.Resolver.Turnable(d)), entity.PositionNames(list)), false
		}
		rd.Args = rd.Args.Set("angle", list[at].Angle)
	}
	if closing, ok := rd.Args.Get("closing"); ok {
		percent, _ := closing.(float64)
		if percent > 100 {
			return x.Reject(fmt.Sprintf("%s percent is more than all of it; ask for 0 to 100", lexicon.DecimalText(percent)), nil), false
		}
		options := []string{lexicon.DecimalText(percent) + " percent open", lexicon.DecimalText(100-percent) + " percent open"}
		values := []float64{percent, 100 - percent}
		at := 0
		if percent != 50 {
			picked, out, ok := x.AskClarification(capabilities.Question{Field: "opening", Text: "how far: " + lexicon.OrList(options) + "?", Options: options})
			if !ok {
				return out, false
			}
			if at = slices.Index(options, picked[0]); len(picked) != 1 || at < 0 {
				return x.Reject("the answer picks none of the options; say it in other words", nil), false
			}
		}
		rd.Args = WithoutKey(rd.Args, "closing").Set("opening", values[at])
	}
	for _, a := range rd.Args {
		limits, bounded := x.Resolver.Site.Devices[d].Within[a.Key]
		n, number := a.Value.(float64)
		if bounded && number && (n < limits.Min || n > limits.Max) {
			return x.Reject(fmt.Sprintf("the %s cannot take %s %s; %s", x.Resolver.Label(d), lexicon.DecimalText(n), grammar.UnitOf(rd.Capability, a.Key), x.Resolver.Bounds(d, a.Key, limits)), nil), false
		}
	}
	return capabilities.Outcome{}, true
}

// angleText returns an angle of a plan in words: "45 degrees", "left (30 degrees)".
func (rd *Hypothesis) angleText() string {
	at, _ := rd.Args.Get("angle")
	n, known := at.(float64)
	text := lexicon.DecimalText(n) + " degrees"
	m := rd.Slot("position")
	switch {
	case m != nil && known:
		return m.Value + " (" + text + ")"
	case m != nil:
		return m.Value
	}
	return text
}
