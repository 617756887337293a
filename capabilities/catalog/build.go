package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// build makes the catalog of the files, and notes their mistakes.
func (b *builder) build() *Catalog {
	b.words.Compile()
	c := &Catalog{Capabilities: b.list, ClassWords: b.classes, Quantities: b.quantities, Words: b.words, Frames: b.lexicon, Grammar: &grammar.Automaton{}, Events: &grammar.Automaton{}, Objects: &grammar.Automaton{}, Waiting: b.watching, Context: b.context, Courtesy: b.courtesy, Measures: &lexicon.Trie[string]{}, WordsOf: map[string]map[string]bool{}, Vocabulary: map[string]bool{}}
	e := grammar.Expander{Rules: b.parsedRules(), Fold: b.words.Fold}
	for _, one := range c.Capabilities {
		b.check(one)
		b.sentences(c, e, one, grammar.Variant{Sentences: one.Sentences})
		for _, s := range b.hassForms[one.ID] {
			s.sentence.Capability = one
			for _, form := range s.forms {
				c.put(form, s.sentence)
			}
		}
		for _, also := range one.Also {
			if _, ok := b.quantities[also.Quantity]; !ok && also.Quantity != "" {
				b.addError("capability %s: unknown quantity %q; define it under quantities", one.ID, also.Quantity)
			}
			if also.Asked && one.Effect != capabilities.Query {
				b.addError("capability %s: asked: a question never acts; leave it out", one.ID)
			}
			if also.Doubt != "" && one.Effect == capabilities.Query {
				b.addError("capability %s: doubt: a query needs no confirmation; leave it out", one.ID)
			}
			b.sentences(c, e, one, also)
		}
		b.waits(e, c.Events, one, one.Events)
		b.waits(e, c.Objects, one, one.Objects)
	}
	c.Grammar, c.Events, c.Objects = c.Grammar.Minimize(), c.Events.Minimize(), c.Objects.Minimize()
	c.Waiting.Compile(c.Words)
	lexicon.CompileSets(c.Words, &c.Context.Lists, &c.Context)
	lexicon.CompileSets(c.Words, &c.Courtesy.Lists, &c.Courtesy)
	for _, unit := range slices.Sorted(maps.Keys(b.measures)) {
		for _, text := range b.measures[unit] {
			c.Measures.Add(c.Words.Tokens(text), unit)
		}
	}
	b.showing(c, e)
	c.Frames.compile(c.Words, c, b.addError)
	c.phrases()
	return c
}

// phrases indexes the words for classes and quantities, and all words of the sentences.
func (c *Catalog) phrases() {
	c.ClassPhrases, c.QuantityPhrases = &lexicon.Trie[lexicon.SlotValue]{}, &lexicon.Trie[lexicon.SlotValue]{}
	for _, class := range slices.Sorted(maps.Keys(c.ClassWords)) {
		for _, text := range append([]string{strings.ReplaceAll(class, "-", " ")}, c.ClassWords[class]...) {
			c.ClassPhrases.Add(c.Words.Tokens(text), lexicon.SlotValue{Class: class})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Quantities)) {
		for _, text := range c.Quantities[name].Words {
			c.QuantityPhrases.Add(c.Words.Tokens(text), lexicon.SlotValue{Value: name, Specificity: lexicon.ByName})
		}
	}
	c.IDWords, c.DescriptionWords = map[string][]lexicon.Spelling{}, map[string][]string{}
	for _, one := range c.Capabilities {
		c.IDWords[one.ID], c.DescriptionWords[one.ID] = lexicon.Spellings(lexicon.Split(one.ID)), lexicon.Split(one.Description)
	}
	c.FrameWords = map[string]bool{}
	c.Frames.Signals.AddWords(c.FrameWords)
	c.Frames.Things.AddWords(c.Vocabulary)
	c.QuantityPhrases.AddWords(c.Vocabulary)
	c.Frames.amountWords(c.Vocabulary)
	c.Frames.Colors.AddWords(c.FrameWords)
	c.Frames.Levels.AddWords(c.FrameWords)
	c.ClassPhrases.AddWords(c.FrameWords)
	for _, s := range []*lexicon.PhraseSet{c.Frames.Shades, c.Frames.Percent, c.Frames.From, c.Frames.By, c.Words.Fillers, c.Words.Joining, c.Words.All} {
		s.AddWords(c.FrameWords)
	}
	c.Words.Numbers.AddWords(c.FrameWords)
	c.TimeWords = map[string]bool{}
	c.ImageEndings.AddWords(c.TimeWords)
	w := c.Words
	for _, s := range []*lexicon.PhraseSet{w.Lasting, w.Delaying, w.FromNow, w.Ending, w.At, w.OClock, w.Days, w.Half, w.Fixed, w.Sun, w.Near, w.Spanning, w.SpanTo, w.Excepting, w.TimesOver, w.Point, w.Per, w.Other, w.Repeating, w.OnDay, w.Hours, w.Toward, w.Awhile, w.Ahead, w.Afterwards, w.HalfOf, w.DayLong, w.Solely, w.Exactly, w.Roughly} {
		s.AddWords(c.TimeWords)
	}
	w.Past.AddWords(c.TimeWords)
	w.Repeats.AddWords(c.TimeWords)
	for day := range w.Weekday {
		c.TimeWords[day] = true
	}
	for unit := range w.Units {
		c.TimeWords[unit] = true
	}
	c.Waiting.AddWords(c.TimeWords)
	c.Events.AddWords(c.TimeWords)
	c.Measures.AddWords(c.TimeWords)
	c.FrameWords[lexicon.Possessive] = true
	c.OrderWords = map[string]bool{}
	for _, one := range c.Capabilities {
		maps.Copy(c.Vocabulary, c.WordsOf[one.ID])
		if one.Effect != capabilities.Query {
			maps.Copy(c.OrderWords, c.WordsOf[one.ID])
		}
	}
}

func (b *builder) parsedRules() map[string]grammar.Template {
	rules := map[string]grammar.Template{}
	for _, name := range slices.Sorted(maps.Keys(b.rules)) {
		t, err := grammar.ParseTemplate(b.rules[name])
		if err != nil {
			b.addError("rule %s: %w", name, err)
		}
		rules[name] = t
	}
	return rules
}

func (b *builder) sentences(cat *Catalog, e grammar.Expander, c *grammar.Capability, list grammar.Variant) {
	for _, text := range list.Sentences {
		b.sentence(cat, e, &grammar.Pattern{Capability: c, Text: text, Classes: list.Classes, Quantity: list.Quantity, Args: grammar.SortedArgs(list.Args), Asked: list.Asked, All: list.All, Doubt: list.Doubt})
	}
}

// sentence adds one sentence to the automaton.
func (b *builder) sentence(cat *Catalog, e grammar.Expander, s *grammar.Pattern) {
	t, err := grammar.ParseTemplate(s.Text)
	if err != nil {
		b.addError("capability %s: %w", s.Capability.ID, err)
		return
	}
	forms, err := e.All(t)
	if err != nil {
		b.addError("capability %s: sentence %q: %w", s.Capability.ID, s.Text, err)
		return
	}
	for _, form := range forms {
		if err := checkForm(form); err != nil {
			b.addError("capability %s: sentence %q: %w", s.Capability.ID, s.Text, err)
			return
		}
		cat.put(form, s)
	}
}

// put adds a form to the automaton.
func (c *Catalog) put(form []grammar.Term, s *grammar.Pattern) {
	own := c.WordsOf[s.Capability.ID]
	if own == nil {
		own = map[string]bool{}
		c.WordsOf[s.Capability.ID] = own
	}
	if s.Asked { // "did you turn it on?" makes "turn" no word of the question
		own = c.Vocabulary
	}
	c.Grammar.Add(form, s)
	for _, t := range form {
		if slices.Contains(c.Waiting.Lists.Watch, t.Word) { // "watch tv": requires may ask to watch
			c.Vocabulary[t.Word] = true
			continue
		}
		own[t.Word] = true
	}
}

// waits adds the events of a capability to a separate automaton: such words are no sentence, and
// order nothing.
func (b *builder) waits(e grammar.Expander, g *grammar.Automaton, c *grammar.Capability, list []grammar.Variant) {
	if len(list) > 0 && !c.Command.IsWait() {
		b.addError("capability %s: events and objects do not go with command %s; use watch or await", c.ID, c.Command)
	}
	for _, one := range list {
		if _, ok := b.quantities[one.Quantity]; !ok && one.Quantity != "" {
			b.addError("capability %s: unknown quantity %q; define it under quantities", c.ID, one.Quantity)
		}
		for _, text := range one.Sentences {
			t, err := grammar.ParseTemplate(text)
			var forms [][]grammar.Term
			if err == nil {
				forms, err = e.All(t)
			}
			if err != nil {
				b.addError("capability %s: %q: %w", c.ID, text, err)
			}
			s := &grammar.Pattern{Capability: c, Text: text, Quantity: one.Quantity, Classes: one.Classes, Args: grammar.SortedArgs(one.Args)}
			for _, form := range forms {
				for _, t := range form {
					if t.Kind != "" && t.Kind != "number" && !slices.Contains(grammar.SlotKinds, t.Kind) && b.watching.Lists.Words[t.Kind] == nil {
						b.addError("capability %s: %q: unknown slot {%s}; there are {number}, %v and those under watching: words", c.ID, text, t.Kind, grammar.SlotKinds)
					}
				}
				g.Add(form, s)
			}
		}
	}
}

// checkForm refuses a sentence that a bare name matches: a name alone never acts, and does not
// show the intent of the requester.
func checkForm(form []grammar.Term) error {
	hasOrderWord := false
	for _, t := range form {
		hasOrderWord = hasOrderWord || t.Word != "" || slices.Contains([]string{"quantity", "percent", "percentage", "angle", "temperature", "kelvin"}, t.Kind)
		if t.Kind != "" && !slices.Contains(grammar.SlotKinds, t.Kind) {
			return fmt.Errorf("unknown slot {%s}; there are %v", t.Kind, grammar.SlotKinds)
		}
	}
	if !hasOrderWord {
		return fmt.Errorf("may be a bare name; add a word for the order")
	}
	return nil
}

// check notes the mistakes of an entry.
func (b *builder) check(c *grammar.Capability) {
	one := func(key, value string, of ...string) {
		if !slices.Contains(of, value) {
			b.addError("capability %s: %s %q is unknown; use one of %v", c.ID, key, value, of)
		}
	}
	if c.ID == "" || c.Description == "" || c.Summary == "" {
		b.addError("capability %q: id, description or summary is missing; write all three", c.ID)
	}
	one("command", string(c.Command), slices.Concat(capabilities.AllCommands, undriven)...)
	one("evidence", string(c.Evidence), "", string(mess.Dispatched), string(mess.Acknowledged), string(mess.ReadBack), string(mess.Photographed))
	for _, p := range c.Parameters {
		one("parameters."+p.Name+".type", p.Type, "number", "text")
	}
	one("instead", string(c.Instead), append([]string{""}, capabilities.AllCommands...)...)
	if i := slices.IndexFunc(b.list, func(o *grammar.Capability) bool { return o.ID == c.Covers }); c.Covers != "" && (i < 0 || b.list[i].Command != c.Command || !slices.Equal(b.list[i].FixedArgs(), c.FixedArgs())) {
		b.addError("capability %s: covers %s is no capability with the same command and args; leave it out", c.ID, c.Covers)
	}
	one("effect", string(c.Effect), string(capabilities.Query), string(capabilities.Idempotent), string(capabilities.Once))
	one("answer", c.Answer, "query", "command")
	one("risk", string(c.Risk), capabilities.AllRisks...)
	for _, class := range slices.Sorted(maps.Keys(c.Risks)) {
		one("risks."+class, string(c.Risks[class]), capabilities.AllRisks...)
	}
	if (c.Answer == "query") != (c.Effect == capabilities.Query) {
		b.addError("capability %s: answer %s does not go with effect %s; a query changes nothing, a command does", c.ID, c.Answer, c.Effect)
	}
	if (c.Effect == capabilities.Query) != !c.Command.Acts() {
		b.addError("capability %s: effect %s does not go with command %s", c.ID, c.Effect, c.Command)
	}
	if c.Instead != "" && c.Instead.Acts() != c.Command.Acts() {
		b.addError("capability %s: instead %s is not as harmless as command %s", c.ID, c.Instead, c.Command)
	}
	if on, ok := c.Args["on"].(bool); c.Command == capabilities.SetSwitch && !ok {
		b.addError("capability %s: args.on is %v; write true or false", c.ID, on)
	}
}

// undriven are commands of the catalog that no driver supports yet: the interpreter refuses
// a request for one and says so.
var undriven = []string{
	"wait", "repeat",
}

// showing indexes the ends of a text that ask for an image.
func (b *builder) showing(c *Catalog, e grammar.Expander) {
	c.ImageEndings = &lexicon.PhraseSet{}
	for _, text := range b.words.Lists.Show {
		t, err := grammar.ParseTemplate(text)
		var forms [][]grammar.Term
		if err == nil {
			forms, err = e.All(t)
		}
		if err != nil {
			b.addError("words: show: %q: %v", text, err)
		}
		for _, form := range forms {
			tokens := make([]lexicon.Token, len(form))
			for i, one := range form {
				if one.Word == "" {
					b.addError("words: show: %q: there can be no gap in it", strings.TrimSpace(text))
				}
				tokens[i] = lexicon.Token{Text: one.Word, Folded: one.Word}
			}
			c.ImageEndings.Add(tokens, struct{}{})
		}
	}
}
