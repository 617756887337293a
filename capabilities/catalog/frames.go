package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// amountWords adds the words of amounts to a list.
func (l *FrameLexicon) amountWords(into map[string]bool) {
	l.Shares.AddWords(into)
	l.Whites.AddWords(into)
	l.Sides.AddWords(into)
	l.Degrees.AddWords(into)
	l.Kelvins.AddWords(into)
}

// amounts compiles the words of amounts.
func (l *FrameLexicon) amounts(w *lexicon.Lexicon) {
	l.Shares, l.Whites, l.Sides = &lexicon.Trie[float64]{}, &lexicon.Trie[float64]{}, &lexicon.Trie[string]{}
	for _, text := range slices.Sorted(maps.Keys(l.Lists.Shares)) {
		l.Shares.Add(w.Bare(w.Tokens(text)), l.Lists.Shares[text])
	}
	for _, text := range slices.Sorted(maps.Keys(l.Lists.Whites)) {
		l.Whites.Add(w.Tokens(text), l.Lists.Whites[text])
	}
	for _, text := range l.Lists.Sides {
		l.Sides.Add(w.Tokens(text), text)
	}
	l.Degrees, l.Kelvins = w.Set(l.Lists.Degrees), w.Set(l.Lists.Kelvins)
}

// DifferenceFrame returns frame f with a difference in the place of a level, or nil if
// there is none.
func (l *FrameLexicon) DifferenceFrame(f *Frame, s Feature) *Frame {
	s = s&^l.Bits[LevelFeature] | l.Bits[DifferenceFeature]
	if i := slices.IndexFunc(l.Lists.Frames, func(o *Frame) bool { return o.Change != 0 && o.Of.Command == f.Of.Command && o.Fits(s) }); i >= 0 {
		return l.Lists.Frames[i]
	}
	return nil
}

// Grammatical reports whether the forms of the verbs fit an order and no statement:
// "turned" behind a wish, "turning" behind a beginning.
func (l *FrameLexicon) Grammatical(s Feature) bool {
	wish := l.Bits["want"] | l.Bits["should"] | l.Bits["make"] | l.Bits["could"]
	if s.Has(l.Bits[Participle]) && !s.Has(wish) {
		return false
	}
	return !s.Has(l.Bits[Gerund]) || s.Has(l.Bits["start"]|l.Bits["stop"]|l.Bits["could"]|l.Bits["go"])
}

// Feature is the meaning of a word in a sentence whose words have any order. The features
// of a sentence are the bits of a number.
type Feature uint64

// Has reports whether s has one of the features of o.
func (s Feature) Has(o Feature) bool { return s&o != 0 }

// signals that words do not have by a list of their own.
const (
	Participle        = "done"   // a participle: turned
	Gerund            = "ing"    // a gerund: turning
	ColorFeature      = "tone"   // a color
	PriorColorFeature = "was"    // the previous color: from red
	LevelFeature      = "level"  // a level: to 50 percent
	DifferenceFeature = "amount" // a difference: by 20 percent
	NumberFeature     = "number" // a number that may be a level
)

// Frame is a set of features that together ask for a capability.
type Frame struct {
	Capability string   `yaml:"capability"`
	All        []string `yaml:"all"`     // each of them is there
	Any        []string `yaml:"any"`     // one of them at least
	May        []string `yaml:"may"`     // optional features
	Class      string   `yaml:"class"`   // of the devices without a name in the text
	Name       []string `yaml:"name"`    // ... if one of these is there
	Only       []string `yaml:"only"`    // classes of devices that it is for
	Change     float64  `yaml:"change"`  // percent more, or below 0 less
	Level      float64  `yaml:"level"`   // percent
	Missing    string   `yaml:"missing"` // the parameter that the interpreter must ask for
	Doubt      string   `yaml:"doubt"`   // why it needs a confirmation

	Of                                  *grammar.Capability
	Pattern                             *grammar.Pattern
	AllMask, AnyMask, MayMask, NameMask Feature
}

// Fits reports whether the features are those of the frame, and no others.
func (f *Frame) Fits(s Feature) bool {
	return s&f.AllMask == f.AllMask && (f.AnyMask == 0 || s.Has(f.AnyMask)) && s&^(f.AllMask|f.AnyMask|f.MayMask) == 0
}

// frameLists are the words of frames, as a catalog file lists them.
type frameLists struct {
	Verbs   map[string][]string `yaml:"verbs"`   // by signal; with their endings
	Signals map[string][]string `yaml:"signals"` // by signal; as they stand
	Colors  map[string]string   `yaml:"colours"`
	Shades  []string            `yaml:"shades"`
	Levels  map[string]float64  `yaml:"levels"`
	Percent []string            `yaml:"percent"`
	Shares  map[string]float64  `yaml:"shares"`  // parts of a way, in percent
	Whites  map[string]float64  `yaml:"whites"`  // by name, in kelvin
	Degrees []string            `yaml:"degrees"` // the unit of angles
	Kelvins []string            `yaml:"kelvins"` // the unit of whites
	Sides   []string            `yaml:"sides"`   // names of positions, of any home
	From    []string            `yaml:"from"`    // before the previous color
	By      []string            `yaml:"by"`      // before a difference
	Offered []string            `yaml:"offered"` // colors to choose from
	Things  []string            `yaml:"things"`  // objects that a camera may look for
	Nouns   []string            `yaml:"nouns"`   // signals that a word of glue may stand before
	Orders  []string            `yaml:"orders"`  // words that an order begins with, in addition to the verbs
	Places  map[string][]string `yaml:"places"`  // other names of rooms
	Kept    map[string][]string `yaml:"kept"`    // objects by the place where people keep them
	Frames  []*Frame            `yaml:"frames"`
}

// FrameLexicon holds the words of frames, compiled from frameLists.
type FrameLexicon struct {
	Lists frameLists

	Bits             map[string]Feature
	Signals          *lexicon.Trie[Feature]
	Colors           *lexicon.Trie[string]
	Levels           *lexicon.Trie[float64]
	Shares, Whites   *lexicon.Trie[float64]
	Sides            *lexicon.Trie[string]
	Degrees, Kelvins *lexicon.PhraseSet
	Shades, Percent  *lexicon.PhraseSet
	From, By         *lexicon.PhraseSet
	Repeatable       Feature           // features that a text may repeat
	ActFeatures      Feature           // features of an act: on, off, open, lock
	NounFeatures     Feature           // features that other words can join
	ColorNames       map[string]string // by color
	Things           *lexicon.Trie[lexicon.SlotValue]
	OrderWords       map[string]bool    // folded words that an order begins with
	ActWords         map[string]bool    // those that say on, off, up or down without a verb
	NamingWords      map[string]bool    // those that stand for a thing: of classes, and of frames that need no name
	Spelled          []lexicon.Spelling // words of orders and names that a text may misspell
	LooseWords       map[string]bool    // those that join others and say nothing where they end
}

// FunctionWord is the feature of words that join others and have no meaning of their own.
const FunctionWord = "glue"

func (l *FrameLexicon) merge(later frameLists) {
	frames := append(l.Lists.Frames, slices.DeleteFunc(later.Frames, func(f *Frame) bool { return f == nil })...)
	lexicon.MergeLists(&l.Lists, later)
	l.Lists.Frames = frames
}

// compile makes the phrases, and notes mistakes.
func (l *FrameLexicon) compile(w *lexicon.Lexicon, c *Catalog, addError func(string, ...any)) {
	l.Bits, l.ColorNames = map[string]Feature{}, map[string]string{}
	for _, name := range slices.Concat([]string{Participle, Gerund, ColorFeature, PriorColorFeature, LevelFeature, DifferenceFeature, NumberFeature, FunctionWord}, slices.Sorted(maps.Keys(l.Lists.Verbs)), slices.Sorted(maps.Keys(l.Lists.Signals))) {
		if l.Bits[name] == 0 {
			l.Bits[name] = 1 << len(l.Bits)
		}
	}
	if len(l.Bits) > 64 {
		addError("signals: there are %d; 64 are the most", len(l.Bits))
	}
	l.Bits[FunctionWord] = 0
	l.OrderWords = map[string]bool{}
	for _, text := range slices.Concat(append(slices.Collect(maps.Values(l.Lists.Verbs)), l.Lists.Orders)...) {
		l.OrderWords[w.Tokens(text)[0].Folded] = true
	}
	l.Signals, l.Colors, l.Levels = &lexicon.Trie[Feature]{}, &lexicon.Trie[string]{}, &lexicon.Trie[float64]{}
	for _, name := range slices.Sorted(maps.Keys(l.Lists.Signals)) {
		for _, text := range l.Lists.Signals[name] {
			if tokens := w.Bare(w.Tokens(text)); len(tokens) > 0 { // else it says nothing anyway
				l.Signals.Add(tokens, l.Bits[name])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Lists.Verbs)) {
		for _, text := range l.Lists.Verbs[name] {
			l.verb(w, text, l.Bits[name])
		}
	}
	for _, text := range slices.Sorted(maps.Keys(l.Lists.Colors)) {
		if !IsHexColor(l.Lists.Colors[text]) {
			addError("colours: %s: %q is no color; write it like \"#ff8800\"", text, l.Lists.Colors[text])
		}
		l.Colors.Add(w.Tokens(text), l.Lists.Colors[text])
		if _, named := l.ColorNames[l.Lists.Colors[text]]; !named || slices.Contains(l.Lists.Offered, text) {
			l.ColorNames[l.Lists.Colors[text]] = text
		}
	}
	for _, text := range slices.Sorted(maps.Keys(l.Lists.Levels)) {
		l.Levels.Add(w.Tokens(text), l.Lists.Levels[text])
	}
	l.amounts(w)
	l.Shades, l.Percent, l.From, l.By = w.Set(l.Lists.Shades), w.Set(l.Lists.Percent), w.Set(l.Lists.From), w.Set(l.Lists.By)
	for _, name := range l.Lists.Nouns {
		l.NounFeatures |= l.Bits[name]
	}
	for _, name := range slices.Concat([]string{"on", "off", "up", "down", "brighter", "darker", "other", "coffee", "drink"}, slices.Sorted(maps.Keys(l.Lists.Verbs))) {
		l.ActFeatures |= l.Bits[name]
	}
	l.ActFeatures &^= l.Bits["turn"] | l.Bits["make"] | l.Bits["change"] | l.Bits["brew"] | l.Bits["boil"]
	l.Repeatable = l.Bits["make"] | l.Bits["want"] | l.Bits["here"] | l.Bits["whole"] | l.Bits["bit"] | l.Bits["start"] | l.Bits["dock"]
	l.classifyWords(w, c)
	l.Things = &lexicon.Trie[lexicon.SlotValue]{}
	for _, text := range l.Lists.Things {
		l.Things.Add(w.Tokens(text), lexicon.SlotValue{Value: text})
	}
	for i, f := range l.Lists.Frames {
		l.frame(f, c, func(format string, args ...any) {
			addError("frames: number %d: "+format, append([]any{i + 1}, args...)...)
		})
	}
}

// classifyWords notes the uses of single words.
func (l *FrameLexicon) classifyWords(w *lexicon.Lexicon, c *Catalog) {
	l.ActWords, l.NamingWords, l.LooseWords = map[string]bool{}, map[string]bool{}, map[string]bool{}
	into := func(set map[string]bool, names ...string) {
		for _, name := range names {
			for _, text := range l.Lists.Signals[name] {
				for _, t := range w.Tokens(text) {
					set[t.Folded] = true
				}
			}
		}
	}
	into(l.ActWords, "on", "off", "up", "down", "want", "should")
	into(l.LooseWords, FunctionWord, "joint", "should")
	for _, text := range slices.Concat(w.Lists.Fillers, w.Lists.Clock, w.Lists.Joining) {
		for _, t := range w.Tokens(text) {
			l.LooseWords[t.Folded] = true
		}
	}
	for _, f := range l.Lists.Frames {
		into(l.NamingWords, f.Name...)
	}
	for class, names := range c.ClassWords {
		for _, text := range append([]string{class}, names...) {
			for _, t := range w.Tokens(text) {
				l.NamingWords[t.Folded] = true
			}
		}
	}
	l.Spelled = lexicon.LongSpellings(l.OrderWords, l.NamingWords)
}

// IsHexColor reports whether s is a color like "#ff8800".
func IsHexColor(s string) bool {
	hex, sharp := strings.CutPrefix(s, "#")
	return sharp && len(hex) == 6 && strings.Trim(hex, "0123456789abcdef") == ""
}

// verb adds a verb with its endings.
func (l *FrameLexicon) verb(w *lexicon.Lexicon, text string, s Feature) {
	first, rest, _ := strings.Cut(text, " ")
	for form, more := range inflected(first) {
		tokens := w.Tokens(strings.TrimSpace(form + " " + rest))
		l.Signals.Add(tokens, s|l.Bits[more]&^l.Bits[FunctionWord])
	}
}

// inflected returns the forms of a regular English verb with the feature that each adds.
// The lists have the forms of irregular verbs.
func inflected(verb string) map[string]string {
	forms := map[string]string{verb: FunctionWord}
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
	forms[stem+"ing"], forms[stem+"ed"] = Gerund, Participle
	return forms
}

func isVowel(c byte) bool { return strings.IndexByte("aeiou", c) >= 0 }

// frame turns the names of a frame into bits.
func (l *FrameLexicon) frame(f *Frame, c *Catalog, addError func(string, ...any)) {
	mask := func(names []string) (m Feature) {
		for _, name := range names {
			bit, ok := l.Bits[name]
			if !ok {
				addError("signal %q is unknown; define it under signals or verbs", name)
			}
			m |= bit
		}
		return m
	}
	f.AllMask, f.AnyMask, f.MayMask, f.NameMask = mask(f.All), mask(f.Any), mask(f.May), mask(f.Name)
	f.Of = c.Find(f.Capability)
	switch {
	case f.Of == nil:
		addError("capability %q is unknown", f.Capability)
	case len(f.All)+len(f.Any) == 0:
		addError("neither all nor any; a bare name never acts")
	}
	f.Pattern = &grammar.Pattern{Capability: f.Of, Text: fmt.Sprintf("words in any order: %s", strings.Join(append(slices.Clone(f.All), strings.Join(f.Any, "|")), " "))}
}

// ColorName returns the name of a color, or its code if it has none.
func (l *FrameLexicon) ColorName(hex string) string { return cmp.Or(l.ColorNames[hex], hex) }
