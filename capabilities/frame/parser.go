package frame

import (
	"slices"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/internal/order"
)

// Reading is one way to read all words of a text as features and names.
type Reading struct {
	Signals catalog.Feature
	Devices []grammar.BoundSlot
	Places  []grammar.BoundSlot // areas, and spots to work on
	Color   string
	Level   float64         // percent, or a number that may be
	Pieces  int             // the number of pieces of the text: fewer are a closer reading
	Listed  bool            // "and" stands between names
	Ahead   bool            // a place stands before the device
	verb    catalog.Feature // the verb of the piece before
	Object  bool            // the order is to clean the device itself
	Twice   bool            // the text repeats a feature
	First   bool            // the color stands before the name
	Valued  bool            // a color or level stands behind a name
	Spread  bool            // and another name behind that: "the hall to 20 percent and the porch"
	Named   bool            // the level has a name: "half"
	Bare    bool            // no "to" stands before the level: "up 10 percent"
	Vague   bool            // "at" stands before it, and no unit behind: it may be a time
	Lost    []string        // skipped words
}

// Parser finds the readings of a text as features and names.
type Parser struct {
	Text  *entity.Utterance
	Skips int // the largest number of unknown words to skip
	found []Reading
	steps int
}

// maxFraming bounds the work on one request. Real sentences need fewer than 300
// steps.
const maxFraming = 3000

// Readings returns the ways to read the text, first those with the fewest pieces.
func (f *Parser) Readings() []Reading {
	f.from(0, Reading{})
	order.By(f.found, func(a, b Reading) int { return a.Pieces - b.Pieces })
	return f.found
}

// from continues at word i.
func (f *Parser) from(i int, so Reading) {
	tokens := f.Text.Tokens
	if f.steps++; f.steps > maxFraming {
		f.found = nil // an incomplete search has no reading
		return
	}
	if i == len(tokens) {
		f.found = append(f.found, so)
		return
	}
	so.Pieces++
	f.signal(i, so)
	f.name(i, so)
	lost := so
	lost.Object = so.Object || so.verb.Has(f.Text.Home.Catalog.Frames.Bits["clean"]) // "vacuum the garden" is not all floors
	so.verb, lost.verb = 0, 0
	f.value(i, so)
	f.skip(i, lost)
}

// skip skips a word without a meaning, if the parser allows it. A word with a meaning
// elsewhere costs more.
func (f *Parser) skip(i int, so Reading) {
	t, l := f.Text.Tokens[i], &f.Text.Home.Catalog.Frames
	if l.Colors.Longest(f.Text.Tokens, i) > 0 || l.Levels.Longest(f.Text.Tokens, i) > 0 { // "red and blue", "half the lights"
		return
	}
	if f.Text.Words().Asking.Longest(f.Text.Tokens, i) > 0 && !OpensOrder(f.Text, 0) { // "the garage is open" orders nothing, but "make sure it is" does
		return
	}
	if len(so.Lost) >= f.Skips || f.speaks(i) || f.Text.BeginsOrder(i) && f.Text.Home.Catalog.OrderWords[t.Folded] || f.Text.Home.Names.Words[t.Folded] {
		return
	}
	if t.Text == lexicon.Possessive && (len(so.Lost) == 0 || so.Lost[len(so.Lost)-1] != f.Text.Tokens[i-1].Text) {
		return // "the light's on" reports, but "my son's light" is one
	}
	if f.at(i, l.By) > i || f.at(i, l.From) > i {
		if f.Text.Words().CardinalEnd(f.Text.Tokens, i+1) > i+1 || l.Levels.Longest(f.Text.Tokens, i+1) > 0 {
			return // "by 20 percent" is not "20 percent"
		}
	}
	if i > 0 && f.Text.Words().CardinalEnd(f.Text.Tokens, i-1) == i && !t.Pause && (!f.Text.Home.KnowsWord(t) || f.Text.Words().Measures[t.Folded] || l.Percent.Longest(f.Text.Tokens, i) > 0) {
		return // a number without its unit is another
	}
	if end := f.Text.Words().CardinalEnd(f.Text.Tokens, i); end > i && !f.one(i, end) && !f.ofPlace(i, end) {
		return // "30 and 70" is not "30"
	}
	so.Pieces += skipped
	if f.Text.Home.KnowsWord(t) {
		so.Pieces += skipped
	}
	so.Lost = append(slices.Clip(so.Lost), t.Text)
	f.from(i+1, so)
}

// skipped is the number of pieces that a skipped word counts for: more than a text has.
const skipped = 100

// speaks reports whether an order word begins at i.
func (f *Parser) speaks(i int) bool {
	says := false
	f.Text.Home.Catalog.Frames.Signals.Each(f.Text.Tokens, i, func(end int, s catalog.Feature) { says = says || end > i && s != 0 })
	return says
}

// NameEnd returns where the longest name at word i ends, or i if there is none.
func (f *Parser) NameEnd(i int) int {
	return max(f.Text.LongestSlot("area", i), f.Text.LongestSlot("device", i), f.Text.LongestSlot("spot", i))
}

// OrdersAct reports whether the words order an act on a device. "Turn" or "make" alone does
// not, nor does the "on" of "the light on the porch".
func (f *Parser) OrdersAct(from, to int) (is bool) {
	l := &f.Text.Home.Catalog.Frames
	verb := false // before this word
	for i := from; i < to; i++ {
		turns := false
		l.Signals.Each(f.Text.Tokens, i, func(end int, s catalog.Feature) {
			turns = turns || s.Has(l.Bits["turn"])
			is = is || end > i && end <= to && s.Has(l.ActFeatures) && (verb || !s.Has(l.Bits["on"]) || end == to || !f.noun(end))
		})
		verb = turns
	}
	return is
}

// HasSetting reports whether the words have a color or a level.
func (f *Parser) HasSetting(from, to int) bool {
	l, tokens := &f.Text.Home.Catalog.Frames, f.Text.Tokens
	for i := from; i < to; i++ {
		w := f.Text.Words()
		to := i > from && w.Toward.Longest(tokens, i-1) == 1 && w.Clock.Longest(tokens, i-1) == 0 // "at 7" may be a time
		if l.Colors.Longest(tokens, i) > 0 || l.Levels.Longest(tokens, i) > 0 || f.Text.PercentAt(i) || to && w.CardinalEnd(tokens, i) > i {
			return true
		}
	}
	return false
}

// signal reads a word or phrase with a feature.
func (f *Parser) signal(i int, so Reading) {
	l := &f.Text.Home.Catalog.Frames
	l.Signals.Each(f.Text.Tokens, i, func(end int, s catalog.Feature) {
		next := so
		next.Twice = so.Twice || so.Signals.Has(s&^l.Repeatable)
		next.Signals |= s &^ l.Bits["joint"]
		next.verb = s
		switch t := f.Text.Tokens[i]; {
		case t.Text != t.Folded && f.Text.Home.Catalog.ClassPhrases.Longest(f.Text.Tokens, i) > 0: // "turn the lights up" lights up nothing
			return
		case t.Noun && f.Text.Home.Catalog.ClassPhrases.Longest(f.Text.Tokens, i) >= end-i: // "park the vacuum" is no order to vacuum
			return
		case s == l.Bits["joint"] && !f.noun(end) && f.Skips > 0 && end < len(f.Text.Tokens) && !f.Text.Home.KnowsWord(f.Text.Tokens[end]): // "on the left"
			if next.Pieces += 2 * skipped; len(so.Lost) == f.Skips {
				return
			}
			next.Lost = append(slices.Clip(so.Lost), f.Text.Tokens[i].Text)
		case s == l.Bits["joint"] && !f.noun(end): // "on" joins it to a name, or switches something on
			return
		case s == l.Bits["ready"] && so.Pieces == 1: // "going to make coffee" reports
			return
		case s == l.Bits["joint"] && so.verb.Has(l.Bits["off"]|l.Bits["on"]): // "turn off on the light" says both
			return
		case s == l.Bits["joint"] && so.verb.Has(l.Bits["turn"]): // "turn on the light" joins nothing
			return
		case s == l.Bits["on"] && len(so.Devices) > 0 && f.IsPlace(end): // "the light on the porch" is a light
			return
		}
		f.from(end, next)
	})
	n := f.Text.Words().Joining.Longest(f.Text.Tokens, i)
	if n > 0 && (so.Signals.Has(l.Bits[catalog.LevelFeature]) && l.Colors.Longest(f.Text.Tokens, i+n) > 0 || so.Signals.Has(l.Bits[catalog.ColorFeature]) && f.Text.PercentAt(i+n)) { // "red and 30 percent"
		f.from(i+n, so)
	}
	if n > 0 && len(so.Devices)+len(so.Places) > 0 && f.IsPlace(i+n) {
		so.Listed = true
		f.from(i+n, so)
	}
}

// IsPlace reports whether a name begins at word i.
func (f *Parser) IsPlace(i int) bool {
	x := f.Text
	return i < len(x.Tokens) && (len(x.SlotValues("area", i)) > 0 || len(x.SlotValues("device", i)) > 0 || len(x.SlotValues("spot", i)) > 0)
}

// noun reports whether a noun begins at word i that another word can join.
func (f *Parser) noun(i int) bool {
	l, tokens := &f.Text.Home.Catalog.Frames, f.Text.Tokens
	if f.IsPlace(i) || l.Colors.Longest(tokens, i) > 0 || l.Levels.Longest(tokens, i) > 0 {
		return true
	}
	is := false
	f.Text.Words().EachCardinal(tokens, i, func(int, float64) { is = true })
	l.Signals.Each(tokens, i, func(_ int, s catalog.Feature) { is = is || s.Has(l.NounFeatures) })
	return is
}

// value reads a color, a level, or a number that may be one.
func (f *Parser) value(i int, so Reading) {
	l, tokens := &f.Text.Home.Catalog.Frames, f.Text.Tokens
	from := f.at(i, l.From)
	l.Colors.Each(tokens, from, func(end int, hex string) {
		next := so
		if from > i {
			next.Signals |= l.Bits[catalog.PriorColorFeature]
		} else if next.Color != "" && next.Color != hex {
			return
		} else {
			next.Signals |= l.Bits[catalog.ColorFeature]
			next.First = len(so.Devices) == 0
			next.Color = hex
			next.Valued = len(so.Devices)+len(so.Places) > 0
		}
		f.from(end, next)
		if n := l.Shades.Longest(tokens, end); n > 0 { // "a blue hue", but "blue lights"
			f.from(end+n, next)
		}
	})
	by := f.at(i, l.By)
	toward := i > 0 && f.Text.Words().Toward.Longest(tokens, i-1) == 1
	yield := func(end int, n float64, percent bool) {
		next := so
		switch {
		case so.Signals.Has(l.Bits[catalog.LevelFeature] | l.Bits[catalog.DifferenceFeature] | l.Bits[catalog.NumberFeature]):
			return
		case !percent && f.Text.IsName(i): // "lamp 50" is the lamp of that name
			return
		case percent && end+1 < len(tokens) && tokens[end].Text == "of" && len(f.Text.SlotValues("device", end+1)) > 0: // "half of the lights" is no level
			return
		case percent && n < 100 && slices.ContainsFunc(f.Text.SlotValues("device", f.Text.SkipArticles(end)), func(m lexicon.SlotValue) bool { return m.All }): // nor is "half the lights"
			return
		case percent && !toward && f.compares(end): // "50 percent brighter"
			next.Signals |= l.Bits[catalog.DifferenceFeature]
		case by > i && percent:
			next.Signals |= l.Bits[catalog.DifferenceFeature]
		case percent:
			next.Signals |= l.Bits[catalog.LevelFeature]
		case n > 10: // no scale but percent goes so far
			next.Signals |= l.Bits[catalog.LevelFeature]
		default:
			next.Signals |= l.Bits[catalog.NumberFeature]
		}
		next.Level, next.Bare = n, !toward
		next.Vague = !percent && toward && f.Text.Words().Clock.Longest(tokens, i-1) == 1
		next.Valued = len(so.Devices)+len(so.Places) > 0
		f.from(end, next)
	}
	if by == i {
		l.Levels.Each(tokens, i, func(end int, n float64) {
			so.Named = true
			yield(end, n, true)
			so.Named = false
		})
	} else {
		l.Shares.Each(tokens, by, func(end int, n float64) { yield(end, n, true) }) // "by half"
	}
	f.Text.Words().EachCardinal(tokens, by, func(end int, n float64) {
		if k := l.Percent.Longest(tokens, end); k > 0 {
			yield(end+k, n, true)
		} else if by == i && (n == 0 || n >= 1) && !f.counts(i, end) { // "half" is a level by name
			yield(end, n, false)
		}
	})
}

// at returns the index behind the word of the set at i, or i if there is none.
func (f *Parser) at(i int, s *lexicon.PhraseSet) int {
	if n := s.Longest(f.Text.Tokens, i); i+n < len(f.Text.Tokens) {
		return i + n
	}
	return i
}

// name reads the name of a device or place.
func (f *Parser) name(i int, so Reading) {
	for _, kind := range []string{"device", "area", "spot"} {
		list := f.Text.FillSlot(kind, i)
		for m := range list {
			if kind == "device" && list[m].All && list[m].Class == "" && list[m].Specificity == lexicon.Unspecified {
				continue // "all" of what?
			}
			next, b := so, grammar.BoundSlot{Kind: kind, Name: kind, From: i, Match: &list[m]}
			next.verb = 0
			next.Pieces += 2 * max(len(list[m].Rooms)-1, 0) // one for each further name, and one for its conjunction
			next.Listed = so.Listed || f.Text.Tokens[i].Pause && len(so.Devices)+len(so.Places) > 0
			next.Spread = so.Spread || so.Valued && next.Listed
			if kind == "device" {
				if len(so.Devices) > 0 && !next.Listed {
					continue
				}
				next.Object = next.Object || so.verb.Has(f.Text.Home.Catalog.Frames.Bits["clean"])
				next.Devices = append(slices.Clip(so.Devices), b)
			} else {
				if len(so.Places) > 0 && !next.Listed {
					continue
				}
				next.Ahead = next.Ahead || len(so.Devices) == 0
				next.Places = append(slices.Clip(so.Places), b)
			}
			f.from(list[m].End, next)
		}
	}
}
