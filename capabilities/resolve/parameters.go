package resolve

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/reply"
	"github.com/messkit/messkit/mess"
)

// IsDoubtful reports whether a hypothesis that acts needs a confirmation.
func (x *Request) IsDoubtful(rd *Hypothesis) bool {
	return x.IsQuestion || x.InQuotes || rd.Doubt != "" || len(x.UnknownWords) > 0 || x.mayBeReport()
}

// doseDoubt is the doubt of an order for an amount that a machine makes: the machine has no
// such parameter.
func doseDoubt(n float64) string {
	return fmt.Sprintf("the filling of the machine sets how much it makes, and not the number %s", lexicon.DecimalText(n))
}

// argsOf returns the parameters that a frame and the words give.
func (x *Request) argsOf(f *catalog.Frame, so frame.Reading) mess.Object {
	l := &x.Resolver.Catalog.Frames
	var o mess.Object
	if by := f.Change; by != 0 {
		switch {
		case so.Signals.Has(l.Bits[catalog.DifferenceFeature]) && by < 0:
			by = -so.Level
		case so.Signals.Has(l.Bits[catalog.DifferenceFeature]):
			by = so.Level
		case so.Signals.Has(l.Bits["bit"]):
			by /= 2
		case so.Signals.Has(l.Bits["lots"]):
			by *= 2
		}
		o = o.Set("change", by)
	}
	switch {
	case f.Level != 0:
		o = o.Set("level", f.Level)
	case so.Signals.Has(l.Bits[catalog.LevelFeature]) && f.Of.Command == capabilities.Dim:
		o = o.Set("level", so.Level)
	}
	if so.Color != "" && f.Of.Command == capabilities.SetColor {
		o = o.Set("colour", so.Color)
	}
	return o
}

// askByOrTo asks whether an amount is a value or a difference, and sets it.
func (x *Request) askByOrTo(rd *Hypothesis) (capabilities.Outcome, bool) {
	percent := lexicon.DecimalText(math.Abs(rd.number)) + " percent"
	options := []string{"to " + percent, "by " + percent}
	q := capabilities.Clarification{Field: reply.AmountField, Text: fmt.Sprintf("%s: %s?", rd.Doubt, lexicon.OrList(options)), Options: options}
	picked, out, ok := x.AskClarification(q)
	switch {
	case !ok:
		return out, false
	case len(picked) != 1:
		q.Text, q.Given = "pick one of the two; "+q.Text, WithoutKey(x.Given, q.Field)
		return capabilities.Outcome{Question: &q}, false
	case picked[0] == options[1]:
		rd.Pattern, rd.Args = rd.other, mess.Object{{Key: "change", Value: rd.number}}
	}
	rd.Doubt = ""
	return capabilities.Outcome{}, true
}

// askParameter asks for a parameter that a frame leaves open, and sets it.
func (x *Request) askParameter(rd *Hypothesis) (capabilities.Outcome, bool) {
	l := &x.Resolver.Catalog.Frames
	var q capabilities.Clarification
	values := map[string]any{}
	switch rd.asks {
	case "":
		return capabilities.Outcome{}, true
	case reply.AmountField:
		return x.askByOrTo(rd)
	case "colour":
		q = capabilities.Clarification{Field: "colour", Text: "which color?"}
		for _, name := range l.Lists.Offered {
			if hex, ok := l.Lists.Colors[name]; ok {
				q.Options, values[name] = append(q.Options, name), hex
			}
		}
	case "level":
		q = capabilities.Clarification{Field: "level", Options: []string{lexicon.DecimalText(rd.number) + " percent"}}
		values[q.Options[0]] = rd.number
		if tenth := rd.number * 10; rd.number <= 10 && tenth > 0 {
			q.Options = append(q.Options, lexicon.DecimalText(tenth)+" percent")
			values[q.Options[1]] = tenth
		} else {
			q.Options = append(q.Options, capabilities.NoneOfThese)
		}
		q.Text = fmt.Sprintf("how bright: %s?", lexicon.OrList(q.Options))
	}
	picked, out, ok := x.AskClarification(q)
	if !ok {
		return out, false
	}
	value, known := values[picked[0]]
	if len(picked) != 1 || !known {
		return x.Reject("the answer picks none of the options; say it in other words", nil), false
	}
	rd.Args = rd.Args.Set(rd.asks, value)
	return capabilities.Outcome{}, true
}

// applyAmounts converts the amounts of a hypothesis to parameters of device d: a named position to
// its angle, and a degree of closing to a degree of opening.
func (x *Request) applyAmounts(rd *Hypothesis, d int) (capabilities.Outcome, bool) {
	if m := rd.Slot("position"); m != nil {
		list := x.Resolver.Site.Devices[d].NamedAngles
		at := slices.IndexFunc(list, func(p capabilities.NamedAngle) bool { return strings.EqualFold(p.Name, m.Value) })
		if at < 0 {
			return x.Reject(fmt.Sprintf("the %s has no position called %q; %s", x.Resolver.Label(d), m.Value, x.Resolver.Turnable(d)), entity.AngleNames(list)), false
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
			picked, out, ok := x.AskClarification(capabilities.Clarification{Field: "opening", Text: "how far: " + lexicon.OrList(options) + "?", Options: options})
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
		limits, bounded := x.Resolver.Site.Devices[d].Limits[a.Key]
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
