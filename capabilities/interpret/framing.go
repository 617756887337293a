package interpret

import (
	"slices"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/internal/order"
)

// framed is one way to read all words of a request as signals and names.
type framed struct {
	signals catalog.Feature
	devices []grammar.BoundSlot
	places  []grammar.BoundSlot // areas, and spots to work on
	colour  string
	level   float64         // percent, or a number that may be
	pieces  int             // that the text was cut into: fewer are a closer reading
	listed  bool            // "and" stands between names
	ahead   bool            // a place stands before the device
	verb    catalog.Feature // what the piece before says
	object  bool            // the device is what is to be cleaned
	twice   bool            // something is said twice
	first   bool            // the colour stands before the name
	valued  bool            // a colour or level stands behind a name
	spread  bool            // and another name behind that: "the hall to 20 percent and the porch"
	named   bool            // the level was said by name: "half"
	bare    bool            // no "to" stands before the level: "up 10 percent"
	vague   bool            // "at" stands before it, and no unit behind: it may be a time
	lost    []string        // words that were passed over
}

// framer finds the readings of a text as signals and names.
type framer struct {
	x     *request
	found []framed
	steps int
}

// maxFraming bounds the work on one request. Real sentences need fewer than 300
// steps.
const maxFraming = 3000

// readings are the ways to read the text, those of the fewest pieces first.
func (f *framer) readings() []framed {
	f.from(0, framed{})
	order.By(f.found, func(a, b framed) int { return a.pieces - b.pieces })
	return f.found
}

// from reads on at word i.
func (f *framer) from(i int, so framed) {
	tokens := f.x.Tokens
	if f.steps++; f.steps > maxFraming {
		f.found = nil // what was not looked at to its end is not understood
		return
	}
	if i == len(tokens) {
		f.found = append(f.found, so)
		return
	}
	so.pieces++
	f.signal(i, so)
	f.name(i, so)
	lost := so
	lost.object = so.object || so.verb.Has(f.x.r.Catalog.Frames.Bits["clean"]) // "vacuum the garden" is not all floors
	so.verb, lost.verb = 0, 0
	f.value(i, so)
	f.skip(i, lost)
}

// skip passes over a word that says nothing here, where that is allowed. One that
// is known says something elsewhere, and so counts for more.
func (f *framer) skip(i int, so framed) {
	t, l := f.x.Tokens[i], &f.x.r.Catalog.Frames
	if l.Colors.Longest(f.x.Tokens, i) > 0 || l.Levels.Longest(f.x.Tokens, i) > 0 { // "red and blue", "half the lights"
		return
	}
	if f.x.Words().Asking.Longest(f.x.Tokens, i) > 0 && !f.x.opens(0) { // "the garage is open" orders nothing, but "make sure it is" does
		return
	}
	if len(so.lost) >= f.x.skips || f.speaks(i) || f.x.BeginsOrder(i) && f.x.r.Catalog.OrderWords[t.Folded] || f.x.r.Names.Words[t.Folded] {
		return
	}
	if t.Text == lexicon.Possessive && (len(so.lost) == 0 || so.lost[len(so.lost)-1] != f.x.Tokens[i-1].Text) {
		return // "the light's on" tells, but "my son's light" is one
	}
	if f.at(i, l.By) > i || f.at(i, l.From) > i {
		if f.x.Words().CardinalEnd(f.x.Tokens, i+1) > i+1 || l.Levels.Longest(f.x.Tokens, i+1) > 0 {
			return // "by 20 percent" is not "20 percent"
		}
	}
	if i > 0 && f.x.Words().CardinalEnd(f.x.Tokens, i-1) == i && !t.Pause && (!f.x.r.KnowsWord(t) || f.x.Words().Measures[t.Folded] || l.Percent.Longest(f.x.Tokens, i) > 0) {
		return // a number without its unit is another
	}
	if end := f.x.Words().CardinalEnd(f.x.Tokens, i); end > i && !f.one(i, end) && !f.ofPlace(i, end) {
		return // "30 and 70" is not "30"
	}
	so.pieces += skipped
	if f.x.r.KnowsWord(t) {
		so.pieces += skipped
	}
	so.lost = append(slices.Clip(so.lost), t.Text)
	f.from(i+1, so)
}

// skipped is how many pieces a word that is passed over counts for: more than a
// text has.
const skipped = 100

// speaks reports whether a word that says what is to be done begins at i.
func (f *framer) speaks(i int) bool {
	says := false
	f.x.r.Catalog.Frames.Signals.Each(f.x.Tokens, i, func(end int, s catalog.Feature) { says = says || end > i && s != 0 })
	return says
}

// nameEnd is where the longest name at word i ends, i if there is none.
func (f *framer) nameEnd(i int) int {
	return max(f.x.LongestSlot("area", i), f.x.LongestSlot("device", i), f.x.LongestSlot("spot", i))
}

// acting reports whether the words say what is to be done with a thing: not "turn" or
// "make" alone, and not by the "on" of "the light on the porch".
func (f *framer) acting(from, to int) (is bool) {
	l := &f.x.r.Catalog.Frames
	verb := false // before this word
	for i := from; i < to; i++ {
		turns := false
		l.Signals.Each(f.x.Tokens, i, func(end int, s catalog.Feature) {
			turns = turns || s.Has(l.Bits["turn"])
			is = is || end > i && end <= to && s.Has(l.ActFeatures) && (verb || !s.Has(l.Bits["on"]) || end == to || !f.noun(end))
		})
		verb = turns
	}
	return is
}

// setting reports whether the words have a colour or a level.
func (f *framer) setting(from, to int) bool {
	l, tokens := &f.x.r.Catalog.Frames, f.x.Tokens
	for i := from; i < to; i++ {
		w := f.x.Words()
		to := i > from && w.Toward.Longest(tokens, i-1) == 1 && w.Clock.Longest(tokens, i-1) == 0 // "at 7" may be a time
		if l.Colors.Longest(tokens, i) > 0 || l.Levels.Longest(tokens, i) > 0 || f.x.PercentAt(i) || to && w.CardinalEnd(tokens, i) > i {
			return true
		}
	}
	return false
}

// signal reads a word or phrase that says something.
func (f *framer) signal(i int, so framed) {
	l := &f.x.r.Catalog.Frames
	l.Signals.Each(f.x.Tokens, i, func(end int, s catalog.Feature) {
		next := so
		next.twice = so.twice || so.signals.Has(s&^l.Repeatable)
		next.signals |= s &^ l.Bits["joint"]
		next.verb = s
		switch t := f.x.Tokens[i]; {
		case t.Text != t.Folded && f.x.r.Catalog.ClassPhrases.Longest(f.x.Tokens, i) > 0: // "turn the lights up" lights up nothing
			return
		case t.Noun && f.x.r.Catalog.ClassPhrases.Longest(f.x.Tokens, i) >= end-i: // "park the vacuum" is no order to vacuum
			return
		case s == l.Bits["joint"] && !f.noun(end) && f.x.skips > 0 && end < len(f.x.Tokens) && !f.x.r.KnowsWord(f.x.Tokens[end]): // "on the left"
			if next.pieces += 2 * skipped; len(so.lost) == f.x.skips {
				return
			}
			next.lost = append(slices.Clip(so.lost), f.x.Tokens[i].Text)
		case s == l.Bits["joint"] && !f.noun(end): // "on" joins it to a name, or switches something on
			return
		case s == l.Bits["ready"] && so.pieces == 1: // "going to make coffee" tells
			return
		case s == l.Bits["joint"] && so.verb.Has(l.Bits["off"]|l.Bits["on"]): // "turn off on the light" says both
			return
		case s == l.Bits["joint"] && so.verb.Has(l.Bits["turn"]): // "turn on the light" joins nothing
			return
		case s == l.Bits["on"] && len(so.devices) > 0 && f.place(end): // "the light on the porch" is a light
			return
		}
		f.from(end, next)
	})
	n := f.x.Words().Joining.Longest(f.x.Tokens, i)
	if n > 0 && (so.signals.Has(l.Bits[catalog.LevelFeature]) && l.Colors.Longest(f.x.Tokens, i+n) > 0 || so.signals.Has(l.Bits[catalog.ColorFeature]) && f.x.PercentAt(i+n)) { // "red and 30 percent"
		f.from(i+n, so)
	}
	if n > 0 && len(so.devices)+len(so.places) > 0 && f.place(i+n) {
		so.listed = true
		f.from(i+n, so)
	}
}

// place reports whether a name begins at word i.
func (f *framer) place(i int) bool {
	x := f.x
	return i < len(x.Tokens) && (len(x.SlotValues("area", i)) > 0 || len(x.SlotValues("device", i)) > 0 || len(x.SlotValues("spot", i)) > 0)
}

// noun reports whether something that a word may be joined to begins at word i.
func (f *framer) noun(i int) bool {
	l, tokens := &f.x.r.Catalog.Frames, f.x.Tokens
	if f.place(i) || l.Colors.Longest(tokens, i) > 0 || l.Levels.Longest(tokens, i) > 0 {
		return true
	}
	is := false
	f.x.Words().EachCardinal(tokens, i, func(int, float64) { is = true })
	l.Signals.Each(tokens, i, func(_ int, s catalog.Feature) { is = is || s.Has(l.NounFeatures) })
	return is
}

// value reads a colour, a level, or a number that may be one.
func (f *framer) value(i int, so framed) {
	l, tokens := &f.x.r.Catalog.Frames, f.x.Tokens
	from := f.at(i, l.From)
	l.Colors.Each(tokens, from, func(end int, hex string) {
		next := so
		if from > i {
			next.signals |= l.Bits[catalog.PriorColorFeature]
		} else if next.colour != "" && next.colour != hex {
			return
		} else {
			next.signals |= l.Bits[catalog.ColorFeature]
			next.first = len(so.devices) == 0
			next.colour = hex
			next.valued = len(so.devices)+len(so.places) > 0
		}
		f.from(end, next)
		if n := l.Shades.Longest(tokens, end); n > 0 { // "a blue hue", but "blue lights"
			f.from(end+n, next)
		}
	})
	by := f.at(i, l.By)
	toward := i > 0 && f.x.Words().Toward.Longest(tokens, i-1) == 1
	yield := func(end int, n float64, percent bool) {
		next := so
		switch {
		case so.signals.Has(l.Bits[catalog.LevelFeature] | l.Bits[catalog.DifferenceFeature] | l.Bits[catalog.NumberFeature]):
			return
		case !percent && f.x.IsName(i): // "lamp 50" is the lamp of that name
			return
		case percent && end+1 < len(tokens) && tokens[end].Text == "of" && len(f.x.SlotValues("device", end+1)) > 0: // "half of the lights" is no level
			return
		case percent && n < 100 && slices.ContainsFunc(f.x.SlotValues("device", f.x.SkipArticles(end)), func(m lexicon.SlotValue) bool { return m.All }): // nor is "half the lights"
			return
		case percent && !toward && f.compares(end): // "50 percent brighter"
			next.signals |= l.Bits[catalog.DifferenceFeature]
		case by > i && percent:
			next.signals |= l.Bits[catalog.DifferenceFeature]
		case percent:
			next.signals |= l.Bits[catalog.LevelFeature]
		case n > 10: // no scale but percent goes so far
			next.signals |= l.Bits[catalog.LevelFeature]
		default:
			next.signals |= l.Bits[catalog.NumberFeature]
		}
		next.level, next.bare = n, !toward
		next.vague = !percent && toward && f.x.Words().Clock.Longest(tokens, i-1) == 1
		next.valued = len(so.devices)+len(so.places) > 0
		f.from(end, next)
	}
	if by == i {
		l.Levels.Each(tokens, i, func(end int, n float64) {
			so.named = true
			yield(end, n, true)
			so.named = false
		})
	} else {
		l.Shares.Each(tokens, by, func(end int, n float64) { yield(end, n, true) }) // "by half"
	}
	f.x.Words().EachCardinal(tokens, by, func(end int, n float64) {
		if k := l.Percent.Longest(tokens, end); k > 0 {
			yield(end+k, n, true)
		} else if by == i && (n == 0 || n >= 1) && !f.counts(i, end) { // "half" is a level by name
			yield(end, n, false)
		}
	})
}

// at is behind the word of the set at i if there is one, else i.
func (f *framer) at(i int, s *lexicon.PhraseSet) int {
	if n := s.Longest(f.x.Tokens, i); i+n < len(f.x.Tokens) {
		return i + n
	}
	return i
}

// name reads the name of a device or place.
func (f *framer) name(i int, so framed) {
	for _, kind := range []string{"device", "area", "spot"} {
		list := f.x.FillSlot(kind, i)
		for m := range list {
			if kind == "device" && list[m].All && list[m].Class == "" && list[m].Specificity == lexicon.Unspecified {
				continue // "all" of what?
			}
			next, b := so, grammar.BoundSlot{Kind: kind, Name: kind, From: i, Match: &list[m]}
			next.verb = 0
			next.pieces += 2 * max(len(list[m].Rooms)-1, 0) // as the names and what joins them
			next.listed = so.listed || f.x.Tokens[i].Pause && len(so.devices)+len(so.places) > 0
			next.spread = so.spread || so.valued && next.listed
			if kind == "device" {
				if len(so.devices) > 0 && !next.listed {
					continue
				}
				next.object = next.object || so.verb.Has(f.x.r.Catalog.Frames.Bits["clean"])
				next.devices = append(slices.Clip(so.devices), b)
			} else {
				if len(so.places) > 0 && !next.listed {
					continue
				}
				next.ahead = next.ahead || len(so.devices) == 0
				next.places = append(slices.Clip(so.places), b)
			}
			f.from(list[m].End, next)
		}
	}
}
