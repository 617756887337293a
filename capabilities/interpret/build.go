package interpret

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// build makes the catalogue of what was read, and notes what is wrong with it.
func (b *builder) build() *Catalogue {
	b.words.Compile()
	c := &Catalogue{list: b.list, classes: b.classes, quantities: b.quantities, words: b.words, lexicon: b.lexicon, grammar: &grammar{}, events: &grammar{}, objects: &grammar{}, watching: b.watching, context: b.context, letter: b.letter, measure: &lexicon.Trie[string]{}, wordsOf: map[string]map[string]bool{}, vocabulary: map[string]bool{}}
	e := expander{rules: b.parsedRules(), fold: b.words.Fold}
	for _, one := range c.list {
		b.check(one)
		b.sentences(c, e, one, fixed{Sentences: one.Sentences})
		for _, s := range b.hassForms[one.ID] {
			s.sentence.capability = one
			for _, form := range s.forms {
				c.put(form, s.sentence)
			}
		}
		for _, also := range one.Also {
			if _, ok := b.quantities[also.Quantity]; !ok && also.Quantity != "" {
				b.wrong("capability %s: unknown quantity %q; define it under quantities", one.ID, also.Quantity)
			}
			if also.Asked && one.Effect != capabilities.Query {
				b.wrong("capability %s: asked: a question never acts; leave it out", one.ID)
			}
			if also.Doubt != "" && one.Effect == capabilities.Query {
				b.wrong("capability %s: doubt: what only looks needs no yes; leave it out", one.ID)
			}
			b.sentences(c, e, one, also)
		}
		b.waits(e, c.events, one, one.Events)
		b.waits(e, c.objects, one, one.Objects)
	}
	c.grammar, c.events, c.objects = c.grammar.shared(), c.events.shared(), c.objects.shared()
	c.watching.Compile(c.words)
	lexicon.CompileSets(c.words, &c.context.Lists, &c.context)
	lexicon.CompileSets(c.words, &c.letter.Lists, &c.letter)
	for _, unit := range slices.Sorted(maps.Keys(b.measures)) {
		for _, text := range b.measures[unit] {
			c.measure.Add(c.words.Tokens(text), unit)
		}
	}
	b.showing(c, e)
	c.lexicon.compile(c.words, c, b.wrong)
	c.phrases()
	return c
}

// phrases indexes what classes and quantities are called, and all words that
// sentences use.
func (c *Catalogue) phrases() {
	c.classPhrase, c.quantity = &lexicon.Trie[lexicon.SlotValue]{}, &lexicon.Trie[lexicon.SlotValue]{}
	for _, class := range slices.Sorted(maps.Keys(c.classes)) {
		for _, text := range append([]string{strings.ReplaceAll(class, "-", " ")}, c.classes[class]...) {
			c.classPhrase.Add(c.words.Tokens(text), lexicon.SlotValue{Class: class})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.quantities)) {
		for _, text := range c.quantities[name].Words {
			c.quantity.Add(c.words.Tokens(text), lexicon.SlotValue{Value: name, Specificity: lexicon.ByName})
		}
	}
	c.ids, c.does = map[string][]lexicon.Spelling{}, map[string][]string{}
	for _, one := range c.list {
		c.ids[one.ID], c.does[one.ID] = lexicon.Spellings(lexicon.Split(one.ID)), lexicon.Split(one.Description)
	}
	c.said = map[string]bool{}
	c.lexicon.says.AddWords(c.said)
	c.lexicon.thing.AddWords(c.vocabulary)
	c.quantity.AddWords(c.vocabulary)
	c.lexicon.amountWords(c.vocabulary)
	c.lexicon.colour.AddWords(c.said)
	c.lexicon.level.AddWords(c.said)
	c.classPhrase.AddWords(c.said)
	for _, s := range []*lexicon.PhraseSet{c.lexicon.shade, c.lexicon.percentOf, c.lexicon.from, c.lexicon.by, c.words.Fillers, c.words.Joining, c.words.All} {
		s.AddWords(c.said)
	}
	c.words.Numbers.AddWords(c.said)
	c.timely = map[string]bool{}
	c.show.AddWords(c.timely)
	w := c.words
	for _, s := range []*lexicon.PhraseSet{w.Lasting, w.Delaying, w.FromNow, w.Ending, w.At, w.OClock, w.Days, w.Half, w.Fixed, w.Sun, w.Near, w.Spanning, w.SpanTo, w.Excepting, w.TimesOver, w.Point, w.Per, w.Other, w.Repeating, w.OnDay, w.Hours, w.Toward, w.Awhile, w.Ahead, w.Afterwards, w.HalfOf, w.DayLong, w.Solely, w.Exactly, w.Roughly} {
		s.AddWords(c.timely)
	}
	w.Past.AddWords(c.timely)
	w.Repeats.AddWords(c.timely)
	for day := range w.Weekday {
		c.timely[day] = true
	}
	for unit := range w.Units {
		c.timely[unit] = true
	}
	c.watching.AddWords(c.timely)
	c.events.known(c.timely)
	c.measure.AddWords(c.timely)
	c.said[lexicon.Possessive] = true
	c.ordering = map[string]bool{}
	for _, one := range c.list {
		maps.Copy(c.vocabulary, c.wordsOf[one.ID])
		if one.Effect != capabilities.Query {
			maps.Copy(c.ordering, c.wordsOf[one.ID])
		}
	}
}

func (b *builder) parsedRules() map[string]Template {
	rules := map[string]Template{}
	for _, name := range slices.Sorted(maps.Keys(b.rules)) {
		t, err := ParseTemplate(b.rules[name])
		if err != nil {
			b.wrong("rule %s: %w", name, err)
		}
		rules[name] = t
	}
	return rules
}

func (b *builder) sentences(cat *Catalogue, e expander, c *capability, list fixed) {
	for _, text := range list.Sentences {
		b.sentence(cat, e, &sentence{capability: c, text: text, classes: list.Classes, quantity: list.Quantity, args: inOrder(list.Args), asked: list.Asked, all: list.All, doubt: list.Doubt})
	}
}

// sentence puts one into the automaton.
func (b *builder) sentence(cat *Catalogue, e expander, s *sentence) {
	t, err := ParseTemplate(s.text)
	if err != nil {
		b.wrong("capability %s: %w", s.capability.ID, err)
		return
	}
	forms, err := e.all(t)
	if err != nil {
		b.wrong("capability %s: sentence %q: %w", s.capability.ID, s.text, err)
		return
	}
	for _, form := range forms {
		if err := checkForm(form); err != nil {
			b.wrong("capability %s: sentence %q: %w", s.capability.ID, s.text, err)
			return
		}
		cat.put(form, s)
	}
}

// put adds a form to the automaton.
func (c *Catalogue) put(form []term, s *sentence) {
	own := c.wordsOf[s.capability.ID]
	if own == nil {
		own = map[string]bool{}
		c.wordsOf[s.capability.ID] = own
	}
	if s.asked { // "did you turn it on?" makes "turn" no word of the question
		own = c.vocabulary
	}
	c.grammar.add(form, s)
	for _, t := range form {
		if slices.Contains(c.watching.Lists.Watch, t.word) { // "watch tv": what is required may be to watch
			c.vocabulary[t.word] = true
			continue
		}
		own[t.word] = true
	}
}

// waits puts what a capability waits for into an automaton of its own: such words are
// no sentence, and order nothing.
func (b *builder) waits(e expander, g *grammar, c *capability, list []fixed) {
	if len(list) > 0 && !c.Command.Watches() {
		b.wrong("capability %s: events and objects do not go with command %s; use watch or await", c.ID, c.Command)
	}
	for _, one := range list {
		if _, ok := b.quantities[one.Quantity]; !ok && one.Quantity != "" {
			b.wrong("capability %s: unknown quantity %q; define it under quantities", c.ID, one.Quantity)
		}
		for _, text := range one.Sentences {
			t, err := ParseTemplate(text)
			var forms [][]term
			if err == nil {
				forms, err = e.all(t)
			}
			if err != nil {
				b.wrong("capability %s: %q: %w", c.ID, text, err)
			}
			s := &sentence{capability: c, text: text, quantity: one.Quantity, classes: one.Classes, args: inOrder(one.Args)}
			for _, form := range forms {
				for _, t := range form {
					if t.kind != "" && t.kind != "number" && !slices.Contains(gapKinds, t.kind) && b.watching.Lists.Words[t.kind] == nil {
						b.wrong("capability %s: %q: unknown slot {%s}; there are {number}, %v and those under watching: words", c.ID, text, t.kind, gapKinds)
					}
				}
				g.add(form, s)
			}
		}
	}
}

// checkForm refuses a sentence that a bare name would match: a name alone
// never acts, and never tells what is wanted.
func checkForm(form []term) error {
	said := false
	for _, t := range form {
		said = said || t.word != "" || slices.Contains([]string{"quantity", "percent", "percentage", "angle", "temperature", "kelvin"}, t.kind)
		if t.kind != "" && !slices.Contains(gapKinds, t.kind) {
			return fmt.Errorf("unknown slot {%s}; there are %v", t.kind, gapKinds)
		}
	}
	if !said {
		return fmt.Errorf("may be a bare name; put in a word that says what to do")
	}
	return nil
}

var gapKinds = []string{"amount", "angle", "area", "device", "duration", "kelvin", "percent", "percentage", "position", "quantity", "spot", "temperature", "thing", "view"}

// check tells what of an entry cannot be.
func (b *builder) check(c *capability) {
	one := func(key, value string, of ...string) {
		if !slices.Contains(of, value) {
			b.wrong("capability %s: %s %q is unknown; use one of %v", c.ID, key, value, of)
		}
	}
	if c.ID == "" || c.Description == "" || c.Summary == "" {
		b.wrong("capability %q: id, description or summary is missing; write all three", c.ID)
	}
	one("command", string(c.Command), slices.Concat(capabilities.AllCommands, undriven)...)
	one("evidence", string(c.Evidence), "", string(mess.Dispatched), string(mess.Acknowledged), string(mess.ReadBack), string(mess.Photographed))
	for _, p := range c.Parameters {
		one("parameters."+p.Name+".type", p.Type, "number", "text")
	}
	one("instead", string(c.Instead), append([]string{""}, capabilities.AllCommands...)...)
	if i := slices.IndexFunc(b.list, func(o *capability) bool { return o.ID == c.Covers }); c.Covers != "" && (i < 0 || b.list[i].Command != c.Command || !slices.Equal(b.list[i].args(), c.args())) {
		b.wrong("capability %s: covers %s is no capability with the same command and args; leave it out", c.ID, c.Covers)
	}
	one("effect", string(c.Effect), string(capabilities.Query), string(capabilities.Idempotent), string(capabilities.Once))
	one("answer", c.Answer, "query", "command")
	one("risk", string(c.Risk), capabilities.AllRisks...)
	for _, class := range slices.Sorted(maps.Keys(c.Risks)) {
		one("risks."+class, string(c.Risks[class]), capabilities.AllRisks...)
	}
	if (c.Answer == "query") != (c.Effect == capabilities.Query) {
		b.wrong("capability %s: answer %s does not go with effect %s; a query changes nothing, a command does", c.ID, c.Answer, c.Effect)
	}
	if (c.Effect == capabilities.Query) != !c.Command.Acts() {
		b.wrong("capability %s: effect %s does not go with command %s", c.ID, c.Effect, c.Command)
	}
	if c.Instead != "" && c.Instead.Acts() != c.Command.Acts() {
		b.wrong("capability %s: instead %s is not as harmless as command %s", c.ID, c.Instead, c.Command)
	}
	if on, ok := c.Args["on"].(bool); c.Command == capabilities.SetSwitch && !ok {
		b.wrong("capability %s: args.on is %v; write true or false", c.ID, on)
	}
}

// undriven are commands of the catalogue that no driver has a verb for yet: a
// request for one is refused, and says so.
var undriven = []string{
	"wait", "repeat",
}
