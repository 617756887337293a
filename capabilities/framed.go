package capabilities

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/messkit/messkit/mess"
)

// otherwise reads a text that is no sentence: as several orders, as one with a
// time in it, and by its words.
func (x *request) otherwise() (Outcome, bool) {
	if !x.part {
		if out, ok := x.either(); ok {
			return out, true
		}
		if out, ok := x.clauses(); ok {
			return out, true
		}
	}
	if out, ok := x.causing(); ok {
		return out, true
	}
	if out, ok := x.awhile(); ok {
		return out, true
	}
	if out, ok := x.exception(); ok {
		return out, true
	}
	if out, ok := x.repeated(); ok {
		return out, true
	}
	if x.r.home.Now.IsZero() {
		return x.plainly()
	}
	all, before := x.tokens, x.readings
	rest, t, out, ok := x.times()
	switch {
	case !ok && out.Question != nil && !x.means():
		return Outcome{}, false // "ten past seven" asks for nothing
	case !ok:
		x.about(rest)
		return out, true
	case len(t.said) == 0:
		return x.plainly()
	}
	x.cut(rest)
	out, ok = Outcome{}, false
	if able := x.able(x.readings); len(able) > 0 {
		out, ok = x.choose(able), true
	} else if out, ok = x.watched(); !ok {
		out, ok = x.plainly()
	}
	switch {
	case !ok:
		x.tokens, x.readings, x.matches, x.names = all, before, nil, nil
		return out, false
	case out.Plan == nil:
		return out, true
	}
	p := *out.Plan
	if said := x.immediate(rest); said != "" && (!t.begin.IsZero() || t.amid != "") && p.Actuates() {
		return x.refuse(fmt.Sprintf("%q and %q are two times; make a request for each", said, strings.Join(t.said, " ")), nil), true
	}
	if no, ok := x.later(&p, t); !ok {
		return no, true
	}
	if length := p.Each()[0].For; t.ends && length >= nearlyADay && p.Actuates() {
		return x.shallI(p, fmt.Sprintf("%q is %s: ", strings.Join(t.said, " "), spoken(length))), true
	}
	areas, _ := p.Args.Get("areas")
	rooms, _ := textsOf(areas)
	if t.amid != "" && (len(p.Steps) > 0 || len(rooms) > 1) && p.Actuates() {
		return x.shallI(p, fmt.Sprintf("%q was said of one: ", t.amid)), true
	}
	return Outcome{Plan: &p}, true
}

// causing reads what a thing is to be made to do as the order for that: "have the vacuum
// pause" is "pause the vacuum". It must be a whole sentence then.
func (x *request) causing() (Outcome, bool) {
	start := x.pass(0)
	n := x.words().causing.longest(x.tokens, start)
	from := x.pass(start + n)
	if n == 0 || from >= len(x.tokens) {
		return Outcome{}, false
	}
	end := x.longest("device", from)
	verb := end
	if verb < len(x.tokens) && x.tokens[verb].text == "to" {
		verb++
	}
	if end == from || verb >= len(x.tokens) || x.tokens[end].pause || !x.r.catalogue.vocabulary[x.tokens[verb].folded] {
		return Outcome{}, false
	}
	all, before := x.tokens, x.readings
	x.cut(slices.Concat(all[verb:verb+1], all[from:end], all[verb+1:]))
	if able := x.able(x.readings); len(able) > 0 {
		return x.choose(able), true
	}
	x.tokens, x.readings, x.matches, x.names = all, before, nil, nil
	return Outcome{}, false
}

// means reports whether a word of the text orders something or stands for something
// here.
func (x *request) means() bool {
	l := &x.r.catalogue.lexicon
	return slices.ContainsFunc(x.tokens, func(t token) bool {
		return l.orders[t.folded] || l.acting[t.folded] || l.naming[t.folded] || x.r.names.words[t.folded]
	})
}

// about notes what a text is about of which a time is asked.
func (x *request) about(rest []token) {
	x.cut(rest)
	if able := x.able(x.readings); len(able) > 0 {
		x.explain.Capability = able[0].capability.ID
	} else if out, ok := x.plainly(); ok && out.Refusal == nil {
		return // it is noted
	}
}

// plainly reads a text without times by its words.
func (x *request) plainly() (Outcome, bool) {
	if _, bad := x.constrained(); bad {
		return Outcome{}, false
	}
	return x.frames()
}

// frames reads a text that no sentence matches by its words in any order. A text
// that may mean several things is asked about; where a word is left over there
// is no such reading.
func (x *request) frames() (Outcome, bool) {
	if x.req.Precision == mess.Exact || x.skips == 0 && !x.knowsAll() {
		return Outcome{}, false
	}
	all, bare := x.tokens, x.bareName()
	x.tokens, x.matches, x.names = x.words().bare(all), nil, nil
	f := framer{x: x}
	ways := f.readings()
	list := x.fitting(ways)
	if len(list) == 0 {
		x.tokens, x.matches, x.names = all, nil, nil
		return Outcome{}, false
	}
	able := x.able(list)
	if x.skips > 0 && len(able) > 0 {
		able = x.fewest(able)
	}
	if len(able) > 0 && slices.ContainsFunc(list, x.leavesOut) {
		able[0].doubt = cmp.Or(able[0].doubt, "it may be meant for other things")
	}
	if len(able) > 0 && x.toMe(all) {
		for i := range able {
			able[i].doubt = cmp.Or(able[i].doubt, "it may be something to tell, show or allow, and not to do")
		}
	}
	if len(able) == 0 && x.skips == 0 {
		if out, ok := x.eachOf(list); ok {
			return out, true
		}
	}
	switch {
	case len(able) > 0 && bare != "":
		able[0].doubt = fmt.Sprintf("%q may be a name", bare)
		able = able[:1]
	case len(able) > 0:
	case len(x.readings) > 0:
		x.tokens, x.matches, x.names = all, nil, nil
		return Outcome{}, false // what a sentence says cannot be done is told better
	case x.req.Precision == mess.Loose:
		return Outcome{}, false // something may be looked at
	default:
		x.readings = list
		return x.cannot(), true
	}
	return x.choose(able), true
}

// toMe reports whether a text is about what the speaker is to do or see: "tell me to
// turn it on", "show me the door open".
func (x *request) toMe(tokens []token) bool {
	l := &x.r.catalogue.lexicon
	for i := 0; i+1 < len(tokens); i++ {
		if x.words().telling.longest(tokens, i) > 0 {
			return true
		}
		if n := x.words().toSpeaker.longest(tokens, i); n > 0 && i+n < len(tokens) {
			next := tokens[i+n].folded
			if next == "to" || l.orders[next] || l.acting[next] {
				return true
			}
		}
	}
	return false
}

// fewest are the readings that pass over the fewest words, and the same.
func (x *request) fewest(able []reading) []reading {
	best := slices.MinFunc(able, func(a, b reading) int { return cmp.Compare(a.pieces, b.pieces) })
	x.lost = best.lost
	return slices.DeleteFunc(able, func(rd reading) bool { return rd.pieces != best.pieces || !slices.Equal(rd.lost, best.lost) })
}

// doubtful reports whether a reading that acts must be asked about.
func (x *request) doubtful(rd *reading) bool {
	return x.asks || x.quotes || rd.doubt != "" || len(x.lost) > 0 || x.reports()
}

// unmeasured is the doubt of an order for so many of what a machine makes: nobody can
// tell it that.
func unmeasured(n float64) string {
	return fmt.Sprintf("how much it makes is what it was filled with, and not %s", decimalText(n))
}

// because is what is said before a question that a doubt leads to.
func (x *request) because(rd *reading) string {
	switch {
	case x.quotes:
		return "it stands in quotation marks, as what somebody said: "
	case (rd.doubt == "" || rd.doubt == unsaid) && x.reports():
		return "it may tell what happens, or be a name: "
	case rd.doubt == "" || rd.doubt == unsaid:
		return ""
	}
	return rd.doubt + ": "
}

// unsaid is the doubt of "could the lights be dimmed": it may be a wish.
const unsaid = "unsaid"

// knowsAll reports whether every word could be part of a reading: most texts
// that are about other things have one that is not.
func (x *request) knowsAll() bool {
	if len(x.tokens) == 0 {
		return false
	}
	for _, t := range x.tokens {
		if !x.r.knows(t) {
			return false
		}
	}
	return true
}

// strange reports whether the text has a word that no sentence and no name here
// has, and no time.
func (x *request) strange() bool {
	for _, t := range x.tokens {
		if !x.r.knows(t) && !x.r.catalogue.vocabulary[t.folded] && !x.r.catalogue.timely[t.folded] {
			return true
		}
	}
	return false
}

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
		for _, f := range l.Frames {
			s := so.signals
			if f.all.has(l.bits[number]) && s.has(l.bits[level]) && so.bare { // "make twenty coffees"
				s = s&^l.bits[level] | l.bits[number]
			}
			ask := f.Missing
			if s.has(l.bits[number]) && f.fits(s&^l.bits[number]|l.bits[level]) && f.of.Command == Dim {
				s, ask = s&^l.bits[number]|l.bits[level], "level"
			}
			if !f.fits(s) || so.object && f.of.Command == Clean { // "clean the vacuum"
				continue
			}
			if rd, ok := x.framedReading(f, so); ok {
				rd.asks, rd.number, rd.lost, rd.pieces = ask, so.level, so.lost, so.pieces
				rd.doubt = f.Doubt
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
					rd.doubt = cmp.Or(rd.doubt, fmt.Sprintf("%s percent may be how bright, or by how much", decimalText(so.level)))
				case so.spread:
					rd.doubt = cmp.Or(rd.doubt, "it was said of the one before \"and\"")
				}
				if could {
					rd.doubt = cmp.Or(rd.doubt, unsaid)
				}
				list = append(list, rd)
			}
		}
	}
	return list
}

// grammatical reports whether forms of verbs stand where they are no statement:
// "turned" behind a wish, "turning" behind a beginning.
func (l *lexicon) grammatical(s signal) bool {
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
	if f.of.Command != Clean && slices.ContainsFunc(so.places, func(b bound) bool { return b.kind == "spot" }) {
		return rd, false
	}
	whole, here := so.signals.has(l.bits["whole"]), so.signals.has(l.bits["here"]|l.bits["it"])
	switch {
	case len(so.devices) > 0:
		m := *so.devices[0].match
		for _, b := range so.devices[1:] {
			m = m.with(*b.match)
			m.all, m.count = true, 0
		}
		if len(so.devices) > 1 {
			for _, b := range so.devices {
				m.parts = append(m.parts, share{b.match.devices, b.match.all})
			}
			if len(so.places) == 0 {
				rd.names = so.devices
			}
		}
		if here {
			m.all = false
		}
		m.all = m.all || whole && len(so.places) == 0
		rd.slots = append(rd.slots, bound{"device", "device", so.devices[0].from, &m})
		rd.how, rd.all = m.how, m.all
	case f.Class == "" || !so.signals.has(f.name):
		return rd, false
	default:
		m := x.everyOf(f.Class)
		m.all = whole && len(so.places) == 0
		rd.slots = append(rd.slots, bound{"device", "device", 0, &m})
		rd.how, rd.all = byClass, m.all
	}
	if len(so.places) > 0 && so.ahead && so.listed && len(so.devices) == 1 && f.of.Command != Clean { // "kitchen and hall lights"
		return rd, x.alongside(&rd, so.places)
	}
	if len(so.places) > 1 && len(so.devices) > 1 && f.of.Command != Clean {
		return rd, false // which of them is where was not said of each
	}
	if len(so.places) > 1 && f.of.Command != Clean {
		x.anywhere(&rd, so.places)
		return rd, true
	}
	if len(f.Only) > 0 && slices.ContainsFunc(rd.slots[0].match.devices, func(d int) bool { return !slices.Contains(f.Only, x.r.class[d]) }) {
		return rd, false
	}
	for _, b := range so.places {
		if b.kind == "area" && f.of.Command == Clean { // a room that is no spot
			if slices.ContainsFunc(x.filled("spot", b.from), func(m match) bool { return m.end >= b.match.end }) {
				return rd, false // it is read as one
			}
			rd.beyond = b.match.value
			continue
		}
		rd.slots = append(rd.slots, b)
	}
	if len(so.places) > 1 && f.of.Command == Clean {
		return rd, false
	}
	rd.nowhere = f.of.Command == Clean && here
	return rd, !(f.of.Command == Clean && whole && len(so.places) > 0)
}

// alongside adds to the one device that is named those of its class in other
// places.
func (x *request) alongside(rd *reading, places []bound) bool {
	m := *rd.slots[0].match
	if len(m.devices) == 0 {
		return false
	}
	class, all := x.r.class[m.devices[0]], m.all || x.plural(rd.slots[0])
	m.parts = []share{{m.devices, all}}
	m.devices = slices.Clone(m.devices)
	for _, b := range places {
		var there []int
		for d := range x.r.home.Devices {
			if x.r.class[d] == class && x.r.in(d, b.match.value) {
				there = append(there, d)
			}
		}
		if len(subtract(there, m.devices)) == 0 {
			return false // there is none
		}
		m.devices = append(m.devices, subtract(there, m.devices)...)
		m.parts = append(m.parts, share{there, all})
	}
	m.all, m.count = true, 0
	rd.slots[0].match, rd.all = &m, true
	return true
}

// plural reports whether a name is one of several things: "hall lights".
func (x *request) plural(b bound) bool {
	if b.match.end <= b.from || b.match.end > len(x.tokens) {
		return false
	}
	last := x.tokens[b.match.end-1]
	return last.text != last.folded
}

// anywhere narrows a reading to the devices of several places.
func (x *request) anywhere(rd *reading, places []bound) {
	m := *rd.slots[0].match
	of, all := m.devices, m.all || x.plural(rd.slots[0])
	m.devices, m.parts = nil, nil
	for _, b := range places {
		there := slices.DeleteFunc(slices.Clone(of), func(d int) bool { return !x.r.in(d, b.match.value) })
		m.parts = append(m.parts, share{there, all})
		m.devices = append(m.devices, subtract(there, m.devices)...)
	}
	slices.Sort(m.devices)
	rd.names = places
	m.all = true
	rd.slots[0].match, rd.all = &m, true
}

// everyOf is a match for all devices of a class.
func (x *request) everyOf(class string) match {
	m := match{how: byClass, class: class}
	for d := range x.r.home.Devices {
		if x.r.class[d] == class {
			m.devices = append(m.devices, d)
		}
	}
	return m
}

// argsOf are the parameters that a frame and the words give.
func (x *request) argsOf(f *frame, so framed) mess.Object {
	l := &x.r.catalogue.lexicon
	var o mess.Object
	if by := f.Change; by != 0 {
		switch {
		case so.signals.has(l.bits[differs]) && by < 0:
			by = -so.level
		case so.signals.has(l.bits[differs]):
			by = so.level
		case so.signals.has(l.bits["bit"]):
			by /= 2
		}
		o = o.Set("change", by)
	}
	switch {
	case f.Level != 0:
		o = o.Set("level", f.Level)
	case so.signals.has(l.bits[level]) && f.of.Command == Dim:
		o = o.Set("level", so.level)
	}
	if so.colour != "" && f.of.Command == Tint {
		o = o.Set("colour", so.colour)
	}
	return o
}

// amountField is the field of a question whether an amount is how much, or by how much.
const amountField = "amount"

// differing is the frame of what frame f would be with a difference in place of a level,
// nil if there is none.
func (l *lexicon) differing(f *frame, s signal) *frame {
	s = s&^l.bits[level] | l.bits[differs]
	if i := slices.IndexFunc(l.Frames, func(o *frame) bool { return o.Change != 0 && o.of.Command == f.of.Command && o.fits(s) }); i >= 0 {
		return l.Frames[i]
	}
	return nil
}

// byOrTo asks whether an amount is how much, or by how much, and puts it in.
func (x *request) byOrTo(rd *reading) (Outcome, bool) {
	percent := decimalText(math.Abs(rd.number)) + " percent"
	options := []string{"to " + percent, "by " + percent}
	picked, out, ok := x.ask(Question{Field: amountField, Text: fmt.Sprintf("%s: %s?", rd.doubt, oneOf(options)), Options: options})
	switch {
	case !ok:
		return out, false
	case len(picked) != 1:
		return x.refuse("it is either how bright, or by how much; say which", nil), false
	case picked[0] == options[1]:
		rd.sentence, rd.args = rd.other, mess.Object{{Key: "change", Value: rd.number}}
	}
	rd.doubt = ""
	return Outcome{}, true
}

// param asks for a parameter that a frame leaves open, and puts it in.
func (x *request) param(rd *reading) (Outcome, bool) {
	l := &x.r.catalogue.lexicon
	var q Question
	values := map[string]any{}
	switch rd.asks {
	case "":
		return Outcome{}, true
	case amountField:
		return x.byOrTo(rd)
	case "colour":
		q = Question{Field: "colour", Text: "which colour?"}
		for _, name := range l.Offered {
			if hex, ok := l.Colours[name]; ok {
				q.Options, values[name] = append(q.Options, name), hex
			}
		}
	case "level":
		q = Question{Field: "level", Options: []string{decimalText(rd.number) + " percent"}}
		values[q.Options[0]] = rd.number
		if tenth := rd.number * 10; rd.number <= 10 && tenth > 0 {
			q.Options = append(q.Options, decimalText(tenth)+" percent")
			values[q.Options[1]] = tenth
		} else {
			q.Options = append(q.Options, noneOf)
		}
		q.Text = fmt.Sprintf("how bright: %s?", oneOf(q.Options))
	}
	picked, out, ok := x.ask(q)
	if !ok {
		return out, false
	}
	value, known := values[picked[0]]
	if len(picked) != 1 || !known {
		return x.refuse("that is none of what can be done; say it in other words", nil), false
	}
	rd.args = rd.args.Set(rd.asks, value)
	return Outcome{}, true
}

func decimalText(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
