package interpret

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

// fitting are the readings for which there is a frame.
func (x *request) fitting(ways []frame.Reading) []reading {
	l := &x.r.Catalog.Frames
	var list []reading
	for i, so := range ways {
		if len(list) > 0 && so.Pieces > ways[i-1].Pieces && x.skips == 0 {
			break // what takes fewer pieces is closer
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
			if rd, ok := x.framedReading(f, so); ok {
				rd.asks, rd.number, rd.lost, rd.pieces = ask, so.Level, so.Lost, so.Pieces
				x.doubt(&rd, f, so, s)
				if could {
					rd.doubt = cmp.Or(rd.doubt, unsaid)
				}
				list = append(list, rd)
			}
		}
	}
	return list
}

// doubt puts into a reading of frame f by signals s why it may not be what is meant.
func (x *request) doubt(rd *reading, f *catalog.Frame, so frame.Reading, s catalog.Feature) {
	l := &x.r.Catalog.Frames
	rd.doubt = cmp.Or(rd.doubt, f.Doubt)
	if f.AllMask.Has(l.Bits[catalog.NumberFeature]) {
		rd.doubt = strings.TrimPrefix(f.Doubt+", and "+unmeasured(so.Level), ", and ")
	}
	switch noVerb := !s.Has(l.Bits["turn"] | l.Bits["make"] | l.Bits["want"] | l.Bits["change"] | l.Bits["should"]); {
	case s.Has(l.Bits["unsure"] | l.Bits["dark"]):
		rd.doubt = "it was not said what to do"
	case so.First && noVerb && len(so.Devices) > 0:
		rd.doubt = "it may be a name" // "blue lights"
	case s.Has(l.Bits["should"]) && !s.Has(l.Bits["want"]):
		rd.doubt = cmp.Or(rd.doubt, "it was said how it should be, and not to do it")
	case so.Bare && s.Has(l.Bits[catalog.LevelFeature]) && s.Has(l.Bits["raise"]|l.Bits["lower"]|l.Bits["up"]|l.Bits["down"]|l.Bits["brighter"]|l.Bits["darker"]) && !so.Named:
		if other := l.DifferenceFrame(f, s); rd.doubt == "" && other != nil {
			rd.asks, rd.number, rd.other = reply.AmountField, math.Copysign(so.Level, other.Change), other.Pattern
		}
		rd.doubt = cmp.Or(rd.doubt, fmt.Sprintf("%s percent may be how bright, or by how much", lexicon.DecimalText(so.Level)))
	case so.Vague:
		rd.doubt = cmp.Or(rd.doubt, fmt.Sprintf("%s may be how bright, or a time", lexicon.DecimalText(so.Level)))
	case so.Spread:
		rd.doubt = cmp.Or(rd.doubt, "it was said of the one before \"and\"")
	}
}

// framedReading is a reading of one frame: which devices, where, and how much.
func (x *request) framedReading(f *catalog.Frame, so frame.Reading) (reading, bool) {
	l := &x.r.Catalog.Frames
	rd := reading{Pattern: f.Pattern, args: x.argsOf(f, so)}
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
				rd.names = so.Devices
			}
		}
		if here {
			m.All = false
		}
		m.All = m.All || whole && len(so.Places) == 0
		rd.slots = append(rd.slots, grammar.BoundSlot{Kind: "device", Name: "device", From: so.Devices[0].From, Match: &m})
		rd.how, rd.all = m.Specificity, m.All
	case len(so.Places) == 1 && so.Places[0].Kind == "area" && (f.Class == "" || !so.Signals.Has(f.NameMask)):
		if !x.placeAlone(&rd, f, so) {
			return rd, false
		}
	case f.Class == "" || !so.Signals.Has(f.NameMask):
		return rd, false
	default:
		m := x.everyOf(f.Class)
		m.All = whole && len(so.Places) == 0
		rd.slots = append(rd.slots, grammar.BoundSlot{Kind: "device", Name: "device", From: 0, Match: &m})
		rd.how, rd.all = lexicon.ByClass, m.All
	}
	if len(so.Places) > 0 && so.Ahead && so.Listed && len(so.Devices) == 1 && f.Of.Command != capabilities.Clean { // "kitchen and hall lights"
		return rd, x.alongside(&rd, so.Places)
	}
	if len(so.Places) > 1 && len(so.Devices) > 1 && f.Of.Command != capabilities.Clean {
		return rd, false // which of them is where was not said of each
	}
	if len(so.Places) > 1 && f.Of.Command != capabilities.Clean {
		x.anywhere(&rd, so.Places)
		return rd, true
	}
	if len(f.Only) > 0 && slices.ContainsFunc(rd.slots[0].Match.Devices, func(d int) bool { return !slices.Contains(f.Only, x.r.Class[d]) }) {
		return rd, false
	}
	for _, b := range so.Places {
		if b.Kind == "area" && f.Of.Command == capabilities.Clean { // a room that is no spot
			if slices.ContainsFunc(x.SlotValues("spot", b.From), func(m lexicon.SlotValue) bool { return m.End >= b.Match.End }) {
				return rd, false // it is read as one
			}
			rd.beyond = b.Match.Value
			continue
		}
		rd.slots = append(rd.slots, b)
	}
	if len(so.Places) > 1 && f.Of.Command == capabilities.Clean {
		return rd, false
	}
	rd.nowhere = f.Of.Command == capabilities.Clean && here
	return rd, !(f.Of.Command == capabilities.Clean && whole && len(so.Places) > 0)
}

// placeAlone is what is meant by a place of which no thing is named: "turn off the kitchen",
// "office 50 percent". What is there and can do it is asked about.
func (x *request) placeAlone(rd *reading, f *catalog.Frame, so frame.Reading) bool {
	l := &x.r.Catalog.Frames
	if len(so.Lost)+len(x.lost) > 0 || so.Named || f.Missing != "" || so.Signals.Has(l.Bits[catalog.ColorFeature]) && !so.Valued { // "blue bedroom"
		return false
	}
	if so.Signals.Has(l.Bits["on"]) && !so.Signals.Has(l.Bits["turn"]|l.Bits["make"]|l.Bits["want"]|l.Bits["should"]) && so.Places[0].From > 0 { // "on the porch"
		return false
	}
	if c := f.Of.Command; c != capabilities.SetSwitch && c != capabilities.Dim && c != capabilities.Tint || c == capabilities.SetSwitch && !so.Signals.Has(l.Bits["on"]|l.Bits["off"]) {
		return false
	}
	m := lexicon.SlotValue{Specificity: lexicon.ByPlace, Value: so.Places[0].Match.Value, Class: f.Class}
	m.Devices = x.r.Index.Among(x.r.Index.InArea(m.Value), func(d int) bool {
		return (f.Class == "" || f.Of.Command == capabilities.SetSwitch || x.r.Class[d] == f.Class) && x.r.offers(f.Of, d)
	})
	rd.slots = append(rd.slots, grammar.BoundSlot{Kind: "device", Name: "device", From: 0, Match: &m})
	rd.how = lexicon.ByPlace
	if len(m.Devices) == 1 { // else it is asked which
		rd.doubt = "a place was said, and not what is meant there"
	}
	return len(m.Devices) > 0
}

// alongside adds to the one device that is named those of its class in other
// places.
func (x *request) alongside(rd *reading, places []grammar.BoundSlot) bool {
	m := *rd.slots[0].Match
	if len(m.Devices) == 0 {
		return false
	}
	class, all := x.r.Class[m.Devices[0]], m.All || x.plural(rd.slots[0])
	m.Parts = []lexicon.NamedGroup{{Devices: m.Devices, All: all}}
	m.Devices = slices.Clone(m.Devices)
	for _, b := range places {
		there := x.r.OfClass(class, b.Match.Value)
		if len(lexicon.Subtract(there, m.Devices)) == 0 {
			return false // there is none
		}
		m.Devices = append(m.Devices, lexicon.Subtract(there, m.Devices)...)
		m.Parts = append(m.Parts, lexicon.NamedGroup{Devices: there, All: all})
	}
	m.All, m.Count = true, 0
	rd.slots[0].Match, rd.all = &m, true
	return true
}

// plural reports whether a name is one of several things: "hall lights".
func (x *request) plural(b grammar.BoundSlot) bool {
	if b.Match.End <= b.From || b.Match.End > len(x.Tokens) {
		return false
	}
	last := x.Tokens[b.Match.End-1]
	return last.Text != last.Folded
}

// anywhere narrows a reading to the devices of several places.
func (x *request) anywhere(rd *reading, places []grammar.BoundSlot) {
	m := *rd.slots[0].Match
	of, all := m.Devices, m.All || x.plural(rd.slots[0])
	m.Devices, m.Parts = nil, nil
	for _, b := range places {
		there := slices.DeleteFunc(slices.Clone(of), x.r.OutsideTest(b.Match.Value))
		m.Parts = append(m.Parts, lexicon.NamedGroup{Devices: there, All: all})
		m.Devices = append(m.Devices, lexicon.Subtract(there, m.Devices)...)
	}
	slices.Sort(m.Devices)
	rd.names = places
	m.All = true
	rd.slots[0].Match, rd.all = &m, true
}

// everyOf is a match for all devices of a class.
func (x *request) everyOf(class string) lexicon.SlotValue {
	return lexicon.SlotValue{Specificity: lexicon.ByClass, Class: class, Devices: x.r.OfClass(class, "")}
}
