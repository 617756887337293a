package interpret

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// fitting are the readings for which there is a frame.
func (x *request) fitting(ways []framed) []reading {
	l := &x.r.catalogue.lexicon
	var list []reading
	for i, so := range ways {
		if len(list) > 0 && so.pieces > ways[i-1].pieces && x.skips == 0 {
			break // what takes fewer pieces is closer
		}
		which := so.first && len(so.devices) > 0 && so.signals.has(l.bits["turn"]|l.bits["start"]|l.bits["stop"]) // "turn on the green light"
		if which || so.twice || !l.grammatical(so.signals) {
			continue
		}
		could := so.signals.has(l.bits["could"])
		so.signals &^= l.bits["could"] | l.bits[done] | l.bits[ing]
		for _, f := range l.lists.Frames {
			s := so.signals
			if f.all.has(l.bits[number]) && s.has(l.bits[level]) && so.bare { // "make twenty coffees"
				s = s&^l.bits[level] | l.bits[number]
			}
			ask := f.Missing
			if s.has(l.bits[number]) && f.fits(s&^l.bits[number]|l.bits[level]) && f.of.Command == capabilities.Dim {
				s, ask = s&^l.bits[number]|l.bits[level], "level"
			}
			if !f.fits(s) || so.object && f.of.Command == capabilities.Clean { // "clean the vacuum"
				continue
			}
			if rd, ok := x.framedReading(f, so); ok {
				rd.asks, rd.number, rd.lost, rd.pieces = ask, so.level, so.lost, so.pieces
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
func (x *request) doubt(rd *reading, f *frame, so framed, s signal) {
	l := &x.r.catalogue.lexicon
	rd.doubt = cmp.Or(rd.doubt, f.Doubt)
	if f.all.has(l.bits[number]) {
		rd.doubt = strings.TrimPrefix(f.Doubt+", and "+unmeasured(so.level), ", and ")
	}
	switch noVerb := !s.has(l.bits["turn"] | l.bits["make"] | l.bits["want"] | l.bits["change"] | l.bits["should"]); {
	case s.has(l.bits["unsure"] | l.bits["dark"]):
		rd.doubt = "it was not said what to do"
	case so.first && noVerb && len(so.devices) > 0:
		rd.doubt = "it may be a name" // "blue lights"
	case s.has(l.bits["should"]) && !s.has(l.bits["want"]):
		rd.doubt = cmp.Or(rd.doubt, "it was said how it should be, and not to do it")
	case so.bare && s.has(l.bits[level]) && s.has(l.bits["raise"]|l.bits["lower"]|l.bits["up"]|l.bits["down"]|l.bits["brighter"]|l.bits["darker"]) && !so.named:
		if other := l.differing(f, s); rd.doubt == "" && other != nil {
			rd.asks, rd.number, rd.other = amountField, math.Copysign(so.level, other.Change), other.sentence
		}
		rd.doubt = cmp.Or(rd.doubt, fmt.Sprintf("%s percent may be how bright, or by how much", lexicon.DecimalText(so.level)))
	case so.vague:
		rd.doubt = cmp.Or(rd.doubt, fmt.Sprintf("%s may be how bright, or a time", lexicon.DecimalText(so.level)))
	case so.spread:
		rd.doubt = cmp.Or(rd.doubt, "it was said of the one before \"and\"")
	}
}

// grammatical reports whether forms of verbs stand where they are no statement:
// "turned" behind a wish, "turning" behind a beginning.
func (l *frameLexicon) grammatical(s signal) bool {
	wish := l.bits["want"] | l.bits["should"] | l.bits["make"] | l.bits["could"]
	if s.has(l.bits[done]) && !s.has(wish) {
		return false
	}
	return !s.has(l.bits[ing]) || s.has(l.bits["start"]|l.bits["stop"]|l.bits["could"]|l.bits["go"])
}

// framedReading is a reading of one frame: which devices, where, and how much.
func (x *request) framedReading(f *frame, so framed) (reading, bool) {
	l := &x.r.catalogue.lexicon
	rd := reading{sentence: f.sentence, args: x.argsOf(f, so)}
	if f.of.Command != capabilities.Clean && slices.ContainsFunc(so.places, func(b bound) bool { return b.kind == "spot" }) {
		return rd, false
	}
	whole, here := so.signals.has(l.bits["whole"]), so.signals.has(l.bits["here"]|l.bits["it"])
	switch {
	case len(so.devices) > 0:
		m := *so.devices[0].match
		for _, b := range so.devices[1:] {
			m = m.Union(*b.match)
			m.All, m.Count = true, 0
		}
		if len(so.devices) > 1 {
			m.Parts = nil
			for _, b := range so.devices {
				if len(b.match.Parts) > 0 {
					m.Parts = append(m.Parts, b.match.Parts...)
				} else {
					m.Parts = append(m.Parts, lexicon.NamedGroup{Devices: b.match.Devices, All: b.match.All})
				}
			}
			if len(so.places) == 0 {
				rd.names = so.devices
			}
		}
		if here {
			m.All = false
		}
		m.All = m.All || whole && len(so.places) == 0
		rd.slots = append(rd.slots, bound{"device", "device", so.devices[0].from, &m})
		rd.how, rd.all = m.Specificity, m.All
	case len(so.places) == 1 && so.places[0].kind == "area" && (f.Class == "" || !so.signals.has(f.name)):
		if !x.placeAlone(&rd, f, so) {
			return rd, false
		}
	case f.Class == "" || !so.signals.has(f.name):
		return rd, false
	default:
		m := x.everyOf(f.Class)
		m.All = whole && len(so.places) == 0
		rd.slots = append(rd.slots, bound{"device", "device", 0, &m})
		rd.how, rd.all = lexicon.ByClass, m.All
	}
	if len(so.places) > 0 && so.ahead && so.listed && len(so.devices) == 1 && f.of.Command != capabilities.Clean { // "kitchen and hall lights"
		return rd, x.alongside(&rd, so.places)
	}
	if len(so.places) > 1 && len(so.devices) > 1 && f.of.Command != capabilities.Clean {
		return rd, false // which of them is where was not said of each
	}
	if len(so.places) > 1 && f.of.Command != capabilities.Clean {
		x.anywhere(&rd, so.places)
		return rd, true
	}
	if len(f.Only) > 0 && slices.ContainsFunc(rd.slots[0].match.Devices, func(d int) bool { return !slices.Contains(f.Only, x.r.class[d]) }) {
		return rd, false
	}
	for _, b := range so.places {
		if b.kind == "area" && f.of.Command == capabilities.Clean { // a room that is no spot
			if slices.ContainsFunc(x.filled("spot", b.from), func(m lexicon.SlotValue) bool { return m.End >= b.match.End }) {
				return rd, false // it is read as one
			}
			rd.beyond = b.match.Value
			continue
		}
		rd.slots = append(rd.slots, b)
	}
	if len(so.places) > 1 && f.of.Command == capabilities.Clean {
		return rd, false
	}
	rd.nowhere = f.of.Command == capabilities.Clean && here
	return rd, !(f.of.Command == capabilities.Clean && whole && len(so.places) > 0)
}

// placeAlone is what is meant by a place of which no thing is named: "turn off the kitchen",
// "office 50 percent". What is there and can do it is asked about.
func (x *request) placeAlone(rd *reading, f *frame, so framed) bool {
	l := &x.r.catalogue.lexicon
	if len(so.lost)+len(x.lost) > 0 || so.named || f.Missing != "" || so.signals.has(l.bits[tone]) && !so.valued { // "blue bedroom"
		return false
	}
	if so.signals.has(l.bits["on"]) && !so.signals.has(l.bits["turn"]|l.bits["make"]|l.bits["want"]|l.bits["should"]) && so.places[0].from > 0 { // "on the porch"
		return false
	}
	if c := f.of.Command; c != capabilities.SetSwitch && c != capabilities.Dim && c != capabilities.Tint || c == capabilities.SetSwitch && !so.signals.has(l.bits["on"]|l.bits["off"]) {
		return false
	}
	m := lexicon.SlotValue{Specificity: lexicon.ByPlace, Value: so.places[0].match.Value, Class: f.Class}
	m.Devices = x.r.index.among(x.r.index.in(m.Value), func(d int) bool {
		return (f.Class == "" || f.of.Command == capabilities.SetSwitch || x.r.class[d] == f.Class) && x.r.offers(f.of, d)
	})
	rd.slots = append(rd.slots, bound{"device", "device", 0, &m})
	rd.how = lexicon.ByPlace
	if len(m.Devices) == 1 { // else it is asked which
		rd.doubt = "a place was said, and not what is meant there"
	}
	return len(m.Devices) > 0
}

// alongside adds to the one device that is named those of its class in other
// places.
func (x *request) alongside(rd *reading, places []bound) bool {
	m := *rd.slots[0].match
	if len(m.Devices) == 0 {
		return false
	}
	class, all := x.r.class[m.Devices[0]], m.All || x.plural(rd.slots[0])
	m.Parts = []lexicon.NamedGroup{{Devices: m.Devices, All: all}}
	m.Devices = slices.Clone(m.Devices)
	for _, b := range places {
		there := x.r.ofClass(class, b.match.Value)
		if len(lexicon.Subtract(there, m.Devices)) == 0 {
			return false // there is none
		}
		m.Devices = append(m.Devices, lexicon.Subtract(there, m.Devices)...)
		m.Parts = append(m.Parts, lexicon.NamedGroup{Devices: there, All: all})
	}
	m.All, m.Count = true, 0
	rd.slots[0].match, rd.all = &m, true
	return true
}

// plural reports whether a name is one of several things: "hall lights".
func (x *request) plural(b bound) bool {
	if b.match.End <= b.from || b.match.End > len(x.tokens) {
		return false
	}
	last := x.tokens[b.match.End-1]
	return last.Text != last.Folded
}

// anywhere narrows a reading to the devices of several places.
func (x *request) anywhere(rd *reading, places []bound) {
	m := *rd.slots[0].match
	of, all := m.Devices, m.All || x.plural(rd.slots[0])
	m.Devices, m.Parts = nil, nil
	for _, b := range places {
		there := slices.DeleteFunc(slices.Clone(of), x.r.outside(b.match.Value))
		m.Parts = append(m.Parts, lexicon.NamedGroup{Devices: there, All: all})
		m.Devices = append(m.Devices, lexicon.Subtract(there, m.Devices)...)
	}
	slices.Sort(m.Devices)
	rd.names = places
	m.All = true
	rd.slots[0].match, rd.all = &m, true
}

// everyOf is a match for all devices of a class.
func (x *request) everyOf(class string) lexicon.SlotValue {
	return lexicon.SlotValue{Specificity: lexicon.ByClass, Class: class, Devices: x.r.ofClass(class, "")}
}
