package interpret

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities/lexicon"
)

// signal is what a word says in a sentence whose words may stand in any order.
// A sentence's signals are the bits of a number.
type signal uint64

func (s signal) has(o signal) bool { return s&o != 0 }

// signals that words do not have by a list of their own.
const (
	done    = "done"   // a participle: turned
	ing     = "ing"    // a gerund: turning
	tone    = "tone"   // a colour
	was     = "was"    // a colour that was: from red
	level   = "level"  // a level: to 50 percent
	differs = "amount" // a difference: by 20 percent
	number  = "number" // a number that may be a level
)

// frame is a set of signals that together ask for a capability.
type frame struct {
	Capability string   `yaml:"capability"`
	All        []string `yaml:"all"`     // each of them is there
	Any        []string `yaml:"any"`     // one of them at least
	May        []string `yaml:"may"`     // what may stand beside
	Class      string   `yaml:"class"`   // of the devices that are meant where none is named
	Name       []string `yaml:"name"`    // ... if one of these is there
	Only       []string `yaml:"only"`    // classes of devices that it is for
	Change     float64  `yaml:"change"`  // percent more, or below 0 less
	Level      float64  `yaml:"level"`   // percent that it says
	Missing    string   `yaml:"missing"` // the parameter that must still be asked for
	Doubt      string   `yaml:"doubt"`   // why it is asked first

	of                  *capability
	sentence            *sentence
	all, any, may, name signal
}

// fits reports whether the signals are those of the frame, and no others.
func (f *frame) fits(s signal) bool {
	return s&f.all == f.all && (f.any == 0 || s.has(f.any)) && s&^(f.all|f.any|f.may) == 0
}

// frameLists are the words of frames, as a catalog file lists them.
type frameLists struct {
	Verbs   map[string][]string `yaml:"verbs"`   // by signal; with their endings
	Signals map[string][]string `yaml:"signals"` // by signal; as they stand
	Colours map[string]string   `yaml:"colours"`
	Shades  []string            `yaml:"shades"`
	Levels  map[string]float64  `yaml:"levels"`
	Percent []string            `yaml:"percent"`
	Shares  map[string]float64  `yaml:"shares"`  // parts of a way, in percent
	Whites  map[string]float64  `yaml:"whites"`  // by name, in kelvin
	Degrees []string            `yaml:"degrees"` // the unit of angles
	Kelvins []string            `yaml:"kelvins"` // the unit of whites
	Sides   []string            `yaml:"sides"`   // where something may be turned to, whether or not that has a name here
	From    []string            `yaml:"from"`    // before the colour that was
	By      []string            `yaml:"by"`      // before a difference
	Offered []string            `yaml:"offered"` // colours to choose from
	Things  []string            `yaml:"things"`  // what a camera may be asked to look for
	Nouns   []string            `yaml:"nouns"`   // signals that a word of glue may stand before
	Orders  []string            `yaml:"orders"`  // words that an order begins with, beside the verbs
	Places  map[string][]string `yaml:"places"`  // other names of rooms
	Kept    map[string][]string `yaml:"kept"`    // things by the place where they are looked for
	Frames  []*frame            `yaml:"frames"`
}

// frameLexicon holds what the words of frames say, compiled from frameLists.
type frameLexicon struct {
	lists frameLists

	bits             map[string]signal
	says             *lexicon.Trie[signal]
	colour           *lexicon.Trie[string]
	level            *lexicon.Trie[float64]
	share, white     *lexicon.Trie[float64]
	side             *lexicon.Trie[string]
	degree, kelvin   *lexicon.PhraseSet
	shade, percentOf *lexicon.PhraseSet
	from, by         *lexicon.PhraseSet
	often            signal            // what may be said twice
	telling          signal            // what is done with a thing: on, off, open, lock
	nouns            signal            // what other words may be joined to
	colourNames      map[string]string // by colour
	thing            *lexicon.Trie[lexicon.SlotValue]
	orders           map[string]bool    // folded words that an order begins with
	acting           map[string]bool    // those that say on, off, up or down without a verb
	naming           map[string]bool    // those that stand for a thing: of classes, and of frames that need no name
	spelled          []lexicon.Spelling // orders and naming that may be misspelt
	loose            map[string]bool    // those that join others and say nothing where they end
}

// glue is the signal of words that join others and say nothing themselves.
const glue = "glue"

func (l *frameLexicon) merge(later frameLists) {
	frames := append(l.lists.Frames, slices.DeleteFunc(later.Frames, func(f *frame) bool { return f == nil })...)
	lexicon.MergeLists(&l.lists, later)
	l.lists.Frames = frames
}

// compile makes the phrases, and notes what is wrong.
func (l *frameLexicon) compile(w *lexicon.Lexicon, c *Catalogue, wrong func(string, ...any)) {
	l.bits, l.colourNames = map[string]signal{}, map[string]string{}
	for _, name := range slices.Concat([]string{done, ing, tone, was, level, differs, number, glue}, slices.Sorted(maps.Keys(l.lists.Verbs)), slices.Sorted(maps.Keys(l.lists.Signals))) {
		if l.bits[name] == 0 {
			l.bits[name] = 1 << len(l.bits)
		}
	}
	if len(l.bits) > 64 {
		wrong("signals: there are %d; 64 are the most", len(l.bits))
	}
	l.bits[glue] = 0
	l.orders = map[string]bool{}
	for _, text := range slices.Concat(append(slices.Collect(maps.Values(l.lists.Verbs)), l.lists.Orders)...) {
		l.orders[w.Tokens(text)[0].Folded] = true
	}
	l.says, l.colour, l.level = &lexicon.Trie[signal]{}, &lexicon.Trie[string]{}, &lexicon.Trie[float64]{}
	for _, name := range slices.Sorted(maps.Keys(l.lists.Signals)) {
		for _, text := range l.lists.Signals[name] {
			if tokens := w.Bare(w.Tokens(text)); len(tokens) > 0 { // else it says nothing anyway
				l.says.Add(tokens, l.bits[name])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.lists.Verbs)) {
		for _, text := range l.lists.Verbs[name] {
			l.verb(w, text, l.bits[name])
		}
	}
	for _, text := range slices.Sorted(maps.Keys(l.lists.Colours)) {
		if !hexColour(l.lists.Colours[text]) {
			wrong("colours: %s: %q is no colour; write it like \"#ff8800\"", text, l.lists.Colours[text])
		}
		l.colour.Add(w.Tokens(text), l.lists.Colours[text])
		if _, named := l.colourNames[l.lists.Colours[text]]; !named || slices.Contains(l.lists.Offered, text) {
			l.colourNames[l.lists.Colours[text]] = text
		}
	}
	for _, text := range slices.Sorted(maps.Keys(l.lists.Levels)) {
		l.level.Add(w.Tokens(text), l.lists.Levels[text])
	}
	l.amounts(w)
	l.shade, l.percentOf, l.from, l.by = w.Set(l.lists.Shades), w.Set(l.lists.Percent), w.Set(l.lists.From), w.Set(l.lists.By)
	for _, name := range l.lists.Nouns {
		l.nouns |= l.bits[name]
	}
	for _, name := range slices.Concat([]string{"on", "off", "up", "down", "brighter", "darker", "other", "coffee", "drink"}, slices.Sorted(maps.Keys(l.lists.Verbs))) {
		l.telling |= l.bits[name]
	}
	l.telling &^= l.bits["turn"] | l.bits["make"] | l.bits["change"] | l.bits["brew"] | l.bits["boil"]
	l.often = l.bits["make"] | l.bits["want"] | l.bits["here"] | l.bits["whole"] | l.bits["bit"] | l.bits["start"] | l.bits["dock"]
	l.sorts(w, c)
	l.thing = &lexicon.Trie[lexicon.SlotValue]{}
	for _, text := range l.lists.Things {
		l.thing.Add(w.Tokens(text), lexicon.SlotValue{Value: text})
	}
	for i, f := range l.lists.Frames {
		l.frame(f, c, func(format string, args ...any) {
			wrong("frames: number %d: "+format, append([]any{i + 1}, args...)...)
		})
	}
}

// sorts notes what single words are good for.
func (l *frameLexicon) sorts(w *lexicon.Lexicon, c *Catalogue) {
	l.acting, l.naming, l.loose = map[string]bool{}, map[string]bool{}, map[string]bool{}
	into := func(set map[string]bool, names ...string) {
		for _, name := range names {
			for _, text := range l.lists.Signals[name] {
				for _, t := range w.Tokens(text) {
					set[t.Folded] = true
				}
			}
		}
	}
	into(l.acting, "on", "off", "up", "down", "want", "should")
	into(l.loose, glue, "joint", "should")
	for _, text := range slices.Concat(w.Lists.Fillers, w.Lists.Clock, w.Lists.Joining) {
		for _, t := range w.Tokens(text) {
			l.loose[t.Folded] = true
		}
	}
	for _, f := range l.lists.Frames {
		into(l.naming, f.Name...)
	}
	for class, names := range c.classes {
		for _, text := range append([]string{class}, names...) {
			for _, t := range w.Tokens(text) {
				l.naming[t.Folded] = true
			}
		}
	}
	l.spelled = lexicon.LongSpellings(l.orders, l.naming)
}

func hexColour(s string) bool {
	hex, sharp := strings.CutPrefix(s, "#")
	return sharp && len(hex) == 6 && strings.Trim(hex, "0123456789abcdef") == ""
}

// verb adds a verb with its endings.
func (l *frameLexicon) verb(w *lexicon.Lexicon, text string, s signal) {
	first, rest, _ := strings.Cut(text, " ")
	for form, more := range inflected(first) {
		tokens := w.Tokens(strings.TrimSpace(form + " " + rest))
		l.says.Add(tokens, s|l.bits[more]&^l.bits[glue])
	}
}

// inflected are the forms of an English verb, with the signal that each adds.
// Those of verbs that are not regular stand in the lists as they are.
func inflected(verb string) map[string]string {
	forms := map[string]string{verb: glue}
	if len(verb) < 3 || strings.HasSuffix(verb, "ing") {
		return forms
	}
	stem := verb
	last, before, third := verb[len(verb)-1], verb[len(verb)-2], verb[len(verb)-3]
	switch {
	case last == 'e':
		stem = verb[:len(verb)-1]
	case !isVowel(last) && last != 'w' && last != 'x' && last != 'y' && isVowel(before) && !isVowel(third) && (len(verb) < 5 || verb == "begin") && verb != "open": // dim, put, shut: the last letter doubles
		stem = verb + string(last)
	}
	forms[stem+"ing"], forms[stem+"ed"] = ing, done
	return forms
}

func isVowel(c byte) bool { return strings.IndexByte("aeiou", c) >= 0 }

// frame turns the names of a frame into bits.
func (l *frameLexicon) frame(f *frame, c *Catalogue, wrong func(string, ...any)) {
	mask := func(names []string) (m signal) {
		for _, name := range names {
			bit, ok := l.bits[name]
			if !ok {
				wrong("signal %q is unknown; define it under signals or verbs", name)
			}
			m |= bit
		}
		return m
	}
	f.all, f.any, f.may, f.name = mask(f.All), mask(f.Any), mask(f.May), mask(f.Name)
	f.of = c.find(f.Capability)
	switch {
	case f.of == nil:
		wrong("capability %q is unknown", f.Capability)
	case len(f.All)+len(f.Any) == 0:
		wrong("neither all nor any; a bare name never acts")
	}
	f.sentence = &sentence{capability: f.of, text: fmt.Sprintf("words in any order: %s", strings.Join(append(slices.Clone(f.All), strings.Join(f.Any, "|")), " "))}
}
