package catalog

import (
	"embed"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/internal/unit"
)

// Catalog is the list of capabilities with the words for them. It is immutable and safe for
// concurrent use.
type Catalog struct {
	Capabilities []*grammar.Capability
	ClassWords   map[string][]string
	Quantities   map[string]quantity
	Words        *lexicon.Lexicon
	Frames       FrameLexicon
	Grammar      *grammar.Automaton
	Waiting      lexicon.WaitLexicon
	Context      lexicon.ContextLexicon
	Courtesy     lexicon.CourtesyLexicon
	Events       *grammar.Automaton    // events behind "when"
	Objects      *grammar.Automaton    // objects behind "watch"
	Measures     *lexicon.Trie[string] // units of measures, by their names

	// Made from the above, for all homes.
	ClassPhrases     *lexicon.Trie[lexicon.SlotValue]
	QuantityPhrases  *lexicon.Trie[lexicon.SlotValue]
	Vocabulary       map[string]bool               // folded words of all sentences
	WordsOf          map[string]map[string]bool    // the same, by capability
	OrderWords       map[string]bool               // the same, of those that act
	FrameWords       map[string]bool               // folded words of frames, without the names of a home
	TimeWords        map[string]bool               // folded words of times and of orders for an image
	IDWords          map[string][]lexicon.Spelling // words of each capability's id
	DescriptionWords map[string][]string           // words of each capability's id, and of its description
	skipped          []SkippedSentence             // sentences of Home Assistant without a meaning here
	ImageEndings     *lexicon.PhraseSet            // ends of a text that ask for an image after the act
}

// quantity is a quantity that sensors measure.
type quantity struct {
	Words   []string `yaml:"words"`
	Classes []string `yaml:"classes"`
	Unit    string   `yaml:"unit"` // "" for a truth value
}

// file is one file of a catalog. Later files add to earlier ones.
type file struct {
	lexicon.WordLists
	frameLists
	Rules        map[string]string     `yaml:"rules"`
	Classes      map[string][]string   `yaml:"classes"`
	Quantities   map[string]quantity   `yaml:"quantities"`
	Capabilities []*grammar.Capability `yaml:"capabilities"`
	Hass         map[string]string     `yaml:"hass"`         // Home Assistant's intents, and capabilities
	HassDomains  map[string][]string   `yaml:"hass_domains"` // its domains, and classes
	HassSlots    map[string]string     `yaml:"hass_slots"`   // its slots, and slots of the catalog
	HassRules    map[string]string     `yaml:"hass_rules"`   // rules that its sentences may always use
	HassLists    map[string]hassBase   `yaml:"hass_lists"`   // lists that they may always use
	Watching     lexicon.WaitLists     `yaml:"watching"`
	Context      lexicon.ContextLists  `yaml:"context"`
	Letter       lexicon.CourtesyLists `yaml:"letter"`
	CountedIn    map[string][]string   `yaml:"counted_in"` // units, and their words
}

//go:embed *.yaml
var english embed.FS

// Default returns the catalog of the program, in English.
func Default() *Catalog { return builtIn() }

var builtIn = sync.OnceValue(func() *Catalog {
	c, err := Load(english)
	if err != nil {
		panic(err) // the files are part of the program
	}
	return c
})

// English returns the tree of files of Default, for Load with more trees.
func English() fs.FS { return english }

// Load makes a catalog from all *.yaml files at the top of the trees, and in the folders
// sentences/en, custom_sentences/en, rules/en and lists of Home Assistant. A capability,
// rule, class or list of words of a later file replaces that of an earlier one. The error
// lists all mistakes.
func Load(trees ...fs.FS) (*Catalog, error) { return newBuilder().load(trees...) }

func newBuilder() *builder {
	return &builder{words: &lexicon.Lexicon{}, rules: map[string]string{}, classes: map[string][]string{}, quantities: map[string]quantity{}, measures: map[string][]string{}, hassIntents: map[string]string{}, hassDomains: map[string][]string{}, hassSlots: map[string]string{}, hassRules: map[string]string{}, hassLists: map[string]hassList{}, hassForms: map[string][]hassForms{}, own: map[string]bool{}}
}

func (b *builder) load(trees ...fs.FS) (*Catalog, error) {
	for i, tree := range trees {
		b.first = i == 0
		b.read(tree)
	}
	if b.unread {
		return nil, b.err() // an unreadable file may define what the other files need
	}
	b.mergeHass()
	c := b.build()
	c.skipped = b.skipped
	if err := b.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// SkippedSentence is a sentence of Home Assistant's files that the catalog cannot map to a
// capability.
type SkippedSentence struct {
	Sentence string // with its file, line and intent
	Reason   string // the reason, which many sentences share
}

// Skipped returns the sentences of Home Assistant's files that have no meaning here.
func (c *Catalog) Skipped() []SkippedSentence { return slices.Clone(c.skipped) }

// Definitions lists the capabilities in the order of the catalog.
func (c *Catalog) Definitions() []capabilities.Definition {
	list := make([]capabilities.Definition, len(c.Capabilities))
	for i, one := range c.Capabilities {
		list[i] = capabilities.Definition{
			ID: one.ID, Description: one.Description, Tags: slices.Clone(one.Tags), Command: one.Command, Classes: slices.Clone(one.Classes),
			Risk: one.Risk, Risks: maps.Clone(one.Risks), Effect: one.Effect, Evidence: one.Evidence, Parameters: slices.Clone(one.Parameters),
		}
	}
	return list
}

// Find returns the capability with the id, nil if there is none.
func (c *Catalog) Find(id string) *grammar.Capability {
	for _, one := range c.Capabilities {
		if one.ID == id {
			return one
		}
	}
	return nil
}

// Class returns the class that a word names: a lamp is a light. An unknown word is its own class.
func (c *Catalog) Class(name string) string {
	if _, ok := c.ClassWords[name]; ok {
		return name
	}
	for _, class := range slices.Sorted(maps.Keys(c.ClassWords)) {
		if slices.Contains(c.ClassWords[class], strings.ReplaceAll(name, "-", " ")) {
			return class
		}
	}
	return name
}

// Classes lists the classes of devices that there are words for.
func (c *Catalog) Classes() []string { return slices.Sorted(maps.Keys(c.ClassWords)) }

// HasClass reports whether name is a class, or one of the words for it.
func (c *Catalog) HasClass(name string) bool {
	_, known := c.ClassWords[c.Class(name)]
	return known
}

// builder collects files and their mistakes.
type builder struct {
	words      *lexicon.Lexicon // alone is kept
	lexicon    FrameLexicon
	rules      map[string]string
	classes    map[string][]string
	quantities map[string]quantity
	list       []*grammar.Capability
	problems   []error             // of reading
	mistakes   strictyaml.Problems // of the content
	sources    []source
	unread     bool // a file is no YAML
	watching   lexicon.WaitLexicon
	context    lexicon.ContextLexicon
	courtesy   lexicon.CourtesyLexicon
	measures   map[string][]string

	hassIntents map[string]string      // capabilities by intent
	hassDomains map[string][]string    // classes by domain
	hassSlots   map[string]string      // slots of the catalog by slot
	hassRules   map[string]string      // that its sentences may always use
	hassLists   map[string]hassList    // the same
	hassForms   map[string][]hassForms // by capability
	others      hassFiles
	skipped     []SkippedSentence

	first   bool                    // the builder reads the first tree
	own     map[string]bool         // files of the other trees
	leave   map[string]IgnoredWords // of these, those that the builder skips
	lenient bool                    // an undefined rule or list is no mistake
}

// layouts are the patterns of file paths: at the top, and in the layout of Home Assistant for a
// language (%s).
var layouts = []string{"*.yaml", "Hass*/*.yaml", "lists/*.yaml", "lists/%s/*.yaml", "rules/%s/*.yaml", "sentences/%s/*.yaml", "sentences/%s/*/*.yaml", "custom_sentences/%s/*.yaml", "custom_sentences/%s/*/*.yaml"}

func (b *builder) read(tree fs.FS) {
	for _, layout := range layouts {
		names, err := fs.Glob(tree, strings.ReplaceAll(layout, "%s", b.words.Lists.Language))
		if err != nil {
			b.problems = append(b.problems, err)
		}
		b.readAll(tree, names)
	}
}

func (b *builder) readAll(tree fs.FS, names []string) {
	for _, name := range names {
		if _, leave := b.leave[displayPath(tree, name)]; leave {
			continue
		}
		b.own[displayPath(tree, name)] = !b.first
		data, err := fs.ReadFile(tree, name)
		if err != nil {
			b.mistakes = append(b.mistakes, strictyaml.Problem{File: displayPath(tree, name), Text: err.Error()})
			continue
		}
		docs, err := strictyaml.Parse(data, strictyaml.Config)
		if err == nil && len(docs) == 1 && isHass(docs[0]) {
			b.hass(name, displayPath(tree, name), docs[0])
			continue
		}
		var f file
		if err != nil || len(docs) > 1 {
			b.problems = append(b.problems, strictyaml.Decode(displayPath(tree, name), data, &f)) // it reports all mistakes of the file
			b.unread = true
			continue
		}
		for _, root := range docs { // one, or none
			b.sources = append(b.sources, source{displayPath(tree, name), root})
			if err := strictyaml.DecodeValue(displayPath(tree, name), root, &f); err != nil {
				b.problems = append(b.problems, err)
			}
		}
		b.merge(f)
	}
}

func (b *builder) merge(f file) {
	b.words.Merge(f.WordLists)
	b.lexicon.merge(f.frameLists)
	maps.Copy(b.rules, f.Rules)
	maps.Copy(b.hassIntents, f.Hass)
	maps.Copy(b.hassDomains, f.HassDomains)
	maps.Copy(b.hassSlots, f.HassSlots)
	maps.Copy(b.hassRules, f.HassRules)
	for name, list := range f.HassLists {
		b.hassLists[name] = list.list()
	}
	maps.Copy(b.classes, f.Classes)
	maps.Copy(b.quantities, f.Quantities)
	maps.Copy(b.measures, f.CountedIn)
	lexicon.MergeLists(&b.watching.Lists, f.Watching)
	lexicon.MergeLists(&b.context.Lists, f.Context)
	lexicon.MergeLists(&b.courtesy.Lists, f.Letter)
	for _, c := range f.Capabilities {
		if c == nil {
			continue // an empty item
		}
		if i := slices.IndexFunc(b.list, func(old *grammar.Capability) bool { return old.ID == c.ID }); i >= 0 {
			b.list[i] = c
			continue
		}
		b.list = append(b.list, c)
	}
}

// CapabilitiesWith counts the capabilities whose sentences use a word; at least 1.
func (c *Catalog) CapabilitiesWith(word string) int {
	n := 0
	for _, own := range c.WordsOf {
		if own[word] {
			n++
		}
	}
	return max(n, 1)
}

// ConvertTo returns a number in the unit of a quantity. It is false for a number of another
// quantity.
func (c *Catalog) ConvertTo(quantity string, m *lexicon.SlotValue) (float64, bool) {
	n, in, ok := unit.ForPlan(quantity, m.Amount, m.Unit)
	if !ok || in != "" && in != c.Quantities[quantity].Unit {
		return 0, false
	}
	if in == "°C" && in != m.Unit {
		n = math.Round(n*10) / 10 // a person means no hundredths
	}
	return n, true
}
