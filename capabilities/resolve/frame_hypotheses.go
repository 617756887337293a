package resolve

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/reply"
)

// FrameHypotheses returns the hypotheses that have a frame.
func (x *Request) FrameHypotheses(ways []frame.Reading) []Hypothesis {
	l := &x.Resolver.Catalog.Frames
	var list []Hypothesis
	for i, so := range ways {
		if len(list) > 0 && so.Pieces > ways[i-1].Pieces && x.MaxSkips == 0 {
			break // hypotheses with fewer pieces are closer
		}
		which := so.First && len(so.Devices) > 0 && so.Signals.Has(l.Bits["turn"]|l.Bits["start"]|l.Bits["stop"]) // "turn on the green light"
		if which || so.Twice || !l.Grammatical(so.Signals) {
			continue
		}
		could := so.Signals.Has(l.Bits["could"])
		so.Signals &^= l.Bits["could"] | l.Bits[catalog.Participle] | l.Bits[catalog.Gerund]
		for _, f := range l.Lists.Frames {
			s := so.Signals
			if f.AllMask.Has(l.Bits[catalog.NumberFeature]) && s.Has(l.Bits[catalog.LevelFeature]) && so.Bare { // "make twenty coffees"
				s = s&^l.Bits[catalog.LevelFeature] | l.Bits[catalog.NumberFeature]
			}
			ask := f.Missing
			if s.Has(l.Bits[catalog.NumberFeature]) && f.Fits(s&^l.Bits[catalog.NumberFeature]|l.Bits[catalog.LevelFeature]) && f.Of.Command == capabilities.Dim {
				s, ask = s&^l.Bits[catalog.NumberFeature]|l.Bits[catalog.LevelFeature], "level"
			}
			if !f.Fits(s) || so.Object && f.Of.Command == capabilities.Clean { // "clean the vacuum"
				continue
			}
			if rd, ok := x.frameHypothesis(f, so); ok {
				rd.asks, rd.number, rd.lost, rd.pieces = ask, so.Level, so.Lost, so.Pieces
				x.setDoubt(&rd, f, so, s)
				if could {
					rd.Doubt = cmp.Or(rd.Doubt, mayBeWish)
				}
				list = append(list, rd)
			}
		}
	}
	return list
}

// setDoubt notes why a hypothesis of frame f with signals s may not be what the requester
// means.
func (x *Request) setDoubt(rd *Hypothesis, f *catalog.Frame, so frame.Reading, s catalog.Feature) {
	l := &x.Resolver.Catalog.Frames
	rd.Doubt = cmp.Or(rd.Doubt, f.Doubt)
	if f.AllMask.Has(l.Bits[catalog.NumberFeature]) {
		rd.Doubt = strings.TrimPrefix(f.Doubt+", and "+doseDoubt(so.Level), ", and ")
	}
	switch noVerb := !s.Has(l.Bits["turn"] | l.Bits["make"] | l.Bits["want"] | l.Bits["change"] | l.Bits["should"]); {
	case s.Has(l.Bits["unsure"] | l.Bits["dark"]):
		rd.Doubt = "the text does not say what to do"
	case so.First && noVerb && len(so.Devices) > 0:
		rd.Doubt = "the text may be a name" // "blue lights"
	case s.Has(l.Bits["should"]) && !s.Has(l.Bits["want"]):
		rd.Doubt = cmp.Or(rd.Doubt, "the text describes a wish and gives no order")
	case so.Bare && s.Has(l.Bits[catalog.LevelFeature]) && s.Has(l.Bits["raise"]|l.Bits["lower"]|l.Bits["up"]|l.Bits["down"]|l.Bits["brighter"]|l.Bits["darker"]) && !so.Named:
		if other := l.DifferenceFrame(f, s); rd.Doubt == "" && other != nil {
			rd.asks, rd.number, rd.other = reply.AmountField, math.Copysign(so.Level, other.Change), other.Pattern
		}
		rd.Doubt = cmp.Or(rd.Doubt, fmt.Sprintf("%s percent may be how bright, or by how much", lexicon.DecimalText(so.Level)))
	case so.Vague:
		rd.Doubt = cmp.Or(rd.Doubt, fmt.Sprintf("%s may be how bright, or a time", lexicon.DecimalText(so.Level)))
	case so.Spread:
		rd.Doubt = cmp.Or(rd.Doubt, "the value may be for the device before \"and\" only")
	}
}

// frameHypothesis makes a hypothesis of one frame: which devices, where, and how much.
func (x *Request) frameHypothesis(f *catalog.Frame, so frame.Reading) (Hypothesis, bool) {
	l := &x.Resolver.Catalog.Frames
	rd := Hypothesis{Pattern: f.Pattern, Args: x.argsOf(f, so)}
	if f.Of.Command != capabilities.Clean && slices.ContainsFunc(so.Places, func(b grammar.BoundSlot) bool { return b.Kind == "spot" }) {
		return rd, false
	}
	whole, here := so.Signals.Has(l.Bits["whole"]), so.Signals.Has(l.Bits["here"]|l.Bits["it"])
	switch {
	case len(so.Devices) > 0:
		m := *so.Devices[0].Match
		for _, b := range so.Devices[1:] {
			m = m.Union(*b.Match)
			m.All, m.Count = true, 0
		}
		if len(so.Devices) > 1 {
			m.Parts = nil
			for _, b := range so.Devices {
				if len(b.Match.Parts) > 0 {
					m.Parts = append(m.Parts, b.Match.Parts...)
				} else {
					m.Parts = append(m.Parts, lexicon.NamedGroup{Devices: b.Match.Devices, All: b.Match.All})
				}
			}
			if len(so.Places) == 0 {
				rd.Names = so.Devices
			}
		}
		if here {
			m.All = false
		}
		m.All = m.All || whole && len(so.Places) == 0
		rd.Slots = append(rd.Slots, grammar.BoundSlot{Kind: "device", Name: "device", From: so.Devices[0].From, Match: &m})
		rd.How, rd.All = m.Specificity, m.All
	case len(so.Places) == 1 && so.Places[0].Kind == "area" && (f.Class == "" || !so.Signals.Has(f.NameMask)):
		if !x.readPlaceAlone(&rd, f, so) {
			return rd, false
		}
	case f.Class == "" || !so.Signals.Has(f.NameMask):
		return rd, false
	default:
		m := x.everyOf(f.Class)
		m.All = whole && len(so.Places) == 0
		rd.Slots = append(rd.Slots, grammar.BoundSlot{Kind: "device", Name: "device", From: 0, Match: &m})
		rd.How, rd.All = lexicon.ByClass, m.All
	}
	if len(so.Places) > 0 && so.Ahead && so.Listed && len(so.Devices) == 1 && f.Of.Command != capabilities.Clean { // "kitchen and hall lights"
		return rd, x.addPlaces(&rd, so.Places)
	}
	if len(so.Places) > 1 && len(so.Devices) > 1 && f.Of.Command != capabilities.Clean {
		return rd, false // the text does not name the place of each
	}
	if len(so.Places) > 1 && f.Of.Command != capabilities.Clean {
		x.narrowToPlaces(&rd, so.Places)
		return rd, true
	}
	if len(f.Only) > 0 && slices.ContainsFunc(rd.Slots[0].Match.Devices, func(d int) bool { return !slices.Contains(f.Only, x.Resolver.Class[d]) }) {
		return rd, false
	}
	for _, b := range so.Places {
		if b.Kind == "area" && f.Of.Command == capabilities.Clean { // a room that is no spot
			if slices.ContainsFunc(x.SlotValues("spot", b.From), func(m lexicon.SlotValue) bool { return m.End >= b.Match.End }) {
				return rd, false // the slot "spot" reads it
			}
			rd.unreachableArea = b.Match.Value
			continue
		}
		rd.Slots = append(rd.Slots, b)
	}
	if len(so.Places) > 1 && f.Of.Command == capabilities.Clean {
		return rd, false
	}
	rd.areaUnspecified = f.Of.Command == capabilities.Clean && here
	return rd, !(f.Of.Command == capabilities.Clean && whole && len(so.Places) > 0)
}

// readPlaceAlone reads a place without a device: "turn off the kitchen", "office 50
// percent". The interpreter asks about the devices there that can do it.
func (x *Request) readPlaceAlone(rd *Hypothesis, f *catalog.Frame, so frame.Reading) bool {
	l := &x.Resolver.Catalog.Frames
	if len(so.Lost)+len(x.UnknownWords) > 0 || so.Named || f.Missing != "" || so.Signals.Has(l.Bits[catalog.ColorFeature]) && !so.Valued { // "blue bedroom"
		return false
	}
	if so.Signals.Has(l.Bits["on"]) && !so.Signals.Has(l.Bits["turn"]|l.Bits["make"]|l.Bits["want"]|l.Bits["should"]) && so.Places[0].From > 0 { // "on the porch"
		return false
	}
	if c := f.Of.Command; c != capabilities.SetSwitch && c != capabilities.Dim && c != capabilities.SetColor || c == capabilities.SetSwitch && !so.Signals.Has(l.Bits["on"]|l.Bits["off"]) {
		return false
	}
	m := lexicon.SlotValue{Specificity: lexicon.ByPlace, Value: so.Places[0].Match.Value, Class: f.Class}
	m.Devices = x.Resolver.Index.FittingAmong(x.Resolver.Index.InArea(m.Value), func(d int) bool {
		return (f.Class == "" || f.Of.Command == capabilities.SetSwitch || x.Resolver.Class[d] == f.Class) && x.Resolver.CanOffer(f.Of, d)
	})
	rd.Slots = append(rd.Slots, grammar.BoundSlot{Kind: "device", Name: "device", From: 0, Match: &m})
	rd.How = lexicon.ByPlace
	if len(m.Devices) == 1 { // otherwise the interpreter asks which one
		rd.Doubt = "the text names a place and no device"
	}
	return len(m.Devices) > 0
}

// addPlaces adds the devices of the same class in other places to a named device.
func (x *Request) addPlaces(rd *Hypothesis, places []grammar.BoundSlot) bool {
	m := *rd.Slots[0].Match
	if len(m.Devices) == 0 {
		return false
	}
	class, all := x.Resolver.Class[m.Devices[0]], m.All || x.isPlural(rd.Slots[0])
	m.Parts = []lexicon.NamedGroup{{Devices: m.Devices, All: all}}
	m.Devices = slices.Clone(m.Devices)
	for _, b := range places {
		there := x.Resolver.OfClass(class, b.Match.Value)
		if len(lexicon.Subtract(there, m.Devices)) == 0 {
			return false // there is none
		}
		m.Devices = append(m.Devices, lexicon.Subtract(there, m.Devices)...)
		m.Parts = append(m.Parts, lexicon.NamedGroup{Devices: there, All: all})
	}
	m.All, m.Count = true, 0
	rd.Slots[0].Match, rd.All = &m, true
	return true
}

// isPlural reports whether a name stands for several devices: "hall lights".
func (x *Request) isPlural(b grammar.BoundSlot) bool {
	if b.Match.End <= b.From || b.Match.End > len(x.Tokens) {
		return false
	}
	last := x.Tokens[b.Match.End-1]
	return last.Text != last.Folded
}

// narrowToPlaces narrows a hypothesis to the devices of several places.
func (x *Request) narrowToPlaces(rd *Hypothesis, places []grammar.BoundSlot) {
	m := *rd.Slots[0].Match
	of, all := m.Devices, m.All || x.isPlural(rd.Slots[0])
	m.Devices, m.Parts = nil, nil
	for _, b := range places {
		there := slices.DeleteFunc(slices.Clone(of), x.Resolver.OutsideTest(b.Match.Value))
		m.Parts = append(m.Parts, lexicon.NamedGroup{Devices: there, All: all})
		m.Devices = append(m.Devices, lexicon.Subtract(there, m.Devices)...)
	}
	slices.Sort(m.Devices)
	rd.Names = places
	m.All = true
	rd.Slots[0].Match, rd.All = &m, true
}

// everyOf returns a match for all devices of a class.
func (x *Request) everyOf(class string) lexicon.SlotValue {
	return lexicon.SlotValue{Specificity: lexicon.ByClass, Class: class, Devices: x.Resolver.OfClass(class, "")}
}
